// All-reduce of f32 between processes of one host: time of 8 B and 64 KiB, rate of 1, 16 and 256 MiB, for 2
// and 4 processes. A program of its own: it makes its processes and the memory between them, and uses what
// lies below the interface, so that it measures the algorithms and not how a communicator is made.
//
//   collective_bench [seconds for each line] [bytes: only lines of so many; 0: all] [reduce: to rank 0; send:
//   from even ranks to odd ones; all] [machines]
//
// A line tells the best of many means over half a millisecond or one call; through the staging areas and,
// from 1 MiB on, in place in the other processes' device memory. "queued" submits up to 100 calls before it
// waits.
//
// With several machines, ranks are spread over so many made-up ones, between which there is TCP over
// loopback, for 2, 4 and 8 processes. A line then also tells how many times its bytes the first machine has
// sent in a call. Each comes twice: adding up within each machine first, and in the order of the ranks.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "collective/board.h"
#include "collective/carrier.h"
#include "collective/operations.h"
#include "collective/sockets.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "runtime/thread_engine.h"

namespace {

using namespace belay;

using Sockets = std::vector<std::vector<Descriptor>>;  // from each machine to each

// One machine, or several: each has a memory, and a connection to each other.
struct Machines {
  Machines(uint32_t ranks, uint32_t machines, bool by_rank) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      hosts.of.push_back(rank * machines / ranks);
      if (hosts.of[rank] == hosts.count()) hosts.leaders.push_back(rank);
    }
    hosts.by_rank = by_rank;
    bytes = coll::Board::Bytes(ranks, coll::Board::kStagingBytes) + coll::Outbox::Bytes(hosts);
    sockets.resize(machines);
    for (auto& all : sockets) all.resize(machines);
    for (uint32_t a = 0; a < machines; ++a) {
      memory.emplace_back(memfd_create("collective_bench", MFD_CLOEXEC));
      if (!memory[a] || ftruncate(memory[a].get(), static_cast<off_t>(bytes)) != 0) std::exit(1);
      for (uint32_t b = 0; b < a; ++b) std::tie(sockets[a][b], sockets[b][a]) = Connected();
    }
  }
  static std::pair<Descriptor, Descriptor> Connected() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    const Descriptor listener(socket(AF_INET, SOCK_STREAM, 0));
    Descriptor one(socket(AF_INET, SOCK_STREAM, 0));
    if (bind(listener.get(), address, length) != 0 || listen(listener.get(), 1) != 0 ||
        getsockname(listener.get(), address, &length) != 0 || connect(one.get(), address, length) != 0)
      std::exit(1);
    Descriptor other(accept(listener.get(), nullptr, nullptr));
    for (const Descriptor* end : {&one, &other}) {
      coll::TuneTcp(*end);
      fcntl(end->get(), F_SETFL, fcntl(end->get(), F_GETFL) | O_NONBLOCK);
    }
    return {std::move(one), std::move(other)};
  }
  std::byte* Map(uint32_t machine) const {
    return static_cast<std::byte*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory[machine].get(), 0));
  }
  std::shared_ptr<const coll::Hosts> HostsFor(uint32_t machine) const {
    if (hosts.count() == 1) return nullptr;
    auto seen = std::make_shared<coll::Hosts>(hosts);
    seen->own = machine;
    return seen;
  }

  coll::Hosts hosts;
  size_t bytes = 0;
  std::vector<Descriptor> memory;
  Sockets sockets;
};

struct Rank {
  Rank(Machines& machines, uint32_t rank, uint32_t ranks)
      : engine({std::max(1, static_cast<int>(std::thread::hardware_concurrency() / ranks)), true}),
        machine(machines.hosts.of[rank]),
        board(machines.Map(machine), rank, ranks, coll::Board::kStagingBytes, "bench",
              machines.HostsFor(machine)) {
    if (board.hosts() != nullptr && machines.hosts.leaders[machine] == rank) Carry(machines);
    rt::CreateDevices(1);
    rt::StartMemory({.devices = 1, .bytes_per_device = size_t{1} << 30, .alias_offset = 0});
    rt::SetStreamLimit(64);
    rt::InstallThreadEngine(&engine);
    stream = &rt::Contexts().Find(rt::CreateContext(rt::DeviceAt(0), false))->CreateStream({});
  }
  void Carry(Machines& machines) {
    for (const Descriptor& socket : machines.sockets[machine]) sent_over.emplace_back(dup(socket.get()));
    coll::CarrierPlan plan;
    plan.shared = {machines.Map(machine), machines.bytes, coll::Board::kStagingBytes};
    plan.hosts = machines.HostsFor(machine);
    plan.name = "bench";
    carrier = std::make_shared<coll::Carrier>(std::move(plan), std::move(machines.sockets[machine]));
    board.SetCourier(carrier);
  }
  // To other machines, so far.
  double Sent() const {
    double bytes = 0;
    for (const Descriptor& socket : sent_over) {
      tcp_info info{};
      socklen_t length = sizeof info;
      if (socket && getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0)
        bytes += static_cast<double>(info.tcpi_bytes_sent);
    }
    return bytes;
  }
  void Wait() { rt::TheEngine().WaitFor(*stream, stream->tail(), -1); }
  void Leave() {
    board.SayGoodbye();
    if (carrier != nullptr) carrier->Flush(NowNs() + int64_t{5} * 1'000'000'000);
  }

  rt::ThreadEngine engine;
  const uint32_t machine;
  std::shared_ptr<coll::Carrier> carrier;
  std::vector<Descriptor> sent_over;
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

void Child(Machines& machines, uint32_t rank, uint32_t ranks, double seconds, size_t only, coll::Kind kind) {
  auto* me = new Rank(machines, rank, ranks);
  struct Line {
    size_t bytes;
    bool in_place;
  };
  constexpr size_t kMiB = size_t{1} << 20;
  for (const auto& [bytes, in_place] :
       {Line{8, false}, Line{kMiB / 16, false}, Line{kMiB, false}, Line{kMiB, true}, Line{16 * kMiB, false},
        Line{16 * kMiB, true}, Line{256 * kMiB, false}, Line{256 * kMiB, true}}) {
    if ((only != 0 && bytes != only) || (in_place && machines.hosts.count() > 1)) continue;
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
    if (in_place) Measure(*me, o, 4, 1, 1);  // after three of them blocks are moved
    // The same on all ranks.
    const double guess = machines.hosts.count() > 1 ? 1e-4 + static_cast<double>(bytes) / 3e8
                                                    : 2e-6 + static_cast<double>(bytes) / 3e9;
    // Ranks on other machines come out of a barrier at different times.
    const int least = machines.hosts.count() > 1 ? 10 : 1;
    int calls = std::max(least, static_cast<int>(5e-4 / guess));
    int repeats = std::clamp(static_cast<int>(seconds / 2 / (calls * guess)), 3, 1000);
    const double before = me->Sent();
    double one = Measure(*me, o, repeats, calls, 1);
    const double sent = (me->Sent() - before) / repeats / calls / static_cast<double>(bytes);
    double many = Measure(*me, o, repeats, calls, 100);
    const bool has_result =
        kind == coll::Kind::kSend ? rank % 2 == 1 : rank == 0 || kind == coll::Kind::kAllReduce;
    const float expected = kind == coll::Kind::kSend ? 1.0f : static_cast<float>(ranks);
    if (has_result && receive[o.count - 1] != expected) std::printf("wrong result\n");
    if (rank == 0) {
      std::printf("%u processes %10zu B %s  %10.2f us  %6.2f GB/s   queued %10.2f us  %6.2f GB/s", ranks,
                  bytes, in_place ? "in place" : "staged  ", one / 1e3, static_cast<double>(bytes) / one,
                  many / 1e3, static_cast<double>(bytes) / many);
      if (machines.hosts.count() > 1)
        std::printf("   %5.2f x sent, %s", sent, machines.hosts.by_rank ? "by rank" : "by machine");
      std::printf("\n");
      std::fflush(stdout);
    }
    rt::FreeDevice(send);
    rt::FreeDevice(receive);
  }
  me->Leave();
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
  const auto machines = static_cast<uint32_t>(argc > 4 ? std::max(1, std::atoi(argv[4])) : 1);
  for (uint32_t ranks : {2u, 4u, 8u}) {
    if (ranks < machines || (ranks == 8 && machines == 1)) continue;
    for (const bool by_rank : {false, true}) {
      if (by_rank && machines == 1) continue;
      Machines made(ranks, machines, by_rank);
      for (uint32_t r = 0; r < ranks; ++r) {
        if (fork() == 0) Child(made, r, ranks, seconds, only, kind);
      }
      while (wait(nullptr) > 0) {
      }
    }
  }
  return 0;
}
