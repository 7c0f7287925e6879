// Device and pinned host memory of the process: who owns a range, how big it is, where it lives.
// Contract (the implementation is in memory.cc and arena.cc):
//   - Lookup is one table look-up without tree or lock, from any thread, also while others
//   allocate.
//   - View is the only place where a device pointer becomes a pointer that the CPU may use.
//   - Memory is named by address plus serial: an address may be handed out again, a serial never
//   is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace belay::rt {

enum class MemoryKind : uint8_t {
  kHost,    // ordinary process memory, or not known at all
  kDevice,  // aclrtMalloc and kin
  kPinned,  // aclrtMallocHost and kin
};

// What is known of the address that was looked up.
struct MemoryRange {
  MemoryKind kind = MemoryKind::kHost;
  int device = -1;      // owner for kDevice, else -1
  uintptr_t base = 0;   // first byte of the block
  size_t bytes = 0;     // as the caller asked for, plus the documented padding that may be used
  uint64_t serial = 0;  // odd: this allocation; even: what it was before it was freed; 0: none
  bool live = false;    // false: freed, or inside an arena but not in any block
  bool huge_pages = false;
  // Bytes from `p` to the end of the block, 0 when p is outside.
  size_t Remaining(const void* p) const {
    auto a = reinterpret_cast<uintptr_t>(p);
    return a < base || a - base > bytes ? 0 : bytes - (a - base);
  }
};

// What holds `p`. A range that was mapped piece by piece (aclrtMapMem) is followed until `bytes` from `p`
// are covered, or a piece is missing.
MemoryRange Lookup(const void* p, size_t bytes = 1) noexcept;

// The serial of the live block that holds `p`, 0 when there is none. Capture records it, and replay
// compares: another serial means that the block was freed (and the address perhaps handed out
// again).
uint64_t BlockSerial(const void* p) noexcept;

// Grows with each block freed or unmapped, and after it: as long as it stands still, every block
// that was live still is.
uint64_t FreeCount() noexcept;

// "device 0 memory 0x7f... (1024 bytes, allocation 17), freed": how messages name an address.
std::string DescribeAddress(const void* p);

// Throws Error unless [p, p+bytes) lies inside one live block (device or pinned) or is ordinary
// host memory. `argument` names the parameter in the message ("dst").
MemoryRange CheckRange(const void* p, size_t bytes, const char* argument);
// The same for what runs on a device, which does not reach host memory.
void CheckDeviceRange(const void* p, size_t bytes, const char* argument);

// The CPU's pointer for [p, p+bytes): the identity unless the device range is mapped with an alias
// offset (BELAY_ALIAS_OFFSET, used by a CI run and by check mode).
void* View(void* p, size_t bytes) noexcept;
inline const void* View(const void* p, size_t bytes) noexcept { return View(const_cast<void*>(p), bytes); }

// Which pages a program asked for. They decide what aclrtPointerGetAttributes reports; the arena
// takes 2 MiB pages for every large block that the kernel gives them for.
enum class PagePolicy : uint8_t { kHugeFirst, kHugeOnly, kNormalOnly };

struct AllocationRequest {
  size_t bytes;
  PagePolicy pages = PagePolicy::kHugeFirst;
  bool padded = true;  // 32 spare bytes after the end, as aclrtMalloc documents
};

// Throws Error 207001 (message with free, total and the largest blocks) when the device is full.
void* AllocateDevice(int device, const AllocationRequest& request);
void* AllocatePinned(size_t bytes);
void FreeDevice(void* p);  // throws Error for null, foreign, interior and freed pointers
void FreePinned(void* p);

struct MemoryInfo {
  size_t free;
  size_t total;
};
MemoryInfo DeviceMemoryInfo(int device);
// No device gives more bytes than that in all, because the user asks for it in these words; 0: what it has.
void SetDeviceAllowance(size_t bytes, const std::string& words);

struct MemoryUse {
  size_t now;
  size_t most;  // since the process began
};
MemoryUse DeviceMemoryUse(int device);

// Copies at memory speed (non-temporal stores and several cores only where they win). Ranges are
// CPU pointers (after View); where they overlap, the bytes arrive as they were before.
void CopyBytes(void* dst, const void* src, size_t bytes);
void FillBytes(void* dst, int value, size_t bytes);

// Process life cycle: called by the first aclInit, in a forked child's first aclInit, and by
// aclrtResetDevice when a device's last reference goes (frees its remaining blocks).
struct MemoryConfig {
  int devices;
  size_t bytes_per_device;
  ptrdiff_t alias_offset;
};
void StartMemory(const MemoryConfig& config);
void RestartMemoryInChild(const MemoryConfig& config);
void ReleaseDeviceMemory(int device);

}  // namespace belay::rt
