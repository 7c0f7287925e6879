// The storage of a stream's FIFO: a chain of small chunks of tasks. One producer at a time (the stream's
// lock) and one consumer at a time (whoever runs the stream); neither waits for the other. Chunks are
// recycled, so the steady path allocates nothing.
//
// The two sides are on different cores, and what they pass each other is cache lines. Hence the mark that
// the consumer leaves in each task that it has run, and that chunks go back in batches.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/task.h"

namespace belay::rt {

struct TaskChunk {
  static constexpr uint32_t kTasks = 15;  // 15 tasks and this header are 1 KiB
  std::atomic<TaskChunk*> next{nullptr};
  TaskChunk* free_next = nullptr;
  uint32_t free_depth = 0;  // in the list of returned chunks: how many from here on
  alignas(64) Task tasks[kTasks];
};
static_assert(sizeof(TaskChunk) == 1024);

class TaskQueue {
 public:
  // Producer side. Push stores the task; it becomes visible to the consumer with Publish.
  void Push(const Task& task) {
    if (tail_index_ == TaskChunk::kTasks) [[unlikely]]
      AddChunk();
    Task& slot = tail_chunk_->tasks[tail_index_++];
    CopyTask(&slot, task);
  }
  uint64_t Publish() {
    uint64_t tail = tail_.load(std::memory_order_relaxed) + 1;
    tail_.store(tail, std::memory_order_release);
    return tail;
  }
  // Tasks ever pushed; only grows, also over re-use of the stream.
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }

  // Consumer side: the next task, of `left` that are known to be there (at least one), and leaving it.
  Task& Front(uint64_t left) {
    if (head_index_ == TaskChunk::kTasks) [[unlikely]]
      NextChunk(left);
    return head_chunk_->tasks[head_index_];
  }
  // Leaves a mark (base/cache_line.h): pushing costs a fourth of what it costs otherwise.
  void Pop() { head_chunk_->tasks[head_index_++].type = nullptr; }

  // Gives all chunks back. Neither side is active.
  void Release();

 private:
  static void CopyTask(Task* to, const Task& from);
  void AddChunk();
  void NextChunk(uint64_t left);
  TaskChunk* TakeChunk();
  void ReturnChunk(TaskChunk* chunk);

  std::atomic<uint64_t> tail_{0};
  TaskChunk* tail_chunk_ = nullptr;
  uint32_t tail_index_ = TaskChunk::kTasks;  // full: the first push takes a chunk
  TaskChunk* free_ = nullptr;
  std::atomic<TaskChunk*> first_chunk_{nullptr};

  alignas(64) TaskChunk* head_chunk_ = nullptr;
  uint32_t head_index_ = TaskChunk::kTasks;
  std::atomic<TaskChunk*> returned_{nullptr};
};

// In the words that the task was written in a moment ago: a wider load would have to wait until the stores
// have left the store buffer.
inline void TaskQueue::CopyTask(Task* to, const Task& from) {
  to->type = from.type;
  to->cost = from.cost;
  to->call = from.call;
  for (size_t i = 0; i < kTaskPayload; i += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, from.payload + i, sizeof word);
#if defined(__GNUC__)
    asm("" : "+r"(word));  // keeps the compiler from joining two
#endif
    std::memcpy(to->payload + i, &word, sizeof word);
  }
}

// Forgets the recycled chunks (a forked child; the parent's locks may have been held).
void AbandonTaskChunksInChild();

}  // namespace belay::rt
