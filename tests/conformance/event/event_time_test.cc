// The times of records.
#include <chrono>

#include "fixture.h"

namespace {

using namespace conformance;

class EventTime : public Started {};

using Clock = std::chrono::steady_clock;

void Spin(std::chrono::microseconds time) {
  auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

TEST_F(EventTime, ElapsedIsRealMilliseconds) {
  aclrtStream stream = NewStream();
  aclrtEvent start = NewEvent(), end = NewEvent(ACL_EVENT_TIME_LINE);
  auto before = Clock::now();
  EXPECT_OK(aclrtRecordEvent(start, stream));
  Call(stream, [] { Spin(std::chrono::milliseconds(20)); });
  EXPECT_OK(aclrtRecordEvent(end, stream));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  float ms = 0;
  EXPECT_OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 19.9f);
  EXPECT_LE(ms, MillisecondsSince(before) * 1.001) << "not longer than the host's clock saw";
  EXPECT_OK(aclrtEventElapsedTime(&ms, start, start));
  EXPECT_EQ(ms, 0.0f);
}

TEST_F(EventTime, TheWrongOrderIsNamed) {
  aclrtEvent start = NewEvent(), end = NewEvent();
  EXPECT_OK(aclrtRecordEvent(start, nullptr));
  Call(nullptr, [] { Spin(std::chrono::microseconds(100)); });
  EXPECT_OK(aclrtRecordEvent(end, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  float ms = 0;
  EXPECT_REFUSED(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, aclrtEventElapsedTime(&ms, end, start),
                 "order of their");
}

TEST_F(EventTime, NeedsRecordsThatHaveRun) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  float ms;
  uint64_t time;
  EXPECT_REFUSED(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&ms, event, event),
                 "synchronise");
  Hold hold(stream);
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_REFUSED(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventGetTimestamp(event, &time), "has not run");
  hold.LetGo();
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtEventGetTimestamp(event, &time));
  Hold again(stream);
  EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_REFUSED(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventGetTimestamp(event, &time), "has not run");
}

TEST_F(EventTime, AnEventWithoutTimeLineHasNone) {
  aclrtEvent event = NewEvent(ACL_EVENT_SYNC);
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  uint64_t time;
  EXPECT_REFUSED(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventGetTimestamp(event, &time),
                 "ACL_EVENT_TIME_LINE");
}

TEST_F(EventTime, TimestampsCountMicroseconds) {
  aclrtEvent first = NewEvent(), second = NewEvent();
  auto before = Clock::now();
  EXPECT_OK(aclrtRecordEvent(first, nullptr));
  Call(nullptr, [] { Spin(std::chrono::milliseconds(5)); });
  EXPECT_OK(aclrtRecordEvent(second, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  uint64_t a = 0, b = 0;
  EXPECT_OK(aclrtEventGetTimestamp(first, &a));
  EXPECT_OK(aclrtEventGetTimestamp(second, &b));
  EXPECT_GE(b - a, 4990u);
  EXPECT_LE(static_cast<double>(b - a), MillisecondsSince(before) * 1000 + 1);
  float ms = 0;
  EXPECT_OK(aclrtEventElapsedTime(&ms, first, second));
  EXPECT_NEAR(ms, static_cast<float>(b - a) / 1000, 0.05);
}

}  // namespace
