// All-reduce of f32 between processes of one host: time of 8 B and 64 KiB, rate of 1, 16 and 256 MiB, for 2
// and 4 processes. A program of its own: it makes its processes and the memory between them, and uses what
// lies below the interface, so that it measures the algorithms and not how a communicator is made.
//
//   collective_bench [seconds for each line]
//
// A line tells the best of many means over half a millisecond or one call. "queued" submits up to 100 calls
// before it waits.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collective/board.h"
#include "collective/operations.h"
#include "runtime/context.h"
#include "runtime/thread_engine.h"

namespace {

using namespace belay;

struct Rank {
  Rank(int memory, uint32_t rank, uint32_t ranks)
      : engine({std::max(1, static_cast<int>(std::thread::hardware_concurrency() / ranks)), true}),
        board(static_cast<std::byte*>(mmap(nullptr, coll::Board::Bytes(ranks, coll::Board::kStagingBytes),
                                           PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)),
              rank, ranks, coll::Board::kStagingBytes, "bench") {
    rt::CreateDevices(1);
    rt::SetStreamLimit(64);
    rt::InstallThreadEngine(&engine);
    stream = &rt::Contexts().Find(rt::CreateContext(rt::DeviceAt(0), false))->CreateStream({});
  }
  void Wait() { rt::TheEngine().WaitFor(*stream, stream->tail(), -1); }

  rt::ThreadEngine engine;
  coll::Board board;
  rt::Stream* stream = nullptr;
};

double Measure(Rank& me, const coll::Operation& o, int repeats, int calls, int queued) {
  double best = 1e30;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    coll::Operation barrier;
    Submit(me.board, nullptr, *me.stream, barrier);
    me.Wait();
    int64_t begin = NowNs();
    for (int i = 0; i < calls; ++i) {
      Submit(me.board, nullptr, *me.stream, o);
      if (i % queued == queued - 1) me.Wait();
    }
    me.Wait();
    best = std::min(best, static_cast<double>(NowNs() - begin) / calls);
  }
  return best;
}

void Child(int memory, uint32_t rank, uint32_t ranks, double seconds) {
  auto* me = new Rank(memory, rank, ranks);
  for (size_t bytes : {size_t{8}, size_t{64} << 10, size_t{1} << 20, size_t{16} << 20, size_t{256} << 20}) {
    std::vector<float> send(bytes / 4, 1.0f), receive(bytes / 4);
    coll::Operation o;
    o.kind = coll::Kind::kAllReduce;
    o.send = send.data();
    o.receive = receive.data();
    o.count = bytes / 4;
    double guess = 2e-6 + static_cast<double>(bytes) / 3e9;  // the same on all ranks
    int calls = std::max(1, static_cast<int>(5e-4 / guess));
    int repeats = std::clamp(static_cast<int>(seconds / 2 / (calls * guess)), 3, 1000);
    double one = Measure(*me, o, repeats, calls, 1);
    double many = Measure(*me, o, repeats, calls, 100);
    if (receive.back() != static_cast<float>(ranks)) std::printf("wrong result\n");
    if (rank == 0) {
      std::printf("%u processes %10zu B  %10.2f us  %6.2f GB/s   queued %10.2f us  %6.2f GB/s\n", ranks,
                  bytes, one / 1e3, static_cast<double>(bytes) / one, many / 1e3,
                  static_cast<double>(bytes) / many);
      std::fflush(stdout);
    }
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  for (uint32_t ranks : {2u, 4u}) {
    size_t bytes = coll::Board::Bytes(ranks, coll::Board::kStagingBytes);
    int memory = memfd_create("collective_bench", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, static_cast<off_t>(bytes)) != 0) return 1;
    for (uint32_t r = 0; r < ranks; ++r) {
      if (fork() == 0) Child(memory, r, ranks, seconds);
    }
    while (wait(nullptr) > 0) {
    }
    close(memory);
  }
  return 0;
}
