// Operators of many kinds, as trainings and servers have them: lists of tensors, results whose size the data
// decide, caches, optimisers, random numbers, older interfaces.
#include <initializer_list>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "acl/ops/acl_cblas.h"
#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_foreach_add_scalar_v2.h"
#include "aclnnop/aclnn_gather.h"
#include "aclnnop/aclnn_index_copy.h"
#include "aclnnop/aclnn_index_put_impl.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_nonzero.h"
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_s_where.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_split_with_size.h"
#include "aclnnop/aclnn_topk.h"
#include "aclnnop/aclnn_unique.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

// Tensors of an operator and memory for its work, which last until the device is done.
class Kit {
 public:
  Kit() = default;
  Kit(const Kit&) = delete;
  Kit& operator=(const Kit&) = delete;
  ~Kit() {
    OK(aclrtSynchronizeDevice());
    for (void* block : blocks_) Free(block);
  }
  aclTensor* Of(aclDataType type, std::vector<int64_t> shape, void* at) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    return aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                           shape.size(), at);
  }
  aclTensor* Floats(std::vector<int64_t> shape, void* at) { return Of(ACL_FLOAT, std::move(shape), at); }
  aclTensorList* List(std::initializer_list<aclTensor*> tensors) {
    return aclCreateTensorList(tensors.begin(), tensors.size());
  }
  void* Block(size_t bytes) {
    blocks_.push_back(NewBlock(bytes));
    return blocks_.back();
  }
  // Zeros, as indices are.
  void* Zeros(size_t bytes) {
    void* block = Block(bytes);
    OK(aclrtMemset(block, bytes, 0, bytes));
    return block;
  }
  void* Work(uint64_t bytes) { return bytes == 0 ? nullptr : Block(bytes); }

 private:
  std::vector<void*> blocks_;
};

// The first stage and the second.
#define RUN(kit, stream, op, ...)                             \
  do {                                                        \
    uint64_t bytes = 0;                                       \
    aclOpExecutor* executor = nullptr;                        \
    OK(op##GetWorkspaceSize(__VA_ARGS__, &bytes, &executor)); \
    OK(op((kit).Work(bytes), bytes, executor, stream));       \
  } while (false)

char* Inside(void* block, size_t bytes) { return static_cast<char*>(block) + bytes; }

}  // namespace

// The second tensor of the list is the other stream's.
MISTAKE(ATensorOfAListIsNotThereYet, "race") {
  Kit kit;
  Fill(Inside(x, 1024), b, 1024);  // [1]
  if (mended) Link(b, a);
  float one = 1;
  aclScalar* scalar = aclCreateScalar(&one, ACL_FLOAT);
  RUN(kit, a, aclnnForeachAddScalarV2,  // [2]
      kit.List({kit.Floats({256}, x), kit.Floats({256}, Inside(x, 1024))}), scalar,
      kit.List({kit.Floats({256}, y), kit.Floats({256}, z)}));
}

MISTAKE(OneOfThePartsIsReadTooEarly, "race") {
  Kit kit;
  const int64_t sizes[] = {100, 156};
  aclIntArray* parts = aclCreateIntArray(sizes, 2);
  RUN(kit, a, aclnnSplitWithSize, kit.Floats({256}, x), parts, 0,  // [1]
      kit.List({kit.Floats({100}, y), kit.Floats({156}, z)}));
  if (mended) Link(a, b);
  Copy(Inside(x, 2048), Inside(z, 620), b, 4);  // [2]
}

MISTAKE(APartOfARowIsPutTogetherTooEarly, "race") {
  Kit kit;
  Fill(y, b, 64);  // [1]
  if (mended) Link(b, a);
  RUN(kit, a, aclnnCat, kit.List({kit.Floats({4, 4}, x), kit.Floats({4, 4}, y)}), 1,  // [2]
      kit.Floats({4, 8}, z));
}

// How many are written only the data tell; the buffer has room for all.
MISTAKE(WhatIsSelectedIsReadTooEarly, "race") {
  Kit kit;
  void* mask = kit.Zeros(256);
  OK(aclrtMemset(mask, 256, 1, 256));
  RUN(kit, a, aclnnMaskedSelect, kit.Floats({256}, x), kit.Of(ACL_BOOL, {256}, mask),  // [1]
      kit.Floats({256}, y));
  Wait(mended ? a : b);
  Read(y, 1024);  // [2]
}

MISTAKE(TheMaskComesTooLate, "race") {
  Kit kit;
  void* mask = kit.Zeros(256);
  Fill(mask, b, 256);  // [1]
  if (mended) Link(b, a);
  RUN(kit, a, aclnnSWhere, kit.Of(ACL_BOOL, {256}, mask), kit.Floats({256}, x), kit.Floats({256}, y),  // [2]
      kit.Floats({256}, z));
}

MISTAKE(PlacesAreReadBeforeTheyAreFound, "race") {
  Kit kit;
  void* places = kit.Zeros(2048);
  RUN(kit, a, aclnnNonzero, kit.Floats({256}, x), kit.Of(ACL_INT64, {256, 1}, places));  // [1]
  if (mended) Link(a, b);
  Copy(y, places, b, 2048);  // [2]
}

MISTAKE(TheBestAreTakenWhileScoresAreWritten, "race") {
  Kit kit;
  void* places = kit.Zeros(64);
  RUN(kit, a, aclnnSoftmax, kit.Floats({4, 64}, x), 1, kit.Floats({4, 64}, y));  // [1]
  if (mended) Link(a, b);
  RUN(kit, b, aclnnTopk, kit.Floats({4, 64}, y), 2, 1, true, true, kit.Floats({4, 2}, z),  // [2]
      kit.Of(ACL_INT64, {4, 2}, places));
}

// Weights that are updated while the next forward pass reads them.
MISTAKE(AStepOfTheOptimiserOvertakesTheForwardPass, "race") {
  Kit kit;
  RUN(kit, b, aclnnSoftmax, kit.Floats({4, 32}, x), 1, kit.Floats({4, 32}, y));  // [1]
  if (mended) Link(b, a);
  void* state = kit.Zeros(8192);
  OK(aclrtMemcpy(Inside(state, 4096), 512, z, 512, ACL_MEMCPY_DEVICE_TO_DEVICE));
  std::vector<aclTensor*> one;
  for (int i = 0; i < 7; ++i)
    one.push_back(kit.Floats({1}, Inside(state, 4096 + 64 * static_cast<size_t>(i))));
  RUN(kit, a, aclnnApplyAdamW, kit.Floats({128}, x), kit.Floats({128}, state),  // [2]
      kit.Floats({128}, Inside(state, 1024)), one[0], one[1], one[2], one[3], one[4], one[5], one[6],
      kit.Floats({128}, z), nullptr, false, false);
}

MISTAKE(RandomNumbersAreDrawnWhereSomebodyReads, "race") {
  Kit kit;
  Copy(y, x, b, 1024);  // [1]
  if (mended) Link(b, a);
  RUN(kit, a, aclnnInplaceNormal, kit.Floats({256}, x), 0, 1, 1, 0);  // [2]
}

MISTAKE(GradientsOfATableAreReadTooEarly, "race") {
  Kit kit;
  void* places = kit.Zeros(64);
  RUN(kit, a, aclnnEmbeddingDenseBackward, kit.Floats({8, 16}, x), kit.Of(ACL_INT64, {8}, places), 16,  // [1]
      15, false, kit.Floats({16, 16}, y));
  if (mended) Link(a, b);
  Copy(z, y, b, 1024);  // [2]
}

// A row of the cache is written where the indices say, and all of it is read.
MISTAKE(TheCacheIsReadWhileARowComes, "race") {
  Kit kit;
  void* place = kit.Zeros(8);
  RUN(kit, a, aclnnInplaceIndexCopy, kit.Floats({16, 16}, x), 0, kit.Of(ACL_INT64, {1}, place),  // [1]
      kit.Floats({1, 16}, y));
  if (mended) Link(a, b);
  RUN(kit, b, aclnnSoftmax, kit.Floats({16, 16}, x), 1, kit.Floats({16, 16}, z));  // [2]
}

MISTAKE(ValuesArePutWhileTheTableIsCopied, "race") {
  Kit kit;
  void* place = kit.Zeros(32);
  Copy(z, x, b, 1024);  // [1]
  if (mended) Link(b, a);
  RUN(kit, a, aclnnIndexPutImpl, kit.Floats({16, 16}, x), kit.List({kit.Of(ACL_INT64, {4}, place)}),  // [2]
      kit.Floats({4, 16}, y), true, false);
}

MISTAKE(IndicesAreFilledUnderAGather, "race") {
  Kit kit;
  void* places = kit.Zeros(512);
  RUN(kit, a, aclnnGather, kit.Floats({64}, x), 0, kit.Of(ACL_INT64, {64}, places),  // [1]
      kit.Floats({64}, y));
  if (mended) Link(a, b);
  Fill(places, b, 512);  // [2]
}

MISTAKE(OneOfTwoResultsIsAwaited, "race") {
  Kit kit;
  void* inverse = kit.Zeros(2048);
  RUN(kit, a, aclnnUnique, kit.Floats({256}, x), true, true, kit.Floats({256}, y),  // [1]
      kit.Of(ACL_INT64, {256}, inverse));
  if (mended) Link(a, b);
  Copy(z, inverse, b, 2048);  // [2]
}

MISTAKE(ASumIsTakenOverHalfAnUpload, "race") {
  Kit kit;
  OK(aclrtMemcpyAsync(Inside(x, 1020), 4, pinned, 4, ACL_MEMCPY_HOST_TO_DEVICE, b));  // [1]
  if (mended) Link(b, a);
  const int64_t all = 0;
  RUN(kit, a, aclnnReduceSum, kit.Floats({256}, x), aclCreateIntArray(&all, 1), false, ACL_FLOAT,  // [2]
      kit.Floats({}, y));
}

// Columns of a matrix, one stream each, and the second copies one column too many.
MISTAKE(AStridedCopyTakesOneColumnTooMany, "race") {
  Kit kit;
  const int64_t shape[] = {16, 4}, wide[] = {16, mended ? 4 : 5}, strides[] = {16, 1}, storage = 256;
  aclTensor* left = aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, &storage, 1, x);
  aclTensor* right =
      aclCreateTensor(wide, 2, ACL_FLOAT, strides, mended ? 4 : 3, ACL_FORMAT_ND, &storage, 1, x);
  RUN(kit, a, aclnnInplaceCopy, left, kit.Floats({16, 4}, y));         // [1]
  RUN(kit, b, aclnnInplaceCopy, right, kit.Floats({16, wide[1]}, z));  // [2]
}

// The older interface.
MISTAKE(AnOperatorByNameRunsAheadOfItsInput, "race") {
  const int64_t size = 64;
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 1, &size, ACL_FORMAT_ND);
  aclDataBuffer *left = aclCreateDataBuffer(x, 256), *right = aclCreateDataBuffer(y, 256),
                *out = aclCreateDataBuffer(z, 256);
  const aclTensorDesc* inputs[] = {desc, desc};
  const aclTensorDesc* outputs[] = {desc};
  const aclDataBuffer* from[] = {left, right};
  aclDataBuffer* to[] = {out};
  Fill(y, b, 256);  // [1]
  if (mended) Link(b, a);
  OK(aclopCompileAndExecute("Add", 2, inputs, from, 1, outputs, to, nullptr, ACL_ENGINE_SYS,  // [2]
                            ACL_COMPILE_SYS, nullptr, a));
  Wait(a);
  for (aclDataBuffer* buffer : {left, right, out}) OK(aclDestroyDataBuffer(buffer));
  aclDestroyTensorDesc(desc);
}

MISTAKE(AProductOfTheBlasIsReadTooEarly, "race") {
  Kit kit;
  float* scale = static_cast<float*>(kit.Zeros(64));
  OK(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 16, 16, 16, scale, x, -1, ACL_FLOAT16, y,  // [1]
                   -1, ACL_FLOAT16, scale + 8, z, -1, ACL_FLOAT16, ACL_COMPUTE_HIGH_PRECISION, a));
  if (mended) Link(a, b);
  Copy(x, z, b, 512);  // [2]
}
