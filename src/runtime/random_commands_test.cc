// Ring 2: random command lists run by the step executor and by the reference model, compared after every
// command: which streams are ready and in which order, what has run, how far each stream is.
#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

#include "runtime/reference_model.h"
#include "runtime/ring_support.h"

namespace belay::rt::rings {

// --- the model

bool ReferenceModel::ParkUntil(int s, int source, uint64_t position) {
  if (streams[source].completed >= position || !Park(s)) return false;
  streams[s].wants = position;
  streams[source].waiters.push_back(s);
  return true;
}

bool ReferenceModel::ProceedTicket(int s, const ModelOp& op) {
  ModelTicket& ticket = tickets_[op.ticket];
  if (ticket.orphaned) {
    if (streams[s].failure == 0) streams[s].failure = 107017;
    return true;
  }
  if (ticket.source >= 0) return !ParkUntil(s, ticket.source, ticket.position);
  if (!Park(s)) return true;
  ticket.parked = s;
  return false;
}

bool ReferenceModel::ProceedLaunch(int s, const ModelOp& op) {
  ModelGraph& graph = graphs[op.number];
  if (graph.turns.front().number == op.turn) {
    if (!streams[s].dropping) log.insert(log.end(), graph.nodes.begin(), graph.nodes.end());
    return true;
  }
  if (!Park(s)) return true;
  for (ModelGraph::Turn& turn : graph.turns) {
    if (turn.number == op.turn) turn.parked = s;
  }
  return false;
}

bool ReferenceModel::Proceed(int s, ModelOp op) {
  ModelStream& stream = streams[s];
  if (op.kind == Kind::kLaunch) return ProceedLaunch(s, op);
  if (stream.dropping) {
    stream.timed_out = stream.call_done = false;
    return true;
  }
  switch (op.kind) {
    case Kind::kTask:
      log.push_back(op.number);
      return true;
    case Kind::kCall:
      if (std::exchange(stream.call_done, false)) return true;
      Park(s);
      stream.in_call = true;
      return false;
    case Kind::kWait:
    case Kind::kTicket: {
      if (std::exchange(stream.timed_out, false)) {
        if (stream.failure == 0) stream.failure = 107020;
        return true;
      }
      bool passed = op.kind == Kind::kWait ? !ParkUntil(s, op.source, op.position) : ProceedTicket(s, op);
      if (!passed && op.limited) watched_.emplace_back(s, stream.serial);
      return passed;
    }
    default:
      return true;
  }
}

void ReferenceModel::EndTurn(const ModelOp& op) {
  std::deque<ModelGraph::Turn>& turns = graphs[op.number].turns;
  bool first = turns.front().number == op.turn;
  std::erase_if(turns, [&](const ModelGraph::Turn& t) { return t.number == op.turn; });
  if (first && !turns.empty()) Unpark(std::exchange(turns.front().parked, -1));
}

void ReferenceModel::Complete(int s) {
  ModelStream& stream = streams[s];
  ModelOp op = stream.queue.front();
  if (op.kind == Kind::kLaunch) EndTurn(op);
  if (op.kind == Kind::kTicket) {
    for (auto& [e, event] : events) std::erase(event.tickets, op.ticket);
  }
  stream.queue.pop_front();
  ++stream.completed;
  if (op.kind != Kind::kRecord && op.kind != Kind::kLaunch) return;
  std::vector<int> passed;
  std::erase_if(stream.waiters, [&](int w) {
    if (streams[w].wants > stream.completed) return false;
    passed.push_back(w);
    return true;
  });
  for (int w : passed) Unpark(w);
}

void ReferenceModel::Step(size_t i) {
  int s = ready[i];
  ready.erase(ready.begin() + static_cast<ptrdiff_t>(i));
  ModelStream& stream = streams[s];
  if (!Proceed(s, stream.queue.front())) return;
  Complete(s);
  if (stream.queue.empty()) {
    stream.state = ModelStream::State::kIdle;
  } else {
    MakeReady(s);
  }
}

void ReferenceModel::Cancel(int s, uint64_t serial) {
  ModelStream& stream = streams[s];
  if (stream.state != ModelStream::State::kParked || stream.serial != serial || stream.in_call) return;
  for (auto& [other, source] : streams) std::erase(source.waiters, s);
  for (ModelTicket& ticket : tickets_) {
    if (ticket.parked == s) ticket.parked = -1;
  }
  for (auto& [g, graph] : graphs) {
    for (ModelGraph::Turn& turn : graph.turns) {
      if (turn.parked == s) turn.parked = -1;
    }
  }
  stream.timed_out = true;
  MakeReady(s);
}

namespace {

// A host function whose return is a command of the test.
struct ManualCallTask {
  static constexpr const char* kName = "manual call";
  static constexpr bool kTouchesNothing = true;
  static constexpr TaskClass kClass = TaskClass::kHostCall;
  bool Proceed(Stream& stream) const {
    if (stream.TakeCallbackDone()) return true;
    stream.Park({ParkReason::kCallback});
    return false;
  }
};

struct LogTask {
  static constexpr const char* kName = "log";
  static constexpr bool kTouchesNothing = true;
  std::vector<int>* log;
  int number;
  void Run() const { log->push_back(number); }
};

// The real thing beside the model. Streams, events and graphs have the same numbers in both; a slot of
// the stream table keeps its number, since positions go on when it is used again.
class RandomCommands : public StepTest {
 protected:
  static constexpr int kStreams = 6;
  static constexpr int kEvents = 6;

  void RunList(uint64_t seed, int commands) {
    SCOPED_TRACE("BELAY_TEST_SEED=" + std::to_string(seed));
    random_.seed(seed);
    for (int i = 0; i < kStreams; ++i) OpenStream();
    for (int i = 0; i < kEvents; ++i) OpenEvent();
    for (int i = 0; i < commands && !HasFailure(); ++i) {
      Command();
      Compare();
    }
    CleanUp();
  }

  int Random(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  int AStream() { return live_[static_cast<size_t>(Random(static_cast<int>(live_.size())))]; }
  int AnEvent() { return std::next(events_.begin(), Random(static_cast<int>(events_.size())))->first; }

  void OpenStream() {
    Stream& stream = NewStream();
    int number = static_cast<int>(IndexOf(stream.handle()));
    real_[number] = &stream;
    live_.push_back(number);
    ModelStream& model = model_.streams[number];
    model = {};
    model.tail = stream.tail();
    model.completed = stream.completed();
    model.serial = stream.park_serial();
  }
  void OpenEvent() {
    bool ex = Random(3) == 0;
    events_[next_event_] = &NewEvent(ex ? EventKind::kEx : EventKind::kPlain);
    model_.events[next_event_++].ex = ex;
  }

  void Command();
  void Step(int times) {
    for (; times > 0 && !engine_.ready().empty() && !model_.ready.empty(); --times) {
      size_t pick = static_cast<size_t>(Random(static_cast<int>(engine_.ready().size())));
      engine_.Step(pick);
      model_.Step(pick);
      Compare();
      if (HasFailure()) return;
    }
  }
  void Capture();
  void Destroy(int s);
  void Synchronise(int s) {
    uint64_t tail = real_[s]->tail();
    engine_.WaitFor(*real_[s], tail, -1);
    model_.StepFirstUntil(s, tail);
    std::optional<TaskFailure> failure = real_[s]->TakeFailure();
    EXPECT_EQ(!failure ? 0 : failure->code, std::exchange(model_.streams[s].failure, 0));
  }
  void Return(int s) {
    if (!model_.streams[s].in_call) return;
    real_[s]->CallbackDone();
    model_.CallReturns(s);
  }
  void Compare();
  void CleanUp();

  std::mt19937_64 random_;
  ReferenceModel model_;
  std::map<int, Stream*> real_;
  std::vector<int> live_;
  std::map<int, rt::Event*> events_;
  std::map<int, ModelRI*> graphs_;
  std::vector<int> log_;
  int next_event_ = 0;
  int next_task_ = 0;
  int next_graph_ = 0;
  int failed_captures_ = 0;
};

void RandomCommands::Command() {
  int s = AStream();
  int e = AnEvent();
  int what = Random(100);
  if (what < 20) {
    real_[s]->Submit(MakeTask(LogTask{&log_, next_task_}));
    model_.Submit(s, {.kind = ModelOp::Kind::kTask, .number = next_task_++});
  } else if (what < 32) {
    events_[e]->Record(*real_[s]);
    model_.Record(e, s);
  } else if (what < 46) {
    bool limited = Random(4) == 0;
    events_[e]->MakeWait(*real_[s], limited ? 1'000'000'000 : 0);
    model_.Wait(e, s, limited);
  } else if (what < 50) {
    events_[e]->Reset(*real_[s]);
    model_.Reset(e);
  } else if (what < 54) {
    DestroyEvent(*events_[e]);
    model_.DestroyEvent(e);
    events_.erase(e);
    OpenEvent();
  } else if (what < 57) {
    real_[s]->Submit(MakeTask(ManualCallTask{}));
    model_.Submit(s, {.kind = ModelOp::Kind::kCall});
  } else if (what < 63) {
    Return(s);
  } else if (what < 65) {
    Capture();
  } else if (what < 72 && !graphs_.empty()) {
    int g = std::next(graphs_.begin(), Random(static_cast<int>(graphs_.size())))->first;
    graphs_[g]->Execute(*real_[s]);
    model_.Execute(g, s);
    if (Random(6) == 0) {  // destroyed with replays queued
      ModelRI::Destroy(*graphs_[g]);
      graphs_.erase(g);
    }
  } else if (what < 74) {
    engine_.ExpireDeadlines();
    model_.ExpireDeadlines();
  } else if (what < 76) {
    Destroy(s);
  } else if (what < 79) {
    Synchronise(s);
  } else {
    Step(1 + Random(4));
  }
}

// A capture from its begin to its end. Whether the end must refuse it follows from who came back.
void RandomCommands::Capture() {
  int main = AStream();
  std::vector<int> members{main};
  std::set<int> open;  // joined, and has nodes that do not lead to main
  ModelGraph graph;
  Capture::Begin(*real_[main], CaptureMode::kRelaxed);
  rt::Event& event = NewEvent();
  for (int i = Random(8); i >= 0; --i) {
    int s = AStream();
    bool member = std::find(members.begin(), members.end(), s) != members.end();
    if (!member) {
      event.Record(*real_[main]);
      event.MakeWait(*real_[s], 0);
      members.push_back(s);
      open.insert(s);
    } else if (Random(3) == 0 && s != main) {
      event.Record(*real_[s]);
      event.MakeWait(*real_[main], 0);
      open.erase(s);
    } else {
      EXPECT_EQ(real_[s]->Submit(MakeTask(LogTask{&log_, next_task_})), 0u);
      graph.nodes.push_back(next_task_++);
      if (s != main) open.insert(s);
    }
  }
  bool spoiled = Random(10) == 0;
  if (spoiled) {
    EXPECT_EQ(CodeOf([&] { CheckNotCaptured(*real_[members.back()], "this test"); }), 107027);
  }
  ModelRI* model = nullptr;
  int code = CodeOf([&] { model = &Capture::End(*real_[main]); });
  EXPECT_EQ(code, spoiled ? 107033 : !open.empty() ? 107025 : 0);
  failed_captures_ += code != 0;
  DestroyEvent(event);
  if (model == nullptr) return;
  graphs_[next_graph_] = model;
  model_.graphs[next_graph_++] = graph;
}

void RandomCommands::Destroy(int s) {
  Return(s);
  bool force = !real_[s]->Idle();
  Stream* stream = real_[s];
  uint64_t tail = stream->tail();
  if (force) model_.Drop(s);
  model_.StepFirstUntil(s, tail);
  Context::DestroyStream(*stream, force);
  std::erase(live_, s);
  OpenStream();
}

void RandomCommands::Compare() {
  std::vector<int> ready;
  for (Stream* stream : engine_.ready()) ready.push_back(static_cast<int>(IndexOf(stream->handle())));
  ASSERT_EQ(ready, model_.ready);
  ASSERT_EQ(log_, model_.log);
  for (int s : live_) {
    ASSERT_EQ(real_[s]->completed(), model_.streams[s].completed) << "stream " << s;
    ASSERT_EQ(real_[s]->park_serial(), model_.streams[s].serial) << "stream " << s;
  }
}

void RandomCommands::CleanUp() {
  for (int s : live_) Context::DestroyStream(*real_[s], true);
  for (auto& [e, event] : events_) DestroyEvent(*event);
  for (auto& [g, model] : graphs_) ModelRI::Destroy(*model);
  live_.clear();
  events_.clear();
  graphs_.clear();
  model_ = {};
  log_.clear();
}

TEST_F(RandomCommands, AgreeWithTheModel) {
  uint64_t first = SeedOr(1);
  int lists = std::getenv("BELAY_TEST_SEED") != nullptr ? 1 : 400;
  for (int i = 0; i < lists && !HasFailure(); ++i) RunList(first + static_cast<uint64_t>(i), 300);
  std::printf("[   ring 2 ] seeds %llu to %llu, %d commands each, %d captures refused\n",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first) + lists - 1, 300,
              failed_captures_);
}

}  // namespace
}  // namespace belay::rt::rings
