// Memory that a program gives to the sessions it runs graphs with.
#pragma once

#include <cstddef>
#include <memory>

namespace ge {

class MemBlock;

// A program derives from this. Called by functions that run graphs, on their thread.
class __attribute__((visibility("default"))) Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // A block of device memory, or null when there is none.
  virtual MemBlock* Malloc(size_t size) = 0;
  // The last user of the block is done.
  virtual void Free(MemBlock* block) = 0;
  // Like Malloc; `addr` is where the memory would be liked best.
  virtual MemBlock* MallocAdvise(size_t size, void* addr) {
    (void)addr;
    return Malloc(size);
  }
};

// A block with a count of its users.
class __attribute__((visibility("default"))) MemBlock {
 public:
  MemBlock(Allocator& allocator, void* addr, size_t block_size)
      : allocator_(allocator), addr_(addr), count_(1U), block_size_(block_size) {}
  virtual ~MemBlock() = default;

  const void* GetAddr() const { return addr_; }
  void* GetAddr() { return addr_; }
  size_t GetSize() const { return block_size_; }
  void SetSize(const size_t mem_size) { block_size_ = mem_size; }
  // One user less.
  void Free() {
    if (GetCount() > 0U && SubCount() == 0U) allocator_.Free(this);
  }
  size_t AddCount() { return ++count_; }
  size_t SubCount() { return --count_; }
  size_t GetCount() const { return count_; }

 private:
  Allocator& allocator_;
  void* addr_;
  size_t count_;
  size_t block_size_;
};

using AllocatorPtr = std::shared_ptr<Allocator>;

}  // namespace ge
