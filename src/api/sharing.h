// What all exports to other processes have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/offers.h"

namespace belay::api {

inline constexpr size_t kKeyBytes = 65;  // with the end

void CheckExportFlags(uint64_t flags);
void CopyKey(const rt::OfferName& name, char* key, size_t length);
std::span<const int32_t> Pids(const int32_t* pid, size_t count);

}  // namespace belay::api
