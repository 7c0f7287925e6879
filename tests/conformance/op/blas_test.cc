// Products of matrices and vectors in the manner of cblas.
#include <acl/acl_op.h>
#include <acl/ops/acl_cblas.h>

#include <random>

#include "../support/om_builder.h"
#include "runtime_fixture.h"

namespace conformance {
namespace {

// Numbers of one type in device memory.
class Numbers {
 public:
  Numbers(aclDataType type, std::vector<double> values) : type_(type), count_(values.size()) {
    EXPECT_EQ(aclrtMalloc(&data_, count_ * 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    for (size_t i = 0; i < count_; ++i) Set(i, values[i]);
    buffer_ = aclCreateDataBuffer(data_, count_ * aclDataTypeSize(type));
  }
  ~Numbers() {
    EXPECT_EQ(aclDestroyDataBuffer(buffer_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(data_), ACL_SUCCESS);
  }
  template <class T = void>
  T* at() {
    return static_cast<T*>(data_);
  }
  double Get(size_t i) {
    switch (type_) {
      case ACL_FLOAT16:
        return static_cast<double>(aclFloat16ToFloat(at<aclFloat16>()[i]));
      case ACL_INT8:
        return at<int8_t>()[i];
      case ACL_INT32:
        return at<int32_t>()[i];
      default:
        return static_cast<double>(at<float>()[i]);
    }
  }
  aclDataBuffer* buffer() { return buffer_; }

 private:
  void Set(size_t i, double value) {
    switch (type_) {
      case ACL_FLOAT16:
        at<aclFloat16>()[i] = aclFloatToFloat16(static_cast<float>(value));
        return;
      case ACL_INT8:
        at<int8_t>()[i] = static_cast<int8_t>(value);
        return;
      case ACL_INT32:
        at<int32_t>()[i] = static_cast<int32_t>(value);
        return;
      default:
        at<float>()[i] = static_cast<float>(value);
    }
  }
  aclDataType type_;
  size_t count_;
  void* data_ = nullptr;
  aclDataBuffer* buffer_;
};

struct Types {
  aclDataType ab, c;
};
constexpr Types kTypes[] = {
    {ACL_FLOAT16, ACL_FLOAT16}, {ACL_FLOAT16, ACL_FLOAT}, {ACL_INT8, ACL_FLOAT}, {ACL_INT8, ACL_INT32}};

// A product with small whole numbers, so that every type holds the result: alpha 2, beta -3.
struct Problem {
  Problem(Types types, aclTransType a_as, aclTransType b_as, int rows, int columns, int inner)
      : trans_a(a_as),
        trans_b(b_as),
        m(rows),
        n(columns),
        k(inner),
        a(types.ab, Random(m * k)),
        b(types.ab, Random(k * n)),
        c(types.c, Random(m * n)),
        alpha(types.c, {2}),
        beta(types.c, {-3}) {
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += a.Get(At(trans_a == ACL_TRANS_T ? l * m + i : i * k + l)) *
                 b.Get(At(trans_b == ACL_TRANS_T ? j * k + l : l * n + j));
        }
        want.push_back(2 * sum - 3 * c.Get(At(i * n + j)));
      }
    }
  }
  static size_t At(int i) { return static_cast<size_t>(i); }
  static std::vector<double> Random(int count) {
    static std::mt19937 rng(1);
    std::vector<double> values(At(count));
    for (double& value : values) value = std::uniform_int_distribution<int>(-4, 4)(rng);
    return values;
  }
  void Expect() {
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS) << LastMessage();
    for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(c.Get(i), want[i]) << i;
  }
  aclTransType trans_a, trans_b;
  int m, n, k;
  Numbers a, b, c, alpha, beta;
  std::vector<double> want;
};

constexpr aclTransType kTrans[] = {ACL_TRANS_N, ACL_TRANS_T};

class Blas : public RuntimeTest {};

TEST_F(Blas, GemmOfAllTypesAndOrders) {
  for (Types types : kTypes) {
    for (aclTransType ta : kTrans) {
      for (aclTransType tb : kTrans) {
        Problem p(types, ta, tb, 3, 5, 7);
        ASSERT_EQ(
            aclblasGemmEx(ta, tb, ACL_TRANS_N, 3, 5, 7, p.alpha.at(), p.a.at(), -1, types.ab, p.b.at(), -1,
                          types.ab, p.beta.at(), p.c.at(), -1, types.c, ACL_COMPUTE_HIGH_PRECISION, nullptr),
            ACL_SUCCESS)
            << LastMessage();
        p.Expect();
        Problem q(types, ta, tb, 2, 1, 4);
        aclopHandle* handle = nullptr;
        ASSERT_EQ(aclblasCreateHandleForGemmEx(ta, tb, ACL_TRANS_N, 2, 1, 4, types.ab, types.ab, types.c,
                                               ACL_COMPUTE_LOW_PRECISION, &handle),
                  ACL_SUCCESS);
        const aclDataBuffer* in[] = {q.a.buffer(), q.b.buffer(), q.c.buffer(), q.alpha.buffer(),
                                     q.beta.buffer()};
        aclDataBuffer* out[] = {q.c.buffer()};
        ASSERT_EQ(aclopExecWithHandle(handle, 5, in, 1, out, nullptr), ACL_SUCCESS) << LastMessage();
        q.Expect();
        aclopDestroyHandle(handle);
      }
    }
  }
}

TEST_F(Blas, GemvOfAllTypesAndOrders) {
  for (Types types : kTypes) {
    for (aclTransType trans : kTrans) {
      // a lies as 3 x 4; transposed, x has 3 elements and y has 4.
      bool swap = trans == ACL_TRANS_T;
      Problem p(types, trans, ACL_TRANS_N, swap ? 4 : 3, 1, swap ? 3 : 4);
      ASSERT_EQ(aclblasGemvEx(trans, 3, 4, p.alpha.at(), p.a.at(), -1, types.ab, p.b.at(), -1, types.ab,
                              p.beta.at(), p.c.at(), -1, types.c, ACL_COMPUTE_HIGH_PRECISION, nullptr),
                ACL_SUCCESS)
          << LastMessage();
      p.Expect();
      aclopHandle* handle = nullptr;
      ASSERT_EQ(aclblasCreateHandleForGemvEx(trans, 3, 4, types.ab, types.ab, types.c,
                                             ACL_COMPUTE_HIGH_PRECISION, &handle),
                ACL_SUCCESS);
      aclopDestroyHandle(handle);
    }
  }
}

TEST_F(Blas, FormsOfOneType) {
  constexpr auto kHigh = ACL_COMPUTE_HIGH_PRECISION;
  Problem h({ACL_FLOAT16, ACL_FLOAT16}, ACL_TRANS_N, ACL_TRANS_T, 4, 3, 2);
  ASSERT_EQ(aclblasHgemm(ACL_TRANS_N, ACL_TRANS_T, ACL_TRANS_N, 4, 3, 2, h.alpha.at<aclFloat16>(),
                         h.a.at<aclFloat16>(), -1, h.b.at<aclFloat16>(), -1, h.beta.at<aclFloat16>(),
                         h.c.at<aclFloat16>(), -1, kHigh, nullptr),
            ACL_SUCCESS);
  h.Expect();
  Problem s({ACL_INT8, ACL_INT32}, ACL_TRANS_T, ACL_TRANS_N, 4, 3, 2);
  ASSERT_EQ(
      aclblasS8gemm(ACL_TRANS_T, ACL_TRANS_N, ACL_TRANS_N, 4, 3, 2, s.alpha.at<int32_t>(), s.a.at<int8_t>(),
                    -1, s.b.at<int8_t>(), -1, s.beta.at<int32_t>(), s.c.at<int32_t>(), -1, kHigh, nullptr),
      ACL_SUCCESS);
  s.Expect();
  Problem v({ACL_FLOAT16, ACL_FLOAT16}, ACL_TRANS_N, ACL_TRANS_N, 4, 1, 2);
  ASSERT_EQ(aclblasHgemv(ACL_TRANS_N, 4, 2, v.alpha.at<aclFloat16>(), v.a.at<aclFloat16>(), -1,
                         v.b.at<aclFloat16>(), -1, v.beta.at<aclFloat16>(), v.c.at<aclFloat16>(), -1, kHigh,
                         nullptr),
            ACL_SUCCESS);
  v.Expect();
  Problem w({ACL_INT8, ACL_INT32}, ACL_TRANS_T, ACL_TRANS_N, 4, 1, 2);
  ASSERT_EQ(aclblasS8gemv(ACL_TRANS_T, 2, 4, w.alpha.at<int32_t>(), w.a.at<int8_t>(), -1, w.b.at<int8_t>(),
                          -1, w.beta.at<int32_t>(), w.c.at<int32_t>(), -1, kHigh, nullptr),
            ACL_SUCCESS);
  w.Expect();
  aclopHandle* handle = nullptr;
  ASSERT_EQ(aclblasCreateHandleForHgemm(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 4, 3, 2, kHigh, &handle),
            ACL_SUCCESS);
  aclopDestroyHandle(handle);
  ASSERT_EQ(aclblasCreateHandleForS8gemm(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 4, 3, 2, kHigh, &handle),
            ACL_SUCCESS);
  aclopDestroyHandle(handle);
  ASSERT_EQ(aclblasCreateHandleForHgemv(ACL_TRANS_N, 4, 3, kHigh, &handle), ACL_SUCCESS);
  aclopDestroyHandle(handle);
  ASSERT_EQ(aclblasCreateHandleForS8gemv(ACL_TRANS_N, 4, 3, kHigh, &handle), ACL_SUCCESS);
  aclopDestroyHandle(handle);
}

TEST_F(Blas, RefusesWhatIsNotPossible) {
  Problem p({ACL_FLOAT16, ACL_FLOAT}, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 2);
  struct Call {
    aclTransType ta = ACL_TRANS_N, tb = ACL_TRANS_N, tc = ACL_TRANS_N;
    int m = 2, n = 2, k = 2, lda = -1, ldb = -1, ldc = -1;
    aclDataType ab = ACL_FLOAT16, c = ACL_FLOAT;
    aclComputeType type = ACL_COMPUTE_HIGH_PRECISION;
    const void* alpha = nullptr;
  };
  auto run = [&](auto change) {
    Call call;
    call.alpha = p.alpha.at();
    change(call);
    return aclblasGemmEx(call.ta, call.tb, call.tc, call.m, call.n, call.k, call.alpha, p.a.at(), call.lda,
                         call.ab, p.b.at(), call.ldb, call.ab, p.beta.at(), p.c.at(), call.ldc, call.c,
                         call.type, nullptr);
  };
  EXPECT_EQ(run([](Call&) {}), ACL_SUCCESS);
  EXPECT_EQ(run([](Call& c) { c.m = 0; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.n = -2; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.k = 1 << 30; }), ACL_ERROR_INVALID_PARAM) << "beyond the block";
  EXPECT_EQ(run([](Call& c) { c.lda = 2; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.ldb = 2; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.ldc = 2; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.ta = ACL_TRANS_NZ; }), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(run([](Call& c) { c.tb = static_cast<aclTransType>(9); }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.tc = ACL_TRANS_T; }), ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(run([](Call& c) { c.c = ACL_INT32; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.ab = ACL_DOUBLE; }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.type = static_cast<aclComputeType>(2); }), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(run([](Call& c) { c.alpha = nullptr; }), ACL_ERROR_INVALID_PARAM);
  aclopHandle* handle = nullptr;
  EXPECT_EQ(aclblasCreateHandleForHgemm(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 0, 2,
                                        ACL_COMPUTE_HIGH_PRECISION, &handle),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclblasCreateHandleForS8gemv(ACL_TRANS_NZ_T, 2, 2, ACL_COMPUTE_HIGH_PRECISION, &handle),
            ACL_ERROR_FEATURE_UNSUPPORTED);
  EXPECT_EQ(aclblasCreateHandleForHgemv(ACL_TRANS_N, 2, 2, ACL_COMPUTE_HIGH_PRECISION, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclblasHgemv(ACL_TRANS_N, 2, 2, p.alpha.at<aclFloat16>(), p.a.at<aclFloat16>(), -1,
                         p.b.at<aclFloat16>(), 1, p.beta.at<aclFloat16>(), p.c.at<aclFloat16>(), -1,
                         ACL_COMPUTE_HIGH_PRECISION, nullptr),
            ACL_ERROR_INVALID_PARAM);
  std::string add = om_builder::BinaryOp("Add", "[2,3]");
  ASSERT_EQ(aclopLoad(add.data(), add.size()), ACL_SUCCESS);
  EXPECT_EQ(run([](Call& c) { c.m = 1; }), ACL_ERROR_OP_NOT_FOUND) << "models were loaded, but none of GEMM";
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
}

}  // namespace
}  // namespace conformance
