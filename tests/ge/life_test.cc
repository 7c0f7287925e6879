// GEInitialize, aclInit and their ends, in every order.
#include <ge/ge_ir_build.h>

#include <string>

#include "ge/session_fixture.h"
#include "support/option_samples.h"

namespace conformance {
namespace {

using testing::HasSubstr;

float RunOnce(ge::Session& session) {
  std::vector<ge::Tensor> outputs;
  EXPECT_EQ(session.RunGraph(1, {Floats({1}, {1})}, outputs), ge::SUCCESS) << GeError();
  return outputs.empty() ? -1 : ValuesOf(outputs[0])[0];
}

TEST(GeLife, WithoutAclInit) {
  ASSERT_EQ(ge::GEInitialize(GeOptions()), ge::SUCCESS) << GeError();
  ASSERT_EQ(ge::GEInitialize(GeOptions()), ge::SUCCESS);
  {
    ge::Session session{GeOptions()};
    EXPECT_NE(session.GetSessionId(), 0u);
    ASSERT_EQ(session.AddGraph(1, AddAndRelu({1}, 1)), ge::SUCCESS);
    EXPECT_EQ(RunOnce(session), 2);
  }
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  int32_t count = 0;
  EXPECT_NE(aclrtSetDevice(0), ACL_SUCCESS);  // what GEInitialize started has ended
  (void)count;
}

TEST(GeLife, GeFirstAndEndedFirst) {
  ASSERT_EQ(ge::GEInitialize(GeOptions()), ge::SUCCESS);
  auto session = std::make_unique<ge::Session>(GeOptions());
  ASSERT_EQ(session->AddGraph(1, AddAndRelu({1}, 1)), ge::SUCCESS);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(RunOnce(*session), 2);
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);  // aclInit holds the runtime
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(GeLife, AclEndsFirst) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(ge::GEInitialize(GeOptions()), ge::SUCCESS);
  ge::Session session{GeOptions()};
  ASSERT_EQ(session.AddGraph(1, AddAndRelu({1}, 1)), ge::SUCCESS);
  EXPECT_EQ(RunOnce(session), 2);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  std::vector<ge::Tensor> outputs;
  EXPECT_NE(session.RunGraph(1, {Floats({1}, {1})}, outputs), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("aclInit"));
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(RunOnce(session), 2);  // loaded again
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(GeLife, SessionsThatOutliveTheEngineSaySo) {
  ASSERT_EQ(ge::GEInitialize(GeOptions()), ge::SUCCESS);
  ge::Session session{GeOptions()};
  ASSERT_EQ(session.AddGraph(1, AddAndRelu({1}, 1)), ge::SUCCESS);
  EXPECT_EQ(RunOnce(session), 2);
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  EXPECT_EQ(session.CompileGraph(1), ge::GE_CLI_GE_NOT_INITIALIZED);
  EXPECT_THAT(GeError(), HasSubstr("GEInitialize"));
  ASSERT_EQ(ge::GEInitialize(GeOptions()), ge::SUCCESS);
  EXPECT_NE(session.CompileGraph(1), ge::SUCCESS);
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
}

TEST(GeLife, ASessionBeforeTheEngineSaysSo) {
  ge::Session session{GeOptions()};
  EXPECT_EQ(session.GetSessionId(), 0u);
  EXPECT_EQ(session.AddGraph(1, AddAndRelu({1}, 1)), ge::GE_CLI_GE_NOT_INITIALIZED);
  EXPECT_THAT(GeError(), HasSubstr("GEInitialize"));
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  EXPECT_THAT(std::string(ge::GEGetWarningMsgV2().GetString()), HasSubstr("GEInitialize"));
}

TEST(GeLife, OptionsAreCheckedOrSaidToBeIgnored) {
  EXPECT_NE(ge::GEInitialize(GeOptions{{"ge.exec.deviceId", "99"}}), ge::SUCCESS);
  EXPECT_NE(ge::GEInitialize(GeOptions{{"ge.exec.deviceId", "x"}}), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("ge.exec.deviceId"));
  ASSERT_EQ(ge::GEInitialize(std::map<std::string, std::string>{{"ge.frob", "1"}}), ge::SUCCESS);
  EXPECT_THAT(ge::GEGetWarningMsg(), HasSubstr("ge.frob"));
  const GeOptions no_such_mode{{"ge.exec.precision_mode", "no_such_mode"}};
  ge::Session session(GeOptions{});
  EXPECT_NE(session.AddGraph(1, AddAndRelu({1}, 1), no_such_mode), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("no_such_mode"));
  ge::Session refused(no_such_mode);
  EXPECT_NE(refused.AddGraph(1, AddAndRelu({1}, 1)), ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("no_such_mode")) << "what the constructor could not tell";
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  EXPECT_NE(ge::GEInitialize(no_such_mode), ge::SUCCESS);
  EXPECT_NE(ge::GEInitialize(
                GeOptions{{"ge.exec.precision_mode", "force_fp32"}, {"ge.exec.precision_mode_v2", "origin"}}),
            ge::SUCCESS);
  EXPECT_THAT(GeError(), HasSubstr("exclude one another"));
  EXPECT_EQ(ge::GEInitialize(GeOptions{}), ge::SUCCESS);
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
}

ge::AscendString Text(const std::string& text) { return ge::AscendString(text.c_str()); }

// Of the options that programs give by name: at each of the doors.
TEST(GeLife, OptionsTakeTheValuesThatTheyHave) {
  for (const auto& row : option_samples::rows::kAll) {
    if (*row.key == '\0') continue;
    for (const std::string& value : option_samples::Good(row)) {
      GeOptions options{{Text(row.key), Text(value)}};
      EXPECT_EQ(ge::GEInitialize(options), ge::SUCCESS) << row.key << " " << value << ": " << GeError();
      EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
      EXPECT_EQ(ge::aclgrphBuildInitialize(options), ge::GRAPH_SUCCESS) << row.key << " " << value;
      ge::aclgrphBuildFinalize();
    }
  }
}

TEST(GeLife, OptionsThatMeanNothingAreRefusedAtEachDoor) {
  ge::Graph graph = AddAndRelu({1}, 1);
  for (const auto& row : option_samples::rows::kAll) {
    if (*row.key == '\0') continue;
    for (const std::string& value : option_samples::Meaningless(row)) {
      SCOPED_TRACE(row.key + (" '" + value) + "'");
      GeOptions options{{Text(row.key), Text(value)}};
      ge::ModelBufferData model;
      EXPECT_NE(ge::GEInitialize(options), ge::SUCCESS);
      EXPECT_THAT(GeError(), HasSubstr(row.key));
      EXPECT_NE(ge::aclgrphBuildInitialize(options), ge::GRAPH_SUCCESS);
      EXPECT_NE(ge::aclgrphBuildModel(graph, options, model), ge::GRAPH_SUCCESS);
      EXPECT_THAT(GeError(), HasSubstr(row.key));
    }
  }
  ASSERT_EQ(ge::GEInitialize(GeOptions{}), ge::SUCCESS);
  ge::Session session(GeOptions{});
  for (const auto& row : option_samples::rows::kAll) {
    if (*row.key == '\0') continue;
    GeOptions options{{Text(row.key), Text(option_samples::Meaningless(row)[0])}};
    EXPECT_NE(session.AddGraph(1, graph, options), ge::SUCCESS) << row.key;
    ge::Session refused(options);
    EXPECT_NE(refused.AddGraph(1, graph), ge::SUCCESS) << row.key;
    EXPECT_THAT(GeError(), HasSubstr(row.key));
  }
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
}

}  // namespace
}  // namespace conformance
