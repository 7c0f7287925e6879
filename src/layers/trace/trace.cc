#include "layers/trace/trace.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <utility>
#include <vector>

#include "layers/support/thread_cache.h"
#include "runtime/stream.h"
#include "runtime/task_failure.h"

namespace belay::trace {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t mixed = (a ^ b) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93;
  return mixed ^ mixed >> 32;
}

// As the system's own events have it, so that they can be shown together.
uint64_t Now() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// What is marked with one id is joined by an arrow: the first and the last of it.
constexpr int kArrowsOfRecord = 4;

enum Of : uint64_t { kProcess = 1, kThread, kDevice, kStream, kLane, kSubmission, kRecord, kMemory };
constexpr uint64_t kUnitBytes = 3;

}  // namespace

// What a thread knows of the file.
struct Trace::Writer {
  struct Known {
    const rt::Stream* stream = nullptr;
    Line* line = nullptr;
  };
  Sequence sequence;
  std::unordered_map<std::string, uint64_t> names;
  std::string name;  // room for one
  std::array<Known, 64> known{};
  Track track;
  uint64_t submitting = 0;  // when
  std::string call;

  // The name of a task, in the room for one.
  void Name(const rt::Task& task) {
    name.clear();
    const bool says = task.type->kind == rt::TaskKind::kOperator && task.type->describe != nullptr;
    if (says) task.type->describe(task.payload, name);
    if (name.empty()) name = task.type->name;
  }

  uint64_t NumberOf(const std::string& text) {
    const auto [found, fresh] = names.try_emplace(text, names.size() + 1);
    if (!fresh) return found->second;
    Packet packet;
    packet.Number(fields::kSequenceFlags, 2);
    const size_t interned = packet.Open(fields::kInterned);
    const size_t entry = packet.Open(fields::kInternedNames);
    packet.Number(fields::kNameId, found->second);
    packet.Text(fields::kNameText, text);
    packet.Close(entry);
    packet.Close(interned);
    sequence.Write(packet);
    return found->second;
  }

  void Count(Track* where, uint64_t time, uint64_t value);
  // Times of a track only grow.
  void Event(EventType type, Track* where, uint64_t time, const std::string* text,
             std::initializer_list<uint64_t> flows = {}, uint64_t last_flow = 0) {
    const uint64_t number = text == nullptr ? 0 : NumberOf(*text);
    where->last = std::max(time, where->last + 1);
    Packet packet;
    packet.Number(fields::kTimestamp, where->last);
    packet.Number(fields::kSequenceFlags, 2);
    const size_t event = packet.Open(fields::kTrackEvent);
    packet.Number(fields::kEventType, static_cast<uint64_t>(type));
    packet.Number(fields::kEventTrack, where->id);
    if (number != 0) packet.Number(fields::kEventName, number);
    for (uint64_t flow : flows) packet.Fixed(fields::kEventFlows, flow);
    if (last_flow != 0) packet.Fixed(fields::kEventLastFlows, last_flow);
    packet.Close(event);
    sequence.Write(packet);
  }
};

// Under a lock of those who share the track.
void Trace::Writer::Count(Track* where, uint64_t time, uint64_t value) {
  where->last = std::max(time, where->last + 1);
  Packet packet;
  packet.Number(fields::kTimestamp, where->last);
  packet.Number(fields::kSequenceFlags, 2);
  const size_t event = packet.Open(fields::kTrackEvent);
  packet.Number(fields::kEventType, static_cast<uint64_t>(EventType::kCounter));
  packet.Number(fields::kEventTrack, where->id);
  packet.Number(fields::kEventValue, value);
  packet.Close(event);
  sequence.Write(packet);
}

Trace::Trace(const rt::CoreFacts& core, std::string path)
    : core_(core), file_(std::move(path)), process_(Mix(static_cast<uint64_t>(getpid()), Now())) {}

Trace::Writer& Trace::ThisWriter() {
  auto* writer = layers::ThreadCache<Writer>();
  if (writer->sequence.Belongs(file_)) [[likely]]
    return *writer;
  writer->sequence.Begin(file_);
  writer->names.clear();
  writer->known = {};
  writer->track = {};
  Packet start;
  start.Number(fields::kSequenceFlags, 1);
  writer->sequence.Write(start);
  const auto process = static_cast<uint64_t>(getpid()), thread = static_cast<uint64_t>(gettid());
  Packet packet;
  size_t track = packet.Open(fields::kTrackDescriptor);
  packet.Number(fields::kTrackId, Mix(process_, kProcess));
  size_t part = packet.Open(fields::kTrackProcess);
  packet.Number(fields::kProcessId, process);
  packet.Text(fields::kProcessName, program_invocation_short_name);
  packet.Close(part);
  packet.Close(track);
  writer->sequence.Write(packet);
  writer->track.id = Mix(Mix(process_, kThread), thread);
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  packet = {};
  track = packet.Open(fields::kTrackDescriptor);
  packet.Number(fields::kTrackId, writer->track.id);
  part = packet.Open(fields::kTrackThread);
  packet.Number(fields::kThreadProcess, process);
  packet.Number(fields::kThreadId, thread);
  packet.Text(fields::kThreadName, name);
  packet.Close(part);
  packet.Close(track);
  writer->sequence.Write(packet);
  return *writer;
}

void Trace::Announce(Writer& writer, uint64_t id, uint64_t parent, const std::string& name, bool bytes) {
  Packet packet;
  const size_t track = packet.Open(fields::kTrackDescriptor);
  packet.Number(fields::kTrackId, id);
  packet.Number(fields::kTrackParent, parent);
  packet.Text(fields::kTrackName, name);
  if (bytes) {
    const size_t counter = packet.Open(fields::kTrackCounter);
    packet.Number(fields::kCounterUnit, kUnitBytes);
    packet.Close(counter);
  }
  packet.Close(track);
  writer.sequence.Write(packet);
}

// --- tracks

uint64_t Trace::DeviceTrack(Writer& writer, int device) {
  uint64_t& track = devices_[device];
  if (track == 0) {
    track = Mix(Mix(process_, kDevice), static_cast<uint64_t>(device));
    Announce(writer, track, Mix(process_, kProcess), "device " + std::to_string(device));
  }
  return track;
}

// A stream that is used for the first time gets its track, also where its slot had another before.
Trace::Line& Trace::LineOf(Writer& writer, const rt::Stream& stream) {
  Writer::Known& known =
      writer.known[reinterpret_cast<uintptr_t>(&stream) / sizeof(rt::Stream) % writer.known.size()];
  if (known.stream == &stream && known.line->id == stream.id()) [[likely]]
    return *known.line;
  std::lock_guard guard(lock_);
  std::unique_ptr<Line>& line = lines_[&stream];
  if (line == nullptr) line = std::make_unique<Line>();
  if (line->id != stream.id()) {
    const uint64_t parent = DeviceTrack(writer, core_.device_of(stream));
    line->track = {Mix(Mix(process_, kStream), stream.id()), 0};
    line->lanes.clear();
    line->id = stream.id();
    Announce(writer, line->track.id, parent, "stream " + std::to_string(stream.id()));
  }
  known = {&stream, line.get()};
  return *line;
}

Trace::Track& Trace::LaneOf(Writer& writer, const rt::Stream& stream, uint32_t lane) {
  Line& line = LineOf(writer, stream);
  if (lane == kNoLane) return line.track;
  std::lock_guard guard(line.lock);
  Track& track = line.lanes[lane];
  if (track.id == 0) {
    track.id = Mix(Mix(Mix(process_, kLane), line.id), lane);
    Announce(writer, track.id, line.track.id,
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

void Trace::Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) noexcept {
  Writer& writer = ThisWriter();
  LineOf(writer, stream);  // before another thread may run the task
  writer.submitting = Now();
  if (task.call == 0) {
    writer.Name(task);
    writer.call = writer.name;
  } else {
    writer.call = core_.call_name(task.call);
  }
  if (task.type->task_class == rt::TaskClass::kWait) NoteWaits(writer, stream, position, task);
}

void Trace::Queued(const rt::Stream& stream, uint64_t position) noexcept {
  Writer& writer = ThisWriter();
  const uint64_t flow = Mix(Mix(LineOf(writer, stream).track.id, kSubmission), position);
  writer.Event(EventType::kBegin, &writer.track, writer.submitting, &writer.call, {flow});
  writer.Event(EventType::kEnd, &writer.track, Now(), nullptr);
}

void Trace::HostWaits(const rt::Stream& /*stream*/, uint64_t /*position*/, int64_t /*deadline_ns*/) noexcept {
  Writer& writer = ThisWriter();
  const uint32_t call = core_.current_call();
  const std::string name = call == 0 ? "wait" : core_.call_name(call);
  writer.Event(EventType::kBegin, &writer.track, Now(), &name);
}

void Trace::HostGoesOn(const rt::Stream& /*stream*/, uint64_t /*position*/) noexcept {
  Writer& writer = ThisWriter();
  writer.Event(EventType::kEnd, &writer.track, Now(), nullptr);
}

// What other processes and the program itself allocated is theirs.
void Trace::NoteMemory(const rt::Block& block, bool comes) noexcept {
  if (block.kind == rt::BlockKind::kImported || block.kind == rt::BlockKind::kRegistered) return;
  Writer& writer = ThisWriter();
  std::lock_guard guard(lock_);
  const int device = block.kind == rt::BlockKind::kPinned ? -1 : block.device;
  Memory& memory = memory_[device];
  if (memory.track.id == 0) {
    memory.track.id = Mix(Mix(process_, kMemory), static_cast<uint64_t>(device));
    const uint64_t parent = device < 0 ? Mix(process_, kProcess) : DeviceTrack(writer, device);
    const std::string name = device < 0 ? "pinned memory" : "device " + std::to_string(device) + ", memory";
    Announce(writer, memory.track.id, parent, name, true);
  }
  memory.bytes += comes ? block.bytes : 0;
  memory.bytes -= comes ? 0 : std::min<uint64_t>(memory.bytes, block.bytes);
  writer.Count(&memory.track, Now(), memory.bytes);
}

// --- streams

void Trace::Started(const rt::Stream& stream, uint64_t position, const rt::Task& task) noexcept {
  Writer& writer = ThisWriter();
  Line& line = LineOf(writer, stream);
  const uint64_t flow = Mix(Mix(line.track.id, kSubmission), position);
  writer.Name(task);
  const bool record = task.type->task_class == rt::TaskClass::kRecord;
  auto arrow = [&](int which) { return ArrowOf(line, position, which); };
  if (record) {
    writer.Event(EventType::kBegin, &line.track, Now(), &writer.name,
                 {arrow(0), arrow(1), arrow(2), arrow(3)}, flow);
  } else {
    writer.Event(EventType::kBegin, &line.track, Now(), &writer.name, {}, flow);
  }
}

void Trace::TellFailure(Writer& writer, Track* track, const rt::TaskFailure& failure) {
  const std::string text = "failed: " + std::to_string(failure.code) + " " + failure.id;
  writer.Event(EventType::kInstant, track, Now(), &text);
}

void Trace::Ended(const rt::Stream& stream, uint64_t position, const rt::Task& task,
                  const rt::TaskFailure* failure) noexcept {
  Writer& writer = ThisWriter();
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
    if (arrow != 0) writer.Event(EventType::kInstant, &line.track, Now(), &kGoesOn, {}, arrow);
  }
  writer.Event(EventType::kEnd, &line.track, Now(), nullptr);
}

void Trace::NodeStarted(const rt::Stream& stream, uint32_t lane, uint32_t /*model*/, uint32_t /*node*/,
                        const rt::Task& task) noexcept {
  Writer& writer = ThisWriter();
  writer.Name(task);
  writer.Event(EventType::kBegin, &LaneOf(writer, stream, lane), Now(), &writer.name);
}

void Trace::NodeEnded(const rt::Stream& stream, uint32_t lane, uint32_t /*model*/, uint32_t /*node*/,
                      const rt::Task& /*task*/, const rt::TaskFailure* failure) noexcept {
  Writer& writer = ThisWriter();
  Track& track = LaneOf(writer, stream, lane);
  if (failure != nullptr) TellFailure(writer, &track, *failure);
  writer.Event(EventType::kEnd, &track, Now(), nullptr);
}

}  // namespace belay::trace
