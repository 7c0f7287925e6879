#include "api/faults.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/number.h"
#include "runtime/memory.h"
#include "runtime/process.h"
#include "runtime/run_task.h"

namespace belay::api {
namespace {

using Words = std::vector<std::string>;

Words Split(std::string_view text, char separator) {
  Words words;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    std::string word(text.substr(at, end - at));
    word.erase(0, word.find_first_not_of(' '));
    word.erase(word.find_last_not_of(' ') + 1);
    words.push_back(std::move(word));
    at = end + 1;
  }
  return words;
}

// A number with a unit behind it: the factor of the unit.
std::optional<double> WithUnit(std::string_view text,
                               const std::vector<std::pair<std::string_view, double>>& units, double most) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = NumberIn<double>(text.substr(0, end), 0, most);
  for (const auto& [unit, factor] : units) {
    if (number && text.substr(end) == unit && *number * factor <= most) return *number * factor;
  }
  return {};
}

std::optional<int64_t> Time(std::string_view text) {
  const auto ns = WithUnit(text, {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}, 1e18);
  if (!ns) return {};
  return static_cast<int64_t>(*ns);
}

std::optional<size_t> Bytes(std::string_view text) {
  constexpr double kKilo = 1024, kMega = kKilo * kKilo, kGiga = kMega * kKilo, kTera = kGiga * kKilo;
  const auto bytes = WithUnit(text,
                              {{"", 1},
                               {"K", kKilo},
                               {"KiB", kKilo},
                               {"M", kMega},
                               {"MiB", kMega},
                               {"G", kGiga},
                               {"GiB", kGiga},
                               {"T", kTera},
                               {"TiB", kTera}},
                              1e15);
  if (!bytes || *bytes < 1) return {};
  return static_cast<size_t>(*bytes);
}

// "3", "3+", "p=0.01", "after=200ms".
bool ReadTime(std::string_view text, FaultTime* time) {
  if (text.starts_with("p=")) {
    const auto p = NumberIn<double>(text.substr(2), 0, 1);
    time->probability = p.value_or(-1);
    return p.has_value();
  }
  if (text.starts_with("after=")) {
    const auto after = Time(text.substr(6));
    time->after_ns = after.value_or(-1);
    return after.has_value();
  }
  time->onwards = text.ends_with('+');
  if (time->onwards) text.remove_suffix(1);
  const auto first = NumberIn<uint64_t>(text, 1);
  time->first = first.value_or(1);
  return first.has_value();
}

std::optional<int> ReadCode(std::string_view text) { return NumberIn<int>(text, 1, 999999); }

constexpr const char* kTimes =
    "a number such as 3 (the third), 3+ (from the third on), p=0.01 or after=200ms";
constexpr const char* kCode = "an error code such as 507015";

bool StartsWith(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view b) { return name.starts_with(b); });
}

// What stays on the host, or only ends and frees: a program can clean up after a device is gone.
bool NeedsDevice(const FunctionInfo& info) {
  const std::string_view name = info.name;
  if (!info.needs_init || StartsWith(name, {"aclFinalize", "aclrtFree", "aclrtReset", "aclrtUnm"}))
    return false;
  if (name.ends_with("GetWorkspaceSize")) return false;
  for (const char* part : {"Destroy", "Get", "Unload", "Unset", "Unsubscribe", "Release"}) {
    if (name.find(part) != std::string_view::npos) return false;
  }
  return StartsWith(name, {"aclrt", "aclnn", "aclmdl", "aclop", "Hccl"});
}

bool IsMeant(std::string_view what, std::string_view function) {
  const bool host = function.starts_with("aclrtMallocHost");
  if (what == "malloc") return function.starts_with("aclrtMalloc") && !host;
  if (what == "malloc-host") return host;
  if (what == "memcpy") return function.starts_with("aclrtMemcpy");
  return fnmatch(std::string(what).c_str(), std::string(function).c_str(), 0) == 0;
}

int CodeOfCall(std::string_view what) {
  if (what.starts_with("malloc") || what.starts_with("aclrtMalloc")) return codes::kRtMemoryAllocation;
  return what == "memcpy" || what.starts_with("aclrtMemcpy") ? codes::kRtSysDma : codes::kRtInternalError;
}

// Each reads one fault, and says what is wrong with it.
std::string ReadCall(const Words& words, Fault fault, FaultPlan* plan) {
  fault.kind = Fault::Kind::kCall;
  fault.code = CodeOfCall(words[0]);
  bool any = false;
  for (const FunctionInfo& info : kFunctions) {
    const bool meant = info.needs_init && IsMeant(words[0], info.name);
    any |= meant;
    fault.functions.push_back(meant);
  }
  if (!any) {
    return fmt::format(
        "'{}' is none of malloc, malloc-host, memcpy, task, device-lost, oom, slow, seed, and no "
        "function that could fail",
        words[0]);
  }
  if (words.size() < 2 || !ReadTime(words[1], &fault.time))
    return fmt::format("after '{}:' goes {}", words[0], kTimes);
  if (words.size() > 2) {
    const auto code = ReadCode(words[2]);
    if (!code) return fmt::format("'{}' is not {}", words[2], kCode);
    fault.code = *code;
  }
  if (words.size() > 3) return fmt::format("'{}' is too much", words[3]);
  plan->faults.push_back(std::move(fault));
  return "";
}

std::string ReadTask(const Words& words, Fault fault, FaultPlan* plan) {
  fault.kind = Fault::Kind::kTask;
  if (words.size() < 3 || words[1].empty())
    return "a task has a name and a code, such as task:softmax:507015";
  fault.task = words[1];
  const auto code = ReadCode(words[2]);
  if (!code) return fmt::format("'{}' is not {}", words[2], kCode);
  fault.code = *code;
  if (words.size() > 3 && !ReadTime(words[3], &fault.time))
    return fmt::format("'{}' is not {}", words[3], kTimes);
  if (words.size() > 4) return fmt::format("'{}' is too much", words[4]);
  plan->faults.push_back(std::move(fault));
  return "";
}

std::string ReadDeviceLost(const Words& words, Fault fault, FaultPlan* plan) {
  fault.kind = Fault::Kind::kDeviceLost;
  fault.code = codes::kRtLostHeartbeat;
  if (words.size() > 1 && !ReadTime(words[1], &fault.time))
    return fmt::format("'{}' is not {}", words[1], kTimes);
  if (fault.time.probability >= 0) return "a device is lost at a call or a time, not with a probability";
  fault.time.onwards = true;
  if (words.size() > 2) {
    const auto code = ReadCode(words[2]);
    if (!code) return fmt::format("'{}' is not {}", words[2], kCode);
    fault.code = *code;
  }
  if (words.size() > 3) return fmt::format("'{}' is too much", words[3]);
  for (const FunctionInfo& info : kFunctions) fault.functions.push_back(NeedsDevice(info));
  plan->faults.push_back(std::move(fault));
  return "";
}

std::string ReadFault(const std::string& text, FaultPlan* plan) {
  const Words words = Split(text, ':');
  const Fault fault{Fault::Kind::kCall, text, 0, {}};
  if (text.starts_with("seed=")) {
    const auto seed = NumberIn<uint64_t>(std::string_view(text).substr(5));
    if (!seed) return fmt::format("'{}' is no seed, which is a whole number", text.substr(5));
    plan->seed = *seed;
    plan->seeded = true;
    return "";
  }
  if (words[0] == "task") return ReadTask(words, fault, plan);
  if (words[0] == "device-lost") return ReadDeviceLost(words, fault, plan);
  if (words[0] == "oom") {
    const auto bytes = words.size() == 2 ? Bytes(words[1]) : std::nullopt;
    if (!bytes) return "after 'oom:' goes a number of bytes, such as 4GiB";
    plan->device_bytes = *bytes;
    plan->memory_text = text;
    return "";
  }
  if (words[0] == "slow") {
    const bool x = words.size() == 2 && words[1].starts_with('x');
    const auto factor = x ? NumberIn<double>(std::string_view(words[1]).substr(1), 1, 1e6) : std::nullopt;
    if (!factor) return "after 'slow:' goes x and how many times as long tasks take, such as x10";
    plan->slowness = *factor;
    plan->slow_text = text;
    return "";
  }
  return ReadCall(words, fault, plan);
}

// Well mixed bits of two numbers.
uint64_t Mix(uint64_t seed, uint64_t number) {
  uint64_t z = seed + (number + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// "aclnnSoftmax" and "softmax" are one.
bool IsNamed(const rt::Task& task, const std::string& pattern) {
  std::string name;
  if (task.type->kind == rt::TaskKind::kOperator && task.type->describe != nullptr) {
    task.type->describe(task.payload, name);
  } else {
    name = task.type->name;
  }
  auto matches = [&](const char* text) { return fnmatch(pattern.c_str(), text, FNM_CASEFOLD) == 0; };
  return matches(name.c_str()) || (name.starts_with("aclnn") && matches(name.c_str() + 5));
}

// The faults in force.
class Faults {
 public:
  explicit Faults(FaultPlan plan)
      : plan_(std::move(plan)),
        counts_(new std::atomic<uint64_t>[plan_.faults.size()]()),
        start_ns_(NowNs()) {}

  void AtCall(Fn fn) {
    for (size_t i = 0; i < plan_.faults.size(); ++i) {
      const Fault& fault = plan_.faults[i];
      if (fault.kind == Fault::Kind::kTask || !fault.functions[static_cast<size_t>(fn)]) continue;
      if (Strikes(i))
        Throw(fault, fault.kind == Fault::Kind::kDeviceLost ? "the device is lost" : "the call fails");
    }
  }
  void AtTask(const rt::Task& task) {
    for (size_t i = 0; i < plan_.faults.size(); ++i) {
      const Fault& fault = plan_.faults[i];
      if (fault.kind == Fault::Kind::kDeviceLost && IsLost(i)) Throw(fault, "the device is lost");
      if (fault.kind == Fault::Kind::kTask && IsNamed(task, fault.task) && Strikes(i))
        Throw(fault, "the task fails");
    }
  }
  double slowness() const { return plan_.slowness; }

 private:
  bool Strikes(size_t i) {
    const uint64_t number = counts_[i].fetch_add(1, std::memory_order_relaxed) + 1;
    const FaultTime& time = plan_.faults[i].time;
    return time.Strikes(number, Mix(plan_.seed + i, number), time.after_ns < 0 ? 0 : NowNs() - start_ns_);
  }
  // By what was called so far.
  bool IsLost(size_t i) const {
    const FaultTime& time = plan_.faults[i].time;
    return time.Strikes(counts_[i].load(std::memory_order_relaxed), 0,
                        time.after_ns < 0 ? 0 : NowNs() - start_ns_);
  }
  [[noreturn]] static void Throw(const Fault& fault, const char* what) {
    Fail(fault.code, "fault-injected", "{}: this was injected, as '{}' asks for (BELAY_FAULTS)", what,
         fault.text);
  }

  const FaultPlan plan_;
  const std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  const int64_t start_ns_;
};

constinit std::atomic<Faults*> g_faults{nullptr};

void FailTask(const rt::Task& task) {
  if (Faults* faults = g_faults.load(std::memory_order_acquire)) faults->AtTask(task);
}

// Makes tasks last longer, and lets the runtime ask for each task.
class Slowness final : public rt::Observer {
 public:
  bool watches_runs() const override { return true; }
  bool watches_waits() const override { return false; }
  void Started(const rt::Stream&, uint64_t, const rt::Task&) noexcept override { t_task_ns = NowNs(); }
  void Ended(const rt::Stream&, uint64_t, const rt::Task& task, const rt::TaskFailure*) noexcept override {
    if (task.type->run != nullptr) Delay(t_task_ns);
  }
  void NodeStarted(const rt::Stream&, uint32_t, uint32_t, uint32_t, const rt::Task&) noexcept override {
    t_node_ns = NowNs();
  }
  void NodeEnded(const rt::Stream&, uint32_t, uint32_t, uint32_t, const rt::Task&,
                 const rt::TaskFailure*) noexcept override {
    Delay(t_node_ns);
  }

 private:
  // A thread that submits a small task and runs it itself does not sleep: it holds the stream.
  static constexpr int64_t kLeastSleep = 50'000;
  static void Delay(int64_t begin) {
    const Faults* faults = g_faults.load(std::memory_order_acquire);
    if (faults == nullptr || faults->slowness() <= 1) return;
    const int64_t now = NowNs();
    const int64_t end =
        now + static_cast<int64_t>(static_cast<double>(now - begin) * (faults->slowness() - 1));
    if (end - now < kLeastSleep) {
      while (NowNs() < end) {
      }
      return;
    }
    const timespec until{static_cast<time_t>(end / 1'000'000'000), static_cast<long>(end % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
  }

  static thread_local int64_t t_task_ns, t_node_ns;
};
constinit thread_local int64_t Slowness::t_task_ns = 0;
constinit thread_local int64_t Slowness::t_node_ns = 0;

// Once a process: the child of a fork starts without observers.
void WatchTasks() {
  static Slowness* const slowness = new Slowness;
  static pid_t added_in = 0;
  if (std::exchange(added_in, getpid()) != getpid()) rt::Observers::Add(*slowness);
  rt::SetTaskFault(&FailTask);
}

}  // namespace

bool FaultTime::Strikes(uint64_t number, uint64_t random, int64_t since_start_ns) const {
  if (after_ns >= 0) return since_start_ns >= after_ns;
  if (probability >= 0) return static_cast<double>(random >> 11) * 0x1p-53 < probability;
  return onwards ? number >= first : number == first;
}

bool FaultPlan::random() const {
  return std::ranges::any_of(faults, [](const Fault& fault) { return fault.time.probability >= 0; });
}

std::string ParseFaults(std::string_view text, FaultPlan* plan) {
  for (const std::string& fault : Split(text, ',')) {
    if (fault.empty()) return "between two commas stands nothing";
    if (std::string problem = ReadFault(fault, plan); !problem.empty()) {
      return fmt::format("fault '{}': {}", fault, problem);
    }
  }
  return "";
}

void UseFaults(const std::string& of_file) {
  static std::mutex lock;  // of threads that start at once
  std::lock_guard guard(lock);
  const char* variable = std::getenv("BELAY_FAULTS");
  const bool of_environment = variable != nullptr && *variable != '\0';
  const std::string text = of_environment ? variable : of_file;
  FaultPlan plan;
  if (!text.empty()) {
    if (const std::string problem = ParseFaults(text, &plan); !problem.empty()) {
      std::fprintf(stderr, "belay: the faults '%s' cannot be injected: %s\n", text.c_str(), problem.c_str());
      Fail(codes::kInvalidParam, "faults", "the faults '{}' of {} cannot be injected: {}", text,
           of_environment ? "BELAY_FAULTS" : "aclInit's file", problem);
    }
  }
  const bool any = plan.any();
  rt::SetCallsAsk(false);
  rt::SetDeviceAllowance(plan.device_bytes, plan.memory_text);
  if (!any) {
    g_faults.store(nullptr);
    return;
  }
  if (!plan.seeded && plan.random()) plan.seed = std::random_device()() % 1'000'000'000;
  const std::string seed = plan.random() && !plan.seeded ? fmt::format(",seed={}", plan.seed) : "";
  std::fprintf(stderr, "belay: injects faults: %s%s\n", text.c_str(), seed.c_str());
  const bool calls =
      std::ranges::any_of(plan.faults, [](const Fault& fault) { return fault.kind != Fault::Kind::kTask; });
  static auto* const kept =
      new std::vector<std::unique_ptr<Faults>>;  // calls in other threads may look at them
  g_faults.store(kept->emplace_back(std::make_unique<Faults>(std::move(plan))).get(),
                 std::memory_order_release);
  WatchTasks();
  rt::SetCallsAsk(calls);
}

void MaybeFailCall(Fn fn) {
  if (Faults* faults = g_faults.load(std::memory_order_acquire)) faults->AtCall(fn);
}

}  // namespace belay::api
