// Says who waits for what when nothing gets on any more: when no call was made and no task began or ended for
// a while, and whenever SIGQUIT asks. What cannot end is a mistake, and told as one: a cycle of streams, or
// that no thread is left which could do what is waited for. All else may be merely slow.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "layers/hang/threads.h"
#include "layers/hang/web.h"
#include "layers/support/report.h"
#include "layers/support/stack.h"
#include "runtime/layer.h"
#include "runtime/stream.h"
#include "runtime/task.h"

namespace belay::hang {

struct Options {
  int64_t after_ns = 10'000'000'000;  // without progress; 0: only SIGQUIT
  int end_with = 0;                   // the exit code of a process that can never get on; 0: it is left alone
};
// From the environment (BELAY_CHECK_HANG_AFTER, BELAY_CHECK_HANG_EXIT).
Options ReadOptions();

class Hang final : public rt::Observer {
 public:
  Hang(const rt::CoreFacts& core, const Options& options) : core_(core), options_(options) {}
  // The thread that looks, for the life of the process.
  void Start();

  bool watches_waits() const override { return true; }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void HostWaits(const rt::Stream& stream, uint64_t position, int64_t deadline_ns) override;
  void HostGoesOn(const rt::Stream& stream, uint64_t position) override;
  void HostLearned(const rt::Stream&, uint64_t) override { Moved(); }
  void HostDoes(const rt::Task&) override { Moved(); }
  void Allocated(const rt::Block&) override { Moved(); }
  void Freed(const rt::Block&, rt::FreedBy) override { Moved(); }
  void Destroyed(uint64_t) override { Moved(); }
  void Refused(const rt::Refusal&) override { Moved(); }

  // As of a point in time (NowNs).
  void LookAt(int64_t now_ns);
  // Writes down who waits for what now.
  void TellAll();

 private:
  // A task that waits for something, or that others wait for.
  struct Mark {
    uint64_t position;
    const char* name;  // of the task
    uint32_t stream;
    uint32_t call;  // that submitted it
    layers::Stack stack;
    uintptr_t awaits = 0;         // the word
    uintptr_t signals = 0;        // the word
    std::string collective = {};  // the operation, if it is one
    bool of_process = false;      // whose ranks are all in this process
  };
  struct Line {
    uint32_t id = 0;
    std::deque<Mark> marks;  // of tasks that are not over, by position
  };
  struct Host {
    const rt::Stream* stream;
    uint32_t call;
    layers::Stack stack;
    bool limited;
  };
  // The streams with work that is not over.
  struct Scene {
    std::vector<Standing> standings;
    std::vector<rt::ParkPlace> places;  // where they wait
    std::vector<const rt::Stream*> streams;
    std::vector<Signal> signals;
    bool of_process = true;  // whatever these streams wait for can only come from this process
    uint64_t state = 0;      // differs once something has moved
  };

  static void* Main(void* self);
  void Moved() { moves_.fetch_add(1, std::memory_order_relaxed); }
  Scene LookAround();  // takes lock_
  void Add(const rt::Stream& stream, Line& line, Scene* scene) const;
  std::string WordsOf(const Mark& mark) const;
  const Mark* MarkAt(const rt::Stream* stream, uint64_t position) const;  // under lock_
  std::string WordsAt(const Scene& scene, size_t at) const;               // of what it waits for
  void AddRanks(const Scene& scene, size_t but, std::vector<layers::Place>* places) const;  // under lock_
  void Judge(const Scene& scene, int64_t quiet_ns);
  void Note(const Scene& scene, const Knot& knot, const Awake& awake, int64_t quiet_ns);
  layers::Report ReportOf(const Scene& scene, const Knot& knot);
  std::vector<layers::Place> PlacesOf(const Scene& scene, const Knot& knot) const;    // under lock_
  void AddHosts(const rt::Stream* stream, std::vector<layers::Place>* places) const;  // under lock_
  std::string WordsOf(const Scene& scene, const Knot& knot) const;

  const rt::CoreFacts core_;
  const Options options_;
  std::atomic<uint64_t> moves_{0};
  std::mutex lock_;
  std::unordered_map<const rt::Stream*, Line> lines_;
  std::array<std::atomic<uint32_t>, 256> known_{};  // of some of them the stream's id, and one
  std::map<int, Host> hosts_;

  // The looking thread's.
  uint64_t seen_ = 0;
  int64_t since_ns_ = 0;
  bool noted_ = false;  // since the last progress
};

}  // namespace belay::hang
