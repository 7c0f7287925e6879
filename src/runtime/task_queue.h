// The storage of a stream's FIFO: a chain of small chunks of tasks. One producer at a time (the stream's
// lock) and one consumer at a time (whoever runs the stream); neither waits for the other. Chunks are
// recycled, so the steady path allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/task.h"

namespace belay::rt {

struct TaskChunk {
  static constexpr uint32_t kTasks = 15;  // 15 tasks and this header are 1 KiB
  std::atomic<TaskChunk*> next{nullptr};
  TaskChunk* free_next = nullptr;
  alignas(64) Task tasks[kTasks];
};
static_assert(sizeof(TaskChunk) == 1024);

class TaskQueue {
 public:
  // Producer side. Push stores the task; it becomes visible to the consumer with Publish.
  void Push(const Task& task) {
    if (tail_index_ == TaskChunk::kTasks) [[unlikely]] AddChunk();
    Task& slot = tail_chunk_->tasks[tail_index_++];
    std::memcpy(static_cast<void*>(&slot), &task, sizeof(Task));
    // The consumer read the next slots last: ask for their lines before they are needed, so that the
    // locked instruction of the next push does not wait for them.
    __builtin_prefetch(&slot + 2, 1);
  }
  uint64_t Publish() {
    uint64_t tail = tail_.load(std::memory_order_relaxed) + 1;
    tail_.store(tail, std::memory_order_release);
    return tail;
  }
  // Tasks ever pushed; only grows, also over re-use of the stream.
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }

  // Consumer side: the next task (call only when tail() is ahead of what was popped), and leaving it.
  Task& Front() {
    if (head_index_ == TaskChunk::kTasks) [[unlikely]] NextChunk();
    return head_chunk_->tasks[head_index_];
  }
  void Pop() { ++head_index_; }

  // Gives all chunks back. Neither side is active.
  void Release();

 private:
  void AddChunk();
  void NextChunk();
  TaskChunk* TakeChunk();
  void GiveChunk(TaskChunk* chunk);

  std::atomic<uint64_t> tail_{0};
  TaskChunk* tail_chunk_ = nullptr;
  uint32_t tail_index_ = TaskChunk::kTasks;  // full: the first push takes a chunk
  std::atomic<TaskChunk*> first_chunk_{nullptr};

  alignas(64) TaskChunk* head_chunk_ = nullptr;
  uint32_t head_index_ = TaskChunk::kTasks;
  std::atomic<TaskChunk*> spare_{nullptr};
};

// Forgets the recycled chunks (a forked child; the parent's locks may have been held).
void AbandonTaskChunksInChild();

}  // namespace belay::rt
