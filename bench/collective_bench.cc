// All-reduce of f32 between processes of one host: time of 8 B and 64 KiB, rate of 1, 16 and 256 MiB, for 2
// and 4 processes. A program of its own: it makes its processes and the memory between them, and uses what
// lies below the interface, so that it measures the algorithms and not how a communicator is made.
//
//   collective_bench [seconds for each line] [bytes: only lines of so many; 0: all] [reduce: to rank 0; send:
//   from even ranks to odd ones]
//
// A line tells the best of many means over half a millisecond or one call; through the staging areas and,
// from 1 MiB on, in place in the other processes' device memory. "queued" submits up to 100 calls before it
// waits.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "collective/board.h"
#include "collective/operations.h"
#include "runtime/context.h"
#include "runtime/memory.h"
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
    rt::StartMemory({.devices = 1, .bytes_per_device = size_t{1} << 30, .alias_offset = 0});
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

float* Numbers(size_t count, float value) {
  auto* numbers = static_cast<float*>(rt::AllocateDevice(0, {.bytes = count * sizeof(float)}));
  std::fill_n(numbers, count, value);
  return numbers;
}

void Child(int memory, uint32_t rank, uint32_t ranks, double seconds, size_t only, coll::Kind kind) {
  auto* me = new Rank(memory, rank, ranks);
  struct Line {
    size_t bytes;
    bool in_place;
  };
  constexpr size_t kMiB = size_t{1} << 20;
  for (const auto& [bytes, in_place] :
       {Line{8, false}, Line{kMiB / 16, false}, Line{kMiB, false}, Line{kMiB, true}, Line{16 * kMiB, false},
        Line{16 * kMiB, true}, Line{256 * kMiB, false}, Line{256 * kMiB, true}}) {
    if (only != 0 && bytes != only) continue;
    float* send = Numbers(bytes / 4, 1.0f);
    float* receive = Numbers(bytes / 4, 0.0f);
    coll::Operation o;
    o.kind = kind;
    o.send = send;
    o.receive = receive;
    o.count = bytes / 4;
    if (kind == coll::Kind::kSend) {
      const bool sends = rank % 2 == 0;
      o.kind = sends ? coll::Kind::kSend : coll::Kind::kReceive;
      o.messages = {{sends, sends ? send : receive, o.count, o.type, rank ^ 1u}};
    }
    me->board.SetReadsPeers(in_place);
    if (in_place) Measure(*me, o, 4, 1, 1);                  // after three of them blocks are moved
    double guess = 2e-6 + static_cast<double>(bytes) / 3e9;  // the same on all ranks
    int calls = std::max(1, static_cast<int>(5e-4 / guess));
    int repeats = std::clamp(static_cast<int>(seconds / 2 / (calls * guess)), 3, 1000);
    double one = Measure(*me, o, repeats, calls, 1);
    double many = Measure(*me, o, repeats, calls, 100);
    const bool has_result =
        kind == coll::Kind::kSend ? rank % 2 == 1 : rank == 0 || kind == coll::Kind::kAllReduce;
    const float expected = kind == coll::Kind::kSend ? 1.0f : static_cast<float>(ranks);
    if (has_result && receive[o.count - 1] != expected) std::printf("wrong result\n");
    if (rank == 0) {
      std::printf("%u processes %10zu B %s  %10.2f us  %6.2f GB/s   queued %10.2f us  %6.2f GB/s\n", ranks,
                  bytes, in_place ? "in place" : "staged  ", one / 1e3, static_cast<double>(bytes) / one,
                  many / 1e3, static_cast<double>(bytes) / many);
      std::fflush(stdout);
    }
    rt::FreeDevice(send);
    rt::FreeDevice(receive);
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const size_t only = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const std::string_view name = argc > 3 ? argv[3] : "";
  const auto kind = name == "reduce" ? coll::Kind::kReduce
                    : name == "send" ? coll::Kind::kSend
                                     : coll::Kind::kAllReduce;
  for (uint32_t ranks : {2u, 4u}) {
    size_t bytes = coll::Board::Bytes(ranks, coll::Board::kStagingBytes);
    int memory = memfd_create("collective_bench", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, static_cast<off_t>(bytes)) != 0) return 1;
    for (uint32_t r = 0; r < ranks; ++r) {
      if (fork() == 0) Child(memory, r, ranks, seconds, only, kind);
    }
    while (wait(nullptr) > 0) {
    }
    close(memory);
  }
  return 0;
}
