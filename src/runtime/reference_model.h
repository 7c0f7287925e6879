// The reference of ring 2: streams, events and replays as one thread with plain containers would write
// them, in the order in which the step executor runs tasks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace belay::rt::rings {

struct ModelTicket {
  bool orphaned = false;
  int source = -1;
  uint64_t position = 0;
  int parked = -1;
};

struct ModelOp {
  enum class Kind { kTask, kRecord, kWait, kTicket, kCall, kLaunch } kind;
  int number = 0;         // kTask: what it logs; kLaunch: the graph
  int source = -1;        // kWait
  uint64_t position = 0;  // kWait
  int ticket = -1;        // kTicket
  bool limited = false;   // kWait, kTicket: has a time limit
  uint64_t turn = 0;      // kLaunch
};

struct ModelStream {
  enum class State { kIdle, kReady, kParked } state = State::kIdle;
  std::deque<ModelOp> queue;
  uint64_t tail = 0;
  uint64_t completed = 0;
  uint64_t serial = 0;  // of its latest park
  bool dropping = false;
  bool timed_out = false;
  bool call_done = false;
  bool in_call = false;      // parked until a host function returns
  std::vector<int> waiters;  // streams parked until this one gets on, oldest first
  uint64_t wants = 0;        // parked by position: which
  int failure = 0;
};

struct ModelEvent {
  bool ex = false;
  bool recorded = false;
  int source = -1;
  uint64_t position = 0;
  std::vector<int> tickets;
};

struct ModelGraph {
  std::vector<int> nodes;  // what a replay logs
  struct Turn {
    uint64_t number;
    int parked;
  };
  std::deque<Turn> turns;
  uint64_t turns_taken = 0;
};

class ReferenceModel {
 public:
  // What can be asked of it is what the tests compare.
  std::vector<int> ready;
  std::vector<int> log;
  std::map<int, ModelStream> streams;
  std::map<int, ModelEvent> events;
  std::map<int, ModelGraph> graphs;

  void Submit(int s, ModelOp op) {
    ModelStream& stream = streams[s];
    stream.queue.push_back(op);
    ++stream.tail;
    if (stream.state == ModelStream::State::kIdle) MakeReady(s);
  }
  void Record(int e, int s) {
    Submit(s, {.kind = ModelOp::Kind::kRecord});
    ModelEvent& event = events[e];
    event.recorded = true;
    event.source = s;
    event.position = streams[s].tail;
    for (int t : event.tickets) {
      tickets_[t].source = s;
      tickets_[t].position = event.position;
      Unpark(std::exchange(tickets_[t].parked, -1));
    }
    event.tickets.clear();
  }
  void Wait(int e, int s, bool limited) {
    ModelEvent& event = events[e];
    if (event.recorded) {
      Submit(s, {.kind = ModelOp::Kind::kWait,
                 .source = event.source,
                 .position = event.position,
                 .limited = limited});
    } else if (!event.ex) {
      tickets_.push_back({});
      int ticket = static_cast<int>(tickets_.size()) - 1;
      event.tickets.push_back(ticket);
      Submit(s, {.kind = ModelOp::Kind::kTicket, .ticket = ticket, .limited = limited});
    }
  }
  void Reset(int e) { events[e].recorded = false; }
  void DestroyEvent(int e) {
    std::vector<int> tickets = events[e].tickets;
    events.erase(e);
    for (int t : tickets) tickets_[t].orphaned = true;
    for (int t : tickets) Unpark(std::exchange(tickets_[t].parked, -1));
  }
  void Execute(int g, int s) {
    ModelGraph& graph = graphs[g];
    graph.turns.push_back({++graph.turns_taken, -1});
    Submit(s, {.kind = ModelOp::Kind::kLaunch, .number = g, .turn = graph.turns_taken});
  }
  void CallReturns(int s) {
    streams[s].in_call = false;
    streams[s].call_done = true;
    Unpark(s);
  }
  void ExpireDeadlines() {
    std::vector<std::pair<int, uint64_t>> watched;
    watched.swap(watched_);
    for (auto [s, serial] : watched) Cancel(s, serial);
  }
  void Drop(int s) {
    streams[s].dropping = true;
    Cancel(s, streams[s].serial);
  }
  void StepFirstUntil(int s, uint64_t position) {
    while (streams[s].completed < position && !ready.empty()) Step(0);
  }
  void Step(size_t i);

 private:
  using Kind = ModelOp::Kind;
  void MakeReady(int s) {
    streams[s].state = ModelStream::State::kReady;
    ready.push_back(s);
  }
  void Unpark(int s) {
    if (s >= 0) MakeReady(s);
  }
  bool Park(int s) {
    if (streams[s].dropping) return false;
    streams[s].state = ModelStream::State::kParked;
    ++streams[s].serial;
    return true;
  }
  bool ParkUntil(int s, int source, uint64_t position);
  bool Proceed(int s, ModelOp op);  // false: it parked
  bool ProceedTicket(int s, const ModelOp& op);
  bool ProceedLaunch(int s, const ModelOp& op);
  void EndTurn(const ModelOp& op);
  void Complete(int s);
  void Cancel(int s, uint64_t serial);

  std::deque<ModelTicket> tickets_;
  std::vector<std::pair<int, uint64_t>> watched_;
};

}  // namespace belay::rt::rings
