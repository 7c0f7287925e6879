// How layers come in: libraries beside the core that BELAY_LAYERS names, each with an observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/memory.h"
#include "runtime/observer.h"
#include "runtime/pinned_door.h"
#include "runtime/stream.h"

namespace belay::rt {

// What a layer may ask the core, which exports no names.
struct CoreFacts {
  MemoryRange (*lookup)(const void* p, size_t bytes) noexcept;
  const char* (*call_name)(uint32_t call);
  bool (*in_callback)();  // of a stream that waits for it
  int (*device_of)(const Stream& stream) noexcept;
  uint32_t (*current_call)() noexcept;  // of the calling thread
  ParkPlace (*parked_at)(const Stream& stream);
  std::string (*wait_words)(const ParkPlace& place);  // explain_wait.h
  // What a program would want to know of an object of aclnn, by its handle; empty: there is none. The letter
  // says of which kind: t a tensor, l a list of them, c a scalar, n an array of integers. T and L give a line
  // of "2,3|FLOAT|ND" for each.
  std::string (*object_words)(char letter, uint64_t handle);
  void (*use_pinned_door)(int file) noexcept;               // pinned_door.h
  void (*set_pinned_closed)(PinnedClosed closed) noexcept;  // the same
  // The number of the model that the task launches; -1: it launches none.
  int64_t (*model_of_launch)(const Task& task) noexcept;
  const void* (*view)(const void* p, size_t bytes) noexcept;  // where what the program has there can be read
};

// What libbelay_layer_<name>.so exports as belay_make_layer. The observer stays for the life of the process.
// Null: the layer has failed, and has said so.
using MakeLayer = Observer* (*)(const CoreFacts& core);

// Loads what BELAY_LAYERS lists (names with commas between). One that cannot be loaded is told on the
// standard error, and the program goes on without it.
void LoadLayers();

}  // namespace belay::rt
