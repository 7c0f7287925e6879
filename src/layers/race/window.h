// The latest that the program did, in the order of its calls. When a report is told, it is written down (to
// layers/support/history.h), and so is what comes soon after: what the page of belay check draws. Where no
// page is asked for there is no window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "layers/race/site.h"

namespace belay::race {

struct Event {
  enum class Kind : uint8_t {
    kTask,
    kRecord,
    kWait,     // of a stream for another one, or for a value
    kLearned,  // a thread of the host has learned that work is over
    kHost,     // it copies or fills by itself, or frees
  };
  Kind kind;
  Spot spot;
  uint32_t site;
  uint32_t thread;
  std::vector<Spot> after;  // what it waits for, or has learned
};

class Window {
 public:
  static constexpr size_t kBefore = 2048;  // of a report
  static constexpr uint64_t kBehind = 256;

  explicit Window(const std::vector<Site>& sites);
  bool wanted() const { return !events_.empty(); }

  // By the calling thread.
  void AddTask(Event::Kind kind, const Spot& spot, uint32_t site, std::vector<Spot> after);
  // Returns its spot.
  Spot AddHost(Event::Kind kind, uint32_t site, std::vector<Spot> after = {});
  // A report has been told.
  void Write();
  // A node of a graph of which a report has been told.
  void WriteNode(const Spot& spot, uint64_t number, uint32_t site, const std::vector<Spot>& after);

 private:
  void Add(Event event);
  void WriteEvent(const Event& event, uint64_t number);
  void WriteSite(uint32_t site, Event::Kind kind);

  const std::vector<Site>& sites_;
  std::vector<Event> events_;  // a ring
  uint64_t next_ = 0;          // the number of the next event
  uint64_t written_ = 0;       // what comes before was written, or is lost
  uint64_t until_ = 0;         // what comes before is written as it comes
  std::unordered_set<uint32_t> written_sites_;
  bool full_ = false;
};

}  // namespace belay::race
