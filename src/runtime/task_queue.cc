#include "runtime/task_queue.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/cache_line.h"
#include "base/spin_lock.h"

namespace belay::rt {
namespace {

constexpr uint32_t kMostReturned = 32;  // chunks that a queue keeps for its producer

// Chunks that no stream holds. Kept for ever: their number is bounded by the deepest backlog.
struct ChunkPool {
  SpinLock lock;
  TaskChunk* free = nullptr;

  TaskChunk* Take() {
    std::lock_guard guard(lock);
    TaskChunk* chunk = free;
    if (chunk != nullptr) free = chunk->free_next;
    return chunk;
  }
  void Give(TaskChunk* chunk) {
    std::lock_guard guard(lock);
    chunk->free_next = free;
    free = chunk;
  }
};
constinit ChunkPool g_pool;

}  // namespace

// Producer: from those that the consumer has returned, all of which it takes at a time.
TaskChunk* TaskQueue::TakeChunk() {
  if (free_ == nullptr && returned_.load(std::memory_order_relaxed) != nullptr) {
    free_ = returned_.exchange(nullptr, std::memory_order_acquire);
  }
  TaskChunk* chunk = free_;
  if (chunk != nullptr) {
    free_ = chunk->free_next;
  } else {
    chunk = g_pool.Take();
    if (chunk == nullptr) chunk = new TaskChunk;
  }
  chunk->next.store(nullptr, std::memory_order_relaxed);
  return chunk;
}

void TaskQueue::ReturnChunk(TaskChunk* chunk) {
  TaskChunk* top = returned_.load(std::memory_order_relaxed);
  do {
    chunk->free_next = top;
    chunk->free_depth = top == nullptr ? 1 : top->free_depth + 1;
    if (chunk->free_depth > kMostReturned) return g_pool.Give(chunk);
  } while (!returned_.compare_exchange_weak(top, chunk, std::memory_order_acq_rel));
}

void TaskQueue::AddChunk() {
  TaskChunk* chunk = TakeChunk();
  if (tail_chunk_ == nullptr) {
    first_chunk_.store(chunk, std::memory_order_relaxed);
  } else {
    tail_chunk_->next.store(chunk, std::memory_order_relaxed);
  }
  tail_chunk_ = chunk;
  tail_index_ = 0;
}

void TaskQueue::NextChunk(uint64_t left) {
  TaskChunk* done = head_chunk_;
  head_index_ = 0;
  head_chunk_ = done == nullptr ? first_chunk_.load(std::memory_order_relaxed)
                                : done->next.load(std::memory_order_relaxed);
  // All lines at once, but none beyond what is there: the producer is about to write to that.
  auto count = static_cast<uint32_t>(std::min<uint64_t>(left, TaskChunk::kTasks));
  for (uint32_t i = 0; i < count; ++i) PrefetchForWrite(&head_chunk_->tasks[i]);
  if (done != nullptr) ReturnChunk(done);
}

void TaskQueue::Release() {
  TaskChunk* chunk = head_chunk_ != nullptr ? head_chunk_ : first_chunk_.load();
  while (chunk != nullptr) {
    TaskChunk* next = chunk->next.load(std::memory_order_relaxed);
    g_pool.Give(chunk);
    chunk = next;
  }
  for (TaskChunk* list : {std::exchange(free_, nullptr), returned_.exchange(nullptr)}) {
    while (list != nullptr) g_pool.Give(std::exchange(list, list->free_next));
  }
  tail_chunk_ = nullptr;
  head_chunk_ = nullptr;
  first_chunk_.store(nullptr, std::memory_order_relaxed);
  tail_index_ = head_index_ = TaskChunk::kTasks;
}

void AbandonTaskChunksInChild() {
  new (&g_pool.lock) SpinLock();
  g_pool.free = nullptr;
}

}  // namespace belay::rt
