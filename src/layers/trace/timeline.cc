#include "layers/trace/timeline.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "layers/support/thread_cache.h"

namespace belay::trace {
namespace {

constexpr uint64_t kUnitBytes = 3;

// Of a field of eight bytes, whose number takes two.
constexpr uint64_t TwoByteTag(uint32_t field) {
  const uint32_t tag = field << 3 | 1;
  return (tag & 0x7f) | 0x80 | tag >> 7 << 8;
}

constinit bool g_without_file = false;

std::string PathOfProcess() {
  if (g_without_file) return "";
  const char* path = std::getenv("BELAY_TRACE_FILE");
  if (path != nullptr) return path;  // empty: none
  std::string own = "belay-" + std::to_string(getpid()) + ".pftrace";
  unlink(own.c_str());
  return own;
}

}  // namespace

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t mixed = (a ^ b) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93;
  return mixed ^ mixed >> 32;
}

// --- a thread

// Where a name is looked for first, by how long it is and how it ends.
size_t Writer::PlaceOf(const std::string& text) {
  uint64_t end = 0;
  const size_t bytes = std::min(text.size(), sizeof end);
  std::memcpy(&end, text.data() + text.size() - bytes, bytes);
  return (end + text.size()) * 0x9e3779b97f4a7c15 >> 58;
}

uint64_t Writer::NumberOf(const std::string& text) {
  if (!sequence_.writes()) return 1;
  const Name*& latest = latest_names_[PlaceOf(text)];
  if (latest == nullptr || latest->first != text) latest = &Intern(text);
  return latest->second;
}

uint64_t Writer::NumberOfStaying(const char* text) {
  Staying& latest = staying_[Mix(reinterpret_cast<uintptr_t>(text), 0) % staying_.size()];
  if (latest.text != text) [[unlikely]]
    latest = {text, NumberOf(text)};
  return latest.number;
}

const Writer::Name& Writer::Intern(const std::string& text) {
  const auto [found, fresh] = names_.try_emplace(text, names_.size() + 1);
  if (!fresh) return *found;
  Packet packet;
  packet.Number(fields::kSequenceFlags, 2);
  const size_t interned = packet.Open(fields::kInterned);
  const size_t entry = packet.Open(fields::kInternedNames);
  packet.Number(fields::kNameId, found->second);
  packet.Text(fields::kNameText, text);
  packet.Close(entry);
  packet.Close(interned);
  sequence_.Write(packet);
  return *found;
}

namespace {

// The fields of an event in their order; the message within has one byte for its length. Only one with a name
// needs what was said before.
template <bool kNamed>
class EventPacket {
 public:
  EventPacket(const Sequence& sequence, size_t arrows)
      : sequence_(sequence.number()),
        least_(sequence.number_bytes()),
        event_(kEvent + kArrow * static_cast<unsigned>(arrows)),
        bytes_((kBefore + event_ + 1 + least_ + 7) / 8 * 8) {}
  unsigned bytes() const { return bytes_; }

  uint64_t Put(char* at, EventType type, const Track& where, uint64_t number,
               std::initializer_list<uint64_t> flows, uint64_t last_flow) const {
    WordWriter words(at);
    words.Add(HeaderWord(bytes_ - 4) | uint64_t{fields::kTimestamp << 3} << 32, 5);
    words.Padded(where.last, kTime);
    if (kNamed) words.Add(fields::kSequenceFlags << 3 | 2 << 8, 2);
    words.Add(fields::kTrackEvent << 3 | 2 | event_ << 8 | fields::kEventType << 19, 3);
    words.Add(static_cast<uint64_t>(type) | fields::kEventTrack << 11, 2);
    words.Padded(where.id, kId);
    if (kNamed) words.Add(fields::kEventName << 3, 1);
    if (kNamed) words.Padded(number, kNumber);
    if (event_ > kEvent + kArrow) return PutArrows(words, flows, last_flow);
    if (event_ > kEvent) {
      words.Add(TwoByteTag(last_flow == 0 ? fields::kEventFlows : fields::kEventLastFlows), 2);
      words.Add(last_flow == 0 ? *flows.begin() : last_flow, 8);
    }
    words.End(fields::kSequence, sequence_, least_);
    return words.first();
  }

 private:
  static constexpr unsigned kTime = 9, kId = 10, kNumber = 4, kArrow = 2 + 8;
  static constexpr unsigned kBefore = 4 + 1 + kTime + (kNamed ? 2 : 0) + 2;
  static constexpr unsigned kEvent = 2 + 1 + kId + (kNamed ? 1 + kNumber : 0);

  [[gnu::noinline]] uint64_t PutArrows(WordWriter words, std::initializer_list<uint64_t> flows,
                                       uint64_t last_flow) const {
    for (uint64_t flow : flows) {
      words.Add(TwoByteTag(fields::kEventFlows), 2);
      words.Add(flow, 8);
    }
    if (last_flow != 0) {
      words.Add(TwoByteTag(fields::kEventLastFlows), 2);
      words.Add(last_flow, 8);
    }
    words.End(fields::kSequence, sequence_, least_);
    return words.first();
  }

  const uint64_t sequence_;
  const unsigned least_, event_, bytes_;
};

template <bool kNamed>
void PutEvent(Sequence* sequence, EventType type, const Track& where, uint64_t number,
              std::initializer_list<uint64_t> flows, uint64_t last_flow) {
  const EventPacket<kNamed> packet(*sequence, flows.size() + (last_flow == 0 ? 0 : 1));
  if (char* at = sequence->Room(packet.bytes()))
    sequence->Publish(packet.bytes(), packet.Put(at, type, where, number, flows, last_flow));
}

}  // namespace

void Writer::Event(EventType type, Track* where, uint64_t time, uint64_t number,
                   std::initializer_list<uint64_t> flows, uint64_t last_flow) {
  where->last = std::max(time, where->last + 1);
  if (!sequence_.writes()) return;
  if (number == 0) {
    PutEvent<false>(&sequence_, type, *where, number, flows, last_flow);
  } else {
    PutEvent<true>(&sequence_, type, *where, number, flows, last_flow);
  }
}

void Writer::Count(Track* where, uint64_t time, uint64_t value) {
  where->last = std::max(time, where->last + 1);
  if (!sequence_.writes()) return;
  Packet packet;
  packet.Number(fields::kTimestamp, where->last);
  packet.Number(fields::kSequenceFlags, 2);
  const size_t event = packet.Open(fields::kTrackEvent);
  packet.Number(fields::kEventType, static_cast<uint64_t>(EventType::kCounter));
  packet.Number(fields::kEventTrack, where->id);
  packet.Number(fields::kEventValue, value);
  packet.Close(event);
  sequence_.Write(packet);
}

void Writer::Announce(uint64_t id, uint64_t parent, const std::string& text, bool bytes) {
  Packet packet;
  const size_t described = packet.Open(fields::kTrackDescriptor);
  packet.Number(fields::kTrackId, id);
  packet.Number(fields::kTrackParent, parent);
  packet.Text(fields::kTrackName, text);
  if (bytes) {
    const size_t counter = packet.Open(fields::kTrackCounter);
    packet.Number(fields::kCounterUnit, kUnitBytes);
    packet.Close(counter);
  }
  packet.Close(described);
  sequence_.Write(packet);
}

void Writer::BeginCall(const char* name, uint64_t begun) {
  ShowCall();  // a call within another
  if (++depth <= kMostCalls) calls[depth - 1] = {name, false, begun};
}

std::optional<Writer::CallTime> Writer::EndCall(const std::string& error) {
  if (depth == 0) return {};
  std::optional<CallTime> time;
  if (const Call* own = call(); own != nullptr) {
    time = {own->begun, Now()};
    ShowCall();
    if (!error.empty()) Event(EventType::kInstant, &track, time->ended, NumberOf("gives " + error));
    Event(EventType::kEnd, &track, time->ended, 0);
  }
  --depth;
  return time;
}

bool Writer::ShowCall(uint64_t flow) {
  Call* now = call();
  if (now == nullptr || now->shown) return false;
  now->shown = true;
  const uint64_t number = NumberOfStaying(now->name);
  if (flow == 0) {
    Event(EventType::kBegin, &track, now->begun, number);
  } else {
    Event(EventType::kBegin, &track, now->begun, number, {flow});
  }
  return true;
}

// --- the process

void Timeline::WithoutFile() { g_without_file = true; }

Timeline& Timeline::OfProcess() {
  static std::mutex lock;
  static Timeline* timeline = nullptr;
  static pid_t process = 0;
  std::lock_guard guard(lock);
  if (process != getpid()) {
    timeline = new Timeline(PathOfProcess());
    process = getpid();
  }
  return *timeline;
}

Timeline::Timeline(std::string path)
    : file_(std::move(path)), process_(Mix(static_cast<uint64_t>(getpid()), Now())) {}

Writer* Timeline::CachedWriter() { return layers::ThreadCache<Writer>(); }

void Timeline::Begin(Writer& writer) {
  writer.sequence_.Begin(file_);
  writer.names_.clear();
  writer.latest_names_ = {};
  writer.staying_ = {};
  writer.known = {};
  writer.track = writer.spans = {};
  writer.depth = 0;
  Packet start;
  start.Number(fields::kSequenceFlags, 1);
  writer.sequence_.Write(start);
  writer.thread = gettid();
  const auto process = static_cast<uint64_t>(getpid()), thread = static_cast<uint64_t>(writer.thread);
  Packet packet;
  size_t track = packet.Open(fields::kTrackDescriptor);
  packet.Number(fields::kTrackId, Mix(process_, kProcess));
  size_t part = packet.Open(fields::kTrackProcess);
  packet.Number(fields::kProcessId, process);
  packet.Text(fields::kProcessName, program_invocation_short_name);
  packet.Close(part);
  packet.Close(track);
  writer.sequence_.Write(packet);
  writer.track.id = Mix(Mix(process_, kThread), thread);
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  packet = {};
  track = packet.Open(fields::kTrackDescriptor);
  packet.Number(fields::kTrackId, writer.track.id);
  part = packet.Open(fields::kTrackThread);
  packet.Number(fields::kThreadProcess, process);
  packet.Number(fields::kThreadId, thread);
  packet.Text(fields::kThreadName, name);
  packet.Close(part);
  packet.Close(track);
  writer.sequence_.Write(packet);
}

}  // namespace belay::trace
