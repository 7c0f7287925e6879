// What a finished model says of its streams and tasks.
#include <aclnnop/aclnn_add.h>

#include "captures.h"

namespace {

using namespace conformance;

constexpr int kStale = ACL_ERROR_RT_INVALID_HANDLE;

class ModelTasks : public Captures {
 protected:
  static std::vector<aclrtStream> StreamsOf(aclmdlRI model) {
    uint32_t count = 0;
    EXPECT_OK(aclmdlRIGetStreams(model, nullptr, &count));
    std::vector<aclrtStream> streams(count);
    EXPECT_OK(aclmdlRIGetStreams(model, streams.data(), &count));
    EXPECT_EQ(count, streams.size());
    return streams;
  }
  static std::vector<aclmdlRITask> TasksOf(aclrtStream stream) {
    uint32_t count = 0;
    EXPECT_OK(aclmdlRIGetTasksByStream(stream, nullptr, &count));
    std::vector<aclmdlRITask> tasks(count);
    EXPECT_OK(aclmdlRIGetTasksByStream(stream, tasks.data(), &count));
    EXPECT_EQ(count, tasks.size());
    return tasks;
  }
  static aclmdlRITaskType TypeOf(aclmdlRITask task) {
    aclmdlRITaskType type = ACL_MODEL_RI_TASK_EVENT_RESET;
    EXPECT_OK(aclmdlRITaskGetType(task, &type));
    return type;
  }
  static uint32_t SequenceOf(aclmdlRITask task) {
    uint32_t id = 99;
    EXPECT_OK(aclmdlRITaskGetSeqId(task, &id));
    return id;
  }
  static std::vector<aclmdlRITaskType> TypesOf(aclrtStream stream) {
    std::vector<aclmdlRITaskType> types;
    for (aclmdlRITask task : TasksOf(stream)) types.push_back(TypeOf(task));
    return types;
  }
};

TEST_F(ModelTasks, OfTwoStreams) {
  void* word = NewDevice();
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(NewDevice(), NewDevice(), main_));
  Link(main_, side_);
  EXPECT_OK(aclrtValueWrite(word, 1, 0, side_));
  EXPECT_OK(aclrtValueWait(word, 1, 0, side_));
  Link(side_, main_);
  aclmdlRI model = End();
  std::vector<aclrtStream> streams = StreamsOf(model);
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_THAT(TypesOf(streams[0]),
              testing::ElementsAre(ACL_MODEL_RI_TASK_DEFAULT, ACL_MODEL_RI_TASK_EVENT_RECORD,
                                   ACL_MODEL_RI_TASK_EVENT_WAIT));
  EXPECT_THAT(TypesOf(streams[1]),
              testing::ElementsAre(ACL_MODEL_RI_TASK_EVENT_WAIT, ACL_MODEL_RI_TASK_VALUE_WRITE,
                                   ACL_MODEL_RI_TASK_VALUE_WAIT, ACL_MODEL_RI_TASK_EVENT_RECORD));
  std::vector<uint32_t> sequence;
  for (aclrtStream stream : streams) {
    for (aclmdlRITask task : TasksOf(stream)) sequence.push_back(SequenceOf(task));
  }
  EXPECT_THAT(sequence, testing::ElementsAre(0, 1, 6, 2, 3, 4, 5));
  EXPECT_EQ(StreamsOf(model), streams) << "the same handles each time";
  EXPECT_EQ(TasksOf(streams[0]), TasksOf(streams[0]));
}

TEST_F(ModelTasks, AnOperatorIsAKernel) {
  int64_t one = 1;
  int32_t* data = NewDevice();
  aclTensor* x = aclCreateTensor(&one, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, &one, 1, data);
  int32_t alpha_value = 1;
  aclScalar* alpha = aclCreateScalar(&alpha_value, ACL_INT32);
  EXPECT_OK(Begin());
  aclrtTaskGrp group = nullptr;
  for (bool grouped : {false, true}) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(aclnnAddGetWorkspaceSize(x, x, alpha, x, &size, &executor), 0);
    if (grouped) {
      EXPECT_OK(aclmdlRICaptureTaskGrpBegin(main_));
    }
    EXPECT_EQ(aclnnAdd(nullptr, 0, executor, main_), 0);
    if (grouped) {
      EXPECT_OK(aclmdlRICaptureTaskGrpEnd(main_, &group));
    }
  }
  aclmdlRI model = End();
  EXPECT_THAT(TypesOf(StreamsOf(model).at(0)),
              testing::ElementsAre(ACL_MODEL_RI_TASK_KERNEL, ACL_MODEL_RI_TASK_KERNEL));
  aclDestroyTensor(x);
  aclDestroyScalar(alpha);
}

TEST_F(ModelTasks, AnEmptyModelHasNoStreams) {
  EXPECT_OK(Begin());
  EXPECT_THAT(StreamsOf(End()), testing::IsEmpty());
}

TEST_F(ModelTasks, TwoModelsOfOneStreamAreToldApart) {
  aclmdlRI first = CopyModel(NewDevice(), NewDevice());
  EXPECT_OK(Begin());
  EXPECT_OK(Copy(NewDevice(), NewDevice(), main_));
  EXPECT_OK(Copy(NewDevice(), NewDevice(), main_));
  aclmdlRI second = End();
  EXPECT_EQ(TasksOf(StreamsOf(first).at(0)).size(), 1u);
  EXPECT_EQ(TasksOf(StreamsOf(second).at(0)).size(), 2u);
}

TEST_F(ModelTasks, AShortArrayIsRefused) {
  EXPECT_OK(Begin());
  Link(main_, side_);
  Link(side_, main_);
  aclmdlRI model = End();
  aclrtStream streams[2] = {};
  uint32_t count = 1;
  EXPECT_REFUSED(107000, aclmdlRIGetStreams(model, streams, &count), "room for 1 streams, there are 2");
  EXPECT_EQ(streams[0], nullptr);
  count = 2;
  EXPECT_OK(aclmdlRIGetStreams(model, streams, &count));
  aclmdlRITask tasks[2] = {};
  count = 1;
  EXPECT_REFUSED(107000, aclmdlRIGetTasksByStream(streams[0], tasks, &count),
                 "room for 1 tasks, there are 2");
  count = 5;
  aclrtStream more[5] = {};
  EXPECT_OK(aclmdlRIGetStreams(model, more, &count));
  EXPECT_EQ(count, 2u) << "a longer array says how much of it was filled";
}

TEST_F(ModelTasks, HandlesThatAreNone) {
  uint32_t count = 0;
  aclmdlRITaskType type;
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  EXPECT_REFUSED(100000, aclmdlRIGetStreams(nullptr, nullptr, &count), "modelRI");
  EXPECT_REFUSED(100000, aclmdlRIGetStreams(model, nullptr, nullptr), "numStreams");
  EXPECT_REFUSED(100000, aclmdlRIGetTasksByStream(nullptr, nullptr, &count), "stream");
  EXPECT_REFUSED(kStale, aclmdlRIGetTasksByStream(main_, nullptr, &count), "aclmdlRIGetStreams");
  EXPECT_REFUSED(100000, aclmdlRITaskGetType(nullptr, &type), "task");
  EXPECT_REFUSED(100000, aclmdlRITaskGetSeqId(nullptr, &count), "task");
  for (void* handle : ForeignHandles()) {
    EXPECT_REFUSED(kStale, aclmdlRIGetStreams(handle, nullptr, &count), "");
    EXPECT_REFUSED(kStale, aclmdlRIGetTasksByStream(handle, nullptr, &count), "");
    EXPECT_REFUSED(kStale, aclmdlRITaskGetType(handle, &type), "task of a model");
    EXPECT_REFUSED(kStale, aclmdlRITaskGetSeqId(handle, &count), "task of a model");
  }
  aclrtStream stream = StreamsOf(model).at(0);
  EXPECT_REFUSED(100000, aclmdlRIGetTasksByStream(stream, nullptr, nullptr), "numTasks");
  aclmdlRITask task = TasksOf(stream).at(0);
  EXPECT_REFUSED(100000, aclmdlRITaskGetType(task, nullptr), "type");
  EXPECT_REFUSED(100000, aclmdlRITaskGetSeqId(task, nullptr), "id");
  EXPECT_REFUSED(kStale, aclrtSynchronizeStream(stream), "not a stream");
}

TEST_F(ModelTasks, HandlesGoWithTheModel) {
  aclmdlRI model = CopyModel(NewDevice(), NewDevice());
  aclrtStream stream = StreamsOf(model).at(0);
  aclmdlRITask task = TasksOf(stream).at(0);
  {
    Hold hold(main_);
    EXPECT_OK(aclmdlRIExecuteAsync(model, main_));
    EXPECT_OK(aclmdlRIDestroy(model));
    uint32_t count = 0;
    aclmdlRITaskType type;
    EXPECT_REFUSED(kStale, aclmdlRIGetStreams(model, nullptr, &count), "");
    EXPECT_REFUSED(kStale, aclmdlRIGetTasksByStream(stream, nullptr, &count), "destroyed");
    EXPECT_REFUSED(kStale, aclmdlRITaskGetType(task, &type), "");
    EXPECT_REFUSED(kStale, aclmdlRITaskGetSeqId(task, &count), "");
  }
  EXPECT_OK(aclrtSynchronizeStream(main_));
}

TEST_F(ModelTasks, AModelThatIsBeingCapturedDoesNotTell) {
  EXPECT_OK(Begin());
  aclmdlRICaptureStatus status;
  aclmdlRI model = nullptr;
  EXPECT_OK(aclmdlRICaptureGetInfo(main_, &status, &model));
  uint32_t count = 0;
  EXPECT_REFUSED(107000, aclmdlRIGetStreams(model, nullptr, &count), "still being captured");
  End();
}

}  // namespace
