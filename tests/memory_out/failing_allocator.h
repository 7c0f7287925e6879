// The memory of this process, made to run out on demand: malloc and its kin, operator new and mmap of the
// whole process (the program, libbelay_core.so, oneDNN, libstdc++) pass here. Under a sanitizer, which has
// malloc and mmap for itself, only operator new does.
#pragma once

#include <cstdint>

namespace memory_out {

enum class Mode { kOne, kAllFrom };

// From now on the n-th allocation (counted from 1, of all threads) fails, or that and all later ones.
void Arm(int64_t n, Mode mode);
// From now on the system has so many bytes of addresses left for this process, and may refuse more.
void ArmAddressSpace(int64_t bytes);
// What oneDNN, its OpenMP and the loader ask for is always there: they end the process when they are refused
// something. Belay sees before that there is room for it, which only ArmAddressSpace makes untrue.
void SpareOneDnn();
// Allocations succeed again. True when one has failed since Arm.
bool Disarm();
bool Armed();
// Allocations of all threads since Arm.
int64_t Asked();
bool HasFailed();

// Allocations of this thread neither count nor fail while in scope: those of the test itself.
class Exempt {
 public:
  Exempt();
  ~Exempt();
  Exempt(const Exempt&) = delete;
  Exempt& operator=(const Exempt&) = delete;
};

// Blocks that were allocated and not yet freed.
int64_t LiveBlocks();
// To standard error: from where the first allocation that failed was asked for. Allocates nothing.
void PrintWhereItFailed();

}  // namespace memory_out
