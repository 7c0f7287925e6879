// What becomes of the others when one rank makes another call, ends, does not come, or is dropped.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/codes.h"
#include "collective/testing.h"
#include "runtime/thread_engine.h"

namespace belay::coll::testing {
namespace {

using rt::Stream;
using ::testing::HasSubstr;

class Failures : public rt::rings::WorkersTest {
 protected:
  Failures() : WorkersTest(2) {}
  Operation Of(Kind kind, uint64_t count = 100) {
    Operation o;
    o.kind = kind;
    o.count = count;
    given_.emplace_back(count * 64);
    got_.emplace_back(count * 64);
    o.send = given_.back().data();
    o.receive = got_.back().data();
    return o;
  }
  Operation Message(bool sends, uint32_t peer, uint64_t count = 100) {
    Operation o = Of(sends ? Kind::kSend : Kind::kReceive, count);
    o.root = peer;
    o.messages = {{sends, sends ? given_.back().data() : got_.back().data(), count, DType::kF32, peer}};
    o.send = o.receive = nullptr;
    return o;
  }
  rt::TaskFailure FailureOf(Stream& stream) {
    Wait(stream);
    std::optional<rt::TaskFailure> failure = stream.TakeFailure();
    EXPECT_TRUE(failure);
    return failure.value_or(rt::TaskFailure{});
  }
  // Both fail with that code and all these words.
  void ExpectBoth(Stream& a, Stream& b, int code, const std::vector<std::string>& words) {
    for (Stream* s : {&a, &b}) {
      rt::TaskFailure failure = FailureOf(*s);
      EXPECT_EQ(failure.code, code);
      for (const std::string& word : words) EXPECT_THAT(failure.Sentence(), HasSubstr(word));
    }
  }
  std::vector<Bytes> given_, got_;
};

TEST_F(Failures, DifferentCallsAreToldAtOnce) {
  struct Two {
    Operation a, b;
    std::vector<std::string> words;
  };
  Operation other_type = Of(Kind::kAllReduce), product = Of(Kind::kAllReduce), root = Of(Kind::kBroadcast);
  other_type.type = DType::kI32;
  product.op = Reduction::kProd;
  root.root = 1;
  Operation gather = Of(Kind::kAllGatherV), gather2 = Of(Kind::kAllGatherV);
  gather.receive_counts = {100, 100};
  gather2.receive_counts = {90, 100};
  gather.receive_offsets = gather2.receive_offsets = {0, 100};
  const std::vector<Two> cases = {
      {Of(Kind::kAllReduce),
       Of(Kind::kBroadcast),
       {"rank 0 made HcclAllReduce (count 100, fp32, sum)",
        "rank 1 made HcclBroadcast (count 100, fp32, root 0)"}},
      {Of(Kind::kAllReduce), Of(Kind::kAllReduce, 5000), {"count 100,", "count 5000,"}},
      {Of(Kind::kAllReduce), other_type, {"fp32", "int32"}},
      {Of(Kind::kAllReduce), product, {"sum)", "prod)"}},
      {Of(Kind::kBroadcast), root, {"root 0)", "root 1)"}},
      {Of(Kind::kBarrier), Of(Kind::kAllGather), {"HcclBarrier", "HcclAllGather (count 100"}},
      {gather, gather2, {"rank 0 sends 100 elements to rank 1, which expects 90"}},
  };
  for (Where where : kAnywhere) {
    for (const Two& two : cases) {
      Group group(2, 4096, where);
      Stream& a = NewStream();
      Stream& b = NewStream();
      Submit(group[0], nullptr, a, Of(Kind::kBarrier));
      Submit(group[0], nullptr, a, two.a);
      Submit(group[1], nullptr, b, Of(Kind::kBarrier));
      Submit(group[1], nullptr, b, two.b);
      std::vector<std::string> words = two.words;
      words.push_back("as call 2 of communicator \"g\"");
      ExpectBoth(a, b, codes::kRtFftsPlusTimeout, words);
      // And so it stays.
      Submit(group[0], nullptr, a, two.a);
      EXPECT_EQ(FailureOf(a).code, codes::kRtFftsPlusTimeout);
    }
  }
}

TEST_F(Failures, MessagesThatDoNotAgree) {
  for (Where where : kAnywhere) {
    Group group(2, 4096, where);
    Stream& a = NewStream();
    Stream& b = NewStream();
    Submit(group[0], nullptr, a, Message(true, 1, 100));
    Submit(group[1], nullptr, b, Message(false, 0, 90));
    ExpectBoth(a, b, codes::kRtFftsPlusTimeout,
               {"HcclSend (count 100, fp32, to rank 1)", "HcclRecv (count 90, fp32, from rank 0)"});
  }
}

TEST_F(Failures, ARankThatEndedIsNamed) {
  for (Where where : kAnywhere) {
    Group group(3, 4096, where);
    Stream& a = NewStream();
    Stream& b = NewStream();
    Submit(group[0], nullptr, a, Of(Kind::kAllReduce));
    Submit(group[1], nullptr, b, Of(Kind::kAllReduce));
    group[0].MarkFailed(2);
    ExpectBoth(a, b, codes::kRtIpcError, {"rank 2 of communicator \"g\" has ended"});
    EXPECT_EQ(group[1].failed_rank(), 2u);
  }
}

TEST_F(Failures, ARankThatLeftIsNotWaitedFor) {
  for (bool apart : {false, true}) {
    Group group(2, 4096, apart);
    Stream& a = NewStream();
    Stream& b = NewStream();
    // What it made before it left counts.
    Submit(group[1], nullptr, b, Of(Kind::kAllReduce));
    while (group[1].announcement(1, 1).number.load() == 0) std::this_thread::yield();
    group[0].MarkLeft(1);
    Submit(group[0], nullptr, a, Of(Kind::kAllReduce));
    Wait(a);
    Wait(b);
    EXPECT_FALSE(a.failed());
    EXPECT_FALSE(b.failed());
    Submit(group[0], nullptr, a, Of(Kind::kAllReduce));
    rt::TaskFailure failure = FailureOf(a);
    EXPECT_EQ(failure.code, codes::kRtIpcError);
    EXPECT_THAT(failure.Sentence(), HasSubstr("rank 1 of communicator \"g\" destroyed it"));
  }
}

// Its goodbye comes after all that it has made.
TEST_F(Failures, ARankThatLeftAnotherHost) {
  Group group(3, 4096, Where::kOnTwoHosts);
  std::vector<Stream*> streams;
  for (uint32_t r : {2, 1, 0}) {
    streams.push_back(&NewStream());
    Submit(group[r], nullptr, *streams.back(), Of(Kind::kAllReduce, 5000));
  }
  for (Stream* stream : streams) {
    Wait(*stream);
    EXPECT_FALSE(stream->failed());
  }
  group[2].SayGoodbye();
  EXPECT_TRUE(group.carrier(1).Flush(INT64_MAX));
  for (uint32_t r : {0, 1}) {
    Submit(group[r], nullptr, *streams[r], Of(Kind::kAllReduce));
    EXPECT_THAT(FailureOf(*streams[r]).Sentence(), HasSubstr("rank 2 of communicator \"g\" destroyed it"));
  }
}

// A host whose ranks have left hands on for the others until those have left, too; then all carriers are
// done.
TEST_F(Failures, HostsHandOnForThoseThatStay) {
  for (const WayKind way : {WayKind::kRing, WayKind::kDoubling}) {
    Group group({0, 1, 2, 3, 4}, 4096, false, "g", way);
    group[1].SayGoodbye();
    group[2].SayGoodbye();
    Stream &sender = NewStream(), &receiver = NewStream();
    const Operation send = Message(true, 3, 3000);
    std::fill(given_.back().begin(), given_.back().end(), std::byte{7});
    Submit(group[0], nullptr, sender, send);
    Submit(group[3], nullptr, receiver, Message(false, 0, 3000));
    Wait(sender);
    Wait(receiver);
    EXPECT_EQ(got_.back()[11'999], std::byte{7});
    for (uint32_t r : {0, 3, 4}) group[r].SayGoodbye();
    for (uint32_t host = 0; host < 5; ++host) EXPECT_TRUE(group.carrier(host).Flush(INT64_MAX));
    for (uint32_t r = 0; r < 5; ++r) EXPECT_FALSE(group[r].failed()) << group[r].Failure().sentence();
  }
}

// Over hosts between.
TEST_F(Failures, AFailureComesToAll) {
  for (const WayKind way : {WayKind::kRing, WayKind::kDoubling}) {
    Group group({0, 1, 2, 3, 4, 5}, 4096, false, "g", way);
    group[3].MarkFailed(3, FailureKind::kDropped, "it snows");
    for (uint32_t r = 0; r < 6; ++r) {
      while (!group[r].failed()) std::this_thread::yield();
      EXPECT_THAT(group[r].Failure().sentence(), HasSubstr("it snows"));
    }
  }
}

TEST_F(Failures, ACarrierThatEndsIsNamed) {
  for (uint32_t ended : {0, 1}) {
    Group group(3, 4096, Where::kOnTwoHosts);
    Stream& stream = NewStream();
    const uint32_t rank = ended == 0 ? 2 : 0;
    Submit(group[rank], nullptr, stream, Of(Kind::kAllReduce));
    group.EndCarrier(ended);
    EXPECT_THAT(FailureOf(stream).Sentence(),
                HasSubstr(ended == 0 ? "rank 0 of communicator \"g\", on another machine, ended"
                                     : "rank 2 of communicator \"g\", on another machine, ended"));
  }
}

TEST_F(Failures, ASendToARankThatLeftLater) {
  Group group(2, 4096, false);
  Stream& a = NewStream();
  Submit(group[0], nullptr, a, Message(true, 1));
  while (group[0].channel(0, 1).sender.number.load() == 0) std::this_thread::yield();
  group[0].MarkLeft(1);
  EXPECT_THAT(FailureOf(a).Sentence(),
              HasSubstr("did not make its part of HcclSend (count 100, fp32, to rank 1)"));
}

TEST_F(Failures, ATimeLimitNamesWhoHasNotCome) {
  for (Where where : kAnywhere) {
    Group group(3, 4096, where);
    Stream& a = NewStream();
    Stream& b = NewStream();
    group[0].SetWaitLimit(1'000'000);
    group[1].SetWaitLimit(0);
    Submit(group[1], nullptr, b, Of(Kind::kAllReduce));
    Submit(group[0], nullptr, a, Of(Kind::kAllReduce));
    rt::TaskFailure failure = FailureOf(a);
    EXPECT_EQ(failure.code, codes::kRtFftsPlusTimeout);
    EXPECT_THAT(failure.Sentence(),
                HasSubstr("rank 0 of communicator \"g\" waited 0.001 s in HcclAllReduce"));
    EXPECT_THAT(failure.Sentence(), HasSubstr("2 has not made it"));
    EXPECT_EQ(FailureOf(b).code, codes::kRtFftsPlusTimeout);
  }
}

TEST_F(Failures, TwoThatBothSendFirstAreToldSo) {
  for (Where where : kAnywhere) {
    Group group(2, 4096, where);
    Stream& a = NewStream();
    Stream& b = NewStream();
    group[0].SetWaitLimit(0);
    Submit(group[0], nullptr, a, Message(true, 1));
    Submit(group[0], nullptr, a, Message(false, 1));
    // Only once rank 0 waits, and rank 1's host has heard of it, does time begin to run out.
    while (group[1].channel(0, 1).sender.number.load() == 0) std::this_thread::yield();
    group[1].SetWaitLimit(1'000'000);
    Submit(group[1], nullptr, b, Message(true, 0));
    Submit(group[1], nullptr, b, Message(false, 0));
    ExpectBoth(a, b, codes::kRtFftsPlusTimeout,
               {"waits in a HcclSend to rank 1 itself: one of the two must receive first"});
  }
}

// Whichever of the two finds that its time is up.
TEST_F(Failures, AMessageAndACollectiveThatWaitForEachOtherAreBothNamed) {
  Operation batch = Of(Kind::kBatch);
  batch.messages = Message(true, 1).messages;
  const Operation messages[] = {Message(true, 1), Message(false, 1), batch};
  const char* words[] = {"HcclSend", "HcclRecv", "HcclBatchSendRecv"};
  for (Where where : kAnywhere) {
    for (int i = 0; i < 6; ++i) {
      const bool limited = i % 2 == 1;
      Group group(2, 4096, where);
      Stream& a = NewStream();
      Stream& b = NewStream();
      for (uint32_t r : {0, 1}) group[r].SetWaitLimit(0);
      const Board::Channel& channel = i / 2 == 1 ? group[1].channel(1, 0) : group[1].channel(0, 1);
      const auto& came = i / 2 == 1 ? channel.receiver.number : channel.sender.number;
      const auto begin = [&](uint32_t r) {
        if (r == static_cast<uint32_t>(limited)) group[r].SetWaitLimit(1'000'000);
        Submit(group[r], nullptr, r == 0 ? a : b, r == 0 ? messages[i / 2] : Of(Kind::kAllReduce));
      };
      begin(limited ? 0 : 1);
      while (limited ? came.load() == 0 : group[0].announcement(1, 1).number.load() == 0)
        std::this_thread::yield();
      begin(limited ? 1 : 0);
      const std::string message = limited && i / 2 == 2 ? "HcclSend" : words[i / 2];
      ExpectBoth(a, b, codes::kRtFftsPlusTimeout,
                 {message, "HcclAllReduce (count 100, fp32, sum)", "but waits in"});
    }
  }
}

// What would be a circle on one stream is none: the calls that are missing come on others. So nothing is said
// of a circle before the time is up.
TEST_F(Failures, CallsOnOtherStreamsEndWhatLooksLikeACircle) {
  for (Where where : kAnywhere) {
    Group group(2, 4096, where);
    std::vector<Stream*> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(&NewStream());
    Submit(group[0], nullptr, *streams[0], Message(true, 1, 5000));
    Submit(group[1], nullptr, *streams[1], Of(Kind::kAllReduce, 5000));
    while (group[1].channel(0, 1).sender.number.load() == 0 || group[0].announcement(1, 1).number.load() == 0)
      std::this_thread::yield();
    Submit(group[0], nullptr, *streams[2], Of(Kind::kAllReduce, 5000));
    Submit(group[1], nullptr, *streams[3], Message(false, 0, 5000));
    for (Stream* stream : streams) {
      Wait(*stream);
      EXPECT_FALSE(stream->failed());
    }
  }
}

TEST_F(Failures, ADroppedCallEndsTheOthers) {
  for (Where where : kAnywhere) {
    Group group(2, 4096, where);
    Stream& a = NewStream();
    Stream& b = NewStream();
    Submit(group[0], nullptr, a, Message(true, 1));
    while (group[0].channel(0, 1).sender.number.load() == 0) std::this_thread::yield();
    a.Drop();
    Wait(a);
    a.StopDropping();
    Submit(group[1], nullptr, b, Of(Kind::kAllReduce));
    rt::TaskFailure failure = FailureOf(b);
    EXPECT_EQ(failure.code, codes::kRtIpcError);
    EXPECT_THAT(failure.Sentence(),
                HasSubstr("rank 0 of communicator \"g\" dropped HcclSend (count 100, fp32, to rank 1)"));
  }
}

TEST_F(Failures, HooksCountWhatIsUnderWay) {
  struct Counted : Hooks {
    std::atomic<int> begun{0}, ended{0}, failed{0};
    void Begin() override { ++begun; }
    void End() noexcept override { ++ended; }
    void Failed(const Error&) noexcept override { ++failed; }
  };
  auto hooks = std::make_shared<Counted>();
  Group group(2, 4096, true);
  Stream& a = NewStream();
  Stream& b = NewStream();
  Submit(group[0], hooks, a, Of(Kind::kAllReduce));
  EXPECT_EQ(hooks->begun, 1);
  EXPECT_EQ(hooks->ended, 0);
  Submit(group[1], hooks, b, Of(Kind::kAllReduce));
  Wait(a);
  Wait(b);
  EXPECT_EQ(hooks->ended, 2);
  Submit(group[0], hooks, a, Of(Kind::kAllReduce));
  Submit(group[1], hooks, b, Of(Kind::kBarrier));
  Wait(a);
  Wait(b);
  EXPECT_EQ(hooks->failed, 2);
  EXPECT_EQ(hooks->begun, hooks->ended);
}

TEST_F(Failures, BuffersThatOverlapInPart) {
  Group group(2, 4096, false);
  Stream& a = NewStream();
  Operation o = Of(Kind::kAllReduce);
  o.receive = static_cast<std::byte*>(const_cast<void*>(o.send)) + 4;
  EXPECT_EQ(rt::rings::CodeOf([&] { Submit(group[0], nullptr, a, o); }), codes::kInvalidParam);
  o.count = UINT64_MAX / 2;
  EXPECT_EQ(rt::rings::CodeOf([&] { Submit(group[0], nullptr, a, o); }), codes::kInvalidParam);
}

}  // namespace
}  // namespace belay::coll::testing
