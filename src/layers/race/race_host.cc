// What the race layer does about plain loads and stores of the host: by closed pages and by
// digests.
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/thread.h"
#include "layers/race/host_watch.h"
#include "layers/race/race.h"
#include "layers/support/guard.h"
#include "layers/support/tally.h"

namespace belay::race {

void Race::WatchHost(bool all) {
  host_watch_ = HostWatch::kWanted;
  host_pages_.SetTell(core_.set_pinned_closed);
  if (!all) host_budget_.Limit(NowNs());
}

// Under lock_, as all here. What a program does that has no pinned memory is left alone.
bool Race::WatchesHost() {
  if (host_watch_ == HostWatch::kWanted)
    host_watch_ = BeginHostWatch(*this, core_, !host_budget_.limited()) ? HostWatch::kOn : HostWatch::kOff;
  return host_watch_ == HostWatch::kOn;
}

void Race::CloseToHost(const std::vector<Access>& accesses, const Mark& mark) {
  bool asked = false;
  for (const Access& access : accesses) {
    if (!access.of_host || IsRegistered(access.bytes.block)) continue;
    if (!HostPages::HasPage(access.bytes.begin, access.bytes.end)) continue;
    if (!WatchesHost()) return;
    const uint64_t bytes = access.bytes.end - access.bytes.begin;
    if (!asked && !host_budget_.Allows(mark.site, bytes, host_pages_.spent_ns(), NowNs())) {
      ++tally_.host_not_watched;
      return;
    }
    asked = true;
    host_pages_.Close(access.bytes.begin, access.bytes.end, access.writes, mark);
  }
}

// --- functions that streams call

// Where they begin what comes before them on the stream is known to be over.
void Race::CallbackBegins(const rt::Stream& stream, uint64_t position) {
  std::unique_lock guard(lock_);
  const Epoch at{LineOf(stream).index, position};
  guard.unlock();
  callbacks_.Begin(at);
}

void Race::CallbackIsOver(const rt::Stream& stream, uint64_t position) {
  std::unique_lock guard(lock_);
  const Epoch at{LineOf(stream).index, position};
  guard.unlock();
  callbacks_.End(at);
}

// That one is about to be called is no news for the others.
void Race::MeetCallbacks(const rt::Stream& stream, uint64_t position) {
  if (callbacks_.Here()) return;
  std::unique_lock guard(lock_);
  const Epoch next{LineOf(stream).index, position + 1};
  guard.unlock();
  if (!callbacks_.IsWatched(next)) callbacks_.Meet();
}

Race::HostOrder Race::OrderOfHost() const {
  if (!core_.in_callback()) return {};
  const std::optional<Epoch> here = callbacks_.Here();
  return {here.has_value(), here};
}

bool Race::ComesFirst(const HostOrder& host, const Mark& task) const {
  return host_.Knows(task.by) ||
         (host.awaited && At(lines_[task.by.stream], task.by.position).clock.Knows(*host.awaited));
}

// --- closed pages

// Not those of the runtime, and not in a call: what a call touches is told by itself.
bool Race::IsJudgedThread() const {
  if (core_.current_call() != 0) return false;
  if (core_.in_callback()) return callbacks_.Here().has_value();
  char name[16] = {};
  return prctl(PR_GET_NAME, name) != 0 || std::strncmp(name, "belay-", 6) != 0;
}

void Race::ExecutionBegan(uint32_t model) {
  const Execution mine{model, layers::ThisThread(), core_.current_call(), layers::ThisStack()};
  const std::optional<Execution> other = executions_.Begin(mine);
  if (!other) return;
  const auto place = [&](const Execution& execution) {
    return layers::Place{"executes  the model, thread " + std::to_string(execution.thread) + ", by " +
                             core_.call_name(execution.call),
                         execution.stack};
  };
  layers::Tell(
      {"race",
       "two threads execute model " + std::to_string(model) +
           " at the same time, which serves one execution at a time",
       {place(mine), place(*other)},
       "hold a lock from the copies of its inputs to the end of the execution, or load the model once more"});
}

uint32_t Race::SiteOfHost(const std::string& what) {
  const layers::Stack stack = layers::ThisStack();
  for (uint32_t i = 0; i < sites_.size(); ++i) {
    if (sites_[i].stack == stack && sites_[i].call.empty() && sites_[i].name == what) return i;
  }
  sites_.push_back({what, "", Site::kHost, stack});
  return static_cast<uint32_t>(sites_.size() - 1);
}

// Whether a function of the program before the task may wait until the host has done what it does now. The
// thread stands still meanwhile, and others may have the lock.
bool Race::MayComeFirst(const Mark& task, std::unique_lock<std::mutex>& guard) {
  if (!gates_.any()) return false;
  const Line& line = lines_[task.by.stream];
  Clock before = At(line, task.by.position).clock;
  if (line.stream == nullptr) {  // a part of a launch
    for (const Line& other : lines_) before.Learn({other.index, other.last});
  }
  std::vector<Gate> gates = gates_.Before(before);
  if (gates.empty()) return false;
  if (gates_.WaitForHost(gates)) return true;
  guard.unlock();
  gates = StandStillFor(std::move(gates));
  guard.lock();
  for (const Gate& gate : gates) gates_.WaitsForHost(gate);
  return !gates.empty();
}

// The program's stack may be one for signals, which is short.
void Race::TellHost(const Bytes& bytes, bool writes, const char* what, std::unique_lock<std::mutex>& guard) {
  constexpr uint64_t kEnough = 128 << 10;
  const std::optional<HostPages::Closed> met = host_pages_.Find(bytes.begin, bytes.end, writes);
  if (!met || !IsJudgedThread()) return;
  if (const HostOrder order = OrderOfHost(); order.awaited && ComesFirst(order, met->by)) return;
  struct Telling {
    Race* race;
    Conflict conflict;
    uint32_t site;
    Spot spot;
  } telling{this,
            {met->by,
             met->writes,
             writes,
             {bytes.block, std::max(bytes.begin, met->begin), std::min(bytes.end, met->end)}},
            SiteOfHost(what),
            {}};
  if (told_.contains({met->by.site, telling.site}) || MayComeFirst(met->by, guard)) return;
  telling.spot = SpotOfHost(telling.site);
  const auto tell = [](void* raw) -> void* {
    auto& telling = *static_cast<Telling*>(raw);
    layers::Guarded([&] { telling.race->TellHostOnce(telling.conflict, telling.site, telling.spot); });
    return nullptr;
  };
  pthread_t thread;
  if (StackLeft() >= kEnough || !StartThread(&thread, "belay-tells", tell, &telling)) {
    tell(&telling);
  } else {
    pthread_join(thread, nullptr);
  }
}

// Threads that a library has for itself come to the same copy, for the want of the same wait: of what the
// program's own frames do not show one is enough.
void Race::TellHostOnce(const Conflict& conflict, uint32_t site, const Spot& spot) {
  const uint32_t first = conflict.first.site;
  if (host_.Knows(conflict.first.by)) return MeetLostByHost(conflict, site, spot);
  if (told_.contains({first, site})) return;
  if (told_of_host_.contains(first) && !layers::IsInMain(sites_[site].stack)) return;
  if (Tell(conflict, site, spot)) told_of_host_.insert(first);
}

bool Race::HostFaults(uintptr_t address, bool writes) noexcept {
  const rt::MemoryRange block = core_.lookup(reinterpret_cast<const void*>(address), 1);
  if (block.kind != rt::MemoryKind::kPinned || block.serial == 0) return false;
  std::unique_lock guard(lock_);
  layers::Guarded([&] {
    TellHost({block.serial, address, address + 1}, writes, writes ? "store" : "load", guard);
    constexpr uintptr_t kPage = 4096;  // what else is stored there is not seen, and need not be told twice
    if (writes) sources_.Forget({block.serial, address / kPage * kPage, (address / kPage + 1) * kPage});
  });
  // A copy that began before its pages were closed goes on over them.
  constexpr size_t kPagesOfCopy = 64;
  return host_pages_.Pass(address, IsJudgedThread() ? 1 : kPagesOfCopy);
}

void Race::SystemTouches(const Bytes& bytes, bool writes, const char* call) noexcept {
  if (!host_pages_.any()) return;
  const rt::MemoryRange block = core_.lookup(reinterpret_cast<const void*>(bytes.begin), 1);
  if (block.kind != rt::MemoryKind::kPinned || !block.live || block.serial == 0) return;
  std::unique_lock guard(lock_);
  if (!host_pages_.Find(bytes.begin, bytes.end, writes)) return;
  layers::Guarded([&] {
    TellHost({block.serial, bytes.begin, bytes.end}, writes, call, guard);
    if (writes) sources_.Forget({block.serial, bytes.begin, bytes.end});
  });
  host_pages_.Leave(bytes.begin, std::min(bytes.end, block.base + block.bytes));
}

// --- digests

// The host has just learned something, and has not gone on.
void Race::EndSources() {
  sources_.End([&](const Mark& mark) { return host_.Knows(mark.by); },
               [&](const Sources::Source& source) { TellSource(source); });
}

void Race::TellSource(const Sources::Source& source) {
  if (!told_sources_.insert(source.by.site).second) return;
  const uint32_t call = core_.current_call();
  const std::string told = call == 0 ? "a callback" : core_.call_name(call);
  const uint32_t store = SiteOfHost("a store before " + told);
  Report({source.by, false, true, source.bytes}, sites_[source.by.site], sites_[store], SpotOfHost(store));
}

void Race::AfterFork(bool child) {
  if (child) host_watch_ = HostWatch::kOff;
  host_pages_.AfterFork(child);
}

}  // namespace belay::race
