// Products of matrices and vectors in the manner of cblas: the operator GEMM with its descriptions.
#include <array>

#include "acl/ops/acl_cblas.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "api/run_op.h"
#include "base/codes.h"
#include "base/error.h"
#include "runtime/context.h"
#include "runtime/memory.h"

namespace belay::api {
namespace {

using graph::Buffer;
using graph::OpArgument;
using graph::SingleOp;
using graph::ValueType;
using tensor::DType;
using tensor::Shape;

bool Transposed(aclTransType trans, const char* name) {
  if (trans == ACL_TRANS_N || trans == ACL_TRANS_T) return trans == ACL_TRANS_T;
  bool known = trans == ACL_TRANS_NZ || trans == ACL_TRANS_NZ_T;
  Fail(known ? codes::kFeatureUnsupported : codes::kInvalidParam, "blas-trans",
       "{} is {}; matrices are ACL_TRANS_N or ACL_TRANS_T here", name, static_cast<int>(trans));
}

struct Types {
  DType a, b, c;
};

void CheckTypes(Types types) {
  static constexpr Types kPossible[] = {{DType::kF16, DType::kF16, DType::kF16},
                                        {DType::kF16, DType::kF16, DType::kF32},
                                        {DType::kI8, DType::kI8, DType::kF32},
                                        {DType::kI8, DType::kI8, DType::kI32}};
  for (const Types& possible : kPossible) {
    if (possible.a == types.a && possible.b == types.b && possible.c == types.c) return;
  }
  Fail(codes::kInvalidParam, "blas-types",
       "{} x {} -> {} is not possible; float16 gives float16 or float, int8 gives float or int32",
       NameOf(types.a), NameOf(types.b), NameOf(types.c));
}

// [m, n] = [m, k] x [k, n], where a and b may lie transposed.
struct BlasProduct {
  aclTransType trans_a = ACL_TRANS_N, trans_b = ACL_TRANS_N, trans_c = ACL_TRANS_N;
  int m = 0, n = 0, k = 0;
  Types types = {};
  aclComputeType precision = ACL_COMPUTE_HIGH_PRECISION;
};

SingleOp GemmOp(const BlasProduct& p) {
  if (p.m < 1 || p.n < 1 || p.k < 1)
    Fail(codes::kInvalidParam, "blas-size", "the sizes {}, {}, {} are not all positive", p.m, p.n, p.k);
  bool swap_a = Transposed(p.trans_a, "transA"), swap_b = Transposed(p.trans_b, "transB");
  if (p.trans_c != ACL_TRANS_N)
    Fail(p.trans_c <= ACL_TRANS_NZ_T ? codes::kFeatureUnsupported : codes::kInvalidParam, "blas-trans",
         "transC is {}; only ACL_TRANS_N is possible", static_cast<int>(p.trans_c));
  if (p.precision != ACL_COMPUTE_HIGH_PRECISION && p.precision != ACL_COMPUTE_LOW_PRECISION) {
    Fail(codes::kInvalidParam, "blas-precision", "there is no precision {}", static_cast<int>(p.precision));
  }
  CheckTypes(p.types);
  auto of = [](DType dtype, Shape shape) { return ValueType{dtype, tensor::Format::kND, true, shape}; };
  auto argument = [&](DType dtype, Shape shape) { return OpArgument{true, of(dtype, shape), nullptr}; };
  SingleOp op{"GEMM", {}, 1, {{"transpose_a", swap_a}, {"transpose_b", swap_b}}, {of(p.types.c, {p.m, p.n})}};
  op.inputs = {argument(p.types.a, swap_a ? Shape{p.k, p.m} : Shape{p.m, p.k}),
               argument(p.types.b, swap_b ? Shape{p.n, p.k} : Shape{p.k, p.n}),
               argument(p.types.c, {p.m, p.n}), argument(p.types.c, {}), argument(p.types.c, {})};
  return op;
}

// Rows and columns of a as it lies; x and y are columns.
BlasProduct ProductWithVector(aclTransType trans, int m, int n, Types types, aclComputeType precision) {
  bool swap = trans == ACL_TRANS_T;
  return {
      .trans_a = trans, .m = swap ? n : m, .n = 1, .k = swap ? m : n, .types = types, .precision = precision};
}

void NeedReserved(std::initializer_list<int> values) {
  for (int value : values) {
    if (value != -1)
      Fail(codes::kInvalidParam, "blas-reserved",
           "lda, ldb, ldc, incx and incy are reserved; pass -1 (one is {})", value);
  }
}

struct Operands {
  const void *alpha, *a, *b, *beta;
  void* c;
};

void Multiply(const BlasProduct& product, const Operands& operands, rt::Stream& stream) {
  SingleOp op = GemmOp(product);
  graph::NeedLoaded(stream.context().device(), op);
  const std::array<const void*, 5> inputs = {operands.a, operands.b, operands.c, operands.alpha,
                                             operands.beta};
  static constexpr std::array<const char*, 5> kNames = {"matrixA", "matrixB", "matrixC", "alpha", "beta"};
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& type = op.inputs[i].type;
    size_t bytes = graph::PackedBytes(type.dtype, CountOf(type.shape));
    rt::CheckRange(inputs[i], bytes, kNames[i]);
    buffers.push_back({const_cast<void*>(inputs[i]), bytes});
  }
  RunOp(op, buffers, {buffers[2]}, stream);
}

constexpr Types kHalf{DType::kF16, DType::kF16, DType::kF16};
constexpr Types kByte{DType::kI8, DType::kI8, DType::kI32};

Types TypesOf(aclDataType a, aclDataType b, aclDataType c) {
  return {static_cast<DType>(a), static_cast<DType>(b), static_cast<DType>(c)};
}

}  // namespace

void aclblasGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                   const void* alpha, const void* matrixA, int lda, aclDataType dataTypeA,
                   const void* matrixB, int ldb, aclDataType dataTypeB, const void* beta, void* matrixC,
                   int ldc, aclDataType dataTypeC, aclComputeType type, rt::Stream& stream) {
  NeedReserved({lda, ldb, ldc});
  Multiply({transA, transB, transC, m, n, k, TypesOf(dataTypeA, dataTypeB, dataTypeC), type},
           {alpha, matrixA, matrixB, beta, matrixC}, stream);
}
void aclblasHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                  const aclFloat16* alpha, const aclFloat16* matrixA, int lda, const aclFloat16* matrixB,
                  int ldb, const aclFloat16* beta, aclFloat16* matrixC, int ldc, aclComputeType type,
                  rt::Stream& stream) {
  NeedReserved({lda, ldb, ldc});
  Multiply({transA, transB, transC, m, n, k, kHalf, type}, {alpha, matrixA, matrixB, beta, matrixC}, stream);
}
void aclblasS8gemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                   const int32_t* alpha, const int8_t* matrixA, int lda, const int8_t* matrixB, int ldb,
                   const int32_t* beta, int32_t* matrixC, int ldc, aclComputeType type, rt::Stream& stream) {
  NeedReserved({lda, ldb, ldc});
  Multiply({transA, transB, transC, m, n, k, kByte, type}, {alpha, matrixA, matrixB, beta, matrixC}, stream);
}

void aclblasGemvEx(aclTransType transA, int m, int n, const void* alpha, const void* a, int lda,
                   aclDataType dataTypeA, const void* x, int incx, aclDataType dataTypeX, const void* beta,
                   void* y, int incy, aclDataType dataTypeY, aclComputeType type, rt::Stream& stream) {
  NeedReserved({lda, incx, incy});
  Multiply(ProductWithVector(transA, m, n, TypesOf(dataTypeA, dataTypeX, dataTypeY), type),
           {alpha, a, x, beta, y}, stream);
}
void aclblasHgemv(aclTransType transA, int m, int n, const aclFloat16* alpha, const aclFloat16* a, int lda,
                  const aclFloat16* x, int incx, const aclFloat16* beta, aclFloat16* y, int incy,
                  aclComputeType type, rt::Stream& stream) {
  NeedReserved({lda, incx, incy});
  Multiply(ProductWithVector(transA, m, n, kHalf, type), {alpha, a, x, beta, y}, stream);
}
void aclblasS8gemv(aclTransType transA, int m, int n, const int32_t* alpha, const int8_t* a, int lda,
                   const int8_t* x, int incx, const int32_t* beta, int32_t* y, int incy, aclComputeType type,
                   rt::Stream& stream) {
  NeedReserved({lda, incx, incy});
  Multiply(ProductWithVector(transA, m, n, kByte, type), {alpha, a, x, beta, y}, stream);
}

void aclblasCreateHandleForGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n,
                                  int k, aclDataType dataTypeA, aclDataType dataTypeB, aclDataType dataTypeC,
                                  aclComputeType type, aclopHandle** handle) {
  *handle =
      NewOpHandle(GemmOp({transA, transB, transC, m, n, k, TypesOf(dataTypeA, dataTypeB, dataTypeC), type}));
}
void aclblasCreateHandleForHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n,
                                 int k, aclComputeType type, aclopHandle** handle) {
  *handle = NewOpHandle(GemmOp({transA, transB, transC, m, n, k, kHalf, type}));
}
void aclblasCreateHandleForS8gemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n,
                                  int k, aclComputeType type, aclopHandle** handle) {
  *handle = NewOpHandle(GemmOp({transA, transB, transC, m, n, k, kByte, type}));
}
void aclblasCreateHandleForGemvEx(aclTransType transA, int m, int n, aclDataType dataTypeA,
                                  aclDataType dataTypeX, aclDataType dataTypeY, aclComputeType type,
                                  aclopHandle** handle) {
  *handle =
      NewOpHandle(GemmOp(ProductWithVector(transA, m, n, TypesOf(dataTypeA, dataTypeX, dataTypeY), type)));
}
void aclblasCreateHandleForHgemv(aclTransType transA, int m, int n, aclComputeType type,
                                 aclopHandle** handle) {
  *handle = NewOpHandle(GemmOp(ProductWithVector(transA, m, n, kHalf, type)));
}
void aclblasCreateHandleForS8gemv(aclTransType transA, int m, int n, aclComputeType type,
                                  aclopHandle** handle) {
  *handle = NewOpHandle(GemmOp(ProductWithVector(transA, m, n, kByte, type)));
}

}  // namespace belay::api
