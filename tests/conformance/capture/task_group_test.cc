// Task groups: operators of a model that are replaced between replays, and in the middle of one.
#include <aclnnop/aclnn_add.h>

#include "captures.h"

namespace {

using namespace conformance;

constexpr int kWrongKind = 507009;
constexpr int64_t kElements = 4;

class TaskGroups : public Captures {
 protected:
  void SetUp() override {
    Captures::SetUp();
    for (float*& p : {std::ref(a_), std::ref(b_), std::ref(c_), std::ref(out_)}) p = Floats();
    Fill(a_, 1);
    Fill(b_, 10);
    Fill(c_, 100);
  }
  float* Floats() {
    void* p = nullptr;
    EXPECT_OK(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    Fill(static_cast<float*>(p), 0);
    return static_cast<float*>(p);
  }
  static void Fill(float* p, float value) { std::fill(p, p + kElements, value); }
  static aclTensor* Tensor(float* data) {
    return aclCreateTensor(&kElements, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &kElements, 1, data);
  }
  // out = x + y through both stages; the code of the second.
  static int Add(float* x, float* y, float* out, aclrtStream stream) {
    aclTensor *tx = Tensor(x), *ty = Tensor(y), *to = Tensor(out);
    float one = 1;
    aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnAddGetWorkspaceSize(tx, ty, alpha, to, &size, &executor), 0) << TakeMessage();
    EXPECT_EQ(size, 0u);
    int code = aclnnAdd(nullptr, 0, executor, stream);
    for (aclTensor* tensor : {tx, ty, to}) aclDestroyTensor(tensor);
    aclDestroyScalar(alpha);
    return code;
  }
  // A model whose only task, out = a + b, is a group.
  aclmdlRI AddModel(aclrtTaskGrp* group) {
    EXPECT_OK(Begin());
    EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
    EXPECT_EQ(Add(a_, b_, out_, main_), 0);
    EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, group));
    return End();
  }
  void Update(aclrtTaskGrp group, float* x, float* y, aclrtStream stream) {
    EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(stream, group));
    EXPECT_EQ(Add(x, y, out_, stream), 0);
    EXPECT_OK(aclmdlRICaptureTaskUpdateEnd(stream));
  }
  std::vector<float> Out() { return {out_, out_ + kElements}; }

  float *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *out_ = nullptr;
};

testing::Matcher<std::vector<float>> AreAll(float value) { return testing::Each(value); }

TEST_F(TaskGroups, RunsAsCapturedUntilItIsUpdated) {
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = AddModel(&group);
  ASSERT_NE(group, nullptr);
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(11));
  Update(group, a_, c_, side_);
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(101));
  EXPECT_OK(RunOnce(model, main_)) << "an update stays";
  Update(group, b_, c_, main_);
  EXPECT_OK(RunOnce(model, main_)) << "on the stream of the replay, an update needs no synchronise";
  EXPECT_THAT(Out(), AreAll(110));
}

TEST_F(TaskGroups, TasksOutsideOfTheGroupStay) {
  float* second = Floats();
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_EQ(Add(a_, b_, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  EXPECT_EQ(Add(out_, out_, second, main_), 0);
  aclmdlRI model = End();
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_EQ(second[0], 22);
  Update(group, c_, c_, main_);
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_EQ(second[0], 400);
}

TEST_F(TaskGroups, AnUpdateTakesEffectInTheOrderOfItsStream) {
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = AddModel(&group);
  {
    Hold hold(side_);
    Update(group, a_, c_, side_);
    EXPECT_OK(RunOnce(model, main_)) << "the update waits on another stream";
    EXPECT_THAT(Out(), AreAll(11));
  }
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(101));
}

// What programs with paged attention do: launch first, update while the model waits for a value.
TEST_F(TaskGroups, AReplayThatWaitsBeforeTheGroupTakesAnUpdateMadeMeanwhile) {
  void* gate = nullptr;
  EXPECT_OK(aclrtMalloc(&gate, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  *static_cast<uint64_t*>(gate) = 0;
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  EXPECT_OK(aclrtValueWait(gate, 1, 1, main_));
  EXPECT_OK(aclrtValueWrite(gate, 0, 0, main_));
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_EQ(Add(a_, b_, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  aclmdlRI model = End();
  for (float* other : {b_, c_, a_}) {
    EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
    Update(group, other, other, side_);
    EXPECT_OK(aclrtValueWrite(gate, 1, 0, side_));
    EXPECT_OK(aclrtSynchronizeStream(main_));
    EXPECT_THAT(Out(), AreAll(2 * other[0]));
  }
}

TEST_F(TaskGroups, SeveralTasksAreReplacedTogether) {
  float* between = Floats();
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_EQ(Add(a_, b_, between, main_), 0);
  EXPECT_EQ(Add(between, between, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  aclmdlRI model = End();
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(22));
  float* other = Floats();
  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(main_, group));
  EXPECT_EQ(Add(c_, c_, other, main_), 0);
  EXPECT_EQ(Add(other, a_, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskUpdateEnd(main_));
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(201));
}

TEST_F(TaskGroups, AGroupOnAJoinedStream) {
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  Link(main_, side_);
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(side_));
  EXPECT_OK(Copy(NewDevice(), NewDevice(), main_)) << "a group is a matter of its own stream";
  EXPECT_EQ(Add(a_, b_, out_, side_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(side_, &group));
  Link(side_, main_);
  aclmdlRI model = End();
  Update(group, c_, c_, main_);
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(200));
}

TEST_F(TaskGroups, AGroupMayBeEmpty) {
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  aclmdlRI model = End();
  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(main_, group));
  EXPECT_OK(aclmdlRICaptureTaskUpdateEnd(main_));
  EXPECT_OK(RunOnce(model, main_));
}

TEST_F(TaskGroups, OtherTasksAreRefusedAndTheCaptureGoesOn) {
  aclrtTaskGrp group = nullptr;
  aclrtEvent event = NewEvent();
  int32_t *from = NewDevice(5), *to = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_REFUSED(kWrongKind, aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEFAULT, main_), "memcpy");
  EXPECT_REFUSED(kWrongKind, aclrtRecordEvent(event, main_), "event record");
  EXPECT_EQ(Add(a_, b_, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  EXPECT_OK(Copy(to, from, main_));
  aclmdlRI model = End();
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_EQ(*to, 5);
  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(side_, group));
  EXPECT_REFUSED(kWrongKind, aclrtMemcpyAsync(to, 4, from, 4, ACL_MEMCPY_DEFAULT, side_), "memcpy");
  EXPECT_REFUSED(kWrongKind, aclrtRecordEvent(event, side_), "event record");
  EXPECT_REFUSED(kWrongKind, aclrtStreamWaitEvent(side_, event), "event wait");
  EXPECT_REFUSED(kWrongKind, aclmdlRIExecuteAsync(model, side_), "model launch");
  EXPECT_EQ(Add(c_, c_, out_, side_), 0);
  EXPECT_OK(aclmdlRICaptureTaskUpdateEnd(side_));
  EXPECT_OK(aclrtSynchronizeStream(side_));
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(200));
}

TEST_F(TaskGroups, BeginAndEndInOrder) {
  aclrtTaskGrp group = nullptr;
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskGrpBegin(main_), "not being captured");
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskGrpEnd(main_, &group), "not being captured");
  EXPECT_OK(Begin());
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskGrpEnd(main_, &group), "no task group");
  EXPECT_EQ(group, nullptr);
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskGrpBegin(main_), "already");
  EXPECT_REFUSED(100000, aclmdlRICaptureTaskGrpEnd(main_, nullptr), "handle");
  EXPECT_REFUSED(100000, aclmdlRICaptureTaskGrpBegin(nullptr), "stream");
  EXPECT_REFUSED(100000, aclmdlRICaptureTaskGrpEnd(nullptr, &group), "stream");
  aclmdlRI model = nullptr;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "aclmdlRICaptureTaskGrpEnd first");
  ExpectWorks({main_, side_});
}

TEST_F(TaskGroups, ASpoiledCaptureTakesNoGroups) {
  EXPECT_OK(Begin());
  aclrtSynchronizeStream(main_);
  aclrtTaskGrp group = nullptr;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureTaskGrpBegin(main_), "invalid");
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureTaskGrpEnd(main_, &group), "invalid");
  aclmdlRI model = nullptr;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "");
}

TEST_F(TaskGroups, UpdatesInOrder) {
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_EQ(Add(a_, b_, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateBegin(side_, group), "still being captured");
  aclmdlRI model = End();

  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateEnd(side_), "no task update");
  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(side_, group));
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateBegin(side_, group), "already");
  EXPECT_REFUSED(107030, aclmdlRICaptureBegin(side_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
                 "task update under way.*TaskUpdateEnd first");
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateEnd(side_), "0 tasks, its group 1");
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateEnd(side_), "no task update");
  ExpectWorks({side_});

  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(side_, group));
  EXPECT_EQ(Add(c_, c_, out_, side_), 0);
  EXPECT_EQ(Add(c_, c_, out_, side_), 0);
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateEnd(side_), "2 tasks, its group 1");
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(11)) << "an update that failed changes nothing";

  EXPECT_OK(Begin());
  EXPECT_REFUSED(kBadState, aclmdlRICaptureTaskUpdateBegin(main_, group), "is being captured");
  EXPECT_OK(aclmdlRIDestroy(End()));
}

TEST_F(TaskGroups, AStreamInAnUpdateCannotJoinACapture) {
  aclrtTaskGrp group = nullptr;
  AddModel(&group);
  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(side_, group));
  EXPECT_OK(Begin());
  aclrtEvent event = NewEvent();
  EXPECT_OK(aclrtRecordEvent(event, main_));
  EXPECT_REFUSED(kWrongMode, aclrtStreamWaitEvent(side_, event), "collecting a task update");
  aclmdlRI model = nullptr;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "");
}

TEST_F(TaskGroups, HandlesThatAreNone) {
  EXPECT_REFUSED(100000, aclmdlRICaptureTaskUpdateBegin(main_, nullptr), "handle");
  for (void* handle : ForeignHandles()) {
    EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(main_, handle), "task group");
  }
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(main_, main_), "task group");
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = AddModel(&group);
  EXPECT_OK(aclmdlRIDestroy(model));
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(main_, group), "task group");
}

TEST_F(TaskGroups, AGroupOfACaptureThatFailedIsGone) {
  aclrtTaskGrp group = nullptr;
  EXPECT_OK(Begin());
  EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
  EXPECT_EQ(Add(a_, b_, out_, main_), 0);
  EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
  aclrtSynchronizeStream(main_);
  aclmdlRI model = nullptr;
  EXPECT_REFUSED(kInvalidated, aclmdlRICaptureEnd(main_, &model), "");
  EXPECT_REFUSED(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(side_, group), "task group");
}

TEST_F(TaskGroups, AStreamOfAnotherDeviceIsRefused) {
  aclrtTaskGrp group = nullptr;
  AddModel(&group);
  aclrtContext here = CurrentContext();
  EXPECT_OK(aclrtSetCurrentContext(OtherContext(1)));
  EXPECT_REFUSED(107004, aclmdlRICaptureTaskUpdateBegin(NewStream(), group), "device 0.*device 1");
  EXPECT_OK(aclrtSetCurrentContext(here));
}

TEST_F(TaskGroups, TheModelGoesWhileAnUpdateIsQueued) {
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = AddModel(&group);
  {
    Hold hold(side_);
    Update(group, c_, c_, side_);
    EXPECT_OK(aclmdlRIDestroy(model));
  }
  EXPECT_OK(aclrtSynchronizeStream(side_));
}

TEST_F(TaskGroups, TheStreamGoesInTheMiddleOfAnUpdate) {
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = AddModel(&group);
  EXPECT_OK(aclmdlRICaptureTaskUpdateBegin(side_, group));
  EXPECT_EQ(Add(c_, c_, out_, side_), 0);
  EXPECT_OK(aclrtDestroyStream(side_));
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(11));
}

TEST_F(TaskGroups, FreedMemoryOfTheOldOperatorsDoesNotMatterOnceTheyAreReplaced) {
  aclrtTaskGrp group = nullptr;
  aclmdlRI model = AddModel(&group);
  EXPECT_OK(aclrtFree(b_));
  EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
  EXPECT_REFUSED(107000, aclrtSynchronizeStream(main_), "task group of model.*was freed");
  Update(group, a_, c_, main_);
  EXPECT_OK(RunOnce(model, main_));
  EXPECT_THAT(Out(), AreAll(101));
}

}  // namespace
