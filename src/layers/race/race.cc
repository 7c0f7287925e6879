#include "layers/race/race.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>

#include "layers/race/touches.h"
#include "layers/support/report.h"
#include "layers/support/report_file.h"
#include "layers/support/this_thread.h"
#include "runtime/stream.h"
#include "runtime/task_graph.h"

namespace belay::race {

namespace {

const char* RunMode() {
  const char* mode = std::getenv("BELAY_RUN_MODE");
  return mode == nullptr ? "" : mode;
}

}  // namespace

constinit std::atomic<uint64_t> Race::frees_{0};

// A program that runs on the device itself writes there as it likes.
Race::Race(const rt::CoreFacts& core)
    : core_(core),
      tally_(layers::TheTally()),
      follows_writes_(std::getenv(layers::kUndefinedVariable) != nullptr &&
                      std::string_view(RunMode()) != "device"),
      follows_waits_(std::getenv(layers::kNotesVariable) != nullptr),
      follows_sources_(std::string_view(RunMode()) != "device") {
  ++frees_;
}

// --- what comes before what

Race::Line& Race::FindLine(const rt::Stream& stream) {
  auto [found, fresh] = index_.try_emplace(&stream, static_cast<uint32_t>(lines_.size()));
  if (fresh) {
    Line& line = lines_.emplace_back();
    line.stream = &stream;
    line.index = found->second;
    tally_.streams++;
  }
  Line& line = lines_[found->second];
  latest_lines_[stream.id() % latest_lines_.size()] = &line;
  if (line.id != stream.id()) {  // the slot has another stream: its positions go on where the last one ended
    line.id = stream.id();
    line.now = {};
    line.changes.clear();
  }
  return line;
}

// What the stream knew at a position. What is not kept any more the host knows.
Knowledge Race::At(const Line& line, uint64_t position) const {
  Knowledge known;
  auto after = std::upper_bound(line.changes.begin(), line.changes.end(), position,
                                [](uint64_t p, const Line::Change& c) { return p < c.position; });
  if (after != line.changes.begin()) known = std::prev(after)->knowledge;
  known.clock.Learn({line.index, position});
  return known;
}

// The stream takes a task. True when all that comes before it is known.
bool Race::Update(Line& line, uint64_t position, const Touches& touches) {
  Knowledge& now = line.now;
  if (now.host != host_changes_) {
    now.clock.Join(host_);
    std::erase_if(now.open, [&](const Epoch& wait) { return host_.Knows(wait); });
  }
  for (const auto& [source, at] : touches.waits) now.Join(At(LineOf(*source), at));
  const bool learns = touches.records != nullptr && !touches.records->learned.empty();
  if (learns) {
    for (const Knowledge* learned : touches.records->learned) now.Join(*learned);
  }
  const bool known = now.open.empty();
  if (touches.open) now.Open({{line.index, position}, touches.collective});
  now.clock.Learn({line.index, position});
  line.last = position;
  const bool changed = !touches.waits.empty() || learns || touches.open || line.changes.empty() ||
                       line.changes.back().knowledge.host != host_changes_;
  if (changed) {
    now.host = host_changes_;
    line.changes.push_back({position, now});
  }
  return known && (!touches.open || touches.collective);
}

void Race::HostLearned(const rt::Stream& stream, uint64_t position) {
  if (callbacks_.any_watched()) MeetCallbacks(stream, position);
  std::lock_guard guard(lock_);
  if (follows_waits_) NoteWait(stream, position);
  Line& line = LineOf(stream);
  if (host_.Knows({line.index, position})) return;
  HostKnows(At(line, position));
  if (window_.wanted()) RememberLearned(stream, position);
  while (line.changes.size() > 1 && line.changes[1].position <= position) line.changes.pop_front();
}

void Race::HostKnows(const Knowledge& known) {
  if (!doubts_.empty()) Decide(known);
  host_.Join(known.clock);
  // Whatever let those waits through is over, too, and everything before it.
  if (!known.open.empty()) {
    for (const Line& other : lines_) host_.Learn({other.index, other.last});
  }
  ++host_changes_;
  if (sources_.any()) EndSources();
  if (gates_.any()) gates_.Forget([&](const Epoch& gate) { return host_.Knows(gate); });
  if (host_pages_.any()) {
    host_pages_.CloseAgain();
    OpenFound();
  }
  const bool late_are_over = late_.ranges() != 0 && !known.open.empty();
  if (late_are_over || shadow_.ranges() + late_.ranges() > tidy_at_) Tidy();
}

void Race::Tidy() {
  for (Shadow* shadow : {&shadow_, &late_}) {
    shadow->Forget(
        [&](uint64_t block, uintptr_t at) {
          if (IsGroup(block) || IsModel(block) || IsLine(block) || IsCommunicator(block)) return false;
          if (Aliases::IsMemory(block)) return aliases_.IsGone(block);
          return SerialOf(reinterpret_cast<const void*>(at)) != block;
        },
        [&](const Mark& mark) { return host_.Knows(mark.by); });
  }
  tidy_at_ = std::max<size_t>(1 << 14, 2 * (shadow_.ranges() + late_.ranges()));
}

// Of an event nobody knows here whether another process has recorded it.
void Race::NoteWait(const rt::Stream& stream, uint64_t position) {
  const uint32_t call = core_.current_call();
  const std::string_view name = core_.call_name(call);
  if (!name.starts_with("aclrtSynchronizeStream") && !name.starts_with("aclrtSynchronizeDevice")) return;
  idle_waits_.Waited(stream.id(), position, layers::ThisThread(), call, layers::ThisStack());
}

void Race::EndedDevice(int device) {
  if (!follows_waits_) return;
  std::vector<IdleWaits::Place> idle;
  {
    std::lock_guard guard(lock_);
    idle = idle_waits_.Take();
  }
  for (const IdleWaits::Place& place : idle) {
    if (!layers::IsInMain(place.stack)) continue;  // a library that is careful when the process exits
    const std::string call = core_.call_name(place.call);
    layers::Tell({"nothing-awaited",
                  call + " ordered nothing until device " + std::to_string(device) + " ended",
                  {{"in " + call, place.stack}},
                  "leave it out, or look for what should have been submitted before it"});
  }
}

// --- what is touched

bool Race::JudgeAnew(std::span<const Access> some, const Mark& mark, const Spot& spot,
                     const Shadow::Ordered& ordered, Shadow* shadow) {
  bool told = false;
  const Shadow::Tell tell = [&](const Conflict& conflict) { told |= Tell(conflict, mark.site, spot); };
  for (const Access& access : anew_) shadow->Check(access.bytes, access.writes, ordered, tell);
  for (const Access& access : some) shadow->CheckSome(access.bytes, access.writes, ordered, tell);
  // Of a captured graph nothing is over: its marks are nodes.
  const Shadow::Ordered over = [&](const Mark& m) { return shadow == &shadow_ && host_.Knows(m.by); };
  for (const Access& access : anew_) shadow->Note(access.bytes, access.writes, mark, ordered, over);
  for (const Access& access : some) shadow->NoteSome(access.bytes, access.writes, mark, over);
  return told;
}

void Race::Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  Touches touches(*this, task);
  std::lock_guard guard(lock_);
  if (touches.WaitsForNumbers()) ResolveNumbers(&touches);
  if (touches.WaitsForFlags()) ResolveFlags(&touches);
  ++tally_.tasks;
  if (follows_waits_) idle_waits_.Submitted(stream.id(), layers::ThisThread());
  if (task.type->task_class == rt::TaskClass::kLaunch) ++tally_.launches;
  Line& line = LineOf(stream);
  const bool known = Update(line, position, touches);
  if (touches.SetsFlags()) NoteFlags(touches, line.now);
  const Spot spot{'s', stream.id(), position};
  std::optional<uint32_t> site;
  if (window_.wanted()) site = Remember(task, touches.waits, spot);
  if (follows_writes_) Follow(task, touches, known, spot);
  if (touches.unknown || sources_.any()) FollowSources(task, touches, {line.index, position});
  const Clock& clock = line.now.clock;
  if (host_pages_.any()) host_pages_.CloseAgain();
  // The host may see a word in memory, or hear of it from another process.
  const bool seen = touches.signals || touches.open;
  if (seen && host_pages_.any())
    host_pages_.Open([&](const HostPages::Closed& closed) { return clock.Knows(closed.by.by); });
  if (seen && sources_.any())
    sources_.Forget([&](const Sources::Source& source) { return clock.Knows(source.by.by); });
  const bool calls = touches.unknown && (task.type->task_class == rt::TaskClass::kHostCall ||
                                         task.type->task_class == rt::TaskClass::kLaunch);
  if (calls && !touches.goes_on)
    gates_.Add({&stream, position, {line.index, position}, SiteOf(task, stream.id())});
  if (touches.task_class == rt::TaskClass::kHostCall)
    callbacks_.Launched({line.index, position}, SiteOf(task, stream.id()));
  if (lost_.any()) MeetLost(touches, known, site ? *site : SiteOf(task, stream.id()), spot);
  if (seen || calls) told_others_.Join(clock);
  if (!known || touches.unknown || touches.partly) ++tally_.not_judged;
  if (touches.unknown || (touches.accesses.empty() && touches.some.empty())) return;
  const Mark mark{{line.index, position}, site ? *site : SiteOf(task, stream.id())};
  if (!known) {
    if (!touches.HasParts()) JudgeLate(line, touches, mark, spot);
    return;
  }
  // The host may know a part of a launch to be over.
  const bool follows_host = touches.host && !seen && !touches.HasParts();
  if (follows_sources_ && follows_host && task.type->kind != rt::TaskKind::kOperator)
    BeginSources(touches.accesses, mark);
  const auto ordered = [&](const Mark& before) { return clock.Knows(before.by); };
  if (touches.HasParts()) {
    JudgeParts(line, position, touches, mark.site, spot);
  } else {
    Judge(touches.accesses, touches.some, mark, spot, ordered, &shadow_);
    if (late_.ranges() != 0) CheckLate(line, touches, mark, spot);
  }
  if (host_watch_ != HostWatch::kOff && follows_host) CloseToHost(touches.accesses, mark);
}

void Race::HostDoes(const rt::Task& task) {
  const HostOrder order = OrderOfHost();
  const bool in_callback = !order.known;
  if (in_callback && !follows_writes_ && !sources_.any() && !lost_.any()) return;
  const Touches touches(*this, task);
  std::unique_lock guard(lock_);
  std::optional<uint32_t> site;
  if (window_.wanted() && !in_callback) site = SiteOf(task, Site::kHost);
  const Spot spot = site ? SpotOfHost(*site) : Spot();
  if (follows_writes_) Follow(task, touches, !in_callback, spot);
  FollowSources(task, touches, {});
  if (lost_.any()) MeetLost(touches, !in_callback, site ? *site : SiteOf(task, Site::kHost), spot);
  if (in_callback) return;
  ++tally_.host_accesses;
  std::vector<Conflict> conflicts;
  for (const Access& access : touches.accesses) {
    shadow_.Check(
        access.bytes, access.writes, [&](const Mark& before) { return ComesFirst(order, before); },
        [&](const Conflict& conflict) { conflicts.push_back(conflict); });
  }
  if (!conflicts.empty() && !site) site = SiteOf(task, Site::kHost);
  for (const Conflict& conflict : conflicts) {
    if (told_.contains({conflict.first.site, *site}) || MayComeFirst(conflict.first, guard)) continue;
    Tell(conflict, *site, spot);
  }
}

// --- blocks

// A block is dead before anybody is told that it goes: after that it is not found.
Race::Holder Race::FindHolder(const void* p) const {
  const uint64_t frees = frees_.load(std::memory_order_acquire);
  const rt::MemoryRange block = core_.lookup(p, 1);
  if (block.serial != 0 && block.live && block.Remaining(p) != 0) {
    const bool pinned = block.kind == rt::MemoryKind::kPinned;
    return {{block.serial, pinned}, block.base, block.base + block.bytes, frees};
  }
  if (registered_count_.load(std::memory_order_acquire) == 0) return {};
  const auto at = reinterpret_cast<uintptr_t>(p);
  std::lock_guard guard(registered_lock_);
  auto after = registered_.upper_bound(at);
  if (after == registered_.begin() || at >= std::prev(after)->second.end) return {};
  return {{std::prev(after)->second.serial, true}};
}

void Race::Allocated(const rt::Block& block) {
  const bool followed = follows_writes_ && block.kind == rt::BlockKind::kDevice;
  if (const std::string call = followed ? core_.call_name(block.call) : ""; call.starts_with("aclrtMalloc")) {
    const layers::Stack stack = layers::ThisStack();
    std::lock_guard guard(lock_);
    undefined_.Begin(block.serial, {block.base, block.base + block.bytes, call, stack, {}});
  }
  blocks_.Begin({block.base, block.bytes, block.call, layers::ThisStack()});
  if (block.memory != 0) Share(block);
  if (block.kind != rt::BlockKind::kRegistered) return;
  std::lock_guard guard(registered_lock_);
  registered_[block.base] = {block.base + block.bytes, kRegistered | ++registrations_};
  registered_count_.store(registered_.size(), std::memory_order_release);
}

void Race::RegionBegan(const rt::PoolRange& region) {
  regions_.Begin({region.base, region.bytes, core_.current_call(), layers::ThisStack()});
}

// What pending tasks touch of memory that gets other addresses they touch for those, too.
void Race::Share(const rt::Block& block) {
  const std::vector<Aliases::Mapping> before = aliases_.Add(block);
  std::lock_guard guard(lock_);
  for (const Aliases::Mapping& mapping : before) {
    shadow_.Copy(mapping.block, mapping.memory, mapping.moved);
    late_.Copy(mapping.block, mapping.memory, mapping.moved);
  }
}

// A free waits for nothing, so that it comes before what the host does not know to be over.
void Race::Freed(const rt::Block& block, rt::FreedBy why) {
  frees_.fetch_add(1, std::memory_order_acq_rel);
  const bool registered = block.kind == rt::BlockKind::kRegistered;
  const uint64_t serial = registered ? SerialOf(reinterpret_cast<const void*>(block.base)) : block.serial;
  const std::string_view call = core_.call_name(block.call);
  const bool of_program =
      call.starts_with("aclrtFree") || call == "aclrtUnmapMem" || call == "aclrtIpcMemClose" || registered;
  if (of_program && why == rt::FreedBy::kCall && OrderOfHost().known) TellUsersOf(block, serial);
  blocks_.End(block.base);
  if (block.kind == rt::BlockKind::kMapped) aliases_.Remove(serial);
  if (block.kind == rt::BlockKind::kPinned && host_pages_.any()) {
    std::lock_guard guard(lock_);
    host_pages_.Open([&](const HostPages::Closed& closed) {
      return closed.begin >= block.base && closed.end <= block.base + block.bytes;
    });
  }
  if (follows_writes_ || sources_.any() || lost_.any()) {
    std::lock_guard guard(lock_);
    lost_.End(serial);
    undefined_.End(serial);
    sources_.Forget([&](const Sources::Source& source) { return source.bytes.block == serial; });
  }
  if (!registered) return;
  std::lock_guard guard(registered_lock_);
  registered_.erase(block.base);
  registered_count_.store(registered_.size(), std::memory_order_release);
}

// Of each use that the host does not know to be over `make` tells: given the user, whether it writes, the
// places of the report's second half and of this call.
template <class Make>
void Race::TellUsers(const Bytes& bytes, const std::string& call, const Make& make) {
  const HostOrder order = OrderOfHost();
  std::lock_guard guard(lock_);
  Spot spot;
  const Shadow::Tell tell = [&](const Conflict& conflict) {
    if (spot.lane == 0) spot = SpotOfHost(SiteOfHost(call));
    const Site& user = sites_[conflict.first.site];
    const layers::Place used = Told("used by", user, {'s', user.stream, conflict.first.by.position});
    if (layers::Tell(make(user, conflict.first_writes, used, spot.Words()))) window_.Write();
  };
  shadow_.Check(
      bytes, true, [&](const Mark& before) { return ComesFirst(order, before); }, tell);
  // Of a task that other ranks were told of one of them may have told the host.
  late_.Check(
      bytes, true,
      [&](const Mark& before) { return ComesFirst(order, before) || told_others_.Knows(before.by); }, tell);
}

void Race::TellUsersOf(const rt::Block& block, uint64_t serial) {
  const std::string call = core_.call_name(block.call);
  TellUsers({serial, block.base, block.base + block.bytes}, call,
            [&](const Site& user, bool writes, const layers::Place& used, const std::string& here) {
              const std::string stream = "stream " + std::to_string(user.stream);
              std::vector<layers::Place> places{{"freed by " + call, layers::ThisStack(), here}, used};
              AddOrigin(blocks_.Of(block.base), "allocated by ", &places);
              return layers::Report{"free-while-used",
                                    call + " of a block of " + std::to_string(block.bytes) + " bytes that " +
                                        stream + (writes ? " writes" : " reads"),
                                    places, "wait for " + stream + " before the block is freed"};
            });
}

Bytes Race::ModelBytes(uint64_t model) {
  constexpr uint64_t kLoaded = uint64_t{1} << 56;  // handles of one kind have all below
  return {kModel | (IsLoadedModel(model) ? kLoaded : 0) | (model & (kLoaded - 1)), 0, 1};
}

// Models and communicators: a stream waits for its tasks, and what has waited for an event needs it no more.
void Race::Destroyed(uint64_t handle) {
  const std::string call = core_.call_name(core_.current_call());
  const bool loaded = IsLoadedModel(handle) && call.ends_with("Unload");
  const bool captured =
      KindOf(handle) == static_cast<uint8_t>(HandleKind::kModel) && call == "aclmdlRIDestroy";
  const bool communicator =
      KindOf(handle) == static_cast<uint8_t>(HandleKind::kCommunicator) && call == "HcclCommDestroy";
  if ((!loaded && !captured && !communicator) || !OrderOfHost().known) return;
  const std::string what = communicator ? "communicator" : "model";
  TellUsers(
      communicator ? CommunicatorBytes(handle) : ModelBytes(handle), call,
      [&](const Site& user, bool, const layers::Place& used, const std::string& here) {
        const std::string stream = Who(user);
        return layers::Report{
            "destroy-while-used",
            call + " of a " + what + " that " + stream + (communicator ? " uses" : " runs"),
            {{"in " + call, layers::ThisStack(), here}, used},
            "wait for " + stream + " before the " + what + " is " + (loaded ? "unloaded" : "destroyed")};
      });
}

// --- undefined bytes

void Race::WrittenUnseen(const void* p) {
  {
    std::lock_guard guard(lock_);
    flags_.erase(p);
  }
  if (!follows_writes_ && !sources_.any() && !lost_.any()) return;
  const uint64_t serial = SerialOf(p);
  std::lock_guard guard(lock_);
  lost_.End(serial);
  undefined_.End(serial);
  sources_.Forget([&](const Sources::Source& source) { return source.bytes.block == serial; });
}

// The block that the task reads without that a byte of what it reads there was ever written. Operators and
// copies that leave the device: of others nobody knows whether the bytes matter, or in which order they come.
const Undefined::Block* Race::UndefinedOf(const rt::Task& task, const Touches& touches, size_t* bytes) const {
  const bool copies = std::string_view(task.type->name).starts_with("memcpy");
  if (!copies && task.type->kind != rt::TaskKind::kOperator) return nullptr;
  std::map<uint64_t, std::pair<const Undefined::Block*, size_t>> read;  // null: some of it was written
  for (const Access& access : touches.accesses) {
    if (copies && access.writes &&
        core_.lookup(reinterpret_cast<const void*>(access.bytes.begin), 1).kind == rt::MemoryKind::kDevice)
      return nullptr;
    if (access.writes) continue;
    const Undefined::Block* block = undefined_.Find(access.bytes);
    auto [at, fresh] = read.try_emplace(access.bytes.block, block, 0);
    if (!fresh && block == nullptr) at->second.first = nullptr;
    at->second.second += access.bytes.end - access.bytes.begin;
  }
  for (const auto& [serial, what] : read) {
    *bytes = what.second;
    if (what.first != nullptr) return what.first;
  }
  return nullptr;
}

// Tells where it reads what was never written, and notes what it writes.
void Race::Follow(const rt::Task& task, const Touches& touches, bool judge, const Spot& spot) {
  if (touches.unknown) return undefined_.WrittenAnywhere();
  size_t bytes = 0;
  if (const Undefined::Block* block = judge ? UndefinedOf(task, touches, &bytes) : nullptr) {
    const Site& site = sites_[SiteOf(task, spot.lane == 's' ? spot.number : Site::kHost)];
    layers::Tell(
        {"undefined-bytes",
         site.name + " reads " + std::to_string(bytes) + " bytes of a block of " +
             std::to_string(block->end - block->begin) + " that nothing has written",
         {Told("reads ", site, spot), {"allocated by " + block->call, block->allocated}},
         "write them before (aclrtMemcpy, aclrtMemset, an operator), and look at the code of what should have"});
    window_.Write();
  }
  // What a copy takes from where nothing was written is not written where it goes, either.
  const auto& all = touches.accesses;
  const bool moves = all.size() == 2 && task.type->name == std::string_view("memcpy") && !all[0].writes &&
                     undefined_.Find(all[0].bytes) != nullptr;
  for (const Access& access : all) {
    if (access.writes) moves ? undefined_.Unwrite(access.bytes) : undefined_.Write(access.bytes);
  }
  for (const Bytes& range : touches.maybe_written) undefined_.Write(range);
}

// --- what copies read of the host's memory

// Whoever writes there by a task or a call is judged by that.
void Race::FollowSources(const rt::Task& task, const Touches& touches, const Epoch& at) {
  if (touches.unknown && !touches.goes_on) {
    unknown_.Learn(at);
    // Before a callback is called it is told what the host learns by that.
    if (task.type->task_class != rt::TaskClass::kHostCall)
      sources_.Forget([](const Sources::Source&) { return true; });
  }
  if (!sources_.any()) return;
  for (const Access& access : touches.accesses) {
    if (access.writes) sources_.Forget(access.bytes);
  }
  for (const Bytes& range : touches.maybe_written) sources_.Forget(range);
}

// Not where what is pending may write, too: bytes that change are right then.
void Race::BeginSources(const std::vector<Access>& accesses, const Mark& mark) {
  for (const Access& access : accesses) {
    if (access.writes || !access.of_host) continue;
    if (!host_.Knows(unknown_)) return;
    bool changes = false;
    shadow_.Check(
        access.bytes, false, [&](const Mark& before) { return host_.Knows(before.by); },
        [&](const Conflict&) { changes = true; });
    if (!changes) sources_.Begin(mark, access.bytes, IsRegistered(access.bytes.block));
  }
  for (const Access& access : accesses) {
    if (access.writes && sources_.any()) sources_.Forget(access.bytes);
  }
}

// --- captured graphs

void Race::Captured(const rt::Stream& stream, uint32_t model, uint32_t node, const rt::Task& task) {
  std::lock_guard guard(lock_);
  captured_[{model, node}] = SiteOf(task, stream.id());
}

// Each node against those that come before it in the order of the capture and do not lead to it.
void Race::Finished(uint32_t model, const rt::TaskGraph& graph) {
  constexpr size_t kMostNodes = 8192;  // a bit for each pair
  std::lock_guard guard(lock_);
  ++tally_.graphs;
  const std::vector<uint32_t>& order = graph.order();
  if (order.size() > kMostNodes) tally_.not_judged += order.size();
  Shadow shadow, late;
  std::vector<std::vector<bool>> before(graph.nodes().size());
  std::vector<uint32_t> open_waits;
  bool told = false;
  std::vector<bool> open(graph.nodes().size());  // comes after a wait for what no edge says
  for (uint32_t n : order) {
    if (order.size() > kMostNodes) break;
    before[n].resize(graph.nodes().size());
    before[n][n] = true;
    for (uint32_t d : graph.needs()[n]) {
      if (open[d]) open[n] = true;
      before[n][d] = true;
      for (size_t i = 0; i < before[d].size(); ++i) {
        if (before[d][i]) before[n][i] = true;
      }
    }
    const Touches touches(*this, graph.nodes()[n].task);
    const bool waits = touches.open || touches.WaitsForNumbers() || touches.WaitsForFlags();
    const bool known = !open[n] && (!waits || touches.collective);
    if (waits) open[n] = true, open_waits.push_back(n);
    if (touches.unknown || touches.partly || !known) ++tally_.not_judged;
    if (touches.unknown) continue;
    auto site = captured_.find({model, n});
    if (site == captured_.end()) continue;
    const Mark node{{n, 1}, site->second};
    const Spot spot{'s', sites_[site->second].stream, n, model};
    const auto ordered = [&](const Mark& mark) { return bool{before[n][mark.by.stream]}; };
    if (known) {
      told |= Judge(touches.accesses, touches.some, node, spot, ordered, &shadow);
      continue;
    }
    NoteLate(
        touches.accesses, node, ordered, [](const Mark&) { return false; },
        [&](const Conflict& conflict, bool) {
          const uint32_t other = conflict.first.by.stream;
          const bool same = std::ranges::all_of(open_waits, [&](uint32_t wait) {
            return wait == n || wait == other || before[n][wait] == before[other][wait];
          });
          told |= same && Tell(conflict, node.site, spot);
        },
        &shadow, &late);
  }
  if (told) WriteGraph(model, graph);
  captured_.erase(captured_.lower_bound({model, 0}), captured_.lower_bound({model + 1, 0}));
}

// --- reports

uint32_t Race::SiteOf(const rt::Task& task, uint32_t stream) {
  const SiteKey key{layers::ThisStack().number, stream, task.call};
  LatestSite& latest = latest_sites_[SiteKey::Hash()(key) >> 42];
  if (!(latest.key == key)) latest = {key, FindSite(task, key)};
  return latest.site;
}

uint32_t Race::FindSite(const rt::Task& task, const SiteKey& key) {
  auto [known, fresh] = site_of_.try_emplace(key, static_cast<uint32_t>(sites_.size()));
  if (!fresh) return known->second;
  std::string name = task.type->name;
  // What copies say of themselves are addresses, which differ from one call of a place to the next.
  const bool named = task.type->kind == rt::TaskKind::kOperator && task.type->describe != nullptr;
  if (named) task.type->describe(task.payload, name);
  sites_.push_back({std::move(name), core_.call_name(task.call), key.stream, {key.stack}});
  return known->second;
}

bool Race::Tell(const Conflict& conflict, uint32_t second, const Spot& spot) {
  if (!told_.emplace(conflict.first.site, second).second) return false;
  return Report(conflict, sites_[conflict.first.site], sites_[second], spot);
}

namespace {

std::string Mend(const Site& first, const Site& second, bool in_callback) {
  if (second.stream == Site::kHost && in_callback) {
    return "let " + Who(first) +
           " wait for the callback (ACL_CALLBACK_BLOCK on the same stream, an event behind it on another one), or the "
           "callback's stream for the first";
  }
  if (second.stream == Site::kHost) {
    return "wait for stream " + std::to_string(first.stream) +
           " before the second (aclrtSynchronizeStream, or aclrtSynchronizeEvent on an event recorded after the "
           "first)";
  }
  return "record an event on " + Who(first) + " after the first, and let " + Who(second) +
         " wait for it before the second (aclrtRecordEvent, aclrtStreamWaitEvent)";
}

}  // namespace

void Race::AddOrigin(const std::optional<Origin>& origin, const char* how,
                     std::vector<layers::Place>* places) const {
  if (origin) places->push_back({std::string(how) + core_.call_name(origin->call), origin->stack, {}, true});
}

// Also the places where that memory was allocated, and given out of a pool.
std::string Race::WhereIs(const Bytes& bytes, std::vector<layers::Place>* origins) const {
  if (Aliases::IsMemory(bytes.block))
    return ", " + std::to_string(bytes.begin) + " bytes into memory that is mapped at several addresses";
  const rt::MemoryRange block = core_.lookup(reinterpret_cast<const void*>(bytes.begin), 1);
  std::string where;
  const auto add = [&](const std::string& what, uintptr_t base, size_t size) {
    where +=
        ", " + std::to_string(bytes.begin - base) + " bytes into a " + what + " of " + std::to_string(size);
  };
  const std::optional<Origin> region = regions_.Of(bytes.begin);
  if (region) add("region", region->base, region->bytes);
  if (block.base != 0) add("block", block.base, block.bytes);
  AddOrigin(region, "given out by ", origins);
  AddOrigin(blocks_.Of(bytes.begin), "allocated by ", origins);
  return where;
}

// In a graph an epoch's stream is a node.
bool Race::Report(const Conflict& conflict, const Site& first, const Site& second, const Spot& spot) {
  const Epoch& before = conflict.first.by;
  const bool in_launch = spot.model < 0 && lines_[before.stream].stream == nullptr;
  const Spot first_spot =
      in_launch ? Spot{}
                : Spot{'s', first.stream, spot.model < 0 ? before.position : before.stream, spot.model};
  std::string what = Who(second) + (conflict.second_writes ? " writes" : " reads") + " what " + Who(first) +
                     (conflict.first_writes ? " writes" : " reads");
  const size_t bytes = conflict.bytes.end - conflict.bytes.begin;
  if (bytes > 1) what += ", " + std::to_string(bytes) + " bytes";  // of a load it is not known how many
  std::vector<layers::Place> places{Told(conflict.first_writes ? "writes" : "reads ", first, first_spot),
                                    Told(conflict.second_writes ? "writes" : "reads ", second, spot)};
  what += WhereIs(conflict.bytes, &places);
  if (IsGroup(conflict.bytes.block)) what += ": the operators of a task group";
  if (IsModel(conflict.bytes.block))
    what += ": the memory of a loaded model, which serves one execution at a time";
  if (IsLine(conflict.bytes.block))
    what += ": the order of a communicator's operations, which has to be the same on all ranks";
  const bool told = layers::Tell({"race", what, places, Mend(first, second, callbacks_.Here().has_value())});
  if (told && spot.model < 0) window_.Write();
  return told;
}

}  // namespace belay::race
