#include "expected.h"

#include <functional>
#include <map>
#include <stdexcept>

#include "ops/reference/reference.h"
#include "tensor/promote.h"

namespace belay::cases {
namespace {

namespace reference = ops::reference;
using reference::Real;
using Arguments = std::vector<Argument>;

// The type that the pages give for the operands; a scalar that is a whole number may join integers.
DType TypeFor(const tensor::Tensor& self, const Argument& other, const tensor::Tensor& out) {
  if (other.kind == Kind::kTensor) return tensor::Promote(self.dtype, other.tensor.dtype);
  DType type = tensor::PromoteScalar(self.dtype, other.dtype);
  return tensor::CanCast(type, out.dtype) ? type : self.dtype;
}

void Binary(const Argument& self, const Argument& other, const Argument& out, const reference::Binary& f) {
  const tensor::Tensor* second = other.kind == Kind::kTensor ? &other.tensor : nullptr;
  reference::Elementwise(f, TypeFor(self.tensor, other, out.tensor), self.tensor, second, other.number,
                         out.tensor);
}

void Scaled(const Arguments& a, size_t out, int sign) {
  Real alpha = a[2].number;
  Binary(a[0], a[1], a[out], [=](Real x, Real y) { return x + sign * alpha * y; });
}
void Product(const Arguments& a, size_t out) {
  Binary(a[0], a[1], a[out], [](Real x, Real y) { return x * y; });
}
void Matmul(const Arguments& a) {
  reference::Matmul(a[0].tensor, a[1].tensor, a[2].tensor, a[3].number == 2);
}

const std::map<std::string, std::function<void(const Arguments&)>> kExpected = {
    {"Add", [](const Arguments& a) { Scaled(a, 3, 1); }},
    {"Adds", [](const Arguments& a) { Scaled(a, 3, 1); }},
    {"InplaceAdd", [](const Arguments& a) { Scaled(a, 0, 1); }},
    {"InplaceAdds", [](const Arguments& a) { Scaled(a, 0, 1); }},
    {"Sub", [](const Arguments& a) { Scaled(a, 3, -1); }},
    {"Subs", [](const Arguments& a) { Scaled(a, 3, -1); }},
    {"InplaceSub", [](const Arguments& a) { Scaled(a, 0, -1); }},
    {"InplaceSubs", [](const Arguments& a) { Scaled(a, 0, -1); }},
    {"Mul", [](const Arguments& a) { Product(a, 2); }},
    {"Muls", [](const Arguments& a) { Product(a, 2); }},
    {"InplaceMul", [](const Arguments& a) { Product(a, 0); }},
    {"InplaceMuls", [](const Arguments& a) { Product(a, 0); }},
    {"Cast", [](const Arguments& a) { reference::Copy(a[0].tensor, a[2].tensor); }},
    {"InplaceCopy", [](const Arguments& a) { reference::Copy(a[1].tensor, a[0].tensor); }},
    {"InplaceFillScalar", [](const Arguments& a) { reference::Fill(a[1].number, a[0].tensor); }},
    {"Mm", Matmul},
    {"Matmul", Matmul},
    {"BatchMatMul", Matmul},
    {"ReduceSum",
     [](const Arguments& a) {
       reference::Sum(a[0].tensor, a[1].ints, a[2].number != 0, a[3].dtype, a[4].tensor);
     }},
    {"Softmax",
     [](const Arguments& a) {
       reference::Softmax(a[0].tensor, static_cast<int64_t>(a[1].number), a[2].tensor);
     }},
};

}  // namespace

void ComputeExpected(const Case& c) {
  auto found = kExpected.find(c.function);
  if (found == kExpected.end()) throw std::runtime_error("no twin for " + c.function);
  found->second(c.arguments);
}

}  // namespace belay::cases
