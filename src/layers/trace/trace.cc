#include "layers/trace/trace.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "layers/trace/call_watch.h"
#include "runtime/stream.h"
#include "runtime/task_failure.h"

namespace belay::trace {
namespace {

// What is marked with one id is joined by an arrow: the first and the last of it.
constexpr int kArrowsOfRecord = 4;

// Operators and marks are shown by what they say of themselves.
bool SaysName(const rt::TaskType& type) {
  return (type.kind == rt::TaskKind::kOperator || type.kind == rt::TaskKind::kMark) &&
         type.describe != nullptr;
}

// The name of a task, in the room for one.
void SetName(Writer& writer, const rt::Task& task) {
  writer.name.clear();
  const bool says = SaysName(*task.type);
  if (says) task.type->describe(task.payload, writer.name);
  if (writer.name.empty()) writer.name = task.type->name;
}

// The number of that name, without a copy of it where it stays.
uint64_t NumberOfTask(Writer& writer, const rt::Task& task) {
  const rt::TaskType& type = *task.type;
  if (!SaysName(type)) return writer.NumberOfStaying(type.name);
  if (type.function != nullptr) return writer.NumberOfStaying(type.function(task.payload));
  SetName(writer, task);
  return writer.NumberOf(writer.name);
}

}  // namespace

namespace {
pid_t g_made_in = 0;
}
bool Trace::exists() { return g_made_in == getpid(); }

Trace* Trace::OfProcess(const rt::CoreFacts& core) {
  static Trace* trace = nullptr;
  if (!exists()) {
    trace = new Trace(core);
    g_made_in = getpid();
  }
  return trace;
}

Trace::Trace(const rt::CoreFacts& core)
    : core_(core), timeline_(Timeline::OfProcess()), process_(timeline_.process()) {
  Profiles::BeginRun();
  KnowCore(core);
}

// --- tracks

uint64_t Trace::DeviceTrack(Writer& writer, int device) {
  uint64_t& track = devices_[device];
  if (track == 0) {
    track = Mix(Mix(process_, kDevice), static_cast<uint64_t>(device));
    writer.Announce(track, Mix(process_, kProcess), "device " + std::to_string(device));
  }
  return track;
}

// A stream that is used for the first time gets its track, also where its slot had another before.
Trace::Line& Trace::LineOf(Writer& writer, const rt::Stream& stream) {
  Writer::Known& known =
      writer.known[reinterpret_cast<uintptr_t>(&stream) / sizeof(rt::Stream) % writer.known.size()];
  if (known.stream == &stream && static_cast<Line*>(known.line)->id == stream.id()) [[likely]]
    return *static_cast<Line*>(known.line);
  std::lock_guard guard(lock_);
  std::unique_ptr<Line>& line = lines_[&stream];
  if (line == nullptr) line = std::make_unique<Line>();
  if (line->id != stream.id()) {
    const uint64_t parent = DeviceTrack(writer, core_.device_of(stream));
    line->track = {Mix(Mix(process_, kStream), stream.id()), 0};
    line->submission = Mix(line->track.id, kSubmission);
    line->lanes.clear();
    line->id = stream.id();
    writer.Announce(line->track.id, parent, "stream " + std::to_string(stream.id()));
  }
  known = {&stream, line.get()};
  return *line;
}

Track& Trace::LaneOf(Writer& writer, const rt::Stream& stream, uint32_t lane) {
  Line& line = LineOf(writer, stream);
  if (lane == kNoLane) return line.track;
  std::lock_guard guard(line.lock);
  Track& track = line.lanes[lane];
  if (track.id == 0) {
    track.id = Mix(Mix(Mix(process_, kLane), line.id), lane);
    writer.Announce(track.id, line.track.id,
                    "stream " + std::to_string(line.id) + ", lane " + std::to_string(lane));
  }
  return track;
}

// --- arrows

uint64_t Trace::ArrowOf(const Line& source, uint64_t position, int which) const {
  return Mix(Mix(Mix(process_, kRecord), source.id),
             position * kArrowsOfRecord + static_cast<uint64_t>(which));
}

// An arrow has one end: the first few waits for a record get one each.
void Trace::NoteWaits(Writer& writer, const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  struct Visitor final : rt::RangeVisitor {
    void Reads(const void*, size_t) override {}
    void Writes(void*, size_t) override {}
    void WaitsFor(const rt::Stream& source, uint64_t at) override { waits.emplace_back(&source, at); }
    std::vector<std::pair<const rt::Stream*, uint64_t>> waits;
  };
  Visitor visitor;
  if (task.type->ranges != nullptr) task.type->ranges(task.payload, visitor);
  for (const auto& [source, at] : visitor.waits) {
    Line& from = LineOf(writer, *source);
    int which;
    {
      std::lock_guard guard(from.lock);
      if (from.waits.size() > 1024) from.waits.clear();
      which = from.waits[at]++;
    }
    if (which >= kArrowsOfRecord) continue;
    Line& to = LineOf(writer, stream);
    std::lock_guard guard(to.lock);
    to.arrows[position] = ArrowOf(from, at, which);
  }
}

// --- the host

void Trace::Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  if (idle()) return;
  Writer& writer = timeline_.ThisWriter();
  LineOf(writer, stream);  // before another thread may run the task
  // A call that is not shown yet is where the task comes from.
  const Writer::Call* call = writer.call();
  const bool by_call = call != nullptr && !call->shown;
  writer.submitting = by_call && !Profiles::any() ? call->begun : writer.Now();
  writer.submitting_call = task.call;
  if (task.call == 0) SetName(writer, task);
  if (task.call == 0) writer.submitter = writer.name;
  if (task.type->task_class == rt::TaskClass::kWait) NoteWaits(writer, stream, position, task);
  if (!Profiles::any()) return;
  Line& line = LineOf(writer, stream);
  std::lock_guard guard(line.lock);
  if (line.submissions.size() >= Profile::kMostOperands) line.submissions.clear();  // what ended unseen
  Submission& submission = line.submissions[position];
  submission = {nullptr, writer.thread, writer.submitting};
  if (task.type->kind == rt::TaskKind::kOperator) submission.operands = writer.operands;
}

// The first task of a call that is told of hangs on the call itself.
void Trace::Queued(const rt::Stream& stream, uint64_t position) {
  if (!timeline_.writes()) return;
  Writer& writer = timeline_.ThisWriter();
  const uint64_t flow = Mix(LineOf(writer, stream).submission, position);
  if (writer.ShowCall(flow)) return;
  if (writer.submitting_call != 0) writer.submitter = core_.call_name(writer.submitting_call);
  const uint64_t name = writer.NumberOf(writer.submitter);
  writer.Event(EventType::kBegin, &writer.track, writer.submitting, name, {flow});
  writer.Event(EventType::kEnd, &writer.track, writer.Now(), 0);
}

void Trace::HostWaits(const rt::Stream& /*stream*/, uint64_t /*position*/, int64_t /*deadline_ns*/) {
  if (!timeline_.writes()) return;
  Writer& writer = timeline_.ThisWriter();
  writer.ShowCall();
  const uint32_t call = core_.current_call();
  const std::string name = call == 0 || writer.call() != nullptr ? "wait" : core_.call_name(call);
  writer.Event(EventType::kBegin, &writer.track, writer.Now(), writer.NumberOf(name));
}

void Trace::HostGoesOn(const rt::Stream& /*stream*/, uint64_t /*position*/) {
  if (!timeline_.writes()) return;
  Writer& writer = timeline_.ThisWriter();
  writer.Event(EventType::kEnd, &writer.track, writer.Now(), 0);
}

// What other processes and the program itself allocated is theirs.
void Trace::NoteMemory(const rt::Block& block, bool comes) {
  if (!timeline_.writes()) return;
  if (block.kind == rt::BlockKind::kImported || block.kind == rt::BlockKind::kRegistered) return;
  Writer& writer = timeline_.ThisWriter();
  std::lock_guard guard(lock_);
  const int device = block.kind == rt::BlockKind::kPinned ? -1 : block.device;
  Memory& memory = memory_[device];
  if (memory.track.id == 0) {
    memory.track.id = Mix(Mix(process_, kMemory), static_cast<uint64_t>(device));
    const uint64_t parent = device < 0 ? Mix(process_, kProcess) : DeviceTrack(writer, device);
    const std::string name = device < 0 ? "pinned memory" : "device " + std::to_string(device) + ", memory";
    writer.Announce(memory.track.id, parent, name, true);
  }
  memory.bytes += comes ? block.bytes : 0;
  memory.bytes -= comes ? 0 : std::min<uint64_t>(memory.bytes, block.bytes);
  writer.Count(&memory.track, writer.Now(), memory.bytes);
}

// --- streams

void Trace::Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  if (idle()) return;
  Writer& writer = timeline_.ThisWriter();
  Line& line = LineOf(writer, stream);
  const uint64_t flow = Mix(line.submission, position);
  const uint64_t name = NumberOfTask(writer, task);
  line.track.begun = writer.Now();
  line.started = position;
  const bool record = task.type->task_class == rt::TaskClass::kRecord;
  auto arrow = [&](int which) { return ArrowOf(line, position, which); };
  if (record) {
    writer.Event(EventType::kBegin, &line.track, line.track.begun, name,
                 {arrow(0), arrow(1), arrow(2), arrow(3)}, flow);
  } else {
    writer.Event(EventType::kBegin, &line.track, line.track.begun, name, {}, flow);
  }
}

void Trace::TellFailure(Writer& writer, Track* track, const rt::TaskFailure& failure) {
  const std::string text = "failed: " + std::to_string(failure.code) + " " + failure.id;
  writer.Event(EventType::kInstant, track, writer.Now(), writer.NumberOf(text));
}

void Trace::Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
                  const rt::TaskFailure* failure) {
  if (idle()) return;
  Writer& writer = timeline_.ThisWriter();
  Line& line = LineOf(writer, stream);
  if (failure != nullptr) TellFailure(writer, &line.track, *failure);
  if (task.type->task_class == rt::TaskClass::kWait) {
    uint64_t arrow = 0;
    {
      std::lock_guard guard(line.lock);
      if (auto found = line.arrows.find(position); found != line.arrows.end()) {
        arrow = found->second;
        line.arrows.erase(found);
      }
    }
    // Of its own: the wait itself may have begun before the record.
    static const std::string kGoesOn = "goes on";
    if (arrow != 0)
      writer.Event(EventType::kInstant, &line.track, writer.Now(), writer.NumberOf(kGoesOn), {}, arrow);
  }
  writer.Event(EventType::kEnd, &line.track, writer.Now(), 0);
  if (!Profiles::any()) return;
  Submission submission;
  {
    std::lock_guard guard(line.lock);
    if (auto found = line.submissions.find(position); found != line.submissions.end()) {
      submission = std::move(found->second);
      line.submissions.erase(found);
    }
  }
  if (line.started != position) return;  // it began before anybody wanted to know
  AddToProfile(stream, line.track, task, Profile::kNoModel, position, std::move(submission));
  line.track.ended = writer.Now();
}

// --- the profile

void Trace::Captured(const rt::Stream& /*stream*/, uint32_t model, uint32_t node, const rt::Task&) {
  if (!Profiles::any()) return;
  Writer& writer = timeline_.ThisWriter();
  if (writer.operands == nullptr) return;
  std::lock_guard guard(lock_);
  if (operands_.size() >= Profile::kMostOperands) operands_.clear();
  operands_[{model, node}] = writer.operands;
}

void Trace::AddToProfile(const rt::Stream& stream, const Track& track, const rt::Task& task, uint64_t model,
                         uint64_t place, Submission submission) {
  Writer& writer = timeline_.ThisWriter();
  SetName(writer, task);
  const uint64_t now = std::max(writer.Now(), track.begun);  // which another thread may have told
  const uint64_t waited = track.ended == 0 ? 0 : track.begun - std::min(track.begun, track.ended);
  const Profile::Row row{core_.device_of(stream),
                         stream.id(),
                         model,
                         place,
                         writer.name,
                         task.type->name,
                         task.type->kind == rt::TaskKind::kOperator,
                         track.begun,
                         now,
                         waited,
                         std::move(submission.operands),
                         submission.thread,
                         submission.time,
                         core_.model_of_launch(task)};
  Profiles::Each([&](Profile& profile, bool) { profile.Add(row); });
}

void Trace::EndedDevice(int /*device*/) {
  Profiles::Each([](Profile& profile, bool) { profile.Finish(); });
}

// --- calls of C++

void Trace::CallBegan(uint32_t call, int64_t begun_ns) {
  Writer& writer = timeline_.ThisWriter();
  const uint64_t now = writer.Now();
  writer.BeginCall(core_.call_name(call), now - static_cast<uint64_t>(NowNs() - begun_ns));
}

void Trace::CallEnded(uint32_t call, const char* result) {
  EndNamedCall(timeline_.ThisWriter(), core_.call_name(call), result);
}

// --- what the program marks

// Spans of threads lie one within another, on a track of their own beside the thread's calls. Those with
// numbers may overlap: each takes the first lane that is free.
Track& Trace::RangeLane(Writer& writer, const rt::Mark& mark) {
  const auto found = range_lanes_.find(mark.range);
  size_t lane = 0;
  if (found != range_lanes_.end()) {
    lane = found->second;
    range_lanes_.erase(found);
  } else {
    std::vector<bool> taken(ranges_.size());
    for (const auto& [range, its] : range_lanes_) taken[its] = true;
    lane = static_cast<size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    if (mark.kind == rt::MarkKind::kRangeStart) range_lanes_[mark.range] = lane;
  }
  if (lane == ranges_.size()) {
    ranges_.push_back({Mix(Mix(process_, kRanges), lane), 0, 0, 0});
    writer.Announce(ranges_.back().id, Mix(process_, kProcess), "ranges");
  }
  return ranges_[lane];
}

void Trace::Marked(const rt::Mark& mark) {
  if (idle()) return;
  Writer& writer = timeline_.ThisWriter();
  const uint64_t now = writer.Now();
  const auto begun = now - static_cast<uint64_t>(mark.at_ns - mark.begun_ns);
  const bool begins = mark.kind == rt::MarkKind::kPush || mark.kind == rt::MarkKind::kRangeStart;
  const bool range = mark.kind == rt::MarkKind::kRangeStart || mark.kind == rt::MarkKind::kRangeStop;
  std::unique_lock guard(lock_, std::defer_lock);
  if (range) guard.lock();
  if (writer.spans.id == 0 && !range) {
    writer.spans.id = Mix(Mix(process_, kSpans), static_cast<uint64_t>(writer.thread));
    writer.Announce(writer.spans.id, writer.track.id, "marks");
  }
  Track& track = range ? RangeLane(writer, mark) : writer.spans;
  const EventType type = mark.kind == rt::MarkKind::kMoment ? EventType::kInstant
                         : begins                           ? EventType::kBegin
                                                            : EventType::kEnd;
  const bool named = !mark.domain.empty() && mark.domain != "default";
  const std::string message = (named ? std::string(mark.domain) + ": " : "") + std::string(mark.message);
  writer.Event(type, &track, now, type == EventType::kEnd ? 0 : writer.NumberOf(message));
  if (begins) return;
  const char* kind = mark.kind == rt::MarkKind::kMoment ? "Mark" : range ? "Start/Stop" : "Push/Pop";
  const Profile::Span span{writer.thread, kind, mark.message, begun, now, mark.domain};
  Profiles::Each([&](Profile& profile, bool) { profile.AddSpan(span); });
}

// --- nodes of launches

void Trace::NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t /*model*/, uint32_t /*node*/,
                        const rt::Task& task) {
  if (idle()) return;
  Writer& writer = timeline_.ThisWriter();
  const uint64_t name = NumberOfTask(writer, task);
  Track& track = LaneOf(writer, stream, lane);
  writer.Event(EventType::kBegin, &track, writer.Now(), name);
  if (Profiles::any()) writer.node_begun = track.last;
}

void Trace::NodeEnded(const rt::Stream& stream, uint32_t lane, uint32_t model, uint32_t node,
                      const rt::Task& task, const rt::TaskFailure* failure) {
  if (idle()) return;
  Writer& writer = timeline_.ThisWriter();
  Track& track = LaneOf(writer, stream, lane);
  if (failure != nullptr) TellFailure(writer, &track, *failure);
  writer.Event(EventType::kEnd, &track, writer.Now(), 0);
  if (!Profiles::any()) return;
  const uint64_t begun = std::exchange(writer.node_begun, 0);
  if (begun == 0) return;  // the same
  Operands operands;
  {
    std::lock_guard guard(lock_);
    if (auto found = operands_.find({model, node}); found != operands_.end()) operands = found->second;
  }
  AddToProfile(stream, {0, 0, begun, 0}, task, model, node, {std::move(operands)});
}

}  // namespace belay::trace
