// What an operator does together with the other ranks of a communicator, before its kernel or after it. A
// plan only says so; who queues the plan knows communicators, and queues both.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tensor/dtype.h"

namespace belay::ops {

struct Frame;

struct Exchange {
  enum class Kind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll };

  // A tensor's first element, or a place in the workspace.
  struct Place {
    int binding = -1;    // -1: the workspace
    int64_t offset = 0;  // bytes
  };

  std::string group;  // the communicator's name
  Kind kind = Kind::kAllReduce;
  bool first = false;  // the kernel reads what came
  Place from, to;
  uint64_t count = 0;  // elements: of each rank's part, where there are parts
  tensor::DType type = tensor::DType::kF16;
  // So many ranks as the sizes say: whole is part times the number of ranks. Both 0 where they do not say.
  int64_t part = 0, whole = 0;
  const char* part_name = "";  // of the arguments that have these sizes
  const char* whole_name = "";
  // What the arguments say of the group; -1 where they say nothing.
  int64_t rank = -1, ranks = -1;
  // A kernel of its own that lays out what is sent; `first` is true then.
  std::function<void(const Frame&)> before = {};
};

}  // namespace belay::ops
