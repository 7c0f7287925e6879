// Ring 3: every interleaving of small programs. The step executor runs one task at a time; a walk picks
// which ready stream goes next, or, in programs made of host calls, that the host goes on. All picks are
// walked, depth first. Each schedule starts afresh.
#include <cstdio>
#include <functional>
#include <vector>

#include "runtime/ring_support.h"

namespace belay::rt::rings {
namespace {

// The picks of one schedule; Next moves to the schedule after it, false when all were walked.
class Walk {
 public:
  size_t Pick(size_t choices) {
    if (at_ == picks_.size()) picks_.push_back({0, choices});
    EXPECT_EQ(picks_[at_].choices, choices) << "the program does not repeat";
    return picks_[at_++].pick;
  }
  bool Next() {
    at_ = 0;
    while (!picks_.empty() && ++picks_.back().pick == picks_.back().choices) picks_.pop_back();
    return !picks_.empty();
  }

 private:
  struct Choice {
    size_t pick;
    size_t choices;
  };
  std::vector<Choice> picks_;
  size_t at_ = 0;
};

class Interleaving : public StepTest {
 protected:
  // A program: submits its calls up front, and looks at the result when all has run.
  // Every schedule of the tasks is run; the host's calls are made in program order before them.
  int WalkAll(const std::function<void()>& start, const std::function<void()>& check) {
    return WalkAllWithHost([&] { return start(), HostCalls{}; }, check);
  }

  // The calls that start gives are made in their order, at every possible point between the tasks.
  using HostCalls = std::vector<std::function<void()>>;
  int WalkAllWithHost(const std::function<HostCalls()>& start, const std::function<void()>& check) {
    Walk walk;
    int schedules = 0;
    do {
      log_.clear();
      HostCalls calls = start();
      size_t made = 0;
      while (made < calls.size() || !engine_.ready().empty()) {
        size_t streams = engine_.ready().size();
        size_t pick = walk.Pick(streams + (made < calls.size() ? 1 : 0));
        if (pick < streams) {
          engine_.Step(pick);
        } else {
          calls[made++]();
        }
      }
      check();
      for (Stream* stream : streams_) {
        EXPECT_TRUE(stream->Idle()) << "stream " << stream->id() << " never got on";
        Context::DestroyStream(*stream, true);
      }
      streams_.clear();
      for (Event* event : events_) DestroyEvent(*event);
      events_.clear();
      ++schedules;
    } while (walk.Next() && !HasFailure());
    std::printf("[   ring 3 ] %d schedules\n", schedules);
    return schedules;
  }
  Stream& S() { return *streams_.emplace_back(&NewStream()); }
  Event& Ev(EventKind kind = EventKind::kPlain) { return *events_.emplace_back(&NewEvent(kind)); }

  // Task number n of the program: notes that it ran.
  struct NoteTask {
    static constexpr const char* kName = "note";
    static constexpr bool kTouchesNothing = true;
    std::vector<int>* log;
    int n;
    void Run() const { log->push_back(n); }
  };
  void Note(Stream& stream, int n) { stream.Submit(MakeTask(NoteTask{&log_, n})); }
  void ExpectBefore(int first, int second) {
    auto at = [&](int n) { return std::find(log_.begin(), log_.end(), n) - log_.begin(); };
    EXPECT_LT(at(first), at(second)) << first << " must run before " << second;
  }
  void ExpectRan(size_t tasks) { EXPECT_EQ(log_.size(), tasks); }

  std::vector<int> log_;
  std::vector<Stream*> streams_;
  std::vector<Event*> events_;
};

TEST_F(Interleaving, TwoStreamsThreeTasksTwoEvents) {
  int schedules = WalkAll(
      [&] {
        Stream &a = S(), &b = S();
        Event &e = Ev(), &f = Ev();
        Note(a, 1);
        e.Record(a);
        Note(a, 2);
        Note(b, 11);
        e.MakeWait(b, 0);
        Note(b, 12);
        f.Record(b);
        f.MakeWait(a, 0);
        Note(a, 3);
        Note(b, 13);
      },
      [&] {
        ExpectRan(6);
        ExpectBefore(1, 12);
        ExpectBefore(12, 3);
        for (auto [first, second] : {std::pair{1, 2}, {2, 3}, {11, 12}, {12, 13}})
          ExpectBefore(first, second);
      });
  EXPECT_GT(schedules, 50);
}

// The order that hangs a runtime whose workers block in waits: the waiting stream comes first.
TEST_F(Interleaving, AWaitBeforeItsRecord) {
  WalkAll(
      [&] {
        Stream &a = S(), &b = S(), &c = S();
        Event& e = Ev();
        e.MakeWait(b, 0);
        Note(b, 11);
        e.MakeWait(c, 0);
        Note(c, 21);
        Note(a, 1);
        e.Record(a);
        Note(a, 2);
      },
      [&] {
        ExpectRan(4);
        ExpectBefore(1, 11);
        ExpectBefore(1, 21);
      });
}

TEST_F(Interleaving, AWaitKeepsTheRecordItWasIssuedFor) {
  WalkAll(
      [&] {
        Stream &a = S(), &b = S();
        Event& e = Ev(EventKind::kEx);
        Note(a, 1);
        e.Record(a);
        e.MakeWait(b, 0);  // of the first record, whatever comes later
        Note(b, 11);
        Note(a, 2);
        e.Record(a);
        e.MakeWait(b, 0);
        Note(b, 12);
        e.Reset(a);
      },
      [&] {
        ExpectRan(4);
        ExpectBefore(1, 11);
        ExpectBefore(2, 12);
      });
}

TEST_F(Interleaving, ARingOfThreeStreams) {
  WalkAll(
      [&] {
        Stream &a = S(), &b = S(), &c = S();
        Event &e = Ev(), &f = Ev(), &g = Ev();
        Note(a, 1);
        e.Record(a);
        e.MakeWait(b, 0);
        Note(b, 2);
        f.Record(b);
        f.MakeWait(c, 0);
        Note(c, 3);
        g.Record(c);
        g.MakeWait(a, 0);
        Note(a, 4);
      },
      [&] {
        ExpectRan(4);
        for (int n = 1; n < 4; ++n) ExpectBefore(n, n + 1);
      });
}

TEST_F(Interleaving, EventsThatAreDestroyedWithTheirRecordsQueued) {
  WalkAll(
      [&] {
        Stream &a = S(), &b = S();
        Event& e = NewEvent();
        Note(a, 1);
        e.Record(a);
        e.MakeWait(b, 0);
        Note(b, 11);
        DestroyEvent(e);
        Event& next = Ev();  // most likely in the same slot
        next.MakeWait(a, 0);
        Note(a, 2);
        Note(b, 12);
        next.Record(b);
      },
      [&] {
        ExpectRan(4);
        ExpectBefore(1, 11);
        ExpectBefore(12, 2);
      });
}

// --- the host between the tasks

// Waits submitted before, while and after what they wait for runs: none is lost, none passes early.
TEST_F(Interleaving, TheHostSubmitsWhileTasksRun) {
  int schedules = WalkAllWithHost(
      [&]() -> HostCalls {
        Stream &a = S(), &b = S();
        Event &e = Ev(), &f = Ev();
        return {[&] { Note(a, 1); },  [&] { e.Record(a); }, [&] { e.MakeWait(b, 0); }, [&] { Note(b, 11); },
                [&] { f.Record(b); }, [&] { Note(a, 2); },  [&] { f.MakeWait(a, 0); }, [&] { Note(a, 3); }};
      },
      [&] {
        ExpectRan(4);
        ExpectBefore(1, 11);
        ExpectBefore(1, 2);
        ExpectBefore(2, 3);
        ExpectBefore(11, 3);
      });
  EXPECT_GT(schedules, 1000);
}

// What the host sees of an event agrees with what has run, at every point where it may ask.
TEST_F(Interleaving, QueriesTellWhatHasRun) {
  WalkAllWithHost(
      [&]() -> HostCalls {
        Stream &a = S(), &b = S();
        Event& e = Ev();
        auto ask = [&, this] {
          bool ran = std::find(log_.begin(), log_.end(), 1) != log_.end();
          if (e.Complete()) {
            EXPECT_TRUE(ran);
          }
          if (a.Idle()) {
            EXPECT_TRUE(ran && e.Complete());
          }
        };
        return {[&] { Note(a, 1); },
                [&] { e.Record(a); },
                ask,
                [&] { e.MakeWait(b, 0); },
                [&] { Note(b, 11); },
                ask,
                ask};
      },
      [&] {
        ExpectRan(2);
        ExpectBefore(1, 11);
      });
}

// The first record of an event comes at every point of those who wait for it, and a reset behind it.
TEST_F(Interleaving, TheFirstRecordComesWhenItComes) {
  WalkAllWithHost(
      [&]() -> HostCalls {
        Stream &a = S(), &b = S(), &c = S();
        Event& e = Ev();
        e.MakeWait(b, 0);
        e.MakeWait(c, 0);
        Note(b, 11);
        return {[&] { Note(a, 1); }, [&] { e.Record(a); }, [&] { e.Reset(a); }, [&] { Note(c, 21); }};
      },
      [&] {
        ExpectRan(3);
        for (int n : {11, 21}) ExpectBefore(1, n);
      });
}

TEST_F(Interleaving, AnEventThatIsNeverRecordedIsDestroyed) {
  WalkAllWithHost(
      [&]() -> HostCalls {
        Stream &a = S(), &b = S();
        Event& e = NewEvent();
        e.MakeWait(a, 0);
        Note(a, 1);
        return {[&] { e.MakeWait(b, 0); }, [&] { Note(b, 11); }, [&] { DestroyEvent(e); }};
      },
      [&] {
        ExpectRan(2);
        for (Stream* stream : streams_) EXPECT_TRUE(stream->TakeFailure().has_value()) << "the wait failed";
      });
}

// A stream that is dropped at any point runs nothing more, and lets go who waits for it.
TEST_F(Interleaving, AStreamIsDroppedAtAnyPoint) {
  WalkAllWithHost(
      [&]() -> HostCalls {
        Stream &a = S(), &b = S();
        Event &never = Ev(), &e = Ev();
        Note(a, 1);
        never.MakeWait(a, 0);
        Note(a, 2);
        e.Record(a);
        e.MakeWait(b, 0);
        Note(b, 11);
        return {[&] { a.Drop(); }};
      },
      [&] {
        EXPECT_EQ(std::count(log_.begin(), log_.end(), 2), 0);
        EXPECT_EQ(std::count(log_.begin(), log_.end(), 11), 1);
      });
}

// Replays launched between the tasks of another stream take turns, whole.
TEST_F(Interleaving, ReplaysAreLaunchedWhileOthersRun) {
  WalkAllWithHost(
      [&]() -> HostCalls {
        Stream &a = S(), &b = S();
        Capture::Begin(a, CaptureMode::kRelaxed);
        Note(a, 100);
        Note(a, 101);
        ModelRI& model = Capture::End(a);
        return {[&] { Note(a, 1); },       [&] { model.Execute(a); }, [&] { Note(b, 11); },
                [&] { model.Execute(b); }, [&] { Note(b, 12); },      [&] { ModelRI::Destroy(model); }};
      },
      [&] {
        ExpectRan(7);
        std::vector<int> nodes;
        std::copy_if(log_.begin(), log_.end(), std::back_inserter(nodes), [](int n) { return n >= 100; });
        EXPECT_EQ(nodes, (std::vector<int>{100, 101, 100, 101}));
        ExpectBefore(1, 100);
        ExpectBefore(11, 12);
        ExpectBefore(100, 12);
      });
}

// --- captures

TEST_F(Interleaving, TwoStreamsWithCaptureAndReplay) {
  WalkAll(
      [&] {
        Stream &a = S(), &b = S();
        Event &fork = Ev(), &join = Ev(), &live = Ev();
        Note(a, 1);
        Note(b, 11);
        Capture::Begin(a, CaptureMode::kRelaxed);
        fork.Record(a);
        fork.MakeWait(b, 0);
        Note(a, 100);
        Note(b, 101);
        join.Record(b);
        join.MakeWait(a, 0);
        Note(a, 102);
        ModelRI& model = Capture::End(a);
        Note(b, 12);
        live.Record(b);
        live.MakeWait(a, 0);
        model.Execute(a);
        Note(a, 2);
        ModelRI::Destroy(model);  // queued replays still run
      },
      [&] {
        ExpectRan(7);
        for (auto [first, second] :
             {std::pair{1, 100}, {11, 12}, {12, 100}, {12, 101}, {100, 102}, {101, 102}, {102, 2}}) {
          ExpectBefore(first, second);
        }
      });
}

// Replays of one instance on three streams run one after another, whole, in the order of the calls.
TEST_F(Interleaving, ReplaysOfOneInstanceTakeTurns) {
  WalkAll(
      [&] {
        Stream &main = S(), &a = S(), &b = S(), &c = S();
        Capture::Begin(main, CaptureMode::kRelaxed);
        Note(main, 100);
        Note(main, 101);
        ModelRI& model = Capture::End(main);
        Note(a, 1);
        model.Execute(a);
        model.Execute(b);
        Note(c, 3);
        model.Execute(c);
        Note(b, 2);
        ModelRI::Destroy(model);
      },
      [&] {
        ExpectRan(9);
        std::vector<int> nodes;
        for (int n : log_) {
          if (n >= 100) nodes.push_back(n);
        }
        EXPECT_EQ(nodes, (std::vector<int>{100, 101, 100, 101, 100, 101}));
        ExpectBefore(1, 100);
        ExpectBefore(100, 2);
      });
}

// A stream that is dropped gives its turn away, wherever it stands.
TEST_F(Interleaving, ADroppedStreamHoldsNobodyUp) {
  WalkAll(
      [&] {
        Stream &main = S(), &a = S(), &c = S();
        Stream& b = NewStream();
        Event &never = Ev(), &done = Ev();
        Capture::Begin(main, CaptureMode::kRelaxed);
        Note(main, 100);
        ModelRI& model = Capture::End(main);
        never.MakeWait(b, 0);
        model.Execute(b);
        done.Record(b);
        model.Execute(a);
        done.MakeWait(c, 0);
        Note(c, 1);
        engine_.Step(0);  // b parks
        b.Drop();
        ModelRI::Destroy(model);
        streams_.push_back(&b);
      },
      [&] {
        ExpectRan(2);  // the replay on a and the task on c
      });
}

}  // namespace
}  // namespace belay::rt::rings
