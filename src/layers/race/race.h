// Finds accesses to the same bytes that nothing orders: two tasks of different streams, two nodes of a
// captured graph, or a task and a call that works at once. It decides at calls, by what the documentation
// promises, and says nothing where it does not know.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/handle_table.h"
#include "layers/race/aliases.h"
#include "layers/race/callbacks.h"
#include "layers/race/clock.h"
#include "layers/race/executions.h"
#include "layers/race/gates.h"
#include "layers/race/host_budget.h"
#include "layers/race/host_pages.h"
#include "layers/race/idle_waits.h"
#include "layers/race/lost_bytes.h"
#include "layers/race/origins.h"
#include "layers/race/shadow.h"
#include "layers/race/site.h"
#include "layers/race/sources.h"
#include "layers/race/undefined.h"
#include "layers/race/window.h"
#include "layers/support/report.h"
#include "layers/support/stack.h"
#include "layers/support/tally.h"
#include "layers/support/this_thread.h"
#include "runtime/layer.h"
#include "runtime/task.h"

namespace belay::race {

struct Access {
  Bytes bytes;
  bool writes;
  bool of_host;  // pinned, or registered
};

class Race final : public rt::Observer {
 public:
  explicit Race(const rt::CoreFacts& core);

  bool watches_bytes() const override { return true; }
  void Submitted(const rt::Stream& stream, uint64_t position, const rt::Task& task) override;
  void Captured(const rt::Stream& stream, uint32_t model, uint32_t node, const rt::Task& task) override;
  void Finished(uint32_t model, const rt::TaskGraph& graph) override;
  void HostLearned(const rt::Stream& stream, uint64_t position) override;
  void HostLearnedRecord(const uint64_t* word, uint64_t number, const rt::Stream& stream,
                         uint64_t position) override;
  void HostDoes(const rt::Task& task) override;
  void Allocated(const rt::Block& block) override;
  void Freed(const rt::Block& block, rt::FreedBy why) override;
  void RegionBegan(const rt::PoolRange& region) override;
  void RegionEnded(uintptr_t base) override { regions_.End(base); }
  void WrittenUnseen(const void* p) override;
  void EndedDevice(int device) override;
  void Destroyed(uint64_t handle) override;
  void GivenUp(const rt::Stream& stream) override;
  void CallbackBegins(const rt::Stream& stream, uint64_t position) override;
  void CallbackIsOver(const rt::Stream& stream, uint64_t position) override;
  void ExecutionBegan(uint32_t model) override;
  void ExecutionEnded(uint32_t model) override { executions_.End(model, layers::ThisThread()); }

  // From now on pages of pinned blocks are closed to the program while a task that touches them is pending.
  // `all`: whatever that costs.
  void WatchHost(bool all);
  // The program touches a byte and may not. False: it is none that was closed.
  bool HostFaults(uintptr_t address, bool writes) noexcept;
  // The system is about to touch these bytes for the program.
  void SystemTouches(const Bytes& bytes, bool writes, const char* call) noexcept;
  // Around fork; the child is watched no more.
  void BeforeFork() { host_pages_.BeforeFork(); }
  void AfterFork(bool child);

 private:
  // What a stream's next task knows, and what it knew at earlier positions.
  struct Line {
    const rt::Stream* stream = nullptr;
    uint32_t index = 0;
    uint32_t id = 0;  // of the stream that has the slot now
    uint64_t last = 0;
    Knowledge now;
    struct Change {
      uint64_t position;
      Knowledge knowledge;
    };
    std::deque<Change> changes;  // each holds from its position on
  };
  struct Touches;  // what a task says
  struct Room;     // what a thread keeps from task to task
  using Waits = std::vector<std::pair<const rt::Stream*, uint64_t>>;

  // What holds an address: a block, or registered memory.
  struct Held {
    uint64_t serial = 0;  // 0: neither
    bool of_host = false;
  };
  struct Holder {
    Held held;
    uintptr_t begin = 0, end = 0;  // of a block; both 0: of none
    uint64_t frees = 0;            // that there had been when it was found
  };
  Holder FindHolder(const void* p) const;
  const Holder& HolderOf(const void* p, Room* room) const;
  void Share(const rt::Block& block);
  uint64_t SerialOf(const void* p) const { return FindHolder(p).held.serial; }
  void TellUsersOf(const rt::Block& block, uint64_t serial);
  template <class Make>
  void TellUsers(const Bytes& bytes, const std::string& call, const Make& make);
  Line& LineOf(const rt::Stream& stream) {
    Line* known = latest_lines_[stream.id() % latest_lines_.size()];
    const bool same = known != nullptr && known->stream == &stream && known->id == stream.id();
    return same ? *known : FindLine(stream);
  }
  Line& FindLine(const rt::Stream& stream);
  Knowledge At(const Line& line, uint64_t position) const;
  void HostKnows(const Knowledge& known);
  bool Update(Line& line, uint64_t position, const Touches& touches);
  // True when something was told.
  template <class IsOrdered>
  bool Judge(std::span<const Access> accesses, std::span<const Access> some, const Mark& mark,
             const Spot& spot, const IsOrdered& ordered, Shadow* shadow);
  bool JudgeAnew(std::span<const Access> some, const Mark& mark, const Spot& spot,
                 const Shadow::Ordered& ordered, Shadow* shadow);
  void Follow(const rt::Task& task, const Touches& touches, bool judge, const Spot& spot);
  const Undefined::Block* UndefinedOf(const rt::Task& task, const Touches& touches, size_t* bytes) const;
  bool Tell(const Conflict& conflict, uint32_t second, const Spot& spot);
  void AddOrigin(const std::optional<Origin>& origin, const char* how,
                 std::vector<layers::Place>* places) const;
  std::string WhereIs(const Bytes& bytes, std::vector<layers::Place>* origins) const;
  bool Report(const Conflict& conflict, const Site& first, const Site& second, const Spot& spot);
  uint32_t SiteOf(const rt::Task& task, uint32_t stream);
  uint32_t FindSite(const rt::Task& task, const SiteKey& key);
  uint32_t SiteOfHost(const std::string& what);
  // Records within launches, whose part that comes before them has a line of its own (race_records.cc).
  const Knowledge* KnownAt(const uint64_t* word, uint64_t least) const;
  void ResolveNumbers(Touches* touches);
  void ResolveFlags(Touches* touches);
  void NoteFlags(const Touches& touches, const Knowledge& known);
  void JudgeParts(Line& line, uint64_t position, const Touches& touches, uint32_t site, const Spot& spot);
  // For the page, where one is asked for.
  [[gnu::cold]] uint32_t Remember(const rt::Task& task, const Waits& waits, const Spot& spot);  // its site
  [[gnu::cold]] void RememberLearned(const rt::Stream& stream, uint64_t position);
  Spot SpotOfHost(uint32_t site);
  void WriteGraph(uint32_t model, const rt::TaskGraph& graph);
  void NoteWait(const rt::Stream& stream, uint64_t position);
  bool MayComeFirst(const Mark& task, std::unique_lock<std::mutex>& guard);
  // By digests of what copies read of the host's memory.
  void FollowSources(const rt::Task& task, const Touches& touches, const Epoch& at);
  void BeginSources(const std::vector<Access>& accesses, const Mark& mark);
  void EndSources();
  void TellSource(const Sources::Source& source);
  bool WatchesHost();
  void CloseToHost(const std::vector<Access>& accesses, const Mark& mark);
  void TellHost(const Bytes& bytes, bool writes, const char* what, std::unique_lock<std::mutex>& guard);
  // Where the calling thread is in a function that a stream waits for: what lies behind that comes later. Not
  // `known`: it is one of a replay, of which nobody knows what comes before it.
  struct HostOrder {
    bool known = true;
    std::optional<Epoch> awaited;
  };
  HostOrder OrderOfHost() const;
  void MeetCallbacks(const rt::Stream& stream, uint64_t position);
  bool ComesFirst(const HostOrder& host, const Mark& task) const;
  // Bytes whose writing was given up (race_given_up.cc).
  void MeetLost(const Touches& touches, bool reads, uint32_t site, const Spot& spot);
  void MeetLostByHost(const Conflict& conflict, uint32_t site, const Spot& spot);
  void TellLost(const LostBytes::Lost& lost, uint32_t site, const Spot& spot);
  void OpenFound();
  // Tasks that come after a wait whose other end nobody knows (race_late.cc).
  Knowledge Before(const Epoch& task) const;
  bool HaveTheSameWaits(const Epoch& first, const Epoch& second) const;
  void MeetLate(const Conflict& conflict, bool first_is_late, const Mark& second, bool second_is_late,
                const Spot& spot);
  using Meet = std::function<void(const Conflict& conflict, bool first_is_late)>;
  static void NoteLate(std::span<const Access> accesses, const Mark& mark, const Shadow::Ordered& ordered,
                       const Shadow::Ordered& over, const Meet& meet, Shadow* sure, Shadow* late);
  void JudgeLate(const Line& line, const Touches& touches, const Mark& mark, const Spot& spot);
  void CheckLate(const Line& line, const Touches& touches, const Mark& mark, const Spot& spot);
  void Decide(const Knowledge& news);
  void TellHostOnce(const Conflict& conflict, uint32_t site, const Spot& spot);
  bool IsJudgedThread() const;
  void Tidy();

  // Host memory of the program's own that it has registered.
  struct Registered {
    uintptr_t end;
    uint64_t serial;  // beyond those of blocks
  };
  static constexpr uint64_t kRegistered = uint64_t{1} << 63;
  // The operators of task groups are judged as if they were a byte.
  static constexpr uint64_t kGroup = uint64_t{1} << 61;
  static bool IsGroup(uint64_t block) { return block >> 61 == 1; }
  // So is what a model has of its own: replays of a captured one read it, executions of a loaded one write.
  static constexpr uint64_t kModel = uint64_t{1} << 60;
  static bool IsModel(uint64_t block) { return block >> 60 == 1; }
  // And lines of collective operations, in which each writes: the order of two has to be the same on all
  // ranks.
  static constexpr uint64_t kLine = uint64_t{1} << 59;
  static bool IsLine(uint64_t block) { return block >> 59 == 1; }
  // And communicators, which each operation reads.
  static constexpr uint64_t kCommunicator = uint64_t{1} << 58;
  static bool IsCommunicator(uint64_t block) { return block >> 58 == 1; }
  // Bytes that the program can name: of a block, or of its own memory that it has registered.
  static bool IsOfProgram(uint64_t block) { return (block & ~kRegistered) < kCommunicator; }
  static Bytes ModelBytes(uint64_t model);
  static Bytes CommunicatorBytes(uint64_t handle) {
    return {kCommunicator | (handle & (kCommunicator - 1)), 0, 1};
  }
  static bool IsLoadedModel(uint64_t model) { return KindOf(model) == 0; }
  static bool IsRegistered(uint64_t serial) { return (serial & kRegistered) != 0; }

  const rt::CoreFacts core_;
  layers::Tally& tally_;
  // How many blocks went: what a thread has found before may be among them. Of all observers that a process
  // and its parents had, as their threads may go on.
  static constinit std::atomic<uint64_t> frees_;
  mutable std::mutex registered_lock_;
  std::map<uintptr_t, Registered> registered_;  // under that lock: by their first byte
  std::atomic<size_t> registered_count_{0};
  uint64_t registrations_ = 0;
  Aliases aliases_;
  Origins blocks_, regions_;
  std::mutex lock_;
  std::unordered_map<const rt::Stream*, uint32_t> index_;
  std::deque<Line> lines_;  // without a stream: of a record within launches
  struct Record {
    Line* line;
    struct Number {
      uint64_t number;
      Epoch launch;
      Knowledge knowledge;  // of who waits for it
    };
    std::deque<Number> numbers;  // those that the host does not know to be over
    uint64_t latest = 0;
  };
  std::unordered_map<const uint64_t*, Record> records_;  // by the event's word
  std::atomic<bool> any_records_{false};
  // Of a notify: what is known at each record that no wait has had yet, and how many waits have had none.
  struct Flag {
    Knowledge known;
    bool set = false;
    uint32_t owed = 0;
  };
  std::unordered_map<const void*, Flag> flags_;  // by its word
  std::array<Line*, 16> latest_lines_{};         // by the stream's id
  Clock host_;
  uint64_t host_changes_ = 0;
  Shadow shadow_;
  // What comes after collective operations and other waits of that kind.
  struct Doubt {
    Conflict conflict;
    uint32_t site;  // of the second
    Spot spot;      // likewise
    Epoch sure, late;
  };
  Shadow late_;
  std::deque<Doubt> doubts_;
  Clock told_others_;         // what may have let other ranks go on, or anybody who looks at memory
  std::vector<Access> anew_;  // room for what Judge has to look for
  size_t tidy_at_ = 1 << 14;
  std::vector<Site> sites_;
  std::unordered_map<SiteKey, uint32_t, SiteKey::Hash> site_of_;
  struct LatestSite {
    SiteKey key{};
    uint32_t site = 0;
  };
  std::array<LatestSite, 64> latest_sites_{};  // by 6 bits of the key's hash; all stacks have a number
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> captured_;  // model and node: its site
  Window window_{sites_};
  std::set<std::pair<uint32_t, uint32_t>> told_;
  std::set<uint32_t> told_of_host_;  // by the site of the task that a load or store of the host meets
  std::set<uint32_t> told_sources_;  // by the site of the task that reads
  const bool follows_writes_;        // for undefined bytes, which are told where that is wanted
  Undefined undefined_;
  enum class HostWatch : uint8_t { kOff, kWanted, kOn };
  HostWatch host_watch_ = HostWatch::kOff;
  HostPages host_pages_;
  HostBudget host_budget_;
  const bool follows_waits_;  // for those that order nothing, which are told where that is wanted
  IdleWaits idle_waits_;
  const bool follows_sources_;
  Sources sources_;
  Clock unknown_;  // tasks that may write anywhere
  Gates gates_;
  Callbacks callbacks_;
  LostBytes lost_;
  Executions executions_;
};

// What a task touches orders nothing within the task: it comes before itself.
template <class IsOrdered>
bool Race::Judge(std::span<const Access> accesses, std::span<const Access> some, const Mark& mark,
                 const Spot& spot, const IsOrdered& ordered, Shadow* shadow) {
  anew_.clear();
  for (const Access& access : accesses) {
    if (!shadow->Again(access.bytes, access.writes, mark, ordered)) anew_.push_back(access);
  }
  return !(anew_.empty() && some.empty()) && JudgeAnew(some, mark, spot, ordered, shadow);
}

}  // namespace belay::race
