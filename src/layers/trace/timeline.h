// What the parts of a process write their timeline with: the file, a thread's place in it, and names.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "layers/trace/file.h"
#include "layers/trace/thread_clock.h"

namespace belay::trace {

struct Track {
  uint64_t id = 0;
  uint64_t last = 0;   // the time of the latest event: those of a track never go back
  uint64_t begun = 0;  // the task that is or was the latest, and the end of the one before
  uint64_t ended = 0;
};

// Makes the ids of tracks and arrows.
uint64_t Mix(uint64_t a, uint64_t b);

enum Of : uint64_t {
  kProcess = 1,
  kThread,
  kDevice,
  kStream,
  kLane,
  kSubmission,
  kRecord,
  kMemory,
  kSpans,
  kRanges
};

// What a thread knows of the file.
class Writer {
 public:
  // A call that the thread is in. It is shown when something happens within, or when it ends.
  struct Call {
    const char* name = nullptr;  // which stays
    bool shown = false;
    uint64_t begun = 0;
  };
  static constexpr size_t kMostCalls = 8;  // one within another, by way of callbacks

  uint64_t Now() { return clock_.Now(); }
  uint64_t NumberOf(const std::string& text);
  // Of a text that stays where it is.
  uint64_t NumberOfStaying(const char* text);
  // Times of a track only grow. The name is a number; 0: none.
  void Event(EventType type, Track* where, uint64_t time, uint64_t name,
             std::initializer_list<uint64_t> flows = {}, uint64_t last_flow = 0);
  // Under a lock of those who share the track.
  void Count(Track* where, uint64_t time, uint64_t value);
  void Announce(uint64_t id, uint64_t parent, const std::string& name, bool bytes = false);

  void BeginCall(const char* name, uint64_t begun);
  // With a mark where it gives an error. Nothing where nobody was told that it began.
  struct CallTime {
    uint64_t begun, ended;
  };
  std::optional<CallTime> EndCall(const std::string& error = {});
  Call* call() { return depth == 0 || depth > kMostCalls ? nullptr : &calls[depth - 1]; }
  // From when it began, with an arrow where flow is not 0. False: there is no call, or it was shown before.
  bool ShowCall(uint64_t flow = 0);

  Track track;
  Track spans;  // what the program marks; 0 until it does
  pid_t thread = 0;
  std::string name;         // room for one
  uint64_t submitting = 0;  // when
  uint32_t submitting_call = 0;
  uint64_t node_begun = 0;  // the node that the thread runs
  std::string submitter;    // where that is no call
  std::array<Call, kMostCalls> calls;
  size_t depth = 0;
  std::shared_ptr<const std::string> operands;  // of the operator that the call submits (profile.h)
  struct Known {
    const void* stream = nullptr;
    void* line = nullptr;
  };
  std::array<Known, 64> known{};

 private:
  friend class Timeline;
  using Name = std::pair<const std::string, uint64_t>;
  static size_t PlaceOf(const std::string& text);
  const Name& Intern(const std::string& text);

  ThreadClock clock_;
  Sequence sequence_;
  std::unordered_map<std::string, uint64_t> names_;
  std::array<const Name*, 64> latest_names_{};
  struct Staying {
    const char* text = nullptr;
    uint64_t number = 0;
  };
  std::array<Staying, 64> staying_{};
};

class Timeline {
 public:
  // Made when first asked for, and anew in a child of fork. It stays.
  static Timeline& OfProcess();
  // The one that is made next writes nothing.
  static void WithoutFile();
  explicit Timeline(std::string path);

  Writer& ThisWriter() {
    Writer* writer = CachedWriter();
    if (writer->sequence_.Belongs(file_)) [[likely]]
      return *writer;
    Begin(*writer);
    return *writer;
  }
  uint64_t process() const { return process_; }
  bool writes() const { return !file_.stopped(); }

 private:
  static Writer* CachedWriter();
  void Begin(Writer& writer);

  File file_;
  const uint64_t process_;  // what makes ids of this process its own
};

}  // namespace belay::trace
