// aclrtReduceAsync (page aclcppdevg_03_1871).
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "memory/memory_fixture.h"

namespace conformance {
namespace {

using testing::HasSubstr;

class Reduce : public MemoryTest {
 public:
  static constexpr size_t kBytes = 4096;
  void SetUp() override {
    MemoryTest::SetUp();
    to_ = Device(kBytes), from_ = Device(kBytes);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(to_), kOk);
    EXPECT_EQ(aclrtFree(from_), kOk);
    MemoryTest::TearDown();
  }

  template <class T>
  std::vector<T> Of(aclDataType type, aclrtReduceKind kind, const std::vector<T>& a,
                    const std::vector<T>& b) {
    const size_t bytes = a.size() * sizeof(T);
    std::vector<T> result(a.size());
    EXPECT_EQ(aclrtMemcpy(to_, kBytes, a.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), kOk);
    EXPECT_EQ(aclrtMemcpy(from_, kBytes, b.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), kOk);
    EXPECT_EQ(aclrtReduceAsync(to_, from_, bytes, kind, type, stream_, nullptr), kOk) << LastMessage();
    Sync();
    EXPECT_EQ(aclrtMemcpy(result.data(), bytes, to_, bytes, ACL_MEMCPY_DEVICE_TO_HOST), kOk);
    return result;
  }

  template <class T>
  void Check(aclDataType type) {
    std::mt19937 rng(3);
    std::vector<T> a(100), b(100), sum, most, least;
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<T>(static_cast<int>(rng() % 100) - 50),
      b[i] = static_cast<T>(static_cast<int>(rng() % 100) - 50);
      sum.push_back(static_cast<T>(a[i] + b[i]));
      most.push_back(std::max(a[i], b[i])), least.push_back(std::min(a[i], b[i]));
    }
    EXPECT_EQ(Of(type, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, a, b), sum) << type;
    EXPECT_EQ(Of(type, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, a, b), most) << type;
    EXPECT_EQ(Of(type, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, a, b), least) << type;
  }

  uint8_t *to_ = nullptr, *from_ = nullptr;
};

TEST_F(Reduce, NumbersOfEveryType) {
  Check<int8_t>(ACL_INT8);
  Check<int16_t>(ACL_INT16);
  Check<int32_t>(ACL_INT32);
  Check<float>(ACL_FLOAT);
}

TEST_F(Reduce, NumbersOfTwoBytesAreRoundedOnce) {
  auto half = [](float f) { return aclFloatToFloat16(f); };
  const std::vector<aclFloat16> a{half(1), half(2048), half(65504)}, b{half(0.5F), half(1), half(65504)};
  const std::vector<aclFloat16> sum = Of(ACL_FLOAT16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, a, b);
  EXPECT_EQ(aclFloat16ToFloat(sum[0]), 1.5F);
  EXPECT_EQ(aclFloat16ToFloat(sum[1]), 2048);  // a tie goes to the even one
  EXPECT_TRUE(std::isinf(aclFloat16ToFloat(sum[2])));
  const std::vector<uint16_t> one{0x3f80, 0x4080}, other{0x4000, 0xc0a0};  // 1 and 2, 4 and -5
  EXPECT_EQ(Of(ACL_BF16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, one, other),
            (std::vector<uint16_t>{0x4040, 0xbf80}));
  EXPECT_EQ(Of(ACL_BF16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, one, other),
            (std::vector<uint16_t>{0x3f80, 0xc0a0}));
}

TEST_F(Reduce, WholeNumbersWrapAndWhatIsNoNumberStays) {
  const std::vector<int8_t> sum = Of<int8_t>(ACL_INT8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, {127}, {1});
  EXPECT_EQ(sum[0], -128);
  const float none = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> most =
      Of<float>(ACL_FLOAT, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, {none, 1}, {1, none});
  EXPECT_TRUE(std::isnan(most[0]) && std::isnan(most[1]));
}

TEST_F(Reduce, IsATaskOfItsStream) {
  const size_t bytes = size_t{1} << 20;
  auto* large = Device(bytes);
  ASSERT_EQ(aclrtMemsetAsync(large, bytes, 1, bytes, stream_), kOk);
  aclmdlRI model = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), kOk);
  ASSERT_EQ(
      aclrtReduceAsync(large, large, bytes, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT8, stream_, nullptr),
      kOk);
  ASSERT_EQ(aclmdlRICaptureEnd(stream_, &model), kOk);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(aclmdlRIExecuteAsync(model, stream_), kOk);
  Sync();
  EXPECT_EQ(std::count(large, large + bytes, 8), static_cast<ptrdiff_t>(bytes));  // doubled three times
  EXPECT_EQ(aclmdlRIDestroy(model), kOk);
  EXPECT_EQ(aclrtFree(large), kOk);
}

TEST_F(Reduce, ArgumentsAreChecked) {
  const auto of = [&](void* dst, const void* src, uint64_t count, int kind, int type,
                      void* reserve = nullptr) {
    return aclrtReduceAsync(dst, src, count, static_cast<aclrtReduceKind>(kind),
                            static_cast<aclDataType>(type), stream_, reserve);
  };
  EXPECT_EQ(of(to_, from_, 16, 13, ACL_FLOAT), kNotSupported);
  EXPECT_EQ(of(to_, from_, 16, 9, ACL_FLOAT), kBadArgument);
  EXPECT_EQ(of(to_, from_, 16, 10, ACL_DOUBLE), kNotSupported);
  EXPECT_EQ(of(to_, from_, 16, 10, ACL_UINT32), kNotSupported);
  EXPECT_EQ(of(to_, from_, 16, 10, 1000), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("ACL_BF16"));
  EXPECT_EQ(of(to_, from_, 0, 10, ACL_FLOAT), kBadArgument);
  EXPECT_EQ(of(to_, from_, 18, 10, ACL_FLOAT), kBadArgument);
  EXPECT_EQ(of(to_, from_, 16, 10, ACL_FLOAT, to_), kBadArgument);
  EXPECT_EQ(of(to_, to_ + 8, 16, 10, ACL_FLOAT), kBadArgument);
  EXPECT_THAT(LastMessage(), HasSubstr("overlap"));
  EXPECT_EQ(of(to_, from_, 2 * kBytes, 10, ACL_FLOAT), kBadArgument);
  EXPECT_EQ(of(nullptr, from_, 16, 10, ACL_FLOAT), kBadArgument);
  EXPECT_EQ(of(to_, nullptr, 16, 10, ACL_FLOAT), kBadArgument);
  float local[4] = {};
  EXPECT_EQ(of(to_, local, 16, 10, ACL_FLOAT), kBadArgument);
  EXPECT_EQ(of(local, from_, 16, 10, ACL_FLOAT), kBadArgument);
  Sync();
}

}  // namespace
}  // namespace conformance
