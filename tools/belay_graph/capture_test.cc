#include "belay_graph/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace belay::graph_tool {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kCaptured = R"({"traceEvents": [
  {"name": "memset", "args": {"model_id": 7, "stream_id": 3, "task_id": 0, "task_type": "memset",
   "submitted_by": "aclrtMemsetAsync", "after": [],
   "memory": [{"access": "write", "address": "0x1000", "bytes": 2048}]}},
  {"name": "event record", "args": {"model_id": 7, "stream_id": 3, "task_id": 1, "task_type": "event record",
   "submitted_by": "aclrtRecordEvent", "after": [0], "event_id": 5}},
  {"name": "memcpy", "args": {"model_id": 7, "stream_id": 4, "task_id": 2, "task_type": "memcpy",
   "submitted_by": "aclrtMemcpyAsync", "after": [1]}}]})";

TEST(Capture, HasItsTasksAndWhatOrdersThem) {
  const Picture picture = PictureOfCapture(kCaptured);
  EXPECT_EQ(picture.name, "model 7");
  EXPECT_EQ(picture.streams, 2);
  ASSERT_EQ(picture.shown.size(), 3u);
  EXPECT_EQ(picture.shown[0].type, "memset");
  EXPECT_EQ(picture.shown[0].name, "stream 3, aclrtMemsetAsync");
  EXPECT_EQ(picture.shown[0].result_bytes, 2048u);
  EXPECT_EQ(picture.shown[1].result, "event 5");
  ASSERT_EQ(picture.flows.size(), 2u);
  EXPECT_EQ(picture.flows[0].type, "stream 3");
  EXPECT_EQ(picture.flows[1].type, "stream 3 to stream 4");
  EXPECT_EQ(picture.flows[1].from, 1);
  EXPECT_EQ(picture.flows[1].to, 2);
}

TEST(Capture, IsWrittenInEachFormat) {
  const Picture picture = PictureOfCapture(kCaptured);
  EXPECT_THAT(WriteText(picture), HasSubstr("model 7: 3 tasks on 2 streams\n"));
  EXPECT_THAT(WriteDot(picture), HasSubstr("n1 -> n2 [tooltip=\"stream 3 to stream 4\"]"));
  const std::string svg = WriteSvg(picture);
  EXPECT_THAT(svg, HasSubstr("stream 3 to stream 4"));
  EXPECT_THAT(svg, HasSubstr("on 2 streams"));
  EXPECT_THAT(svg, Not(HasSubstr("constants")));
}

TEST(Capture, WhatIsNoneIsRefused) {
  for (const char* text : {"", "{", "[]", "{}", R"({"traceEvents": [{"name": "x"}]})",
                           R"({"traceEvents": [{"args": {"model_id": 7, "stream_id": "3"}}]})"}) {
    EXPECT_THROW(PictureOfCapture(text), std::invalid_argument) << text;
  }
  std::string turned = kCaptured;
  turned.replace(turned.find("[0]"), 3, "[2]");
  EXPECT_THROW(PictureOfCapture(turned), std::invalid_argument) << "after what comes later";
}

}  // namespace
}  // namespace belay::graph_tool
