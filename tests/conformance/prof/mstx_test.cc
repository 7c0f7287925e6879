// What a program says of itself to tools: marks, ranges, domains, pools. What belay check makes of pools:
// tests/layers/mistakes/pools.cc.
#include <mstx/ms_tools_ext.h>

#include <thread>

#include "profiles.h"

namespace conformance {
namespace {

class Mstx : public ProfTest {
 protected:
  void Start() {
    ASSERT_EQ(Init(), ACL_SUCCESS);
    config_ = Config(ACL_PROF_MSPROFTX | ACL_PROF_TASK_TIME);
    ASSERT_EQ(aclprofStart(config_), ACL_SUCCESS);
  }
  std::vector<Row> Stop() {
    EXPECT_EQ(aclprofStop(config_), ACL_SUCCESS);
    return Table("msprof_tx");
  }
  aclprofConfig* config_ = nullptr;
};

TEST_F(Mstx, MarksAndRangesAreInTheTableWithTheirDomains) {
  Start();
  const mstxDomainHandle_t domain = mstxDomainCreateA("forward_1");
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(mstxDomainCreateA("forward_1"), domain);
  mstxMarkA("here", nullptr);
  const mstxRangeId outer = mstxRangeStartA("step", nullptr);
  const mstxRangeId inner = mstxDomainRangeStartA(domain, "layer", nullptr);
  EXPECT_NE(outer, 0U);
  EXPECT_NE(outer, inner);
  std::thread([&] { mstxRangeEnd(outer); }).join();
  mstxDomainRangeEnd(domain, inner);
  mstxDomainMarkA(domain, "there", nullptr);
  mstxRangeEnd(inner);  // it is over
  mstxRangeEnd(0);
  const std::vector<Row> rows = Stop();
  ASSERT_EQ(rows.size(), 4U);
  const char* const messages[] = {"here", "step", "layer", "there"};
  const char* const types[] = {"Mark", "Start/Stop", "Start/Stop", "Mark"};
  const char* const domains[] = {"default", "default", "forward_1", "forward_1"};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("message"), messages[i]);
    EXPECT_EQ(rows[i].at("event_type"), types[i]);
    EXPECT_EQ(rows[i].at("domain"), domains[i]);
  }
}

TEST_F(Mstx, WithAStreamTheyAreItsTasks) {
  aclrtStream stream = NewStream();
  Start();
  mstxMarkA("at", stream);
  const mstxRangeId range = mstxRangeStartA("work", stream);
  Work(stream);
  mstxRangeEnd(range);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  Stop();
  std::vector<std::string> names;
  for (const Row& task : Table("task_time"))
    names.push_back(task.at("kernel_type") == "MARK" ? task.at("kernel_name") : "work itself");
  EXPECT_THAT(names, testing::ElementsAre("at", "work begins", "work itself", "work ends"));
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Mstx, ARangeOutlivesItsStream) {
  aclrtStream stream = NewStream();
  Start();
  const mstxRangeId range = mstxRangeStartA("work", stream);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  mstxRangeEnd(range);
  EXPECT_EQ(Stop().size(), 1U);
}

TEST_F(Mstx, WorkWithoutProfiling) {
  aclrtStream stream = NewStream();
  mstxMarkA("here", stream);
  const mstxRangeId range = mstxRangeStartA("step", stream);
  EXPECT_NE(range, 0U);
  mstxRangeEnd(range);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(Mstx, WhatCannotBeShownIsRefused) {
  const std::string text(256, 'a'), name(1024, 'a');
  EXPECT_EQ(mstxRangeStartA(text.c_str(), nullptr), 0U);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("more than 255 bytes"));
  EXPECT_EQ(mstxRangeStartA(nullptr, nullptr), 0U);
  EXPECT_EQ(mstxDomainCreateA(name.c_str()), nullptr);
  EXPECT_NE(mstxDomainCreateA(name.c_str() + 1), nullptr);
  const mstxDomainHandle_t ended = mstxDomainCreateA("ended");
  mstxDomainDestroy(ended);
  EXPECT_EQ(mstxDomainRangeStartA(ended, "a", nullptr), 0U) << "also where no tool looks";
  for (const char* bad : {"", "a b", "a-b"}) EXPECT_EQ(mstxDomainCreateA(bad), nullptr) << bad;
  EXPECT_EQ(mstxDomainCreateA(nullptr), nullptr);
  Start();
  const mstxDomainHandle_t domain = mstxDomainCreateA("over");
  mstxDomainDestroy(domain);
  EXPECT_EQ(mstxDomainRangeStartA(domain, "a", nullptr), 0U);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("mstxDomainDestroy"));
  mstxDomainMarkA(domain, "a", nullptr);
  EXPECT_EQ(mstxDomainCreateA("over"), domain);
  mstxDomainMarkA(domain, "b", nullptr);
  EXPECT_EQ(Stop().size(), 1U);
}

TEST_F(Mstx, HandlesOfRegionsAreLeftWhereThePoolIsNamed) {
  char memory[64];
  const mstxMemVirtualRangeDesc_t whole = {0, memory, sizeof memory};
  const mstxMemHeapDesc_t description = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
                                         MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &whole};
  const mstxMemHeapHandle_t pool = mstxMemHeapRegister(nullptr, &description);
  ASSERT_NE(pool, nullptr);
  const mstxMemVirtualRangeDesc_t parts[] = {{0, memory, 16}, {0, memory + 32, 16}};
  mstxMemRegionHandle_t handles[2] = {};
  mstxMemRegionsRegisterBatch_t batch = {pool, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 2, parts, handles};
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_NE(handles[0], nullptr);
  EXPECT_NE(handles[0], handles[1]);
  mstxMemRegionRef_t region = {};
  region.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
  region.handle = handles[1];
  const mstxMemRegionsUnregisterBatch_t refs = {1, &region};
  mstxMemRegionsUnregister(nullptr, &refs);
  mstxMemHeapUnregister(nullptr, pool);
  handles[0] = nullptr;  // as a program has it that leaves both open
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_EQ(handles[0], nullptr);
  batch.regionDescArray = nullptr;
  mstxMemRegionsRegister(nullptr, &batch);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("mstxMemVirtualRangeDesc_t"));
  EXPECT_EQ(mstxMemHeapRegister(nullptr, nullptr), nullptr);
}

}  // namespace
}  // namespace conformance
