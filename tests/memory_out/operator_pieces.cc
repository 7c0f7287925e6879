// Operators: by aclnn, by name, and as aclblas has them.
#include <acl/acl_op.h>
#include <acl/acl_op_compiler.h>
#include <acl/ops/acl_cblas.h>
#include <aclnnop/aclnn_cat.h>
#include <aclnnop/aclnn_convolution.h>
#include <aclnnop/aclnn_mm.h>
#include <aclnnop/aclnn_softmax.h>
#include <aclnnop/aclnn_sort.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "piece.h"
#include "support/om_builder.h"

namespace {

using memory_out::Run;

constexpr int64_t kSide = 16;

// Device memory as square matrices of floats.
struct Matrices {
  float* at(int i) const { return static_cast<float*>(data) + i * kSide * kSide; }
  void* data = nullptr;
};

aclTensor* NewTensor(float* data, const int64_t* dims, uint64_t rank, aclDataType type = ACL_FLOAT) {
  int64_t strides[8] = {};
  int64_t stride = 1;
  for (uint64_t i = rank; i-- > 0; stride *= dims[i]) strides[i] = stride;
  return aclCreateTensor(dims, rank, type, strides, 0, ACL_FORMAT_NCHW, dims, rank, data);
}
aclTensor* Matrix(float* data) {
  const int64_t dims[] = {kSide, kSide};
  return NewTensor(data, dims, 2);
}

template <class Second>
void RunSecond(Run& run, uint64_t size, aclOpExecutor* executor, aclrtStream stream, Second second) {
  void* workspace = nullptr;
  if (size > 0) TRY(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END((size > 0 ? aclrtFree(workspace) : 0));
  TRY(second(workspace, size, executor, stream));
  TRY(aclrtSynchronizeStream(stream));
}

}  // namespace

PIECE(matrix_product_and_softmax) {
  Matrices m;
  TRY(aclrtMalloc(&m.data, 16384, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(m.data));
  for (int64_t i = 0; i < kSide * kSide; ++i) m.at(0)[i] = 1, m.at(1)[i] = static_cast<float>(i / kSide);
  aclrtStream stream = nullptr;
  TRY(aclrtCreateStream(&stream));
  AT_END(aclrtDestroyStreamForce(stream));
  TRY_MADE(a, Matrix(m.at(0)));
  AT_END(aclDestroyTensor(a));
  TRY_MADE(b, Matrix(m.at(1)));
  AT_END(aclDestroyTensor(b));
  TRY_MADE(c, Matrix(m.at(2)));
  AT_END(aclDestroyTensor(c));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnMmGetWorkspaceSize(a, b, c, 0, &size, &executor));
  RunSecond(run, size, executor, stream, &aclnnMm);
  if (run.failed()) return;
  RIGHT(m.at(2)[5] == 120);
  TRY(aclnnSoftmaxGetWorkspaceSize(c, 1, a, &size, &executor));
  RunSecond(run, size, executor, stream, &aclnnSoftmax);
  if (run.failed()) return;
  RIGHT(std::fabs(m.at(0)[7] - 1.0f / kSide) < 1e-6f);
}

namespace {

// The product of ones [m, k] and [k, n], the second of which may lie transposed.
void Multiply(Run& run, float* data, int64_t m, int64_t n, int64_t k, bool transposed) {
  const int64_t a_dims[] = {m, k}, b_dims[] = {k, n}, turned[] = {1, k}, c_dims[] = {m, n};
  std::fill_n(data, m * k + k * n, 1.0f);
  TRY_MADE(a, NewTensor(data, a_dims, 2));
  AT_END(aclDestroyTensor(a));
  TRY_MADE(b, transposed
                  ? aclCreateTensor(b_dims, 2, ACL_FLOAT, turned, 0, ACL_FORMAT_ND, b_dims, 2, data + m * k)
                  : NewTensor(data + m * k, b_dims, 2));
  AT_END(aclDestroyTensor(b));
  float* c_data = data + m * k + k * n;
  TRY_MADE(c, NewTensor(c_data, c_dims, 2));
  AT_END(aclDestroyTensor(c));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnMmGetWorkspaceSize(a, b, c, 0, &size, &executor));
  RunSecond(run, size, executor, nullptr, &aclnnMm);
  if (!run.failed()) RIGHT(c_data[m * n - 1] == static_cast<float>(k));
}

constexpr size_t kProductBytes = 8 << 20;

// So that oneDNN has been used, and has the kernels of one form.
void MultiplyOnce() {
  void* data = nullptr;
  Run run;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0 ||
      aclrtMalloc(&data, kProductBytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0)
    std::abort();
  Multiply(run, static_cast<float*>(data), 16, 16, 16, false);
  if (run.failed() || aclrtFree(data) != 0 || aclFinalize() != 0) std::abort();
}

}  // namespace

PREPARE(products_of_other_forms, MultiplyOnce);
PIECE(products_of_other_forms) {
  void* data = nullptr;
  TRY(aclrtMalloc(&data, kProductBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(data));
  for (bool transposed : {false, true}) {
    for (int64_t m : {1, 7, 200}) {
      for (int64_t n : {1, 5, 300}) {
        for (int64_t k : {4, 500}) {
          Multiply(run, static_cast<float*>(data), m, n, k, transposed);
          if (run.failed()) return;
        }
      }
    }
  }
}

namespace {

// Of a filter of three by three, with one row of padding around the images.
struct Convolved {
  int64_t channels, image, stride, channels_each;  // of each filter
  bool transposed = false;
  int64_t out() const { return transposed ? (image - 1) * stride + 1 : (image - 1) / stride + 1; }
};

void Convolve(Run& run, float* const data[3], const Convolved& c) {
  const int64_t x_dims[] = {1, c.channels, c.image, c.image}, y_dims[] = {1, c.channels, c.out(), c.out()},
                w_dims[] = {c.channels, c.channels_each, 3, 3};
  const int64_t strides[] = {c.stride, c.stride}, ones[] = {1, 1}, none[] = {0, 0};
  TRY_MADE(x, NewTensor(data[0], x_dims, 4));
  AT_END(aclDestroyTensor(x));
  TRY_MADE(w, NewTensor(data[1], w_dims, 4));
  AT_END(aclDestroyTensor(w));
  TRY_MADE(y, NewTensor(data[2], y_dims, 4));
  AT_END(aclDestroyTensor(y));
  TRY_MADE(stride, aclCreateIntArray(strides, 2));
  AT_END(aclDestroyIntArray(stride));
  TRY_MADE(one, aclCreateIntArray(ones, 2));
  AT_END(aclDestroyIntArray(one));
  TRY_MADE(zero, aclCreateIntArray(none, 2));
  AT_END(aclDestroyIntArray(zero));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnConvolutionGetWorkspaceSize(x, w, nullptr, stride, one, one, c.transposed, zero,
                                       c.channels / c.channels_each, y, 0, &size, &executor));
  RunSecond(run, size, executor, nullptr, &aclnnConvolution);
  if (run.failed()) return;
  // The corner has met four taps, and the second row and column the whole filter; of a transposed one, the
  // middle tap and those at the corners.
  const auto sum = [&](int64_t taps) { return static_cast<float>(c.channels_each * taps * 2); };
  RIGHT(data[2][0] == sum(c.transposed ? 1 : 4) && data[2][c.out() + 1] == sum(c.transposed ? 4 : 9));
}

void ConvolveAll(Run& run, const Convolved& c) {
  constexpr size_t kEach = 65536;
  void* memory = nullptr;
  TRY(aclrtMalloc(&memory, 3 * kEach * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(memory));
  auto* floats = static_cast<float*>(memory);
  float* const data[] = {floats, floats + kEach, floats + 2 * kEach};
  for (size_t i = 0; i < kEach; ++i) data[0][i] = 1, data[1][i] = 2, data[2][i] = 0;
  Convolve(run, data, c);
}

}  // namespace

PIECE(convolution) { ConvolveAll(run, {1, kSide, 1, 1}); }
PIECE(convolution_of_many_channels) { ConvolveAll(run, {32, 14, 2, 32}); }
PIECE(convolution_of_each_channel) { ConvolveAll(run, {32, 14, 2, 1}); }
PIECE(convolution_transposed) { ConvolveAll(run, {32, 14, 2, 32, true}); }

PIECE(product_of_bf16) {
  constexpr int64_t kWide = 64;
  void* memory = nullptr;
  TRY(aclrtMalloc(&memory, 3 * kWide * kWide * 2, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(memory));
  auto* half = static_cast<uint16_t*>(memory);
  std::fill_n(half, 2 * kWide * kWide, uint16_t{0x3F80});  // 1
  const int64_t dims[] = {kWide, kWide};
  aclTensor* tensors[3] = {};
  const auto destroy = [&] {
    for (aclTensor* tensor : tensors) {
      if (tensor != nullptr) aclDestroyTensor(tensor);
    }
    return 0;
  };
  AT_END(destroy());
  for (int i = 0; i < 3; ++i) {
    auto* data = reinterpret_cast<float*>(half + i * kWide * kWide);
    tensors[i] = NewTensor(data, dims, 2, ACL_BF16);
    if (!run.Made(tensors[i], "aclCreateTensor")) return;
  }
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnMmGetWorkspaceSize(tensors[0], tensors[1], tensors[2], 0, &size, &executor));
  RunSecond(run, size, executor, nullptr, &aclnnMm);
  if (!run.failed()) RIGHT(half[3 * kWide * kWide - 1] == 0x4280);  // 64
}

PIECE(sort_and_concatenate) {
  Matrices m;
  TRY(aclrtMalloc(&m.data, 16384, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(m.data));
  for (int64_t i = 0; i < kSide * kSide; ++i) m.at(0)[i] = static_cast<float>(i * 37 % 256);
  const int64_t dims[] = {kSide, kSide}, long_dims[] = {2 * kSide, kSide};
  TRY_MADE(x, NewTensor(m.at(0), dims, 2));
  AT_END(aclDestroyTensor(x));
  TRY_MADE(values, NewTensor(m.at(1), dims, 2));
  AT_END(aclDestroyTensor(values));
  TRY_MADE(indices, NewTensor(m.at(2), dims, 2, ACL_INT64));
  AT_END(aclDestroyTensor(indices));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  TRY(aclnnSortGetWorkspaceSize(x, true, 1, false, values, indices, &size, &executor));
  RunSecond(run, size, executor, nullptr, &aclnnSort);
  if (run.failed()) return;
  for (int i = 1; i < kSide; ++i) RIGHT(m.at(1)[i - 1] <= m.at(1)[i]);
  TRY_MADE(twice, NewTensor(m.at(4), long_dims, 2));
  AT_END(aclDestroyTensor(twice));
  aclTensor *first = NewTensor(m.at(0), dims, 2), *second = NewTensor(m.at(1), dims, 2);
  const aclTensor* both[] = {first, second};
  aclTensorList* list = first == nullptr || second == nullptr ? nullptr : aclCreateTensorList(both, 2);
  if (list == nullptr) {  // else they are the list's
    if (first != nullptr) aclDestroyTensor(first);
    if (second != nullptr) aclDestroyTensor(second);
  }
  if (!run.Made(list, "aclCreateTensorList")) return;
  AT_END(aclDestroyTensorList(list));
  TRY(aclnnCatGetWorkspaceSize(list, 0, twice, &size, &executor));
  RunSecond(run, size, executor, nullptr, &aclnnCat);
  if (run.failed()) return;
  RIGHT(m.at(4)[3] == m.at(0)[3] && m.at(5)[3] == m.at(1)[3]);
}

PIECE(operators_by_name) {
  Matrices m;
  TRY(aclrtMalloc(&m.data, 16384, ACL_MEM_MALLOC_HUGE_FIRST));
  AT_END(aclrtFree(m.data));
  for (int i = 0; i < 6; ++i) m.at(0)[i] = static_cast<float>(i), m.at(1)[i] = 10, m.at(2)[i] = 0;
  const int64_t dims[] = {2, 3};
  TRY_MADE(desc, aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND));
  AT_END((aclDestroyTensorDesc(desc), 0));
  TRY_MADE(x, aclCreateDataBuffer(m.at(0), 24));
  AT_END(aclDestroyDataBuffer(x));
  TRY_MADE(y, aclCreateDataBuffer(m.at(1), 24));
  AT_END(aclDestroyDataBuffer(y));
  TRY_MADE(z, aclCreateDataBuffer(m.at(2), 24));
  AT_END(aclDestroyDataBuffer(z));
  TRY_MADE(attributes, aclopCreateAttr());
  AT_END((aclopDestroyAttr(attributes), 0));
  TRY(aclopSetAttrString(attributes, "_a_name_that_no_small_string_holds", "and a text of the same kind"));
  const aclTensorDesc *in_desc[] = {desc, desc}, *out_desc[] = {desc};
  const aclDataBuffer* in[] = {x, y};
  aclDataBuffer* out[] = {z};
  TRY(aclopCompileAndExecute("Add", 2, in_desc, in, 1, out_desc, out, nullptr, ACL_ENGINE_SYS,
                             ACL_COMPILE_SYS, nullptr, nullptr));
  TRY(aclrtSynchronizeStream(nullptr));
  RIGHT(m.at(2)[5] == 15);
  aclopHandle* handle = nullptr;
  TRY(aclopCreateHandle("Mul", 2, in_desc, 1, out_desc, nullptr, &handle));
  AT_END((aclopDestroyHandle(handle), 0));
  TRY(aclopExecWithHandle(handle, 2, in, 1, out, nullptr));
  TRY(aclrtSynchronizeStream(nullptr));
  RIGHT(m.at(2)[5] == 50);
  TRY(aclopCast(desc, x, desc, z, 0, nullptr));
  TRY(aclrtSynchronizeStream(nullptr));
  RIGHT(m.at(2)[5] == 5);
  float one = 1, zero = 0;
  TRY(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3, &one, m.at(0), -1, ACL_FLOAT16, m.at(1),
                    -1, ACL_FLOAT16, &zero, m.at(3), -1, ACL_FLOAT, ACL_COMPUTE_HIGH_PRECISION, nullptr));
  TRY(aclrtSynchronizeStream(nullptr));
}

PIECE(loaded_operators) {
  std::string model;
  {
    memory_out::Exempt exempt;
    model = om_builder::BinaryOp("Add", "[2,3]");
  }
  TRY(aclopLoad(model.data(), model.size()));
}
