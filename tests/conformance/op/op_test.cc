// Single operators by name.
#include <acl/acl_op_compiler.h>

#include <gmock/gmock.h>

#include <string>

#include "runtime_fixture.h"
#include "support/option_samples.h"

namespace conformance {
namespace {

// A tensor of floats in device memory with its description and buffer.
class Floats {
 public:
  explicit Floats(std::vector<int64_t> dims, std::vector<float> values = {},
                  aclFormat format = ACL_FORMAT_ND) {
    count_ = 1;
    for (int64_t size : dims) count_ *= static_cast<size_t>(size);
    EXPECT_EQ(aclrtMalloc(&data_, std::max<size_t>(count_ * 4, 4), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    std::copy(values.begin(), values.end(), at());
    desc_ = aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(dims.size()), dims.data(), format);
    buffer_ = aclCreateDataBuffer(data_, count_ * 4);
  }
  ~Floats() {
    aclDestroyTensorDesc(desc_);
    EXPECT_EQ(aclDestroyDataBuffer(buffer_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(data_), ACL_SUCCESS);
  }
  float* at() { return static_cast<float*>(data_); }
  std::vector<float> values() { return {at(), at() + count_}; }
  aclTensorDesc* desc() { return desc_; }
  aclDataBuffer* buffer() { return buffer_; }

 private:
  void* data_ = nullptr;
  size_t count_;
  aclTensorDesc* desc_;
  aclDataBuffer* buffer_;
};

class Op : public RuntimeTest {
 public:
  void SetUp() override {
    RuntimeTest::SetUp();
    attr_ = aclopCreateAttr();
  }
  void TearDown() override {
    aclopDestroyAttr(attr_);
    RuntimeTest::TearDown();
  }
  aclError Run(const char* type, std::vector<Floats*> inputs, Floats& output) {
    std::vector<const aclTensorDesc*> in_desc;
    std::vector<const aclDataBuffer*> in;
    for (Floats* input : inputs) in_desc.push_back(input->desc()), in.push_back(input->buffer());
    const aclTensorDesc* out_desc = output.desc();
    aclDataBuffer* out = output.buffer();
    aclError error =
        aclopCompileAndExecute(type, static_cast<int>(inputs.size()), in_desc.data(), in.data(), 1, &out_desc,
                               &out, attr_, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr);
    return error != ACL_SUCCESS ? error : aclrtSynchronizeStream(nullptr);
  }
  aclopAttr* attr_ = nullptr;
};

TEST_F(Op, RunsByName) {
  Floats a({3}, {1, 2, 3}), b({3}, {10, 20, 30}), y({3});
  ASSERT_EQ(Run("Add", {&a, &b}, y), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_THAT(y.values(), testing::ElementsAre(11, 22, 33));
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST_F(Op, TakesAttributes) {
  Floats a({2, 2}, {1, 2, 3, 4}), b({2, 2}, {1, 0, 0, 2}), y({2, 2});
  ASSERT_EQ(aclopSetAttrBool(attr_, "adj_x1", 1), ACL_SUCCESS);
  ASSERT_EQ(Run("BatchMatMul", {&a, &b}, y), ACL_SUCCESS);
  EXPECT_THAT(y.values(), testing::ElementsAre(1, 6, 2, 8));
  int64_t order[] = {1, 0};
  aclopDestroyAttr(attr_);
  attr_ = aclopCreateAttr();
  ASSERT_EQ(aclopSetAttrListInt(attr_, "perm", 2, order), ACL_SUCCESS);
  ASSERT_EQ(Run("TransposeD", {&a}, y), ACL_SUCCESS);
  EXPECT_THAT(y.values(), testing::ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(aclopSetAttrListInt(attr_, "perm", -1, order), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListInt(attr_, "perm", 1, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Op, ATypeMayBeItsNumber) {
  Floats x({2}, {1.5f, -2.5f}), y({2});
  aclopSetAttrInt(attr_, "dst_type", ACL_FLOAT);
  ASSERT_EQ(Run("Cast", {&x}, y), ACL_SUCCESS);
  EXPECT_THAT(y.values(), testing::ElementsAre(1.5f, -2.5f));
  aclopSetAttrInt(attr_, "dst_type", 1000);
  EXPECT_EQ(Run("Cast", {&x}, y), 145000u);
}

// onnxruntime copies a result on with aclrtMemcpy, which waits for no stream.
TEST_F(Op, CompiledAndRunInOneCallHasRunWhenTheStreamIsFree) {
  constexpr int64_t kMany = 1 << 18;
  Floats x({kMany}, std::vector<float>(kMany, 0.5f)), y({kMany});
  const aclTensorDesc *in_desc = x.desc(), *out_desc = y.desc();
  const aclDataBuffer* in = x.buffer();
  aclDataBuffer* out = y.buffer();
  aclrtStream stream;
  aclrtEvent event;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  auto run = [&] {
    return aclopCompileAndExecute("Neg", 1, &in_desc, &in, 1, &out_desc, &out, nullptr, ACL_ENGINE_SYS,
                                  ACL_COMPILE_SYS, nullptr, stream);
  };
  ASSERT_EQ(run(), ACL_SUCCESS);
  EXPECT_EQ(y.at()[kMany - 1], -0.5f);
  std::fill_n(y.at(), kMany, 0.0f);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  ASSERT_EQ(run(), ACL_SUCCESS) << "and does not wait with a stream that waits";
  EXPECT_EQ(y.at()[kMany - 1], 0.0f);
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(y.at()[kMany - 1], -0.5f);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// torch_npu gives host memory back when the call returns.
TEST_F(Op, InputsOnTheHostAreReadByTheCall) {
  Floats x({2}, {1, 2}), y({2});
  float factor = 3;
  aclTensorDesc* scalar = aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND);
  aclDataBuffer* lies_at = aclCreateDataBuffer(&factor, sizeof factor);
  ASSERT_EQ(aclSetTensorPlaceMent(scalar, ACL_MEMTYPE_HOST), ACL_SUCCESS);
  const aclTensorDesc *in_desc[] = {x.desc(), scalar}, *out_desc = y.desc();
  const aclDataBuffer* in[] = {x.buffer(), lies_at};
  aclDataBuffer* out = y.buffer();
  aclrtStream stream;
  aclrtEvent event;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  ASSERT_EQ(aclopCompileAndExecute("Mul", 2, in_desc, in, 1, &out_desc, &out, nullptr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, stream),
            ACL_SUCCESS)
      << aclGetRecentErrMsg();
  factor = 100;
  x.at()[1] = 5;
  ASSERT_EQ(aclrtRecordEvent(event, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_THAT(y.values(), testing::ElementsAre(3, 15)) << "the device's memory is read by the operator";
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  aclDestroyTensorDesc(scalar);
  ASSERT_EQ(aclDestroyDataBuffer(lies_at), ACL_SUCCESS);
}

// As samples of the vendor call it: the image's channels are last, the filter's are not.
TEST_F(Op, AFilterLiesAsItIsDescribed) {
  Floats x({1, 1, 1, 2}, {10, 1}, ACL_FORMAT_NHWC), filter({3, 2, 1, 1}, {1, 2, 3, 4, 5, 6}, ACL_FORMAT_NCHW);
  Floats y({1, 1, 1, 3}, {}, ACL_FORMAT_NHWC);
  const int64_t ones[] = {1, 1, 1, 1}, none[] = {0, 0, 0, 0};
  aclopSetAttrListInt(attr_, "strides", 4, ones);
  aclopSetAttrListInt(attr_, "pads", 4, none);
  ASSERT_EQ(Run("Conv2D", {&x, &filter}, y), ACL_SUCCESS) << LastMessage();
  EXPECT_THAT(y.values(), testing::ElementsAre(12, 34, 56));
  Floats turned({1, 1, 2, 3}, {1, 3, 5, 2, 4, 6}, ACL_FORMAT_HWCN);
  ASSERT_EQ(Run("Conv2D", {&x, &turned}, y), ACL_SUCCESS) << LastMessage();
  EXPECT_THAT(y.values(), testing::ElementsAre(12, 34, 56));
}

TEST_F(Op, PadsInTheOrderOfOnnxAreUnderstood) {
  Floats x({1, 1, 2, 2}, {1, 2, 3, 4}), y({1, 1, 2, 2});
  const int64_t ones[] = {1, 1, 1, 1}, ksize[] = {1, 1, 2, 2}, pads[] = {0, 0, 1, 1};
  aclopSetAttrListInt(attr_, "ksize", 4, ksize);
  aclopSetAttrListInt(attr_, "strides", 4, ones);
  aclopSetAttrString(attr_, "padding_mode", "CALCULATED");
  aclopSetAttrListInt(attr_, "pads", 4, pads);
  ASSERT_EQ(Run("MaxPoolV3", {&x}, y), ACL_SUCCESS) << LastMessage();
  EXPECT_THAT(y.values(), testing::ElementsAre(4, 4, 4, 4)) << "a row below, a column right";
  Floats wide({1, 1, 1, 3});
  ASSERT_EQ(Run("MaxPoolV3", {&x}, wide), ACL_SUCCESS) << LastMessage();
  EXPECT_THAT(wide.values(), testing::ElementsAre(3, 4, 4)) << "a column left, a column right";
}

TEST_F(Op, OutputsMayBeInputs) {
  Floats a({2, 2}, {1, 2, 3, 4}), b({2, 2}, {2, 0, 0, 2});
  ASSERT_EQ(Run("BatchMatMul", {&a, &b}, a), ACL_SUCCESS);
  EXPECT_THAT(a.values(), testing::ElementsAre(2, 4, 6, 8));
}

TEST_F(Op, ASecondCallUsesOtherMemory) {
  Floats a({2}, {1, 2}), b({2}, {5, 6}), y({2}), z({2});
  ASSERT_EQ(Run("Mul", {&a, &b}, y), ACL_SUCCESS);
  ASSERT_EQ(Run("Mul", {&b, &b}, z), ACL_SUCCESS);
  EXPECT_THAT(y.values(), testing::ElementsAre(5, 12));
  EXPECT_THAT(z.values(), testing::ElementsAre(25, 36));
}

TEST_F(Op, WritesTheShapeOfTheResult) {
  Floats a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3}, {1, 1, 1}), y({2, 3});
  int64_t wrong[] = {7};
  aclTensorDesc* in_desc[] = {a.desc(), b.desc()};
  aclDataBuffer* in[] = {a.buffer(), b.buffer()};
  aclTensorDesc* out_desc = aclCreateTensorDesc(ACL_FLOAT, 1, wrong, ACL_FORMAT_ND);
  aclDataBuffer* out = y.buffer();
  ASSERT_EQ(aclopExecuteV2("Sub", 2, in_desc, in, 1, &out_desc, &out, nullptr, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescNumDims(out_desc), 2u);
  int64_t size = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(out_desc, 1, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 3);
  EXPECT_EQ(y.at()[5], 5.0f);
  ASSERT_EQ(aclopInferShape("Add", 2, in_desc, in, 1, &out_desc, nullptr), ACL_SUCCESS);
  aclDestroyTensorDesc(out_desc);
}

// torch_npu gives room for the most there can be, and reads how many there are from the description.
TEST_F(Op, WritesTheShapeThatTheDataDecides) {
  Floats x({2, 2}, {0, 3, 0, 4});
  Floats room({4, 4});
  int64_t most[] = {4, 2};
  aclTensorDesc *in_desc = x.desc(), *out_desc = aclCreateTensorDesc(ACL_INT64, 2, most, ACL_FORMAT_ND);
  aclDataBuffer *in = x.buffer(), *out = room.buffer();
  ASSERT_EQ(aclopCompileAndExecuteV2("NonZero", 1, &in_desc, &in, 1, &out_desc, &out, attr_, ACL_ENGINE_SYS,
                                     ACL_COMPILE_SYS, nullptr, nullptr),
            ACL_SUCCESS)
      << aclGetRecentErrMsg();
  int64_t sizes[2] = {};
  for (size_t d = 0; d < 2; ++d) EXPECT_EQ(aclGetTensorDescDimV2(out_desc, d, &sizes[d]), ACL_SUCCESS);
  EXPECT_THAT(sizes, testing::ElementsAre(2, 2));
  const auto* places = reinterpret_cast<const int64_t*>(room.at());
  EXPECT_THAT(std::vector<int64_t>(places, places + 4), testing::ElementsAre(0, 1, 1, 1));
  aclDestroyTensorDesc(out_desc);
}

// A caller's view of memory is written where it lies; the rest stays.
TEST_F(Op, WritesAViewInPlace) {
  Floats dst({2, 3}, {0, 1, 2, 3, 4, 5}), src({2}, {10, 11});
  struct Host {
    explicit Host(std::vector<int64_t> numbers, std::vector<int64_t> dims) : values(std::move(numbers)) {
      desc = aclCreateTensorDesc(ACL_INT64, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND);
      aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST);
      buffer = aclCreateDataBuffer(values.data(), values.size() * 8);
    }
    ~Host() {
      aclDestroyTensorDesc(desc);
      aclDestroyDataBuffer(buffer);
    }
    std::vector<int64_t> values;
    aclTensorDesc* desc;
    aclDataBuffer* buffer;
  } size({2}, {1}), stride({3}, {1}), one({1}, {1}), offset({1}, {}), none({0}, {});
  const aclTensorDesc* in_desc[] = {dst.desc(), size.desc, stride.desc, offset.desc,
                                    src.desc(), size.desc, one.desc,    none.desc};
  const aclDataBuffer* in[] = {dst.buffer(), size.buffer, stride.buffer, offset.buffer,
                               src.buffer(), size.buffer, one.buffer,    none.buffer};
  const aclTensorDesc* out_desc = dst.desc();
  aclDataBuffer* out = dst.buffer();
  ASSERT_EQ(aclopCompileAndExecute("ViewCopy", 8, in_desc, in, 1, &out_desc, &out, attr_, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, nullptr),
            ACL_SUCCESS)
      << aclGetRecentErrMsg();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_THAT(dst.values(), testing::ElementsAre(0, 10, 2, 3, 11, 5));
}

TEST_F(Op, AResultMayLieWhereTheOperandLies) {
  Floats x({2, 3}, {0, 1, 2, 3, 4, 5}), described({3, 2});
  struct Ints {
    int64_t values[2] = {1, 0}, dims[1] = {2};
    aclTensorDesc* desc = aclCreateTensorDesc(ACL_INT64, 1, dims, ACL_FORMAT_ND);
    aclDataBuffer* buffer = aclCreateDataBuffer(values, sizeof values);
    Ints() { aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST); }
    ~Ints() {
      aclDestroyTensorDesc(desc);
      aclDestroyDataBuffer(buffer);
    }
  } perm;
  const aclTensorDesc* in_desc[] = {x.desc(), perm.desc};
  const aclDataBuffer* in[] = {x.buffer(), perm.buffer};
  const aclTensorDesc* out_desc = described.desc();
  aclDataBuffer* out = x.buffer();
  ASSERT_EQ(aclopCompileAndExecute("Transpose", 2, in_desc, in, 1, &out_desc, &out, attr_, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, nullptr),
            ACL_SUCCESS)
      << aclGetRecentErrMsg();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_THAT(x.values(), testing::ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(Op, HandlesAndCasts) {
  Floats a({2}, {1.5f, -2.5f}), b({2}, {1, 1}), y({2});
  const aclTensorDesc* in_desc[] = {a.desc(), b.desc()};
  const aclDataBuffer* in[] = {a.buffer(), b.buffer()};
  const aclTensorDesc* out_desc[] = {y.desc()};
  aclDataBuffer* out[] = {y.buffer()};
  aclopHandle* handle = nullptr;
  ASSERT_EQ(aclopCreateHandle("Add", 2, in_desc, 1, out_desc, nullptr, &handle), ACL_SUCCESS);
  EXPECT_EQ(aclopExecWithHandle(handle, 1, in, 1, out, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclopExecWithHandle(handle, 2, in, 1, out, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_THAT(y.values(), testing::ElementsAre(2.5f, -1.5f));
  aclopDestroyHandle(handle);
  int64_t dims[] = {2};
  aclTensorDesc* ints = aclCreateTensorDesc(ACL_INT32, 1, dims, ACL_FORMAT_ND);
  ASSERT_EQ(aclopCast(a.desc(), a.buffer(), ints, y.buffer(), 0, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<int32_t*>(y.at())[1], -2);
  aclDestroyTensorDesc(ints);
}

TEST_F(Op, RefusesWhatDoesNotFit) {
  Floats a({3}, {1, 2, 3}), b({2}, {1, 2}), y({3}), small({1});
  EXPECT_EQ(Run("Add", {&a, &b}, y), 145000u);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("[2]"));
  EXPECT_EQ(Run("NoSuchOperator", {&a}, y), 200001u);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("NoSuchOperator"));
  EXPECT_EQ(Run("Add", {&a}, y), 145000u) << "an input is missing";
  EXPECT_EQ(Run("Add", {&a, &a}, small), 145000u) << "the sum has three elements";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("output 0 ('y') of Add"));
  EXPECT_EQ(aclopExecute("Add", 2, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopExecute(nullptr, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetModelDir("/no/such/folder"), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclopSetMaxOpQueueNum(0), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Op, AttributesOfAllKinds) {
  EXPECT_EQ(aclopSetAttrInt(attr_, "i", 3), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrFloat(attr_, "f", 0.5f), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrString(attr_, "s", "text"), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrString(attr_, "s", nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrInt(attr_, nullptr, 3), ACL_ERROR_INVALID_PARAM);
  uint8_t bools[] = {1, 0};
  float floats[] = {1, 2};
  aclDataType types[] = {ACL_FLOAT, ACL_INT8};
  const char* texts[] = {"a", "b"};
  int counts[] = {1, 2};
  int64_t first[] = {1}, second[] = {2, 3};
  const int64_t* lists[] = {first, second};
  EXPECT_EQ(aclopSetAttrListBool(attr_, "bs", 2, bools), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListFloat(attr_, "fs", 2, floats), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListFloat(attr_, "fs", 2, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListDataType(attr_, "ts", 2, types), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListString(attr_, "ss", 2, texts), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListListInt(attr_, "ls", 2, counts, lists), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListListInt(attr_, "ls", -1, counts, lists), ACL_ERROR_INVALID_PARAM);
  Floats a({2}, {1, 2}), y({2});
  EXPECT_EQ(Run("Relu", {&a}, y), 145000u) << "an attribute that the operator does not have";
  EXPECT_THAT(LastMessage(), testing::HasSubstr("(Relu) has an attribute 'bs'"));
}

// A description is what the caller reads the bytes by: whichever call takes one gives that or refuses.
TEST_F(Op, OutputsAreAsDescribedInEveryCall) {
  Floats a({2}, {1, 2}), b({2}, {1, 3}), y({2});
  int64_t dims[] = {2};
  aclTensorDesc* ints = aclCreateTensorDesc(ACL_INT32, 1, dims, ACL_FORMAT_ND);
  aclTensorDesc* in_desc[] = {a.desc(), b.desc()};
  aclDataBuffer *in[] = {a.buffer(), b.buffer()}, *out = y.buffer();
  constexpr aclError kRefused = 145000;
  auto expect_named = [] {
    EXPECT_THAT(LastMessage(), testing::HasSubstr("is described as ACL_INT32 [2], but it is ACL_FLOAT [2]"));
  };
  EXPECT_EQ(aclopCompileAndExecute("Add", 2, in_desc, in, 1, &ints, &out, attr_, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, nullptr),
            kRefused);
  expect_named();
  EXPECT_EQ(aclopCompileAndExecuteV2("Add", 2, in_desc, in, 1, &ints, &out, attr_, ACL_ENGINE_SYS,
                                     ACL_COMPILE_SYS, nullptr, nullptr),
            kRefused);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("is described as ACL_INT32 [...], but it is ACL_FLOAT [2]"));
  EXPECT_EQ(aclopExecute("Add", 2, in_desc, in, 1, &ints, &out, attr_, nullptr), kRefused);
  EXPECT_EQ(aclopExecuteV2("Add", 2, in_desc, in, 1, &ints, &out, attr_, nullptr), kRefused);
  EXPECT_EQ(aclopCompile("Add", 2, in_desc, 1, &ints, attr_, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr),
            kRefused);
  expect_named();
  aclopHandle* handle = nullptr;
  EXPECT_EQ(aclopCreateHandle("Add", 2, in_desc, 1, &ints, attr_, &handle), kRefused);
  expect_named();
  ASSERT_EQ(aclopInferShape("Add", 2, in_desc, in, 1, &ints, attr_), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescType(ints), ACL_FLOAT) << "which is told, not asked";
  aclopSetAttrInt(attr_, "bogus", 1);
  EXPECT_EQ(aclopInferShape("Add", 2, in_desc, in, 1, &ints, attr_), kRefused);
  EXPECT_THAT(LastMessage(), testing::HasSubstr("'bogus'"));
  aclDestroyTensorDesc(ints);
}

TEST_F(Op, PreparedAhead) {
  Floats a({2}, {1.5f, 2.5f}), y({2});
  const aclTensorDesc* in_desc[] = {a.desc()};
  int64_t dims[] = {2};
  aclTensorDesc* ints = aclCreateTensorDesc(ACL_INT32, 1, dims, ACL_FORMAT_ND);
  const aclTensorDesc* out_desc[] = {ints};
  ASSERT_EQ(aclopSetAttrDataType(attr_, "dst_type", ACL_INT32), ACL_SUCCESS);
  ASSERT_EQ(aclopCompile("Cast", 1, in_desc, 1, out_desc, attr_, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclopCompile("NoSuchOperator", 1, in_desc, 1, out_desc, attr_, ACL_ENGINE_SYS, ACL_COMPILE_SYS,
                         nullptr),
            200001u);
  aclopHandle* handle = nullptr;
  ASSERT_EQ(aclopCreateHandleForCast(a.desc(), ints, 0, &handle), ACL_SUCCESS);
  const aclDataBuffer* in[] = {a.buffer()};
  aclDataBuffer* out[] = {y.buffer()};
  ASSERT_EQ(aclopExecWithHandle(handle, 1, in, 1, out, nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<int32_t*>(y.at())[1], 2);
  aclopDestroyHandle(handle);
  aclTensorDesc* in_v2[] = {a.desc()};
  aclDataBuffer* in_buffers[] = {a.buffer()};
  ASSERT_EQ(aclopCompileAndExecuteV2("Cast", 1, in_v2, in_buffers, 1, &ints, out, attr_, ACL_ENGINE_SYS,
                                     ACL_COMPILE_SYS, nullptr, nullptr),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  aclDestroyTensorDesc(ints);
  EXPECT_EQ(aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ), ACL_SUCCESS);
  EXPECT_EQ(aclopSetCompileFlag(static_cast<aclOpCompileFlag>(7)), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Op, DequantisesWithPackedFactors) {
  Floats memory({16});
  auto* x = reinterpret_cast<int32_t*>(memory.at());
  auto* factors = reinterpret_cast<uint64_t*>(memory.at() + 4);
  x[0] = 2, x[1] = -4;
  factors[0] = 0x3f000000;          // 0.5
  factors[1] = 0xdeadbeef40400000;  // 3, below something else
  int64_t dims[] = {2};
  aclTensorDesc* ints = aclCreateTensorDesc(ACL_INT32, 1, dims, ACL_FORMAT_ND);
  aclTensorDesc* packed = aclCreateTensorDesc(ACL_UINT64, 1, dims, ACL_FORMAT_ND);
  aclTensorDesc* floats = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
  aclDataBuffer* buffers[] = {aclCreateDataBuffer(x, 8), aclCreateDataBuffer(factors, 16)};
  aclDataBuffer* out = aclCreateDataBuffer(memory.at() + 12, 8);
  const aclTensorDesc* in_desc[] = {ints, packed};
  const aclTensorDesc* out_desc[] = {floats};
  ASSERT_EQ(aclopCompileAndExecute("AscendDequant", 2, in_desc, buffers, 1, out_desc, &out, nullptr,
                                   ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr),
            ACL_SUCCESS)
      << LastMessage();
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(memory.at()[12], 1.0f);
  EXPECT_EQ(memory.at()[13], -12.0f);
  for (aclDataBuffer* buffer : {buffers[0], buffers[1], out}) aclDestroyDataBuffer(buffer);
  for (aclTensorDesc* desc : {ints, packed, floats}) aclDestroyTensorDesc(desc);
}

TEST_F(Op, OptionsAreKept) {
  char text[32] = {};
  EXPECT_EQ(aclGetCompileoptSize(ACL_OP_JIT_COMPILE), 8u);
  ASSERT_EQ(aclGetCompileopt(ACL_OP_JIT_COMPILE, text, sizeof text), ACL_SUCCESS);
  EXPECT_STREQ(text, "disable") << "of what a process has not set";
  EXPECT_EQ(aclGetCompileoptSize(ACL_PRECISION_MODE), 19u);
  EXPECT_EQ(aclGetCompileopt(ACL_PRECISION_MODE, text, 18), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclGetCompileopt(ACL_PRECISION_MODE, text, sizeof text), ACL_SUCCESS);
  EXPECT_STREQ(text, "allow_fp32_to_fp16") << "the default";
  EXPECT_EQ(aclGetCompileoptSize(ACL_AICORE_NUM), 1u) << "no page has a default";
  ASSERT_EQ(aclGetCompileopt(ACL_AICORE_NUM, text, aclGetCompileoptSize(ACL_AICORE_NUM)), ACL_SUCCESS);
  EXPECT_STREQ(text, "");
  ASSERT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, "force_fp32"), ACL_SUCCESS);
  EXPECT_EQ(aclGetCompileoptSize(ACL_PRECISION_MODE), 11u);
  ASSERT_EQ(aclGetCompileopt(ACL_PRECISION_MODE, text, sizeof text), ACL_SUCCESS);
  EXPECT_STREQ(text, "force_fp32");
  ASSERT_EQ(aclSetCompileopt(ACL_PRECISION_MODE, ""), ACL_SUCCESS);
  EXPECT_EQ(aclGetCompileoptSize(ACL_PRECISION_MODE), 19u) << "as if it were not set";
  EXPECT_EQ(aclGetCompileoptSize(static_cast<aclCompileOpt>(99)), 0u);
  EXPECT_EQ(aclSetCompileopt(static_cast<aclCompileOpt>(99), "1"), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Op, EveryCompileOptionTakesTheValuesThatItHas) {
  int count = 0;
  for (const auto& row : option_samples::rows::kAll) {
    if (row.compile < 0) continue;
    ++count;
    const auto option = static_cast<aclCompileOpt>(row.compile);
    for (const std::string& value : option_samples::Meaningless(row)) {
      EXPECT_EQ(aclSetCompileopt(option, value.c_str()), ACL_ERROR_INVALID_PARAM)
          << row.compile << " " << value;
      EXPECT_THAT(LastMessage(), testing::HasSubstr("'" + value + "'; it must be "));
    }
    for (const std::string& value : option_samples::Good(row))
      EXPECT_EQ(aclSetCompileopt(option, value.c_str()), ACL_SUCCESS) << row.compile << " " << value;
    EXPECT_EQ(aclSetCompileopt(option, option == ACL_OP_JIT_COMPILE ? "disable" : ""), ACL_SUCCESS);
  }
  EXPECT_EQ(count, ACL_OP_DEBUG_OPTION + 1);
}

// A mask of DropOutGenMaskV3, whose inputs are constants, on a stream.
class Mask {
 public:
  explicit Mask(int64_t seed) {
    int64_t one[] = {1}, count[] = {kCount};
    float keep[] = {0.5f};
    EXPECT_EQ(aclrtMalloc(&data_, kCount, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    in_desc_[0] = aclCreateTensorDesc(ACL_INT64, 1, one, ACL_FORMAT_ND);
    in_desc_[1] = aclCreateTensorDesc(ACL_FLOAT, 1, one, ACL_FORMAT_ND);
    out_desc_ = aclCreateTensorDesc(ACL_UINT8, 1, count, ACL_FORMAT_ND);
    EXPECT_EQ(aclSetTensorConst(in_desc_[0], count, sizeof count), ACL_SUCCESS);
    EXPECT_EQ(aclSetTensorConst(in_desc_[1], keep, sizeof keep), ACL_SUCCESS);
    none_ = aclCreateDataBuffer(nullptr, 0);
    buffer_ = aclCreateDataBuffer(data_, kCount);
    attr_ = aclopCreateAttr();
    EXPECT_EQ(aclopSetAttrInt(attr_, "seed", seed), ACL_SUCCESS);
  }
  ~Mask() {
    for (aclTensorDesc* desc : {in_desc_[0], in_desc_[1], out_desc_}) aclDestroyTensorDesc(desc);
    for (aclDataBuffer* buffer : {none_, buffer_}) EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
    aclopDestroyAttr(attr_);
    EXPECT_EQ(aclrtFree(data_), ACL_SUCCESS);
  }
  void Submit(aclrtStream stream) {
    const aclDataBuffer* in[] = {none_, none_};
    EXPECT_EQ(aclopCompileAndExecute("DropOutGenMaskV3", 2, in_desc_, in, 1, &out_desc_, &buffer_, attr_,
                                     ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream),
              ACL_SUCCESS)
        << LastMessage();
  }
  aclopHandle* Handle() {
    aclopHandle* handle = nullptr;
    EXPECT_EQ(aclopCompile("DropOutGenMaskV3", 2, in_desc_, 1, &out_desc_, attr_, ACL_ENGINE_SYS,
                           ACL_COMPILE_SYS, nullptr),
              ACL_SUCCESS);
    EXPECT_EQ(aclopCreateHandle("DropOutGenMaskV3", 2, in_desc_, 1, &out_desc_, attr_, &handle), ACL_SUCCESS);
    return handle;
  }
  void Submit(aclopHandle* handle, aclrtStream stream) {
    const aclDataBuffer* in[] = {none_, none_};
    EXPECT_EQ(aclopExecWithHandle(handle, 2, in, 1, &buffer_, stream), ACL_SUCCESS) << LastMessage();
  }
  std::string Bytes(aclrtStream stream) {
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    return {static_cast<char*>(data_), kCount};
  }

 private:
  static constexpr int64_t kCount = 256;
  void* data_ = nullptr;
  aclTensorDesc *in_desc_[2], *out_desc_;
  aclDataBuffer *none_, *buffer_;
  aclopAttr* attr_;
};

std::vector<std::string> MasksOfCalls(int64_t seed) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::vector<std::string> masks;
  for (int i = 0; i < 3; ++i) {
    Mask mask(seed);
    mask.Submit(stream);
    masks.push_back(mask.Bytes(stream));
  }
  return masks;
}

std::vector<std::string> MasksOfHandle(int64_t seed) {
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  std::vector<std::string> masks;
  Mask mask(seed);
  aclopHandle* handle = mask.Handle();
  for (int i = 0; i < 3; ++i) {
    mask.Submit(handle, stream);
    masks.push_back(mask.Bytes(stream));
  }
  aclopDestroyHandle(handle);
  return masks;
}

TEST_F(Op, RandomNumbersGoOnFromCallToCall) {
  const auto of_handle = MasksOfHandle(5), other = MasksOfHandle(0), called = MasksOfCalls(0);
  for (const auto& masks : {of_handle, other, called}) {
    EXPECT_NE(masks[0], masks[1]);
    EXPECT_NE(masks[1], masks[2]);
  }
  EXPECT_NE(MasksOfCalls(5), of_handle) << "calls go on where the handle was";
  aclopDestroyAttr(attr_);
  RuntimeTest::TearDown();
  SetUp();  // the sequence of a seed begins again
  EXPECT_EQ(MasksOfCalls(5), of_handle);
  EXPECT_NE(MasksOfCalls(0), called);
}

}  // namespace
}  // namespace conformance
