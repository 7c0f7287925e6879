// The tables that `msprof` leaves of a program on a card, in the same folders and with the same columns:
// tasks and operators one by one, operators and calls in sum.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "layers/calls/calls.h"
#include "layers/trace/call_log.h"
#include "layers/trace/chrome_file.h"
#include "runtime/profiler.h"

namespace belay::trace {

// A table that grows: rows wait in memory for a while.
class Table {
 public:
  Table() = default;
  Table(const std::string& path, std::string_view columns);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  void Add(std::string_view row);
  void Flush();

 private:
  int file_ = -1;
  std::string rows_;
  bool stopped_ = false;
};

struct Tally {
  void Add(uint64_t ns);
  uint64_t count = 0, sum = 0, least = 0, most = 0;
  double mean = 0, squares = 0;  // of the differences from the mean
};

// What an operator was given and gave, as six columns.
using Operands = std::shared_ptr<const std::string>;

class Profile {
 public:
  static constexpr uint64_t kNoModel = 4294967295;
  static constexpr size_t kMostOperands = 1 << 16;
  struct Row {
    int device;
    uint32_t stream;
    uint64_t model, task;
    std::string_view name;
    std::string_view kind;  // of a task that is no operator
    bool is_operator;
    uint64_t begun, ended, waited;
    Operands operands;
    pid_t submitter;  // the thread that submitted it, 0: not known; and when
    uint64_t submitted;
    int64_t launched = -1;  // the model that the task launches; -1: none
  };

  // A span of time that the program marks, or a moment.
  struct Span {
    pid_t thread;
    const char* type;
    std::string_view message;
    uint64_t begun, ended;
    std::string_view domain = {};
  };

  // Writes to a folder of its own in this one; all that is told, until Collect says otherwise.
  explicit Profile(const std::string& folder);
  // Empty, or why nothing can be written.
  const std::string& why_not() const { return why_not_; }
  // What of which device (rt::Collected).
  void Collect(const std::map<int, uint32_t>& devices);

  void Add(const Row& row);
  // In the thread that made it.
  // Both texts stay.
  void AddCall(const char* name, const char* level, uint64_t begun, uint64_t took);
  static const char* LevelOf(std::string_view name);  // of a call of C
  void AddSpan(const Span& span);
  // The operands of the operator that a first stage has prepared, and again for the second stage.
  void Keep(uint64_t executor, const BelayCalls& calls, uint32_t call, const uint64_t* arguments,
            ObjectWords objects);
  Operands Find(uint64_t executor);
  // What is known until now is in the files then.
  void Finish();

 private:
  Table& Opened(std::unique_ptr<Table>& table, const char* name, const char* columns);
  void OpenTasks();
  void AddStep(const Row& row);
  void KeepFiles();
  uint64_t ToEpoch(uint64_t time) const {
    return static_cast<uint64_t>(static_cast<int64_t>(time) + to_epoch_);
  }
  uint32_t CollectedOf(int device) const;  // under lock_
  uint32_t CollectedOfAny() const;         // the same
  std::string OperatorTable() const;
  std::string CallTable() const;

  const pid_t process_;
  const int64_t to_epoch_;  // from the times of the timeline
  std::string home_, folder_, stamp_, why_not_;
  std::mutex lock_;
  bool everything_ = true;
  std::map<int, uint32_t> collected_;  // unless it is everything
  uint32_t ever_ = 0;                  // of any device at any time
  std::map<int, uint32_t> collected_ever_;
  std::unique_ptr<Table> operators_, tasks_, spans_, steps_;
  std::unique_ptr<ChromeFile> timeline_;
  std::map<std::pair<int, std::string>, Tally> types_;
  std::map<std::pair<int, int64_t>, uint64_t> launches_;  // of a model on a device
  struct CallSum {
    const char* level = nullptr;
    Tally times;
  };
  std::map<std::string_view, CallSum> by_call_;
  std::unordered_map<uint64_t, Operands> operands_;
};

// Those that are being written: one for the whole run (BELAY_PROFILE_FOLDER), and one that the program
// steers.
class Profiles {
 public:
  static bool any() { return any_.load(std::memory_order_relaxed); }
  // The one for the whole run, where it is asked for. Again in a child of fork, which has its own.
  static void BeginRun();
  static void SetSession(std::shared_ptr<Profile> profile);
  // told(profile, whether the program steers it) of each.
  template <class Told>
  static void Each(Told told) {
    if (!any()) return;
    if (const std::shared_ptr<Profile> run = Run()) told(*run, false);
    if (const std::shared_ptr<Profile> session = Session()) told(*session, true);
  }

 private:
  static void ForgetInChild();  // under the lock
  static std::shared_ptr<Profile> Run();
  static std::shared_ptr<Profile> Session();
  static constinit std::atomic<bool> any_;
};

// Which of a call's arguments is the executor that it makes or runs; -1: none.
int ExecutorMadeBy(const BelayCall& call);
int ExecutorRunBy(const BelayCall& call);

}  // namespace belay::trace
