// Ranks in processes of their own over one file in memory, for tests.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "collective/testing.h"
#include "runtime/thread_engine.h"

namespace belay::coll::testing {

// A child has an engine of its own. It says by its exit status whether all was well.
class ProcessRank {
 public:
  ProcessRank(int memory, size_t bytes, uint32_t rank, uint32_t ranks, size_t staging)
      : engine_({1, true}),
        board_(static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)),
               rank, ranks, staging, "p") {
    rt::rings::TheDevice();
    rt::InstallThreadEngine(&engine_);
    stream_ = &rt::Contexts().Find(rt::CreateContext(rt::rings::TheDevice(), false))->CreateStream({});
  }
  Board& board() { return board_; }
  rt::Stream& stream() { return *stream_; }
  std::string Finish() {
    rt::TheEngine().WaitFor(*stream_, stream_->tail(), -1);
    std::optional<rt::TaskFailure> failure = stream_->TakeFailure();
    return failure ? failure->Sentence() : "";
  }

 private:
  rt::ThreadEngine engine_;
  Board board_;
  rt::Stream* stream_ = nullptr;
};

// Runs `body` in a process for each rank; true where all came back with true.
inline bool InProcesses(uint32_t ranks, size_t staging, const std::function<bool(ProcessRank&)>& body) {
  const size_t bytes = Board::Bytes(ranks, staging);
  int memory = memfd_create("belay-test", MFD_CLOEXEC);
  if (memory < 0 || ftruncate(memory, static_cast<off_t>(bytes)) != 0) return false;
  std::vector<pid_t> children;
  for (uint32_t r = 0; r < ranks; ++r) {
    pid_t child = fork();
    if (child == 0) {
      auto* rank = new ProcessRank(memory, bytes, r, ranks, staging);  // never ended: _exit does that
      _exit(body(*rank) ? 0 : 1);
    }
    children.push_back(child);
  }
  bool well = true;
  for (pid_t child : children) {
    int status = 0;
    well &= waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  close(memory);
  return well;
}

}  // namespace belay::coll::testing
