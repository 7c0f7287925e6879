// Random programs from which memory, threads, address space, descriptors, room in files and time are taken
// away, with peers that are killed; round after round in one process. Every call must give success or a
// documented code, a piece of work of which no call has failed must be right, nothing may stand still; after
// each round, with everything given back, a clean program must be right, and nothing may be left behind.
//
//   chaos [seconds [seed [threads]]]     default: 20 seconds, seed 1, 3 threads
//   chaos --calm seconds [threads]       nothing is taken away; tells every minute how large and how quick it
//   is
#include <acl/acl.h>
#include <all_ops.h>
#include <ge/ge_ir_build.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "calm.h"
#include "scene.h"
#include "weather.h"

namespace chaos {
namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;

ge::Graph ReluOfPlusOne() {
  const ge::TensorDesc desc(ge::Shape({64}), ge::FORMAT_ND, ge::DT_FLOAT),
      one(ge::Shape({1}), ge::FORMAT_ND, ge::DT_FLOAT);
  const float value = 1;
  auto x = ge::op::Data("x").set_attr_index(0);
  x.update_input_desc_x(desc);
  x.update_output_desc_y(desc);
  ge::op::Const constant("one");
  constant.set_attr_value(ge::Tensor(one, reinterpret_cast<const uint8_t*>(&value), sizeof value));
  constant.update_output_desc_y(one);
  auto sum = ge::op::Add("sum").set_input_x1(x).set_input_x2(constant);
  ge::Graph graph("relu_of_plus_one");
  graph.SetInputs({x}).SetOutputs({ge::op::Relu("y").set_input_x(sum)});
  return graph;
}

void Prepare(Stage& stage) {
  Options none;
  CHECK(ge::aclgrphBuildInitialize(none));
  ge::ModelBufferData model;
  CHECK(ge::aclgrphBuildModel(ReluOfPlusOne(), none, model));
  stage.model.assign(model.data.get(), model.data.get() + model.length);
  ge::aclgrphBuildFinalize();
  stage.graphs.push_back(ReluOfPlusOne());
}

void StartGe() { CHECK(ge::GEInitialize(Options{{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "0"}})); }

void Start() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
}

// A start that is refused leaves nothing: the next one, in a better weather, works.
bool TryToStart() {
  Inside inside;
  if (aclInit(nullptr) != ACL_SUCCESS) return false;
  if (aclrtSetDevice(0) == ACL_SUCCESS) return true;
  aclFinalize();
  return false;
}

void End() {
  ge::GEFinalize();
  CHECK(aclrtResetDeviceForce(0));
  CHECK(aclFinalize());
}

// Ends the program when no piece of work begins for a minute.
class Watchdog {
 public:
  explicit Watchdog(const Stage& stage) : stage_(stage), thread_([this] { Watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard guard(lock_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void Watch() {
    MarkAsOurs();
    std::unique_lock guard(lock_);
    uint64_t before = 0;
    while (!wake_.wait_for(guard, std::chrono::seconds(60), [&] { return done_; })) {
      const uint64_t now = stage_.pieces.load();
      if (now == before) Die("nothing has moved for a minute");
      before = now;
    }
  }
  const Stage& stage_;
  std::mutex lock_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

void RunThreads(Stage& stage, int threads, uint64_t seed, double seconds) {
  std::atomic<bool> end{false};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      MarkAsOurs();
      Scene scene(stage, seed * 1000 + static_cast<uint64_t>(t));
      while (!end.load()) scene.Act();
    });
  }
  const auto begin = Clock::now();
  while (Since(begin) < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  end = true;
  for (std::thread& thread : all) thread.join();
}

void Round(Stage& stage, uint64_t seed, int threads) {
  const Weather weather = RandomWeather(seed);
  std::printf("chaos: round %llu: %s\n", static_cast<unsigned long long>(seed), Describe(weather).c_str());
  std::fflush(stdout);
  StartGe();
  stage.fair = false;
  const bool from_the_start = seed % 2 == 0;
  if (!from_the_start) Start();
  SetWeather(weather);
  if (from_the_start && !TryToStart()) {
    SetWeather({});
    Start();
    SetWeather(weather);
  }
  RunThreads(stage, threads, seed, 1);
  SetWeather({});
  stage.fair = true;
  Scene(stage, seed).ActAll();
  End();
}

// The log and the file of what is offered to others stay open from their first use, which may be in any
// round.
constexpr size_t kOpenedLate = 3;

int Storms(Stage& stage, double seconds, uint64_t seed, int threads) {
  Size early{};
  const auto begin = Clock::now();
  for (int rounds = 0; Since(begin) < seconds; ++rounds, ++seed) {
    Round(stage, seed, threads);
    if (rounds == 2) early = SizeNow();
    if (rounds <= 2) continue;
    const size_t most_descriptors = early.descriptors + kOpenedLate;
    const Size now = SizeWithin(most_descriptors, early.threads);
    if (now.descriptors > most_descriptors || now.threads > early.threads)
      Die("round " + std::to_string(seed) + " left behind: descriptors " + std::to_string(early.descriptors) +
          " to " + std::to_string(now.descriptors) + ", threads " + std::to_string(early.threads) + " to " +
          std::to_string(now.threads) + " (" + NamesOfThreads() + ")");
  }
  const Damage damage = DamageSoFar();
  std::printf(
      "chaos: %llu pieces of work; %llu allocations, %llu threads, %llu mappings failed, %llu signals; "
      "%llu calls said so; resident %ld KiB\n",
      static_cast<unsigned long long>(stage.pieces), static_cast<unsigned long long>(damage.allocations),
      static_cast<unsigned long long>(damage.threads), static_cast<unsigned long long>(damage.mappings),
      static_cast<unsigned long long>(damage.signals), static_cast<unsigned long long>(stage.failed_calls),
      SizeNow().resident_kib);
  return 0;
}

int Calm(Stage& stage, double seconds, int threads) {
  StartGe();
  Start();
  {
    Reporter reporter(stage, seconds);
    RunThreads(stage, threads, 1, seconds);
  }
  End();
  return 0;
}

int Main(int argc, char** argv) {
  MarkAsOurs();
  Stage stage;
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) Die("/proc/self/exe cannot be read");
  stage.program = self;
  auto number = [&](int at, double otherwise) { return argc > at ? std::atof(argv[at]) : otherwise; };
  Prepare(stage);
  Watchdog watchdog(stage);
  if (argc > 1 && std::strcmp(argv[1], "--calm") == 0)
    return Calm(stage, number(2, 60), static_cast<int>(number(3, 3)));
  return Storms(stage, number(1, 20), static_cast<uint64_t>(number(2, 1)), static_cast<int>(number(3, 3)));
}

}  // namespace
}  // namespace chaos

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--peer") == 0) return chaos::PeerMain(argc, argv);
  return chaos::Main(argc, argv);
}
