// What copies and fills look like as tasks. Addresses are the program's; View turns them into the
// CPU's at the moment of the work, so a captured task follows its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/codes.h"
#include "base/error.h"
#include "runtime/engine.h"
#include "runtime/memory.h"
#include "runtime/task.h"

namespace belay::rt {

// About how long moving so many bytes takes.
constexpr TaskCost CopyCost(size_t bytes) {
  return static_cast<TaskCost>(std::min<size_t>(20 + bytes / 16, UINT32_MAX));
}

struct CopyTask {
  static constexpr const char* kName = "memcpy";
  void* dst;
  const void* src;
  size_t bytes;

  void Run() const { CopyBytes(View(dst, bytes), View(src, bytes), bytes); }
  void Ranges(RangeVisitor& visit) const {
    visit.Reads(src, bytes);
    visit.Writes(dst, bytes);
  }
  void Describe(std::string& out) const {
    out = fmt::format("memcpy of {} bytes from {} to {}", bytes, src, dst);
  }
};

// Rows of `width` bytes, `pitch` bytes from one to the next.
struct Copy2dTask {
  static constexpr const char* kName = "memcpy2d";
  void* dst;
  size_t dst_pitch;
  const void* src;
  size_t src_pitch;
  size_t width;
  size_t height;

  // From the first byte of the first row to the last of the last; the caller knows that it fits.
  static constexpr size_t Extent(size_t pitch, size_t width, size_t height) {
    return pitch * (height - 1) + width;
  }
  size_t dst_extent() const { return Extent(dst_pitch, width, height); }
  size_t src_extent() const { return Extent(src_pitch, width, height); }

  void Run() const {
    auto* to = static_cast<std::byte*>(View(dst, dst_extent()));
    auto* from = static_cast<const std::byte*>(View(src, src_extent()));
    if (dst_pitch == width && src_pitch == width) return CopyBytes(to, from, width * height);
    for (size_t row = 0; row < height; ++row, to += dst_pitch, from += src_pitch) {
      CopyBytes(to, from, width);
    }
  }
  void Ranges(RangeVisitor& visit) const {
    for (size_t row = 0; row < height; ++row) {
      visit.Reads(static_cast<const std::byte*>(src) + row * src_pitch, width);
      visit.Writes(static_cast<std::byte*>(dst) + row * dst_pitch, width);
    }
  }
  void Describe(std::string& out) const {
    out = fmt::format("memcpy2d of {} rows of {} bytes from {} to {}", height, width, src, dst);
  }
};

struct FillTask {
  static constexpr const char* kName = "memset";
  void* dst;
  size_t bytes;
  int value;

  void Run() const { FillBytes(View(dst, bytes), value, bytes); }
  void Ranges(RangeVisitor& visit) const { visit.Writes(dst, bytes); }
  void Describe(std::string& out) const {
    out = fmt::format("memset of {} bytes to {} at {}", bytes, value & 0xff, dst);
  }
};

// An asynchronous copy between two host addresses: accepted, and refused when it is its turn.
struct HostToHostTask {
  static constexpr const char* kName = "host-to-host memcpy";
  static constexpr bool kTouchesNothing = true;  // it fails
  const void* dst;
  const void* src;
  size_t bytes;

  void Run() const {
    Fail(codes::kRtFeatureNotSupport, "copy-host-to-host",
         "an asynchronous copy of {} bytes between two host addresses ({} to {}) is not supported; "
         "use "
         "aclrtMemcpy",
         bytes, src, dst);
  }
};

// Writes a 64-bit value (aclrtValueWrite), in one piece.
struct ValueWriteTask {
  static constexpr const char* kName = "value write";
  static constexpr TaskKind kKind = TaskKind::kValueWrite;
  void* address;
  uint64_t value;

  void Run() const {
    auto* at = static_cast<uint64_t*>(View(address, 8));
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);
    TheEngine().Wrote(at);
  }
  void Ranges(RangeVisitor& visit) const {
    visit.Writes(address, 8);
    visit.Signals(address);
  }
};

// A hint for a cache that this device does not have (aclrtCmoAsync).
struct PrefetchTask {
  static constexpr const char* kName = "prefetch";
  const void* address;
  size_t bytes;

  void Run() const {}
  void Ranges(RangeVisitor& visit) const { visit.Hints(address, bytes); }
};

}  // namespace belay::rt
