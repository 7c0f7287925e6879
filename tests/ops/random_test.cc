// Random shapes, types and layouts. A failing case prints its text, which can go into a .cases
// file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "acl/acl.h"
#include "runner.h"
#include "tensor/promote.h"

namespace belay::cases {
namespace {

class Random : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), 0);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    const char* seed = std::getenv("BELAY_SEED");
    seed_ = seed != nullptr ? static_cast<uint32_t>(std::atoi(seed)) : 20240817;
    rng_.seed(seed_);
    RecordProperty("seed", static_cast<int>(seed_));
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetDevice(0), 0);
    EXPECT_EQ(aclFinalize(), 0);
  }

  int Pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(rng_); }

  const char* Type() {
    static const char* const kTypes[] = {"f32", "f16", "bf16", "f64", "i8",
                                         "i16", "i32", "i64",  "u8",  "bool"};
    return kTypes[Pick(0, 9)];
  }

  tensor::Shape RandomShape(int most_rank) {
    tensor::Shape shape;
    for (int rank = Pick(0, most_rank); shape.rank() < rank;) {
      int kind = Pick(0, 19);
      shape.push_back(kind == 0 ? 0 : kind < 5 ? 1 : kind < 18 ? Pick(2, 6) : rank <= 3 ? Pick(30, 90) : 2);
    }
    return shape;
  }
  // A shape that broadcasts to `full`.
  tensor::Shape Narrowed(const tensor::Shape& full) {
    tensor::Shape shape;
    for (int i = Pick(0, 3) == 0 ? Pick(0, full.rank()) : 0; i < full.rank(); ++i) {
      shape.push_back(Pick(0, 3) == 0 ? 1 : full[i]);
    }
    return shape;
  }
  std::string Tensor(const std::string& type, const tensor::Shape& shape, bool written) {
    std::string text = (written ? ">" : "") + type + "[";
    for (int i = 0; i < shape.rank(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    static const char* const kLayouts[] = {"", "", ".t", ".s", ".o", ".s.o", ".t.o", ".b"};
    return text + "]" + kLayouts[Pick(0, written ? 6 : 7)];
  }
  void Check(const std::string& text) {
    EXPECT_EQ(RunCase(ParseCase(text), static_cast<How>(Pick(0, 2)), rng_()), "")
        << text << "\nseed " << seed_;
  }

  uint32_t seed_ = 0;
  std::mt19937 rng_;
};

DType TypeOf(const char* name) { return tensor::DTypeNamed(name); }

TEST_F(Random, AddAndMul) {
  for (int i = 0; i < 1500;) {
    tensor::Shape full = RandomShape(8);
    tensor::Shape a = Narrowed(full), b = Narrowed(full);
    std::optional<tensor::Shape> shape = BroadcastShapes(a, b);
    const char *type_a = Type(), *type_b = Type(), *type_out = Type();
    if (!shape || !CanCast(tensor::Promote(TypeOf(type_a), TypeOf(type_b)), TypeOf(type_out))) continue;
    std::string inputs = Tensor(type_a, a, false) + " " + Tensor(type_b, b, false);
    std::string out = Tensor(type_out, *shape, true);
    Check(Pick(0, 1) == 0 ? "Add " + inputs + " 2:i64 " + out : "Mul " + inputs + " " + out);
    ++i;
  }
}

TEST_F(Random, CopyAndCast) {
  for (int i = 0; i < 800; ++i) {
    tensor::Shape shape = RandomShape(8);
    if (Pick(0, 1) == 0) {
      const char* to = Type();
      Check("Cast " + Tensor(Type(), shape, false) + " :" + to + " " + Tensor(to, shape, true));
    } else {
      Check("InplaceCopy " + Tensor(Type(), shape, true) + " " + Tensor(Type(), Narrowed(shape), false));
    }
  }
}

TEST_F(Random, Softmax) {
  for (int i = 0; i < 300; ++i) {
    tensor::Shape shape = RandomShape(5);
    int rank = std::max(shape.rank(), 1);
    const char* type = Pick(0, 1) == 0 ? "f32" : "f16";
    Check("Softmax " + Tensor(type, shape, false) + " " + std::to_string(Pick(-rank, rank - 1)) + " " +
          Tensor(type, shape, true) + (type[1] == '3' ? " ~1e-6" : " ~1e-3"));
  }
}

TEST_F(Random, Sum) {
  for (int i = 0; i < 300; ++i) {
    tensor::Shape shape = RandomShape(6), result;
    std::string dims;
    bool keep = Pick(0, 1) == 1, any = false;
    for (int d = 0; d < shape.rank(); ++d) {
      bool folded = Pick(0, 1) == 1;
      if (folded) dims += (any ? "," : "") + std::to_string(Pick(0, 1) == 0 ? d : d - shape.rank());
      any = any || folded;
      if (!folded || keep) result.push_back(folded ? 1 : shape[d]);
    }
    if (!any) result = keep ? tensor::Shape::Filled(shape.rank(), 1) : tensor::Shape{};
    const char* to = Pick(0, 1) == 0 ? "f32" : "i64";
    Check("ReduceSum " + Tensor(Type(), shape, false) + " {" + dims + "} " + (keep ? "1 :" : "0 :") + to +
          " " + Tensor(to, result, true) + " ~1e-5");
  }
}

TEST_F(Random, Matmul) {
  for (int i = 0; i < 300; ++i) {
    int m = Pick(0, 40), n = Pick(1, 40), k = Pick(0, 40);
    tensor::Shape a{m, k}, b{k, n}, out{m, n};
    if (Pick(0, 1) == 0) a = {3, m, k}, out = {3, m, n};
    const char* type = Pick(0, 1) == 0 ? "f32" : Pick(0, 1) == 0 ? "f16" : "bf16";
    const char* tolerance = type[0] == 'b' ? " ~2e-2" : type[1] == '3' ? " ~1e-4" : " ~2e-3";
    Check("Matmul " + Tensor(type, a, false) + " " + Tensor(type, b, false) + " " + Tensor(type, out, true) +
          " 0" + tolerance);
  }
}

}  // namespace
}  // namespace belay::cases
