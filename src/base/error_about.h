// An error about an address or a handle of the program's, for those who know more of it (runtime/observer.h).
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/error.h"

namespace belay {

class ErrorAbout final : public Error {
 public:
  ErrorAbout(Error error, const void* about) noexcept : Error(std::move(error)), about_(about) {}
  const void* about() const { return about_; }

 private:
  const void* about_;
};

// Null: it is about none, or something else was thrown.
const void* AboutOf(const std::exception_ptr& error) noexcept;

// Empty without memory for it.
std::string FormatOrNothing(fmt::string_view sentence, fmt::format_args args);

// As Fail.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void FailAbout(const void* about, int code, const char* id,
                                                      fmt::format_string<Args...> sentence, Args&&... args) {
  throw ErrorAbout({code, id, FormatOrNothing(sentence, fmt::make_format_args(args...))}, about);
}

}  // namespace belay
