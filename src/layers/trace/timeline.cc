#include "layers/trace/timeline.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "layers/support/thread_cache.h"
#include "layers/trace/call_watch.h"

namespace belay::trace {
namespace {

constexpr uint64_t kUnitBytes = 3;
constinit bool g_without_file = false;

std::string PathOfProcess() {
  if (g_without_file) return "";
  const char* path = std::getenv("BELAY_TRACE_FILE");
  if (path != nullptr && *path != '\0') return path;
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

uint64_t Now() {
  timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// --- a thread

uint64_t Writer::NumberOf(const std::string& text) {
  if (!sequence_.writes()) return 1;
  const auto [found, fresh] = names_.try_emplace(text, names_.size() + 1);
  if (!fresh) return found->second;
  Packet packet;
  packet.Number(fields::kSequenceFlags, 2);
  const size_t interned = packet.Open(fields::kInterned);
  const size_t entry = packet.Open(fields::kInternedNames);
  packet.Number(fields::kNameId, found->second);
  packet.Text(fields::kNameText, text);
  packet.Close(entry);
  packet.Close(interned);
  sequence_.Write(packet);
  return found->second;
}

void Writer::Event(EventType type, Track* where, uint64_t time, uint64_t number,
                   std::initializer_list<uint64_t> flows, uint64_t last_flow) {
  where->last = std::max(time, where->last + 1);
  if (!sequence_.writes()) return;
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
  sequence_.Write(packet);
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

bool Writer::ShowCall(uint64_t flow) {
  Call* now = call();
  if (now == nullptr || now->shown) return false;
  now->shown = true;
  if (call_names.size() <= now->number) call_names.resize(CountOfCalls());
  uint64_t& number = call_names[now->number];
  if (number == 0) number = NumberOf(NameOfCall(now->number));
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
  writer.known = {};
  writer.track = writer.spans = {};
  writer.depth = 0;
  writer.call_names.clear();
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
