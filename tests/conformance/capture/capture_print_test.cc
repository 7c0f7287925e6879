// Looking into an instance: the drawing, the file for chrome://tracing, its streams and tasks.
#include <nlohmann/json.hpp>

#include "captures.h"
#include "temp_file.h"

namespace {

using namespace conformance;
using nlohmann::json;

class CapturePrint : public Captures {
 protected:
  void SetUp() override {
    Captures::SetUp();
    EXPECT_OK(Begin());
    EXPECT_OK(Copy(NewDevice(), NewDevice(), main_));
    Link(main_, side_);
    EXPECT_OK(aclrtMemsetAsync(NewDevice(), 4, 0, 4, side_));
    Link(side_, main_);
    model_ = End();
  }
  json Written() { return json::parse(file_.Read()); }
  aclmdlRI model_ = nullptr;
  TempFile file_;
};

TEST_F(CapturePrint, DrawsStreamsAndTasks) {
  testing::internal::CaptureStdout();
  EXPECT_OK(aclmdlRIDebugPrint(model_));
  std::string text = testing::internal::GetCapturedStdout();
  for (aclrtStream stream : {main_, side_}) {
    int32_t id = -1;
    EXPECT_OK(aclrtStreamGetId(stream, &id));
    EXPECT_THAT(text, testing::HasSubstr("stream " + std::to_string(id)));
  }
  EXPECT_THAT(text, testing::HasSubstr("2 tasks"));
}

TEST_F(CapturePrint, WritesJsonForTracing) {
  uint32_t id = 0;
  EXPECT_OK(aclmdlRIGetId(model_, &id));
  EXPECT_OK(aclmdlRIDebugJsonPrint(model_, file_.path(), ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY));
  json events = Written().at("traceEvents");
  EXPECT_EQ(events.size(), 6u) << "two tasks, two records, two waits";
  for (const json& event : events) {
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_EQ(event.at("args").at("model_id"), id);
    EXPECT_TRUE(event.at("args").contains("stream_id"));
    EXPECT_TRUE(event.at("args").contains("task_id"));
    EXPECT_TRUE(event.at("args").contains("task_type"));
    EXPECT_FALSE(event.at("args").contains("memory"));
  }
}

TEST_F(CapturePrint, VerboseAddsWhatTasksTouch) {
  EXPECT_OK(aclmdlRIDebugJsonPrint(model_, file_.path(), ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
  json first = Written().at("traceEvents").at(0).at("args");
  EXPECT_EQ(first.at("submitted_by"), "aclrtMemcpyAsync");
  EXPECT_EQ(first.at("memory").size(), 2u);
}

TEST_F(CapturePrint, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_REFUSED(ACL_ERROR_RT_FILE_OPEN, aclmdlRIDebugJsonPrint(model_, "/no/such/folder/a.json", 0),
                 "/no/such/folder/a.json.*folder that exists");
  EXPECT_REFUSED(ACL_ERROR_RT_FILE_WRITE, aclmdlRIDebugJsonPrint(model_, "/dev/full", 0),
                 "/dev/full.*written");
  EXPECT_REFUSED(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIDebugJsonPrint(model_, file_.path(), 2), "flags = 2");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclmdlRIDebugJsonPrint(model_, nullptr, 0), "path is null");
}

}  // namespace
