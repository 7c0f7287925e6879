#include "layers/hang/hang.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/futex.h"
#include "base/quiet_write.h"
#include "base/thread.h"
#include "layers/support/guard.h"
#include "layers/support/report_file.h"
#include "layers/support/this_thread.h"
#include "runtime/progress.h"

namespace belay::hang {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLeastTick = 5'000'000;

// What SIGQUIT changes, and the looking thread sleeps on.
constinit std::atomic<uint32_t> g_asked{0};
constinit std::atomic<pid_t> g_process{0};

// The child of a fork that has not called aclInit has no thread that looks.
void OnQuit(int signal) {
  const int error = errno;
  if (getpid() == g_process.load(std::memory_order_relaxed)) {
    g_asked.fetch_add(1, std::memory_order_relaxed);
    FutexWake(g_asked);
  } else {
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);
    raise(signal);
  }
  errno = error;
}

// Programs that handle the signal themselves keep it. Shells let what they start in the background ignore it.
void AnswerQuit() {
  g_process = getpid();
  struct sigaction now {};
  if (sigaction(SIGQUIT, nullptr, &now) != 0) return;
  if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) return;
  now = {};
  now.sa_handler = &OnQuit;
  now.sa_flags = SA_RESTART;
  sigaction(SIGQUIT, &now, nullptr);
}

// The words that a task waits for, or writes for those who wait.
struct Words final : rt::RangeVisitor {
  void Reads(const void* begin, size_t) override { read = reinterpret_cast<uintptr_t>(begin); }
  void Writes(void*, size_t) override {}
  void Signals(const void* word) override { signalled = reinterpret_cast<uintptr_t>(word); }
  uintptr_t read = 0;
  uintptr_t signalled = 0;
};

// Of most tasks it is known without a look at what they touch.
bool HasNoWords(const rt::Task& task) {
  return task.type->kind == rt::TaskKind::kOperator || task.type->task_class == rt::TaskClass::kLaunch;
}

Words WordsOfTask(const rt::Task& task) {
  Words words;
  if (!HasNoWords(task) && task.type->ranges != nullptr) task.type->ranges(task.payload, words);
  if (task.type->task_class != rt::TaskClass::kPoll) words.read = 0;
  return words;
}

Standing::Waits KindOf(rt::ParkReason reason) {
  switch (reason) {
    case rt::ParkReason::kPosition:
    case rt::ParkReason::kTurn:
      return Standing::Waits::kPosition;
    case rt::ParkReason::kTicket:
      return Standing::Waits::kRecord;
    case rt::ParkReason::kCallback:
      return Standing::Waits::kCallback;
    case rt::ParkReason::kPoll:
      return Standing::Waits::kWord;
    case rt::ParkReason::kLaunch:
      return Standing::Waits::kInside;
    case rt::ParkReason::kNone:
      break;
  }
  return Standing::Waits::kNot;
}

std::string Mend(const Standing& end, bool cycle) {
  if (cycle) return "let one of these streams record before it waits, or take one of the waits away";
  switch (end.waits) {
    case Standing::Waits::kRecord:
      return "record the event (aclrtRecordEvent) before its wait is called; a wait that is called before any "
             "record waits for the one to come";
    case Standing::Waits::kWord:
      return "record the notify or write the value (aclrtRecordNotify, aclrtValueWrite) on a stream that does not "
             "wait for this one";
    case Standing::Waits::kRanks:
      return "let each rank make this call, and all ranks make the calls of their communicators in one order";
    case Standing::Waits::kCallback:
      return "let the callback return: what it waits for may not wait for its stream";
    default:
      return "let what its host functions and waits need come from a stream or thread that does not wait for it";
  }
}

bool IsLimited(std::string_view call) { return call.ends_with("WithTimeout"); }

bool IsOfOthers(const std::string& thread) { return thread == "belay-hccl" || thread == "belay-time"; }

std::string Seconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", static_cast<double>(ns) / kSecond);
  return text;
}

void Say(const std::string& text) { WriteAllQuietly(STDERR_FILENO, text.data(), text.size()); }

std::string TextOf(const std::vector<layers::Place>& places) {
  std::string text;
  for (const layers::Place& place : places) {
    text += "  " + place.role + "\n";
    for (const layers::Frame& frame : FramesOf(place.stack)) text += "            " + frame.Words() + "\n";
  }
  return text;
}

}  // namespace

Options ReadOptions() {
  Options options;
  if (const char* after = std::getenv(layers::kHangAfterVariable); after != nullptr && *after != '\0') {
    options.after_ns = static_cast<int64_t>(std::max(0.0, std::strtod(after, nullptr)) * kSecond);
  }
  if (const char* code = std::getenv(layers::kHangExitVariable)) options.end_with = std::atoi(code);
  return options;
}

// --- what the program does

// That the stream's tail moves is seen.
void Hang::Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) {
  std::atomic<uint32_t>& known = known_[stream.id() % known_.size()];
  const bool is_known = known.load(std::memory_order_relaxed) == stream.id() + 1;
  const bool itself = task.type->run == nullptr || task.type->task_class == rt::TaskClass::kRecord;
  if (is_known && !itself && HasNoWords(task)) return;
  const Words words = WordsOfTask(task);
  const bool marked = itself || words.signalled != 0;
  if (!marked && is_known) return;
  const layers::Stack stack = marked ? layers::ThisStack() : layers::Stack{};
  std::lock_guard guard(lock_);
  Line& line = lines_[&stream];
  if (line.id != stream.id()) line = {stream.id(), {}};
  known.store(stream.id() + 1, std::memory_order_relaxed);
  while (!line.marks.empty() && stream.Reached(line.marks.front().position)) line.marks.pop_front();
  if (!marked) return;
  Mark& mark = line.marks.emplace_back(
      Mark{position, task.type->name, line.id, task.call, stack, words.read, words.signalled});
  if (task.type->task_class != rt::TaskClass::kProgress) return;
  const rt::Progress& work = *task.body<rt::ProgressTask>().work;
  work.Describe(mark.collective);
  mark.of_process = work.is_within_process();
}

// As "event wait, stream 3, by aclrtStreamWaitEvent".
std::string Hang::WordsOf(const Mark& mark) const {
  return mark.name + (", stream " + std::to_string(mark.stream) + ", by ") + core_.call_name(mark.call);
}

void Hang::HostWaits(const rt::Stream& stream, uint64_t /*position*/, int64_t deadline_ns) {
  Moved();
  const Host host{&stream, core_.current_call(), layers::ThisStack(), deadline_ns >= 0};
  std::lock_guard guard(lock_);
  hosts_[layers::ThisThread()] = host;
}

void Hang::HostGoesOn(const rt::Stream& /*stream*/, uint64_t /*position*/) {
  Moved();
  std::lock_guard guard(lock_);
  hosts_.erase(layers::ThisThread());
}

// --- a look at it

void Hang::Add(const rt::Stream& stream, Line& line, Scene* scene) const {
  auto mix = [&](uint64_t value) { scene->state = (scene->state ^ value) * 0x9e3779b97f4a7c15 >> 1; };
  const uint64_t completed = stream.completed();
  mix(completed);
  mix(stream.tail());
  mix(stream.park_serial());
  mix(static_cast<uint64_t>(stream.state()));
  while (!line.marks.empty() && line.marks.front().position <= completed) line.marks.pop_front();
  for (const Mark& mark : line.marks) {
    if (mark.signals != 0) scene->signals.push_back({&stream, mark.position, mark.signals});
  }
  if (stream.Reached(stream.tail()) || stream.id() != line.id) return;
  const rt::ParkPlace place = core_.parked_at(stream);
  Standing standing{KindOf(place.reason), place.source, place.position, 0, &stream, completed};
  const bool at_head = !line.marks.empty() && line.marks.front().position == completed + 1;
  if (place.reason == rt::ParkReason::kPoll && at_head) {
    const Mark& head = line.marks.front();
    standing.word = head.awaits;
    if (!head.collective.empty()) standing.waits = Standing::Waits::kRanks;
    scene->of_process &= head.of_process;
  } else {
    scene->of_process &= standing.waits == Standing::Waits::kPosition &&
                         !(at_head && IsLimited(core_.call_name(line.marks.front().call)));
  }
  scene->standings.push_back(standing);
  scene->places.push_back(place);
  scene->streams.push_back(&stream);
}

Hang::Scene Hang::LookAround() {
  Scene scene;
  std::lock_guard guard(lock_);
  scene.state = moves_.load(std::memory_order_relaxed);
  std::vector<std::pair<const rt::Stream*, Line*>> lines;  // in an order that repeats
  for (auto& [stream, line] : lines_) lines.emplace_back(stream, &line);
  std::ranges::sort(lines, {}, [](const auto& l) { return l.second->id; });
  for (const auto& [stream, line] : lines) Add(*stream, *line, &scene);
  return scene;
}

void Hang::LookAt(int64_t now_ns) {
  const Scene scene = LookAround();
  if (scene.state != seen_) {
    seen_ = scene.state;
    since_ns_ = now_ns;
    noted_ = false;
  } else if (options_.after_ns > 0 && now_ns - since_ns_ >= options_.after_ns && !scene.standings.empty()) {
    Judge(scene, now_ns - since_ns_);
  }
}

void Hang::Judge(const Scene& scene, int64_t quiet_ns) {
  const std::vector<Knot> knots = FindKnots(scene.standings, scene.signals);
  if (knots.empty()) return;
  std::set<int> waiting;
  {
    std::lock_guard guard(lock_);
    for (const auto& [thread, host] : hosts_) {
      if (!host.limited) waiting.insert(thread);
    }
  }
  // These bring what comes from other processes, and the ends of limits.
  const auto of_others = [&](int thread) { return scene.of_process && IsOfOthers(ThreadName(thread)); };
  const Awake awake = LookForAwake([&](int thread) { return waiting.contains(thread); }, of_others);
  // What moved while the threads were looked at moves on.
  if (LookAround().state != scene.state) return;
  bool told_ranks = false;  // all of them are told together
  for (const Knot& knot : knots) {
    if (scene.standings[knot.chain.back()].waits == Standing::Waits::kRanks &&
        std::exchange(told_ranks, true))
      continue;
    if (!knot.for_good && !awake.none()) {
      Note(scene, knot, awake, quiet_ns);
    } else if (layers::Tell(ReportOf(scene, knot)) && options_.end_with != 0) {
      Say("belay check: the program cannot get on, and is ended\n");
      _exit(options_.end_with);
    }
  }
}

// Callbacks and models may be at work.
void Hang::Note(const Scene& scene, const Knot& knot, const Awake& awake, int64_t quiet_ns) {
  const Standing::Waits end = scene.standings[knot.chain.back()].waits;
  using enum Standing::Waits;
  if (noted_ || (!knot.cycle && end != kRecord && end != kWord && end != kRanks)) return;
  noted_ = true;
  std::unique_lock guard(lock_);
  const std::string words = WordsOf(scene, knot);
  const std::vector<layers::Place> places = PlacesOf(scene, knot);
  guard.unlock();
  Say("belay check: note: nothing has moved for " + Seconds(quiet_ns) + ": " + words +
      (awake.names.empty() ? "; what has a limit, or another process, may end this\n"
                           : "; it may yet come from " + awake.names + "\n") +
      TextOf(places));
}

// --- words

const Hang::Mark* Hang::MarkAt(const rt::Stream* stream, uint64_t position) const {
  const auto line = lines_.find(stream);
  if (line == lines_.end()) return nullptr;
  const auto mark = std::ranges::find(line->second.marks, position, &Mark::position);
  return mark == line->second.marks.end() ? nullptr : &*mark;
}

// Under lock_.
std::string Hang::WordsAt(const Scene& scene, size_t at) const {
  const Standing& standing = scene.standings[at];
  const Mark* mark =
      standing.waits == Standing::Waits::kRanks ? MarkAt(scene.streams[at], standing.completed + 1) : nullptr;
  if (mark == nullptr) return core_.wait_words(scene.places[at]);
  return "waits in " + mark->collective + " for other ranks" +
         (mark->of_process ? ", all of which are in this process" : "");
}

// Under lock_.
std::string Hang::WordsOf(const Scene& scene, const Knot& knot) const {
  std::string text;
  for (size_t i = 0; i < knot.chain.size(); ++i) {
    const size_t at = knot.chain[i];
    if (!text.empty()) text += ", which ";
    if (i == 0) text += "stream " + std::to_string(scene.streams[at]->id()) + " ";
    const bool last = i + 1 == knot.chain.size();
    const bool word = scene.standings[at].waits == Standing::Waits::kWord && (!last || knot.cycle);
    text += word ? "waits for a notify or a value from " : WordsAt(scene, at);
    if (last && !knot.cycle) break;
    const size_t next = knot.chain[last ? 0 : i + 1];
    text += "stream " + std::to_string(scene.streams[next]->id()) + (next == at ? " itself" : "");
  }
  return text;
}

void Hang::AddHosts(const rt::Stream* stream, std::vector<layers::Place>* places) const {
  for (const auto& [thread, host] : hosts_) {
    if (host.stream != stream) continue;
    places->push_back({"waits   the host for stream " + std::to_string(stream->id()) + ", thread " +
                           std::to_string(thread) + ", by " + core_.call_name(host.call),
                       host.stack});
  }
}

// The streams that wait for other ranks, too: they may be those.
void Hang::AddRanks(const Scene& scene, size_t but, std::vector<layers::Place>* places) const {
  for (size_t i = 0; i < scene.standings.size(); ++i) {
    if (i == but || scene.standings[i].waits != Standing::Waits::kRanks) continue;
    const Mark* wait = MarkAt(scene.streams[i], scene.standings[i].completed + 1);
    if (wait != nullptr) places->push_back({"waits   " + WordsOf(*wait) + ", too", wait->stack});
    AddHosts(scene.streams[i], places);
  }
}

// Each wait, and what it waits for where that is queued; then the threads of the host.
std::vector<layers::Place> Hang::PlacesOf(const Scene& scene, const Knot& knot) const {
  std::vector<layers::Place> places;
  for (size_t i = 0; i < knot.chain.size(); ++i) {
    const size_t at = knot.chain[i];
    const Mark* wait = MarkAt(scene.streams[at], scene.standings[at].completed + 1);
    if (wait != nullptr) places.push_back({"waits   " + WordsOf(*wait), wait->stack});
    const bool last = i + 1 == knot.chain.size();
    if (last && !knot.cycle) break;
    const Mark* goal = MarkAt(scene.streams[knot.chain[last ? 0 : i + 1]], knot.awaited[i]);
    if (goal != nullptr) places.push_back({"for     " + WordsOf(*goal), goal->stack});
  }
  const size_t end = knot.chain.back();
  if (scene.standings[end].waits == Standing::Waits::kRanks) AddRanks(scene, end, &places);
  for (size_t at : knot.chain) AddHosts(scene.streams[at], &places);
  return places;
}

layers::Report Hang::ReportOf(const Scene& scene, const Knot& knot) {
  std::lock_guard guard(lock_);
  return {"hang", WordsOf(scene, knot), PlacesOf(scene, knot),
          Mend(scene.standings[knot.chain.back()], knot.cycle)};
}

void Hang::TellAll() {
  const Scene scene = LookAround();
  std::string text =
      "belay check: SIGQUIT: streams with work that is not over: " + std::to_string(scene.streams.size()) +
      "\n";
  std::lock_guard guard(lock_);
  for (size_t i = 0; i < scene.streams.size(); ++i) {
    const rt::Stream* stream = scene.streams[i];
    const Standing& standing = scene.standings[i];
    const Mark* wait = MarkAt(stream, standing.completed + 1);
    const auto* source = static_cast<const rt::Stream*>(standing.source);
    text += "stream " + std::to_string(stream->id()) + " " + WordsAt(scene, i) +
            (source == nullptr ? "" : "stream " + std::to_string(source->id())) + "\n";
    if (wait != nullptr) text += TextOf({{WordsOf(*wait), wait->stack}});
  }
  for (const auto& [thread, host] : hosts_) {
    text += "thread " + std::to_string(thread) + " waits for stream " + std::to_string(host.stream->id()) +
            "\n" + TextOf({{std::string("by ") + core_.call_name(host.call), host.stack}});
  }
  Say(text);
}

// --- the thread

void* Hang::Main(void* raw) {
  auto& self = *static_cast<Hang*>(raw);
  const int64_t after = self.options_.after_ns;
  const int64_t tick = after == 0 ? -1 : std::clamp(after / 4, kLeastTick, kSecond);
  for (uint32_t answered = g_asked.load();;) {
    FutexWait(g_asked, answered, tick);
    layers::Guarded([&] {
      if (const uint32_t asked = g_asked.load(); asked != answered) {
        answered = asked;
        self.TellAll();
      }
      self.LookAt(NowNs());
    });
    if (layers::LayerFailed()) return nullptr;
  }
}

void Hang::Start() {
  pthread_t thread;
  if (!StartThread(&thread, "belay-hang", &Hang::Main, this)) {
    return Say(
        "belay check: no thread could be started that looks for hangs; the program goes on without it\n");
  }
  pthread_detach(thread);
  AnswerQuit();
}

}  // namespace belay::hang
