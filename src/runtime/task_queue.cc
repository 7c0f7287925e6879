#include "runtime/task_queue.h"

#include <mutex>

#include "base/spin_lock.h"

namespace belay::rt {
namespace {

// Chunks that no stream holds. Kept for ever: their number is bounded by the deepest backlog.
struct ChunkPool {
  SpinLock lock;
  TaskChunk* free = nullptr;
};
constinit ChunkPool g_pool;

}  // namespace

TaskChunk* TaskQueue::TakeChunk() {
  TaskChunk* chunk = spare_.exchange(nullptr, std::memory_order_acquire);
  if (chunk == nullptr) {
    std::lock_guard guard(g_pool.lock);
    chunk = g_pool.free;
    if (chunk != nullptr) g_pool.free = chunk->free_next;
  }
  if (chunk == nullptr) chunk = new TaskChunk;
  chunk->next.store(nullptr, std::memory_order_relaxed);
  return chunk;
}

void TaskQueue::GiveChunk(TaskChunk* chunk) {
  chunk = spare_.exchange(chunk, std::memory_order_acq_rel);
  if (chunk == nullptr) return;
  std::lock_guard guard(g_pool.lock);
  chunk->free_next = g_pool.free;
  g_pool.free = chunk;
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

void TaskQueue::NextChunk() {
  TaskChunk* done = head_chunk_;
  head_index_ = 0;
  if (done == nullptr) {
    head_chunk_ = first_chunk_.load(std::memory_order_relaxed);
    return;
  }
  head_chunk_ = done->next.load(std::memory_order_relaxed);
  GiveChunk(done);
}

void TaskQueue::Release() {
  TaskChunk* chunk = head_chunk_ != nullptr ? head_chunk_ : first_chunk_.load();
  while (chunk != nullptr) {
    TaskChunk* next = chunk->next.load(std::memory_order_relaxed);
    GiveChunk(chunk);
    chunk = next;
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
