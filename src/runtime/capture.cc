#include "runtime/capture.h"

#include <pthread.h>

#include <algorithm>
#include <new>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/room.h"
#include "runtime/context.h"
#include "runtime/model_ri.h"
#include "runtime/task_group.h"
#include "runtime/thread_engine.h"

namespace belay::rt {
namespace {

std::atomic<uint64_t> g_next_capture{0};
std::atomic<uint32_t> g_next_model{0};
std::atomic<CallNamer> g_namer{nullptr};
// Why a capture is invalid, when there was no memory to say it.
constexpr const char* kUnsaid = "a call that it does not allow";

// A number that no other thread ever has (a pthread_t is used again).
uint64_t ThisThread() {
  static std::atomic<uint64_t> next{0};
  thread_local const uint64_t id = next.fetch_add(1) + 1;
  return id;
}

}  // namespace

// All captures that are under way. Capture objects are never freed, only re-used, so that a stream's
// pointer to one may be followed at any time; who it belongs to is checked under its lock. What a
// snapshot holds is written only while the capture is not under way.
class CaptureRegistry {
 public:
  struct UnderWay {
    Capture* capture;
    uint64_t id;
    uint64_t thread;
    CaptureMode mode;
    Stream* main;
  };
  static CaptureRegistry& Get() { return PerProcess<CaptureRegistry>::Get(); }
  // With room for it among those under way.
  Capture& Take() {
    std::lock_guard guard(lock_);
    if (free_ == nullptr) {
      active_.reserve(made_ + 1);
      ++made_;
      return *new Capture;
    }
    return *std::exchange(free_, free_->next_free_);
  }
  void Publish(Capture& capture) noexcept {
    std::lock_guard guard(lock_);
    active_.push_back({&capture, capture.id_, capture.thread_, capture.mode_, capture.main_});
    count_.store(active_.size(), std::memory_order_release);
  }
  void Retire(Capture& capture) noexcept {
    std::lock_guard guard(lock_);
    std::erase_if(active_, [&](const UnderWay& u) { return u.capture == &capture; });
    capture.next_free_ = std::exchange(free_, &capture);
    count_.store(active_.size(), std::memory_order_release);
  }
  bool none() const { return count_.load(std::memory_order_acquire) == 0; }
  std::vector<UnderWay> Active() {
    std::lock_guard guard(lock_);
    return active_;
  }
  Capture* Find(uint64_t id) {
    std::lock_guard guard(lock_);
    for (const UnderWay& u : active_) {
      if (u.id == id) return u.capture;
    }
    return nullptr;
  }
  void ThreadGone(uint64_t thread) noexcept {
    for (UnderWay u{}; NextOf(thread, &u);) {
      if (u.mode == CaptureMode::kRelaxed) continue;
      std::lock_guard guard(u.capture->lock_);
      if (u.capture->id_ != u.id) continue;
      u.capture->thread_gone_ = true;
      u.capture->SpoilLocked(
          u.main->id(),
          {"the end of the thread that began it",
           "keep the thread until aclmdlRICaptureEnd, or begin with ACL_MODEL_RI_CAPTURE_MODE_RELAXED"});
    }
  }

 private:
  // The one of the thread's with the next higher number.
  bool NextOf(uint64_t thread, UnderWay* last) {
    std::lock_guard guard(lock_);
    const UnderWay* next = nullptr;
    for (const UnderWay& u : active_) {
      if (u.thread == thread && u.id > last->id && (next == nullptr || u.id < next->id)) next = &u;
    }
    if (next != nullptr) *last = *next;
    return next != nullptr;
  }

  std::mutex lock_;
  std::vector<UnderWay> active_;  // with room for all that were made
  size_t made_ = 0;
  Capture* free_ = nullptr;
  std::atomic<size_t> count_{0};
};

namespace {

constinit thread_local CaptureMode t_mode = CaptureMode::kGlobal;
// The thread has begun a capture: when it ends in the middle of one of its own, it has a last word.
constinit thread_local bool t_began = false;

pthread_key_t MakeThreadKey() {
  pthread_key_t key;
  pthread_key_create(&key, [](void*) {
    if (t_began && !CaptureRegistry::Get().none()) CaptureRegistry::Get().ThreadGone(ThisThread());
  });
  return key;
}

// Not by a thread_local object with a destructor: without memory the C library would end the process.
void ListenForThreadEnd() {
  static const pthread_key_t key = MakeThreadKey();
  if (t_began) return;
  if (pthread_setspecific(key, &t_began) != 0) throw std::bad_alloc();
  t_began = true;
}

[[maybe_unused]] const bool g_capture_at_fork = AtForkInChild([] {
  t_mode = CaptureMode::kGlobal;
  t_began = false;
});

}  // namespace

const char* CaptureNode::name() const {
  switch (kind) {
    case Kind::kRecord:
      return "event record";
    case Kind::kWait:
      return "event wait";
    case Kind::kTask:
      break;
  }
  return task.type->name;
}

void SetCallNamer(CallNamer namer) { g_namer.store(namer); }
const char* CallName(uint32_t call) {
  CallNamer namer = g_namer.load(std::memory_order_relaxed);
  return namer == nullptr ? "a call" : namer(call);
}

// --- begin and end

CaptureState Capture::Apply(CaptureCommand command) {
  CaptureState next = Next(state(), command);
  if (next != CaptureState::kRefused) state_.store(next, std::memory_order_release);
  return next;
}

void Capture::Begin(Stream& main, CaptureMode mode) {
  if (main.options().is_default) {
    Fail(codes::kRtParamInvalid, "capture-default-stream",
         "the default stream cannot be captured; create a stream with aclrtCreateStream");
  }
  ListenForThreadEnd();
  ModelRI& model = NewModel(main);
  Rollback no_model([&] { ModelRI::Destroy(model); });
  CaptureRegistry& registry = CaptureRegistry::Get();
  Capture& capture = registry.Take();
  Rollback no_capture([&] { registry.Retire(capture); });
  {
    std::lock_guard guard(capture.lock_);
    MakeRoom(capture.members_);
    if (main.EnterCapture(&capture)) {
      capture.Start(main, mode, model);
      registry.Publish(capture);
      no_capture.Keep();
      no_model.Keep();
      return;
    }
  }
  if (main.updating()) {
    Fail(codes::kCaptureMode, "capture-updating",
         "stream {} has a task update under way; call aclmdlRICaptureTaskUpdateEnd first", main.id());
  }
  Fail(codes::kCaptureMode, "capture-twice",
       "stream {} is being captured already; end that capture with aclmdlRICaptureEnd first", main.id());
}

ModelRI& Capture::NewModel(Stream& main) {
  HandleBits handle = Models().Create(main.context().device(), g_next_model.fetch_add(1));
  if (handle == 0)
    Fail(codes::kRtNoModelResource, "model-limit", "the process holds as many models as Belay can number");
  return *Models().Find(handle);
}

// Under lock_, with room for a member.
void Capture::Start(Stream& main, CaptureMode mode, ModelRI& model) noexcept {
  Apply(CaptureCommand::kBegin);
  mode_ = mode;
  id_ = g_next_capture.fetch_add(1) + 1;
  thread_ = ThisThread();
  thread_gone_ = false;
  main_ = &main;
  model_ = &model;
  nodes_.clear();
  spoiled_by_.clear();
  groups_.clear();
  members_.push_back({&main, kNoNode});
}

void Capture::CheckEnd(Stream& main) {
  if (&main != main_) {
    Fail(codes::kRtParamInvalid, "capture-end-stream",
         "stream {} only joined the capture; end it on stream {}, where it began", main.id(), main_->id());
  }
  if (mode_ != CaptureMode::kRelaxed && thread_ != ThisThread() && !thread_gone_) {
    Fail(codes::kCaptureMode, "capture-end-thread",
         "the capture of stream {} was begun by another thread; only that thread may end it unless the mode "
         "is ACL_MODEL_RI_CAPTURE_MODE_RELAXED",
         main.id());
  }
}

ModelRI& Capture::End(Stream& main) {
  Capture* capture = main.capture();
  std::unique_lock<std::mutex> guard;
  if (capture != nullptr) guard = std::unique_lock(capture->lock_);
  if (capture == nullptr || main.capture() != capture) {
    Fail(codes::kRtParamInvalid, "capture-not-begun",
         "stream {} is not being captured; call aclmdlRICaptureBegin first", main.id());
  }
  capture->CheckEnd(main);
  ModelRI& model = *capture->model_;
  capture->ReleaseStreams();
  bool spoiled = capture->state() == CaptureState::kInvalidated;
  capture->Apply(CaptureCommand::kEnd);
  std::vector<CaptureNode> nodes = std::move(capture->nodes_);
  capture->nodes_.clear();
  std::string spoiled_by = std::move(capture->spoiled_by_);
  const char* mend = capture->mend_;
  std::vector<Member> members = std::move(capture->members_);
  capture->members_.clear();
  std::vector<TaskGroup*> groups = std::move(capture->groups_);
  capture->groups_.clear();
  guard.unlock();
  CaptureRegistry::Get().Retire(*capture);
  Rollback no_model([&] { ModelRI::Destroy(model); });
  try {
    if (spoiled) {
      Fail(codes::kCaptureInvalid, "capture-invalidated",
           "the capture of stream {} cannot become a model: {}; {}", main.id(),
           spoiled_by.empty() ? kUnsaid : spoiled_by.c_str(), mend);
    }
    CheckGroups(members);
    CheckClosed(nodes, members, main);
  } catch (...) {
    Drop(nodes, groups);
    throw;
  }
  ThreadEngine* engine = TheThreadEngine();
  int width = engine == nullptr ? 1 : engine->workers();
  model.Finish(TaskGraph::Make(std::move(nodes), width, std::move(groups)));
  no_model.Keep();
  Observers::Tell([&](Observer& o) { o.Finished(model.id(), model.graph()); });
  return model;
}

// The tasks and groups of a capture that becomes no model.
void Capture::Drop(const std::vector<CaptureNode>& nodes, const std::vector<TaskGroup*>& groups) {
  for (const CaptureNode& node : nodes) {
    if (node.kind == CaptureNode::Kind::kTask) Task(node.task).Destroy();
  }
  for (TaskGroup* group : groups) group->Release();
}

void Capture::ReleaseStreams() {
  for (Member& member : members_) member.stream->LeaveCapture();
}

// Every node must lead to the last one of the main stream: what does not is work that nobody waits for.
void Capture::CheckClosed(const std::vector<CaptureNode>& nodes, const std::vector<Member>& members,
                          Stream& main) {
  std::vector<bool> reached(nodes.size(), false);
  std::vector<uint32_t> open;
  if (members.front().last != kNoNode) open.push_back(members.front().last);
  while (!open.empty()) {
    uint32_t n = open.back();
    open.pop_back();
    if (reached[n]) continue;
    reached[n] = true;
    open.insert(open.end(), nodes[n].after.begin(), nodes[n].after.end());
  }
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (reached[n]) continue;
    bool came_back = std::any_of(nodes.begin(), nodes.begin() + n, [&](const CaptureNode& earlier) {
      return earlier.stream_id == nodes[n].stream_id && reached[static_cast<size_t>(&earlier - nodes.data())];
    });
    const char* id = came_back ? "capture-task-after-return" : "capture-not-joined";
    Fail(codes::kCaptureUnjoined, id,
         "stream {} {} the main stream {} of the capture: its {} (node {}{}) leads nowhere; "
         "call aclrtRecordEvent on stream {} after it and aclrtStreamWaitEvent on a stream that leads to "
         "stream {} before aclmdlRICaptureEnd",
         nodes[n].stream_id, came_back ? "was given work after it had returned to" : "never returned to",
         main.id(), nodes[n].name(), n, SubmittedBy(nodes[n].call), nodes[n].stream_id, main.id());
  }
}

// --- what streams hand over

Capture::Member* Capture::MemberOf(Stream& stream) {
  for (Member& member : members_) {
    if (member.stream == &stream) return &member;
  }
  return nullptr;
}

void Capture::RefuseIfSpoiled() {
  if (state() != CaptureState::kInvalidated) return;
  Fail(codes::kCaptureInvalid, "capture-invalidated",
       "the capture is invalid: {}; end it with aclmdlRICaptureEnd",
       spoiled_by_.empty() ? kUnsaid : spoiled_by_.c_str());
}

uint32_t Capture::AddNode(uint32_t* last, CaptureNode&& node) {
  if (*last != kNoNode) node.after.push_back(*last);
  nodes_.push_back(std::move(node));
  *last = static_cast<uint32_t>(nodes_.size() - 1);
  return *last;
}

bool Capture::Add(Stream& stream, Task&& task) {
  std::lock_guard guard(lock_);
  Member* member = MemberOf(stream);
  if (stream.capture() != this || member == nullptr) return false;
  TaskGroup* group = member->group;
  bool fits = group == nullptr || task.type->kind == TaskKind::kOperator;
  const char* name = task.type->name;
  if (state() == CaptureState::kInvalidated || !fits) task.Destroy();
  RefuseIfSpoiled();
  if (!fits) RefuseInGroup(*member, name);
  CaptureNode node{.kind = CaptureNode::Kind::kTask,
                   .task = task,
                   .stream_id = stream.id(),
                   .call = task.call,
                   .event_id = 0,
                   .after = {},
                   .group = group};
  try {
    const uint32_t at = AddNode(&member->last, std::move(node));
    Observers::Tell([&](Observer& o) { o.Captured(stream, model_->id(), at, task); });
  } catch (...) {
    task.Destroy();
    throw;
  }
  return true;
}

bool Capture::Record(Stream& stream, Event& event, CapturePoint* point) {
  std::lock_guard guard(lock_);
  Member* member = MemberOf(stream);
  if (stream.capture() != this || member == nullptr) return false;
  RefuseIfSpoiled();
  if (member->group != nullptr) RefuseInGroup(*member, "event record");
  CaptureNode node{.kind = CaptureNode::Kind::kRecord,
                   .task = {},
                   .stream_id = stream.id(),
                   .call = t_current_call,
                   .event_id = event.id(),
                   .after = {}};
  *point = {id_, AddNode(&member->last, std::move(node)), event.id()};
  return true;
}

void Capture::Wait(Stream& stream, const CapturePoint& point) {
  std::lock_guard guard(lock_);
  if (state() == CaptureState::kNone || id_ != point.capture_id) {
    Fail(codes::kStreamCaptured, "event-captured",
         "the capture that recorded the event ended while the call was under way");
  }
  RefuseIfSpoiled();
  Member* member = MemberOf(stream);
  if (member != nullptr && member->group != nullptr) RefuseInGroup(*member, "event wait");
  CaptureNode node{.kind = CaptureNode::Kind::kWait,
                   .task = {},
                   .stream_id = stream.id(),
                   .call = t_current_call,
                   .event_id = point.event_id,
                   .after = {point.node}};
  if (member == nullptr) {
    CheckMayJoin(stream);
    MakeRoom(members_);
    MakeRoom(nodes_);
    if (!stream.EnterCapture(this)) CheckMayJoin(stream);  // another capture was faster
    Apply(CaptureCommand::kJoin);
    members_.push_back({&stream, kNoNode});
    member = &members_.back();
  }
  AddNode(&member->last, std::move(node));
}

// Under lock_. A stream that cannot join spoils the capture: what follows would be lost in the graph.
void Capture::CheckMayJoin(Stream& stream) {
  const char* why = nullptr;
  if (stream.options().is_default) {
    why = "the default stream";
  } else if (Capture* other = stream.capture(); other != nullptr && other != this) {
    why = "a stream of another capture";
  } else if (&stream.context() != &main_->context()) {
    why = "a stream of another context";
  } else if (stream.closing()) {
    why = "being destroyed";
  } else if (stream.updating()) {
    why = "collecting a task update";
  }
  if (why == nullptr) return;
  SpoilLocked(stream.id(),
              {"an attempt to join a stream that cannot join",
               "let it wait outside of the capture, or for an event that was not recorded in it"});
  Fail(codes::kCaptureMode, "capture-join",
       "stream {} is {}: it cannot join the capture of stream {} by waiting for one of its events; use a "
       "stream of the same context that was created with aclrtCreateStream and is not being captured",
       stream.id(), why, main_->id());
}

void Capture::SpoilLocked(uint32_t stream_id, const Mistake& mistake) noexcept {
  if (state() != CaptureState::kActive) return;
  Apply(CaptureCommand::kSpoil);
  mend_ = mistake.mend;
  try {
    std::string last = nodes_.empty() ? "" : fmt::format(", the last '{}'", nodes_.back().name());
    spoiled_by_ = fmt::format("{} on stream {} ({}, after {} captured task{}{}) is not allowed in a capture",
                              mistake.what, stream_id, CallName(t_current_call), nodes_.size(),
                              nodes_.size() == 1 ? "" : "s", last);
  } catch (const std::bad_alloc&) {
    spoiled_by_.clear();
  }
}

void Capture::Spoil(uint64_t id, const Mistake& mistake) {
  std::lock_guard guard(lock_);
  if (id_ == id) SpoilLocked(main_->id(), mistake);
}

Capture::Info Capture::InfoOf(Stream& stream) {
  Capture* capture = stream.capture();
  if (capture == nullptr) return {};
  std::lock_guard guard(capture->lock_);
  if (stream.capture() != capture) return {};
  return {capture->state(), capture->model_};
}

void Capture::Leave(Stream& stream) {
  std::unique_lock guard(lock_);
  if (stream.capture() != this) return;
  SpoilLocked(stream.id(), {"the destruction of a stream", "destroy it after aclmdlRICaptureEnd"});
  stream.LeaveCapture();
  std::erase_if(members_, [&](const Member& m) { return m.stream == &stream && &stream != main_; });
  if (&stream != main_) return;
  // Nobody can end the capture any more: drop it.
  ReleaseStreams();
  members_.clear();
  Drop(nodes_, groups_);
  nodes_.clear();
  groups_.clear();
  Apply(CaptureCommand::kEnd);
  ModelRI& model = *model_;
  guard.unlock();
  CaptureRegistry::Get().Retire(*this);
  ModelRI::Destroy(model);
}

// --- task groups

Capture& Capture::OfMember(Stream& stream, std::unique_lock<std::mutex>* guard) {
  Capture* capture = stream.capture();
  if (capture != nullptr) *guard = std::unique_lock(capture->lock_);
  if (capture == nullptr || stream.capture() != capture) {
    Fail(codes::kRtParamInvalid, "group-not-capturing",
         "stream {} is not being captured; a task group is part of a capture (aclmdlRICaptureBegin)",
         stream.id());
  }
  capture->RefuseIfSpoiled();
  return *capture;
}

void Capture::BeginGroup(Stream& stream) {
  std::unique_lock<std::mutex> guard;
  Capture& capture = OfMember(stream, &guard);
  Member& member = *capture.MemberOf(stream);
  if (member.group != nullptr) {
    Fail(codes::kRtParamInvalid, "group-twice",
         "stream {} has a task group open already; end it with aclmdlRICaptureTaskGrpEnd", stream.id());
  }
  MakeRoom(capture.groups_);
  HandleBits handle = TaskGroups().Create(stream.context().device(), capture.model_->id());
  if (handle == 0)
    Fail(codes::kRtNoModelResource, "model-limit",
         "the process holds as many task groups as Belay can number");
  member.group = TaskGroups().Find(handle);
  capture.groups_.push_back(member.group);
}

TaskGroup& Capture::EndGroup(Stream& stream) {
  std::unique_lock<std::mutex> guard;
  Capture& capture = OfMember(stream, &guard);
  TaskGroup* group = std::exchange(capture.MemberOf(stream)->group, nullptr);
  if (group == nullptr) {
    Fail(codes::kRtParamInvalid, "group-not-begun",
         "stream {} has no task group open; begin one with aclmdlRICaptureTaskGrpBegin", stream.id());
  }
  return *group;
}

void Capture::RefuseInGroup(const Member& member, const char* what) {
  Fail(
      codes::kRtTaskTypeNotSupport, "group-task-kind",
      "stream {} has a task group open, which takes operators only, not '{}'; end the group first, the capture "
      "goes on",
      member.stream->id(), what);
}

void Capture::CheckGroups(const std::vector<Member>& members) {
  for (const Member& member : members) {
    if (member.group == nullptr) continue;
    Fail(codes::kCaptureInvalid, "capture-group-open",
         "the capture ended while stream {} had a task group open; call aclmdlRICaptureTaskGrpEnd first",
         member.stream->id());
  }
}

// --- what captures forbid

namespace {

bool Forbids(const CaptureRegistry::UnderWay& capture) {
  if (t_mode == CaptureMode::kRelaxed) return false;
  if (capture.thread == ThisThread()) return capture.mode != CaptureMode::kRelaxed;
  return capture.mode == CaptureMode::kGlobal && t_mode == CaptureMode::kGlobal;
}

}  // namespace

void CheckCaptureAllows(const char* call) {
  CaptureRegistry& registry = CaptureRegistry::Get();
  if (registry.none()) [[likely]]
    return;
  for (const CaptureRegistry::UnderWay& u : registry.Active()) {
    if (!Forbids(u)) continue;
    u.capture->Spoil(u.id,
                     {"a synchronous or unsafe call",
                      "make it outside of the capture, or exchange the thread's mode for relaxed around it"});
    Fail(codes::kCaptureMode, "capture-unsafe-call",
         "{} is not allowed while stream {} is being captured in this mode; make it before or after the "
         "capture, or around it switch with aclmdlRICaptureThreadExchangeMode to "
         "ACL_MODEL_RI_CAPTURE_MODE_RELAXED",
         call, u.main->id());
  }
}

void CheckNotCaptured(Stream& stream, const char* call) {
  if (stream.capture() == nullptr) [[likely]]
    return;
  SpoilCaptureOf(stream, {"a query or synchronise", "ask after aclmdlRICaptureEnd and a replay"});
  Fail(codes::kStreamCaptured, "capture-stream-query",
       "{} on stream {}, which is being captured: its tasks have not run and will only run in the model; end "
       "the capture first",
       call, stream.id());
}

void CheckNoCaptureOn(int device, const char* call) {
  CaptureRegistry& registry = CaptureRegistry::Get();
  if (registry.none()) [[likely]]
    return;
  for (const CaptureRegistry::UnderWay& u : registry.Active()) {
    if (u.main->context().device().id() != device) continue;
    u.capture->Spoil(u.id, {"a synchronise of the whole device",
                            "make it before aclmdlRICaptureBegin or after aclmdlRICaptureEnd"});
    Fail(codes::kStreamCaptured, "capture-device-sync",
         "{} waits for all streams of device {}, but stream {} is being captured; end the capture first",
         call, device, u.main->id());
  }
}

void SpoilCaptureOf(Stream& stream, const Mistake& mistake) {
  if (Capture* capture = stream.capture(); capture != nullptr) capture->SpoilFor(stream, mistake);
}

void Capture::SpoilFor(Stream& stream, const Mistake& mistake) {
  std::lock_guard guard(lock_);
  if (stream.capture() == this) SpoilLocked(stream.id(), mistake);
}

bool JoinCapture(Stream& stream, const CapturePoint& point) {
  Capture* capture = CaptureRegistry::Get().Find(point.capture_id);
  if (capture == nullptr) return false;
  // Two captures that meet could not be replayed one without the other: both fail.
  Capture* other = stream.capture();
  if (other != nullptr && other != capture)
    other->SpoilFor(stream,
                    {"a wait on an event of another capture", "let the stream be part of one capture only"});
  capture->Wait(stream, point);
  return true;
}

void SpoilCapture(uint64_t capture_id, const Mistake& mistake) {
  Capture* capture = CaptureRegistry::Get().Find(capture_id);
  if (capture != nullptr) capture->Spoil(capture_id, mistake);
}

void LeaveCapture(Stream& stream) {
  if (Capture* capture = stream.capture(); capture != nullptr) capture->Leave(stream);
}

CaptureMode ExchangeThreadMode(CaptureMode mode) { return std::exchange(t_mode, mode); }

}  // namespace belay::rt
