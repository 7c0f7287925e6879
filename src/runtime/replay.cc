#include "runtime/replay.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "runtime/host_call.h"
#include "runtime/poll.h"
#include "runtime/progress.h"
#include "runtime/run_task.h"

namespace belay::rt {
namespace {
constexpr int kIdleSweeps = 4000;  // sweeps without progress before a joined worker leaves

// For a stream that is parked, so the replay may be gone. Without memory for it the lanes look at the time
// themselves again and again.
void LimitPark(Stream& stream, uint64_t park, int64_t deadline_ns) noexcept {
  bool watched = false;
  try {
    TheEngine().WatchDeadline(stream, park, deadline_ns);
    watched = true;
  } catch (...) {
  }
  if (!watched) stream.CancelPark(park);
}

// Runs a node and tells of it.
template <class Run>
std::optional<TaskFailure> TellNode(const Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                                    const Task& task, Run run) {
  Observers::Tell([&](Observer& o) { o.NodeStarted(stream, lane, model, node, task); });
  std::optional<TaskFailure> failure = InjectedFailure(task);
  if (!failure) failure = run();
  const TaskFailure* told = failure ? &*failure : nullptr;
  Observers::Tell([&](Observer& o) { o.NodeEnded(stream, lane, model, node, task, told); });
  return failure;
}

}  // namespace

Replay::Replay(const TaskGraph& graph, uint32_t model)
    : graph_(graph),
      model_(model),
      lanes_(new Lane[graph.lanes().size()]),
      lane_count_(graph.lanes().size()) {
  for (size_t i = 0; i < lane_count_; ++i) calls_.push_back({this, &lanes_[i]});
}

bool Replay::Proceed(Stream& stream) {
  if (!started_ && stream.dropping()) return true;
  if (graph_.way() == TaskGraph::Way::kProgram) {
    RunProgram(stream);
    return true;
  }
  if (graph_.way() == TaskGraph::Way::kAnyOrder) {
    RunInAnyOrder(stream, TheEngine());
    return true;
  }
  Unwatch(stream);
  stream.TakeTimedOut();  // the lanes look at the time themselves
  if (!started_) Start(stream);
  if (TheEngine().explores()) [[unlikely]]
    first_lane_ = TheEngine().Choose(static_cast<uint32_t>(lane_count_));
  // In the middle of a replay only what is under way is waited for.
  if (stream.dropping()) failed_.store(true, std::memory_order_relaxed);
  if (!RunLanes(stream)) return false;
  started_ = false;
  std::optional<TaskFailure> failure;
  {
    std::lock_guard guard(lock_);  // the last CallDone has left it then
    failure = std::exchange(failure_, std::nullopt);
  }
  if (failure) throw FailedPart{std::move(*failure)};
  return true;
}

// One runner: the tasks in order. A failing task ends the replay, its results would be wrong anyway.
void Replay::RunProgram(Stream& stream) {
  if (Observers::watch_runs()) [[unlikely]]
    return RunWatchedProgram(stream);
  const std::vector<Task>& program = graph_.program();
  const Task* at = program.data();
  std::optional<TaskFailure> failure = RunTasks(at, at + program.size());
  if (!failure) [[likely]]
    return;
  auto place = static_cast<size_t>(at - program.data());
  throw FailedPart{AtNode(graph_.order()[place], std::move(*failure))};
}

void Replay::RunInAnyOrder(Stream& stream, Engine& engine) {
  std::vector<uint32_t> left(graph_.nodes().size());
  std::vector<std::vector<uint32_t>> needed_by(graph_.nodes().size());
  std::vector<uint32_t> ready;
  for (uint32_t node : graph_.order()) {
    left[node] = static_cast<uint32_t>(graph_.needs()[node].size());
    for (uint32_t need : graph_.needs()[node]) needed_by[need].push_back(node);
    if (left[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    const auto place = ready.begin() + engine.Choose(static_cast<uint32_t>(ready.size()));
    const uint32_t node = *place;
    ready.erase(place);
    RunNode(stream, node);
    for (uint32_t next : needed_by[node]) {
      if (--left[next] == 0) ready.push_back(next);
    }
  }
}

void Replay::RunWatchedProgram(Stream& stream) {
  for (uint32_t node : graph_.order()) RunNode(stream, node);
}

void Replay::RunNode(const Stream& stream, uint32_t node) {
  const Task& task = graph_.nodes()[node].task;
  auto run = [&] { return RunTask(task); };
  std::optional<TaskFailure> failure =
      Observers::watch_runs() ? TellNode(stream, Observer::kNoLane, model_, node, task, run) : run();
  if (failure) throw FailedPart{AtNode(node, std::move(*failure))};
}

// Of a task in a lane, which points into the nodes.
uint32_t Replay::NodeOf(const Task& task) const noexcept {
  const auto* nodes = reinterpret_cast<const char*>(graph_.nodes().data());
  return static_cast<uint32_t>(static_cast<size_t>(reinterpret_cast<const char*>(&task) - nodes) /
                               sizeof(CaptureNode));
}

void Replay::Start(Stream& stream) {
  stream_ = &stream;
  for (size_t i = 0; i < lane_count_; ++i) {
    lanes_[i].progress.store(0, std::memory_order_relaxed);
    lanes_[i].call_pending = false;
    lanes_[i].wait_until_ns = 0;
    lanes_[i].call_done.store(false, std::memory_order_relaxed);
  }
  lanes_done_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  started_ = true;
}

// True: the replay is over. False: the stream is parked until something outside happens.
bool Replay::RunLanes(Stream& stream) {
  ThreadEngine* engine = TheThreadEngine();
  bool share = engine != nullptr && lane_count_ > 1;
  for (;;) {
    {
      std::optional<PublishedOffer> published;
      Offer& offer = *this;
      if (share) {
        published.emplace(*engine, offer, static_cast<int>(lane_count_) - 1, graph_.cost() >= kLongTask);
      }
      while (!Done()) {
        bool moved = false;
        if (SweepLanes(&moved)) break;
        if (!moved) CpuRelax();
      }
    }
    if (Done()) return true;
    {
      std::lock_guard guard(lock_);
      outside_changed_ = false;
    }
    // Alone now: what a leaving worker unblocked is seen by one more sweep.
    bool moved = false;
    SweepLanes(&moved);
    if (Done()) return true;
    if (!moved && ParkForOutside(stream)) return false;
  }
}

// Nothing but host functions and polled values can move the launch: give the runner back.
bool Replay::ParkForOutside(Stream& stream) {
  bool polls = false;
  bool can_end = true;
  int64_t until = 0;
  for (size_t i = 0; i < lane_count_; ++i) {
    const Task* task = BlockedAt(i);
    if (task == nullptr) continue;
    polls |= WaitsForWords(i);
    can_end &= !lanes_[i].call_pending || task->body<HostCall>().scheme->withdraw != nullptr;
    int64_t own = lanes_[i].wait_until_ns;
    if (own != 0 && (until == 0 || own < until)) until = own;
  }
  uint64_t park = 0;
  {
    std::lock_guard guard(lock_);
    if (outside_changed_) return false;
    watched_ = polls;
    if (polls && !WatchPolls(stream)) return false;
    parked_ = &stream;
    park = stream.Park({ParkReason::kLaunch, this, can_end ? &Replay::CancelPark : nullptr});
    if (park == 0) {  // the stream is being dropped, and the replay with it
      Unwatch(stream);
      parked_ = nullptr;
      failed_.store(true, std::memory_order_relaxed);
      return false;
    }
  }
  if (polls) TheEngine().LookAtPoll(stream);
  if (until != 0) LimitPark(stream, park, until);
  return true;
}

// Under lock_. False: there is no memory for it, and the replay fails.
bool Replay::WatchPolls(Stream& stream) noexcept {
  size_t lane = 0;
  while (!WaitsForWords(lane)) ++lane;
  const Task* task = BlockedAt(lane);
  from_outside_.store(true, std::memory_order_relaxed);  // until they have been looked at
  std::optional<TaskFailure> failure = Attempt(task, [&] {
    TheEngine().WatchPoll(stream, stream.park_serial() + 1,
                          {[this] { return AnyPollReady(); }, nullptr, &from_outside_});
  });
  if (!failure) return true;
  watched_ = false;
  FailedLocked(*task, std::move(*failure));
  return false;
}

void Replay::Unwatch(Stream& stream) noexcept {
  if (watched_) TheEngine().ForgetPoll(stream);
  watched_ = false;
}

CancelResult Replay::CancelPark(void* where, Stream& stream) {
  auto& replay = *static_cast<Replay*>(where);
  std::unique_lock guard(replay.lock_, std::try_to_lock);
  if (!guard.owns_lock()) return CancelResult::kBusy;
  if (replay.parked_ != &stream) return CancelResult::kGone;
  CancelResult result = stream.dropping() ? replay.WithdrawCalls() : CancelResult::kDone;
  if (result == CancelResult::kDone) replay.parked_ = nullptr;
  return result;
}

// Takes back the host functions that have not begun. Not kDone: one runs, and its end moves the launch.
CancelResult Replay::WithdrawCalls() {
  for (size_t i = 0; i < lane_count_; ++i) {
    Lane& lane = lanes_[i];
    if (!lane.call_pending || lane.call_done.load(std::memory_order_acquire)) continue;
    CancelResult result = BlockedAt(i)->body<HostCall>().scheme->withdraw(&calls_[i]);
    if (result != CancelResult::kDone) return result;
    lane.call_done.store(true, std::memory_order_release);
  }
  return CancelResult::kDone;
}

void Replay::Work() noexcept {
  DefaultFloatMode float_mode;
  for (int idle = 0; idle < kIdleSweeps && !Done();) {
    bool moved = false;
    if (SweepLanes(&moved)) return;
    if (moved) {
      idle = 0;
    } else {
      ++idle;
      CpuRelax();
    }
  }
}

// Tries every lane once. True when nobody else is inside a lane and nothing can move before something
// outside does.
bool Replay::SweepLanes(bool* moved) {
  size_t outside = 0;
  bool others = false;
  const bool watched = Observers::watch_runs();
  for (size_t k = 0; k < lane_count_; ++k) {
    const size_t i = k < lane_count_ - first_lane_ ? first_lane_ + k : first_lane_ + k - lane_count_;
    Lane& lane = lanes_[i];
    const std::vector<LaneItem>& items = graph_.lanes()[i];
    uint32_t before = lane.progress.load(std::memory_order_acquire);
    if (before > items.size()) continue;
    if (lane.owned.load(std::memory_order_relaxed) || lane.owned.exchange(true, std::memory_order_acquire)) {
      others = true;
      continue;
    }
    LaneEnd end = LaneEnd::kDone;
    if (lane.progress.load(std::memory_order_relaxed) <= items.size()) {
      end = watched ? RunLane<true>(lane, items) : RunLane<false>(lane, items);
    }
    if (lane.progress.load(std::memory_order_relaxed) != before) *moved = true;
    outside += end == LaneEnd::kOutside;
    lane.owned.store(false, std::memory_order_release);
  }
  return outside > 0 && !others && !*moved;
}

// Runs a lane as far as it goes. A finished lane shows one more than its number of items.
template <bool kWatched>
Replay::LaneEnd Replay::RunLane(Lane& lane, const std::vector<LaneItem>& items) {
  uint32_t at = lane.progress.load(std::memory_order_relaxed);
  for (; at < items.size(); ++at) {
    const LaneItem& item = items[at];
    const LaneGoal* goal = graph_.goals() + item.first_goal;
    for (uint32_t g = 0; g < item.goals; ++g, ++goal) {
      if (lanes_[goal->lane].progress.load(std::memory_order_acquire) < goal->progress) {
        return LaneEnd::kBlocked;
      }
    }
    if (item.task->type->run != nullptr) [[likely]] {
      if constexpr (kWatched) {
        RunWatched(lane, *item.task);
      } else {
        RunInLane(*item.task);
      }
    } else if (!RunBlocking(lane, *item.task)) {
      return LaneEnd::kOutside;
    }
    lane.progress.store(at + 1, std::memory_order_release);
  }
  lane.progress.store(at + 1, std::memory_order_release);
  lanes_done_.fetch_add(1, std::memory_order_acq_rel);
  return LaneEnd::kDone;
}

void Replay::RunInLane(const Task& task) {
  if (failed_.load(std::memory_order_relaxed)) return;
  if (std::optional<TaskFailure> failure = RunTask(task)) [[unlikely]]
    Failed(task, std::move(*failure));
}

void Replay::RunWatched(const Lane& lane, const Task& task) {
  if (failed_.load(std::memory_order_relaxed)) return;
  std::optional<TaskFailure> failure = TellNode(*stream_, static_cast<uint32_t>(&lane - lanes_.get()), model_,
                                                NodeOf(task), task, [&] { return RunTask(task); });
  if (failure) Failed(task, std::move(*failure));
}

void Replay::Failed(const Task& task, TaskFailure&& failure) noexcept {
  std::lock_guard guard(lock_);
  FailedLocked(task, std::move(failure));
}

void Replay::FailedLocked(const Task& task, TaskFailure&& failure) noexcept {
  failed_.store(true, std::memory_order_relaxed);
  if (!failure_) failure_ = AtNode(NodeOf(task), std::move(failure));
}

TaskFailure Replay::AtNode(uint32_t node, TaskFailure&& failure) const noexcept {
  failure.node = node;
  failure.model = model_;
  return std::move(failure);
}

// A task that waits for the outside. True when it is over.
bool Replay::RunBlocking(Lane& lane, const Task& task) {
  if (failed_.load(std::memory_order_relaxed) && !lane.call_pending) {
    if (task.type->task_class == TaskClass::kProgress) task.body<ProgressTask>().work->Abandon();
    return true;
  }
  if (task.type->task_class == TaskClass::kPoll) return RunPoll(lane, task);
  if (task.type->task_class == TaskClass::kProgress) return RunProgress(lane, task);
  if (!lane.call_pending) return StartCall(lane, task);
  if (!lane.call_done.load(std::memory_order_acquire)) return false;
  lane.call_pending = false;
  lane.call_done.store(false, std::memory_order_relaxed);
  return true;
}

bool Replay::RunPoll(Lane& lane, const Task& task) {
  const auto& poll = task.body<PollTask>();
  const Task* at = &task;
  bool over = poll.Ready();
  if (!over && poll.GaveUp()) {
    Failed(task, *Attempt(at, [&] { throw poll.peer->Failure(); }));
    over = true;
  }
  if (!over && poll.limit_ns > 0) {
    int64_t now = NowNs();
    if (lane.wait_until_ns == 0) lane.wait_until_ns = now + poll.limit_ns;
    if (now >= lane.wait_until_ns) {
      Failed(task, *Attempt(at, [&] { throw poll.Expired(); }));
      over = true;
    }
  }
  if (over) lane.wait_until_ns = 0;
  return over;
}

bool Replay::RunProgress(Lane& lane, const Task& task) {
  Progress& work = *task.body<ProgressTask>().work;
  bool over = true;
  const Task* at = &task;
  std::optional<TaskFailure> failure =
      Attempt(at, [&] { over = work.Advance(lane_count_ == 1 ? ProgressTask::kLookNs : 0); });
  if (failure) Failed(task, std::move(*failure));
  lane.wait_until_ns = over ? 0 : work.until_ns();
  return over;
}

bool Replay::StartCall(Lane& lane, const Task& task) {
  lane.call_pending = true;
  const auto& call = task.body<HostCall>();
  const Task* at = &task;
  std::optional<TaskFailure> failure = Attempt(at, [&] {
    call.scheme->start(call, &Replay::CallDone, &calls_[static_cast<size_t>(&lane - lanes_.get())]);
  });
  if (!failure) return false;
  lane.call_pending = false;
  Failed(task, std::move(*failure));
  return true;
}

void Replay::CallDone(void* context) {
  auto [replay, lane] = *static_cast<LaneCall*>(context);
  Stream* stream = nullptr;
  {
    std::lock_guard guard(replay->lock_);
    lane->call_done.store(true, std::memory_order_release);
    replay->outside_changed_ = true;
    stream = std::exchange(replay->parked_, nullptr);
  }
  if (stream != nullptr) stream->Fulfil();
}

// The task that a lane stands at when it waits for the outside, or null.
const Task* Replay::BlockedAt(size_t lane) const {
  const std::vector<LaneItem>& items = graph_.lanes()[lane];
  uint32_t at = lanes_[lane].progress.load(std::memory_order_acquire);
  return at < items.size() && items[at].task->type->run == nullptr ? items[at].task : nullptr;
}

const PollTask* Replay::PollOf(size_t lane) const {
  const Task* task = BlockedAt(lane);
  return task != nullptr && task->type->task_class == TaskClass::kPoll ? &task->body<PollTask>() : nullptr;
}

const Progress* Replay::ProgressOf(size_t lane) const {
  const Task* task = BlockedAt(lane);
  bool is = task != nullptr && task->type->task_class == TaskClass::kProgress;
  return is ? task->body<ProgressTask>().work.get() : nullptr;
}

// From the timekeeper, which holds its own lock: it may only try this one.
bool Replay::AnyPollReady() {
  std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock() || parked_ == nullptr) return false;
  bool from_outside = false;
  for (size_t i = 0; i < lane_count_; ++i) {
    const PollTask* poll = PollOf(i);
    const Progress* work = ProgressOf(i);
    if (poll == nullptr && work == nullptr) continue;
    const std::atomic<bool>* others = work != nullptr         ? work->from_outside()
                                      : poll->peer == nullptr ? nullptr
                                                              : poll->peer->from_outside();
    from_outside |= others == nullptr || others->load();
    if (work != nullptr ? !work->CanAdvance() : !poll->Ready() && !poll->GaveUp()) continue;
    parked_ = nullptr;
    return true;
  }
  from_outside_.store(from_outside);
  return false;
}

}  // namespace belay::rt
