// What functions of single operators must refuse. (Null, stale and foreign handles of every function:
// tests/abi/bad_input.c.)
#include <acl/acl_op.h>
#include <acl/acl_op_compiler.h>

#include "runtime_fixture.h"

namespace conformance {
namespace {

constexpr uint32_t kUnfit = 145000;
constexpr uint32_t kShape = 145021;
constexpr uint32_t kNoOperator = 200001;

// The arguments of a call of Add on two tensors [2, 3], to be changed.
struct BadCall {
  const char* type = "Add";
  int inputs = 2, outputs = 1;
  aclTensorDesc* in_desc[2] = {};
  aclDataBuffer* in[2] = {};
  aclTensorDesc* out_desc[1] = {};
  aclDataBuffer* out[1] = {};
  aclopAttr* attr = nullptr;
  bool no_in_desc = false, no_in = false, no_out_desc = false, no_out = false;

  aclTensorDesc** ins() { return no_in_desc ? nullptr : in_desc; }
  aclTensorDesc** outs() { return no_out_desc ? nullptr : out_desc; }
  aclDataBuffer** in_buffers() { return no_in ? nullptr : in; }
  aclDataBuffer** out_buffers() { return no_out ? nullptr : out; }
};

class OpErrors : public RuntimeTest {
 public:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_EQ(aclrtMalloc(&memory_, 128, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    int64_t dims[] = {2, 3};
    desc_ = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
    buffer_ = aclCreateDataBuffer(memory_, 24);
    short_ = aclCreateDataBuffer(memory_, 20);
    gone_desc_ = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
    aclDestroyTensorDesc(gone_desc_);
    gone_ = aclCreateDataBuffer(memory_, 24);
    aclDestroyDataBuffer(gone_);
    attr_ = aclopCreateAttr();
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);  // what was queued works on the memory
    aclopDestroyAttr(attr_);
    aclDestroyTensorDesc(desc_);
    aclDestroyDataBuffer(buffer_);
    aclDestroyDataBuffer(short_);
    EXPECT_EQ(aclrtFree(memory_), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }

 protected:
  BadCall Good() {
    BadCall call;
    for (auto& desc : call.in_desc) desc = desc_;
    for (auto& buffer : call.in) buffer = buffer_;
    call.out_desc[0] = desc_;
    call.out[0] = buffer_;
    call.attr = attr_;
    return call;
  }

  // The code of every function that runs an operator; they must agree.
  template <class Change>
  aclError Run(Change change) {
    BadCall c = Good();
    change(c);
    aclError codes[] = {
        aclopExecute(c.type, c.inputs, c.ins(), c.in_buffers(), c.outputs, c.outs(), c.out_buffers(), c.attr,
                     nullptr),
        aclopExecuteV2(c.type, c.inputs, c.ins(), c.in_buffers(), c.outputs, c.outs(), c.out_buffers(),
                       c.attr, nullptr),
        aclopCompileAndExecute(c.type, c.inputs, c.ins(), c.in_buffers(), c.outputs, c.outs(),
                               c.out_buffers(), c.attr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr),
        aclopCompileAndExecuteV2(c.type, c.inputs, c.ins(), c.in_buffers(), c.outputs, c.outs(),
                                 c.out_buffers(), c.attr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr)};
    for (aclError code : codes) EXPECT_EQ(code, codes[0]);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    return codes[0];
  }
  // The same of every function that only prepares one.
  template <class Change>
  aclError Prepare(Change change) {
    BadCall c = Good();
    change(c);
    aclopHandle* handle = nullptr;
    aclError codes[] = {aclopCompile(c.type, c.inputs, c.ins(), c.outputs, c.outs(), c.attr, ACL_ENGINE_SYS,
                                     ACL_COMPILE_SYS, nullptr),
                        aclopCreateHandle(c.type, c.inputs, c.ins(), c.outputs, c.outs(), c.attr, &handle)};
    EXPECT_EQ(codes[0], codes[1]);
    if (handle != nullptr) aclopDestroyHandle(handle);
    return codes[0];
  }
  template <class Change>
  aclError Infer(Change change) {
    BadCall c = Good();
    change(c);
    return aclopInferShape(c.type, c.inputs, c.ins(), c.in_buffers(), c.outputs, c.outs(), c.attr);
  }
  template <class Change>
  void ExpectAll(Change change, aclError code, const char* what) {
    EXPECT_EQ(Run(change), code) << what;
    EXPECT_EQ(Prepare(change), code) << what;
    EXPECT_EQ(Infer(change), code) << what;
  }

  void* memory_ = nullptr;
  aclTensorDesc *desc_ = nullptr, *gone_desc_ = nullptr;
  aclDataBuffer *buffer_ = nullptr, *short_ = nullptr, *gone_ = nullptr;
  aclopAttr* attr_ = nullptr;
};

TEST_F(OpErrors, OfArrays) {
  ExpectAll([](BadCall&) {}, ACL_SUCCESS, "nothing is wrong");
  ExpectAll([](BadCall& c) { c.inputs = -1; }, ACL_ERROR_INVALID_PARAM, "a negative count");
  ExpectAll([](BadCall& c) { c.outputs = -1; }, ACL_ERROR_INVALID_PARAM, "a negative count");
  ExpectAll([](BadCall& c) { c.no_in_desc = true; }, ACL_ERROR_INVALID_PARAM, "no descriptions");
  ExpectAll([](BadCall& c) { c.no_out_desc = true; }, ACL_ERROR_INVALID_PARAM, "no descriptions");
  EXPECT_EQ(Run([](BadCall& c) { c.no_in = true; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Run([](BadCall& c) { c.no_out = true; }), ACL_ERROR_INVALID_PARAM);
  ExpectAll([](BadCall& c) { c.in_desc[1] = nullptr; }, ACL_ERROR_INVALID_PARAM, "a description is null");
  ExpectAll([&](BadCall& c) { c.in_desc[1] = gone_desc_; }, ACL_ERROR_RT_INVALID_HANDLE,
            "a description was destroyed");
  ExpectAll([&](BadCall& c) { c.out_desc[0] = gone_desc_; }, ACL_ERROR_RT_INVALID_HANDLE,
            "a description was destroyed");
  ExpectAll([&](BadCall& c) { c.out_desc[0] = reinterpret_cast<aclTensorDesc*>(buffer_); },
            ACL_ERROR_RT_INVALID_HANDLE, "no description");
  EXPECT_EQ(Run([](BadCall& c) { c.in[0] = nullptr; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(Run([&](BadCall& c) { c.in[0] = gone_; }), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(Run([&](BadCall& c) { c.out[0] = reinterpret_cast<aclDataBuffer*>(desc_); }),
            ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(OpErrors, OfConstants) {
  const float values[6] = {1, 2, 3, 4, 5, 6};
  int64_t dims[] = {2, 3};
  aclTensorDesc* constant = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  EXPECT_EQ(aclSetTensorConst(constant, const_cast<float*>(values), sizeof values), ACL_SUCCESS);
  ExpectAll([&](BadCall& c) { c.in_desc[1] = constant; }, ACL_SUCCESS, "all elements");
  EXPECT_EQ(aclSetTensorConst(constant, const_cast<float*>(values), 6), ACL_SUCCESS);
  ExpectAll([&](BadCall& c) { c.in_desc[1] = constant; }, ACL_ERROR_INVALID_PARAM,
            "elements in place of bytes");
  EXPECT_THAT(LastMessage(), testing::HasSubstr("24"));
  aclDestroyTensorDesc(constant);
}

TEST_F(OpErrors, OfBuffers) {
  EXPECT_EQ(Run([&](BadCall& c) { c.in[1] = short_; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("24"));
  EXPECT_EQ(Run([&](BadCall& c) { c.out[0] = short_; }), ACL_ERROR_INVALID_PARAM);
  aclDataBuffer* empty = aclCreateDataBuffer(nullptr, 0);
  EXPECT_EQ(Run([&](BadCall& c) { c.in[0] = empty; }), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclUpdateDataBuffer(empty, nullptr, 24), ACL_SUCCESS);
  EXPECT_EQ(Run([&](BadCall& c) { c.in[0] = empty; }), ACL_ERROR_INVALID_PARAM) << "null, with 24 bytes";
  EXPECT_EQ(Run([&](BadCall& c) { c.out[0] = empty; }), ACL_ERROR_INVALID_PARAM) << "null, with 24 bytes";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("null pointer"));
  void* freed = nullptr;
  ASSERT_EQ(aclrtMalloc(&freed, 24, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
  ASSERT_EQ(aclUpdateDataBuffer(empty, freed, 24), ACL_SUCCESS);
  EXPECT_EQ(Run([&](BadCall& c) { c.in[0] = empty; }), ACL_ERROR_INVALID_PARAM) << "memory that was freed";
  ASSERT_EQ(aclUpdateDataBuffer(empty, memory_, 1 << 20), ACL_SUCCESS);
  EXPECT_EQ(Run([&](BadCall& c) { c.out[0] = empty; }), ACL_ERROR_INVALID_PARAM) << "beyond the block";
  EXPECT_EQ(aclDestroyDataBuffer(empty), ACL_SUCCESS);
}

TEST_F(OpErrors, OfMemoryOnTheHost) {
  float values[6] = {1, 2, 3, 4, 5, 6};
  aclDataBuffer* host = aclCreateDataBuffer(values, 24);
  EXPECT_EQ(Run([&](BadCall& c) { c.in[0] = host; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("copy to memory from aclrtMalloc first"));
  EXPECT_EQ(Run([&](BadCall& c) { c.out[0] = host; }), ACL_ERROR_INVALID_PARAM);
  int64_t dims[] = {2, 3};
  aclTensorDesc* placed = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  ASSERT_EQ(aclSetTensorPlaceMent(placed, ACL_MEMTYPE_HOST), ACL_SUCCESS);
  EXPECT_EQ(Run([&](BadCall& c) { c.in[0] = host, c.in_desc[0] = placed; }), ACL_SUCCESS) << "it says so";
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  aclTensorDesc* ints = aclCreateTensorDesc(ACL_INT32, 2, dims, ACL_FORMAT_ND);
  EXPECT_EQ(aclopCast(desc_, host, ints, buffer_, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopCast(placed, host, ints, buffer_, 0, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclopCast(desc_, buffer_, ints, host, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  for (aclTensorDesc* desc : {placed, ints}) aclDestroyTensorDesc(desc);
  EXPECT_EQ(aclDestroyDataBuffer(host), ACL_SUCCESS);
}

TEST_F(OpErrors, OfWhatDoesNotFitTheOperator) {
  ExpectAll([](BadCall& c) { c.type = "NoSuchOperator"; }, kNoOperator, "no such operator");
  ExpectAll([](BadCall& c) { c.type = ""; }, kNoOperator, "no name");
  ExpectAll([](BadCall& c) { c.type = nullptr; }, ACL_ERROR_INVALID_PARAM, "no name");
  ExpectAll([](BadCall& c) { c.inputs = 1; }, kUnfit, "an input is missing");
  int64_t dims[] = {2, 2}, nine[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  aclTensorDesc* other = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  ExpectAll([&](BadCall& c) { c.in_desc[1] = other; }, kUnfit, "the shapes do not broadcast");
  aclTensorDesc* deep = aclCreateTensorDesc(ACL_FLOAT, 9, nine, ACL_FORMAT_ND);
  ExpectAll([&](BadCall& c) { c.in_desc[1] = deep; }, kShape, "nine dimensions");
  aclTensorDesc* absent = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, nullptr, ACL_FORMAT_UNDEFINED);
  ExpectAll([&](BadCall& c) { c.in_desc[1] = absent; }, kUnfit, "an input that is needed is absent");
  ASSERT_EQ(aclopSetAttrString(attr_, "adj_x1", "yes"), ACL_SUCCESS);
  ExpectAll([&](BadCall& c) { c.type = "BatchMatMul"; }, kUnfit, "an attribute of another kind");
  ExpectAll([&](BadCall& c) { c.type = "Cast", c.inputs = 1; }, kUnfit, "an attribute is missing");
  for (aclTensorDesc* desc : {other, deep, absent}) aclDestroyTensorDesc(desc);
}

TEST_F(OpErrors, OfHandles) {
  BadCall c = Good();
  aclopHandle* handle = nullptr;
  ASSERT_EQ(aclopCreateHandle("Add", 2, c.ins(), 1, c.outs(), nullptr, &handle), ACL_SUCCESS);
  auto run = [&](int inputs, aclDataBuffer** in, int outputs, aclDataBuffer** out) {
    aclError code = aclopExecWithHandle(handle, inputs, in, outputs, out, nullptr);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    return code;
  };
  EXPECT_EQ(run(2, c.in, 1, c.out), ACL_SUCCESS);
  EXPECT_EQ(run(1, c.in, 1, c.out), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(2, c.in, 0, c.out), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(-2, c.in, 1, c.out), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(2, nullptr, 1, c.out), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run(2, c.in, 1, nullptr), ACL_ERROR_INVALID_PARAM);
  aclDataBuffer* bad[] = {buffer_, short_};
  EXPECT_EQ(run(2, bad, 1, c.out), ACL_ERROR_INVALID_PARAM);
  bad[1] = gone_;
  EXPECT_EQ(run(2, bad, 1, c.out), ACL_ERROR_RT_INVALID_HANDLE);
  aclopDestroyHandle(handle);
  EXPECT_EQ(aclopExecWithHandle(handle, 2, c.in, 1, c.out, nullptr), ACL_ERROR_RT_INVALID_HANDLE);
  aclopDestroyHandle(handle);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("aclopDestroyHandle"))
      << "what returns nothing leaves a message";
}

TEST_F(OpErrors, OfCasts) {
  int64_t dims[] = {2, 3};
  aclTensorDesc* ints = aclCreateTensorDesc(ACL_INT32, 2, dims, ACL_FORMAT_ND);
  aclTensorDesc* texts = aclCreateTensorDesc(ACL_STRING, 2, dims, ACL_FORMAT_ND);
  aclopHandle* handle = nullptr;
  EXPECT_EQ(aclopCast(desc_, buffer_, ints, buffer_, 0, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclopCast(desc_, short_, ints, buffer_, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopCast(desc_, buffer_, ints, short_, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(aclopCast(desc_, buffer_, texts, buffer_, 0, nullptr), ACL_SUCCESS);
  EXPECT_NE(aclopCreateHandleForCast(desc_, texts, 0, &handle), ACL_SUCCESS);
  EXPECT_EQ(aclopCast(gone_desc_, buffer_, ints, buffer_, 0, nullptr), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclopCreateHandleForCast(desc_, gone_desc_, 0, &handle), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(handle, nullptr);
  aclDestroyTensorDesc(ints);
  aclDestroyTensorDesc(texts);
}

TEST_F(OpErrors, OfListsOfAttributes) {
  uint8_t bools[] = {1};
  float reals[] = {1};
  aclDataType types[] = {ACL_FLOAT};
  const char* texts[] = {"a"};
  int counts[] = {1, -1};
  int64_t ints[] = {1};
  const int64_t* lists[] = {ints, ints};
  for (int count : {-1, 1}) {
    bool bad = count < 0;
    EXPECT_EQ(aclopSetAttrListBool(attr_, "a", count, bad ? bools : nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclopSetAttrListInt(attr_, "a", count, bad ? ints : nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclopSetAttrListFloat(attr_, "a", count, bad ? reals : nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclopSetAttrListDataType(attr_, "a", count, bad ? types : nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclopSetAttrListString(attr_, "a", count, bad ? texts : nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclopSetAttrListListInt(attr_, "a", count, bad ? counts : nullptr, lists),
              ACL_ERROR_INVALID_PARAM);
  }
  EXPECT_EQ(aclopSetAttrListListInt(attr_, "a", 2, counts, lists), ACL_ERROR_INVALID_PARAM)
      << "the second list has -1 numbers";
  EXPECT_EQ(aclopSetAttrListListInt(attr_, "a", 1, counts, nullptr), ACL_ERROR_INVALID_PARAM);
  const char* no_text[] = {nullptr};
  EXPECT_EQ(aclopSetAttrListString(attr_, "a", 1, no_text), ACL_ERROR_INVALID_PARAM) << "a text is null";
}

// Those that run graphs, and those that only graphs have: there is nothing to call them with.
TEST_F(OpErrors, OperatorsOfGraphsAreRefused) {
  for (const char* type :
       {"If", "Case", "While", "Loop", "Scan", "PartitionedCall", "StatefulPartitionedCall", "For",
        "StatelessIf", "StatelessWhile", "Data", "Const", "SequenceInsert", "SequenceEmpty"}) {
    for (int inputs = 0; inputs <= 2; ++inputs) {
      BadCall call = Good();
      call.type = type;
      call.inputs = inputs;
      const aclError error =
          aclopCompileAndExecute(call.type, inputs, call.in_desc, call.in, 1, call.out_desc, call.out,
                                 nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr);
      EXPECT_TRUE(error != ACL_SUCCESS || aclrtSynchronizeStream(nullptr) != ACL_SUCCESS)
          << type << " " << inputs;
      EXPECT_NE(LastMessage(), "") << type;
    }
  }
}

}  // namespace
}  // namespace conformance
