// The file of aclInit, counted starts, and what the environment says.
#include <cstdlib>

#include "fixture.h"
#include "temp_file.h"

namespace {

using namespace conformance;

class InitFile : public ::testing::Test {
 protected:
  void TearDown() override {
    aclFinalize();
    TakeMessage();
  }
  const char* Write(const std::string& text) { return file_.Write(text); }
  void Refuse(aclError code, const std::string& text, const std::string& words) {
    SCOPED_TRACE(text);
    EXPECT_REFUSED(code, aclInit(Write(text)), (file_.path() + words).c_str());
  }
  TempFile file_;
};

TEST_F(InitFile, BadSyntaxIsNamedByLineAndColumn) {
  Refuse(ACL_ERROR_PARSE_FILE, "{\n  \"err_msg_mode\": \"1\",\n  oops\n}", ":3:3: not valid JSON");
  Refuse(ACL_ERROR_PARSE_FILE, "[1]", ":1:1: the file must hold one JSON object");
  Refuse(ACL_ERROR_PARSE_FILE, "{\"a\": [[[[[[[[[[[1]]]]]]]]]]]}", ":1: more than 10 levels");
}

TEST_F(InitFile, ABadValueIsNamedByKeyLineAndColumn) {
  Refuse(ACL_ERROR_FILE_ATTR_INVALID, "{\n  \"defaultDevice\": {\n    \"default_device\": \"zero\"\n  }\n}",
         ":3:23: key defaultDevice.default_device is \"zero\".*whole number");
  for (const char* wraps : {"-4294967296", "9223372036854775808", "18446744073709551615"}) {
    Refuse(ACL_ERROR_FILE_ATTR_INVALID, std::string("{\"err_msg_mode\": ") + wraps + "}",
           std::string(":1:18: key err_msg_mode is ") + wraps);
  }
  Refuse(ACL_ERROR_FILE_ATTR_INVALID, "{\"defaultDevice\": 1}", ":1:19: key defaultDevice is 1.*object");
  Refuse(ACL_ERROR_FILE_ATTR_INVALID, "{\"x\": {\"err_msg_mode\": \"0\"},\n \"err_msg_mode\": \"2\"}",
         ":2:18: key err_msg_mode is \"2\"");
  Refuse(ACL_ERROR_FILE_ATTR_INVALID, "{\"a\\\"\": \"{\", \"err_msg_mode\": \"-1\"}",
         ":1:30: key err_msg_mode");
}

TEST_F(InitFile, WhatHasNoEffectMeansSomethingAllTheSame) {
  struct {
    const char *keys, *good, *bad;
  } const kCases[] = {{"dump.dump_mode", "output", "outputs"},
                      {"dump.dump_level", "kernel", "0"},
                      {"dump.dump_data", "stats", "Tensor"},
                      {"dump.dump_op_switch", "on", "true"},
                      {"dump.dump_debug", "off", ""},
                      {"profiler.switch", "on", "1"},
                      {"profiler.aicpu", "off", "no"},
                      {"profiler.l2", "on", "ON"},
                      {"profiler.hccl", "on", "x"},
                      {"profiler.ascendcl", "on", "x"},
                      {"profiler.runtime_api", "on", "x"},
                      {"profiler.msproftx", "off", "x"},
                      {"max_opqueue_num", "20000", "many"}};
  for (const auto& [keys, good, bad] : kCases) {
    const std::string path = keys, key = path.substr(path.find('.') + 1);
    const auto text = [&](const std::string& value) {
      const std::string entry = "{\"" + key + "\": \"" + value + "\"}";
      return key == path ? entry : "{\"" + path.substr(0, path.find('.')) + "\": " + entry + "}";
    };
    Refuse(ACL_ERROR_FILE_ATTR_INVALID, text(bad),
           ":1:[0-9]*: key " + path + " is \"" + bad + "\"; it must be");
    EXPECT_OK(aclInit(Write(text(good)))) << path;
    EXPECT_OK(aclFinalize());
  }
}

TEST_F(InitFile, ADeviceThatDoesNotExist) {
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_DEVICEID,
                 aclInit(Write("{\"defaultDevice\": {\"default_device\": \"9\"}}")),
                 ":1:38: key defaultDevice.default_device: device 9 does not exist");
  EXPECT_OK(aclInit(nullptr)) << "nothing was started";
}

TEST_F(InitFile, TheDefaultDeviceIsThereForEveryThread) {
  EXPECT_OK(aclInit(Write("{\"defaultDevice\": {\"default_device\": \"1\"}}")));
  for (int i = 0; i < 2; ++i) {
    InThread([] {
      int32_t device = -1;
      aclrtStream stream = nullptr;
      EXPECT_OK(aclrtGetDevice(&device));
      EXPECT_EQ(device, 1);
      EXPECT_OK(aclrtCreateStream(&stream));
      EXPECT_OK(aclrtSynchronizeStream(stream));
      EXPECT_OK(aclrtDestroyStream(stream));
    });
  }
}

TEST_F(InitFile, TheDefaultDeviceHoldsAfterANewStart) {
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclFinalize());
  EXPECT_OK(aclInit(Write("{\"defaultDevice\": {\"default_device\": \"1\"}}")));
  int32_t device = -1;
  EXPECT_OK(aclrtGetDevice(&device)) << "the thread's old choice ended with aclFinalize";
  EXPECT_EQ(device, 1);
}

TEST_F(InitFile, ARepeatedStartKeepsTheDefaultDevice) {
  EXPECT_OK(aclInit(Write("{\"defaultDevice\": {\"default_device\": \"1\"}}")));
  EXPECT_REFUSED(ACL_ERROR_REPEAT_INITIALIZE,
                 aclInit(Write("{\"defaultDevice\": {\"default_device\": \"0\"}}")),
                 "another default device.*aclFinalize first");
  EXPECT_OK(aclInit(nullptr));
  uint64_t left = 9;
  EXPECT_OK(aclFinalizeReference(&left));
  EXPECT_EQ(left, 1u);
  EXPECT_OK(aclFinalizeReference(nullptr));
  EXPECT_REFUSED(ACL_ERROR_REPEAT_FINALIZE, aclFinalizeReference(&left), "nothing to end");
  EXPECT_REFUSED(ACL_ERROR_REPEAT_FINALIZE, aclFinalize(), "nothing to end");
}

TEST_F(InitFile, AStartWithoutAModeOfErrorsKeepsThatOfTheStartBefore) {
  auto told_to_all = [] {
    InThread([] { aclrtSetDevice(99); });
    return TakeMessage().find("99") != std::string::npos;
  };
  EXPECT_OK(aclInit(Write("{\"err_msg_mode\": \"1\"}")));
  EXPECT_OK(aclInit(nullptr)) << "a library that starts once more";
  EXPECT_TRUE(told_to_all());
  EXPECT_OK(aclInit(Write("{\"err_msg_mode\": \"0\"}")));
  EXPECT_FALSE(told_to_all());
  EXPECT_OK(aclInit(Write("{\"err_msg_mode\": \"1\"}")));
  EXPECT_OK(aclFinalize());
  EXPECT_OK(aclInit(nullptr));
  EXPECT_FALSE(told_to_all()) << "a fresh start has the default";
}

TEST_F(InitFile, CallsBeforeAndAfterAreRefused) {
  aclrtStream stream;
  EXPECT_REFUSED(ACL_ERROR_UNINITIALIZE, aclrtSetDevice(0), "aclInit was not called|aclFinalize was called");
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtCreateStream(&stream));
  EXPECT_OK(aclFinalize());
  EXPECT_REFUSED(ACL_ERROR_UNINITIALIZE, aclrtSynchronizeStream(stream), "call aclInit again first");
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream), "destroyed");
}

// --- the environment

class Environment : public InitFile {
 protected:
  void TearDown() override {
    InitFile::TearDown();
    for (const char* name : set_) unsetenv(name);
  }
  void Set(const char* name, const char* value) {
    setenv(name, value, 1);
    set_.push_back(name);
  }
  uint32_t Devices() {
    uint32_t count = 0;
    EXPECT_OK(aclInit(nullptr));
    EXPECT_OK(aclrtGetDeviceCount(&count));
    EXPECT_OK(aclFinalize());
    return count;
  }
  std::vector<const char*> set_;
};

TEST_F(Environment, NumberOfDevices) {
  EXPECT_EQ(Devices(), 2u);
  Set("BELAY_DEVICES", "5");
  EXPECT_EQ(Devices(), 5u);
  for (const char* bad : {"0", "many", "-1", "65", "3x"}) {
    Set("BELAY_DEVICES", bad);
    EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclInit(nullptr),
                   (std::string("BELAY_DEVICES = '") + bad).c_str());
  }
}

TEST_F(Environment, MemoryOfADevice) {
  for (const char* bad : {"G", "0M", "-1", "4 G", "65T", "1e9", "99999999999999999999"}) {
    Set("BELAY_DEVICE_MEMORY", bad);
    EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclInit(nullptr),
                   (std::string("BELAY_DEVICE_MEMORY = '") + bad + "'.*K, M, G or T").c_str());
  }
  Set("BELAY_DEVICE_MEMORY", "65536k");
  EXPECT_EQ(Devices(), 2u);
}

TEST_F(Environment, VisibleDevices) {
  Set("BELAY_DEVICES", "4");
  Set("ASCEND_RT_VISIBLE_DEVICES", "2,0");
  EXPECT_EQ(Devices(), 2u);
  EXPECT_OK(aclInit(nullptr));
  int32_t logic = -1;
  EXPECT_OK(aclrtGetLogicDevIdByUserDevId(0, &logic));
  EXPECT_EQ(logic, 2);
  EXPECT_OK(aclrtGetLogicDevIdByUserDevId(1, &logic));
  EXPECT_EQ(logic, 0);
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_DEVICEID, aclrtGetLogicDevIdByUserDevId(2, &logic), "devices 0 to 1");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice(2), "devices 0 to 1");
  aclrtUuid through_two, direct;
  EXPECT_OK(aclrtDeviceGetUuid(1, &through_two));
  EXPECT_OK(aclFinalize());
  unsetenv("ASCEND_RT_VISIBLE_DEVICES");
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtDeviceGetUuid(0, &direct));
  EXPECT_EQ(memcmp(&through_two, &direct, sizeof direct), 0) << "the same device";
  EXPECT_OK(aclFinalize());
  Set("ASCEND_RT_VISIBLE_DEVICES", "1,9,0");
  EXPECT_EQ(Devices(), 1u) << "the first one that does not exist ends the list";
  Set("ASCEND_RT_VISIBLE_DEVICES", "9");
  EXPECT_REFUSED(ACL_ERROR_RT_NO_DEVICE, aclInit(nullptr), "ASCEND_RT_VISIBLE_DEVICES");
}

TEST_F(Environment, LimitOfStreams) {
  Set("BELAY_STREAM_LIMIT", "3");
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  aclrtStream stream;
  uint32_t left = 0;
  EXPECT_OK(aclrtGetStreamAvailableNum(&left));
  EXPECT_EQ(left, 2u) << "the default stream counts";
  EXPECT_OK(aclrtCreateStream(&stream));
  EXPECT_OK(aclrtCreateStream(&stream));
  EXPECT_REFUSED(ACL_ERROR_RT_NO_STREAM_RESOURCE, aclrtCreateStream(&stream),
                 "destroy some.*BELAY_STREAM_LIMIT");
  EXPECT_REFUSED(ACL_ERROR_RT_NO_STREAM_RESOURCE, aclrtCreateStreamWithConfig(&stream, 0, 0), "3 streams");
  aclrtContext context;
  EXPECT_REFUSED(ACL_ERROR_RT_NO_STREAM_RESOURCE, aclrtCreateContext(&context, 0), "3 streams");
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_OK(aclrtCreateStream(&stream));
}

TEST_F(Environment, RunModeAndProduct) {
  Set("BELAY_RUN_MODE", "sideways");
  EXPECT_REFUSED(ACL_ERROR_INVALID_PARAM, aclInit(nullptr), "BELAY_RUN_MODE = 'sideways'.*host or device");
  Set("BELAY_RUN_MODE", "device");
  Set("BELAY_SOC", "Ascend310P3");
  EXPECT_OK(aclInit(nullptr));
  aclrtRunMode mode = ACL_HOST;
  EXPECT_OK(aclrtGetRunMode(&mode));
  EXPECT_EQ(mode, ACL_DEVICE);
  EXPECT_STREQ(aclrtGetSocName(), "Ascend310P3");
}

}  // namespace
