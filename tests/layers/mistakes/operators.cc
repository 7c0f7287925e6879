// Operators on views of one block, and what the two stages of an operator are given.
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_batch_norm.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_group_norm.h"
#include "aclnnop/aclnn_index_copy.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_slice.h"
#include "aclnnop/aclnn_sort.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

// Columns of a matrix of 16 x 16 in the block.
View Columns(void* block, int64_t first, int64_t count) { return {block, {16, count}, {16, 1}, first}; }
View Rows(void* block, int64_t first, int64_t count) { return {block, {count, 16}, {16, 1}, 16 * first}; }
View Dense(void* block, int64_t rows, int64_t columns) { return {block, {rows, columns}, {columns, 1}}; }

// Indices behind the block's middle, all 0.
aclTensor* Indices(void* block, int64_t count) {
  auto* half = static_cast<char*>(block) + kBytes / 2;
  OK(aclrtMemset(half, kBytes / 2, 0, kBytes / 2));
  const int64_t one = 1;
  return aclCreateTensor(&count, 1, ACL_INT64, &one, 0, ACL_FORMAT_ND, &count, 1, half);
}

// Enough for what is small, until the device has done.
struct Workspace {
  void* block = NewBlock();
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    OK(aclrtSynchronizeDevice());
    Free(block);
  }
};

// Rows of a table of 16 x 16 in x to y.
void LookUpRows(aclTensor* indices, int64_t count, aclrtStream stream, const Workspace& workspace) {
  aclTensor *table = Tensor(Dense(x, 16, 16)), *rows = Tensor(Dense(y, count, 16));
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnEmbeddingGetWorkspaceSize(table, indices, rows, &bytes, &executor));
  OK(aclnnEmbedding(workspace.block, bytes, executor, stream));
  for (aclTensor* tensor : {table, indices, rows}) aclDestroyTensor(tensor);
}

}  // namespace

MISTAKE(ColumnsOverlap, "race") {
  Sum(Dense(y, 16, 8), Dense(y, 16, 8), Columns(x, 0, 8), a);               // [1]
  Sum(Dense(z, 16, 8), Dense(z, 16, 8), Columns(x, mended ? 8 : 7, 8), b);  // [2]
}

MISTAKE(RowsAreReadWhileOneIsWritten, "race") {
  Sum(Dense(y, 1, 16), Dense(y, 1, 16), Rows(x, 5, 1), a);               // [1]
  Sum(Rows(x, mended ? 6 : 4, 2), Dense(y, 2, 16), Dense(z, 2, 16), b);  // [2]
}

// Queries, keys and values lie side by side in each row.
MISTAKE(TheKeysAreReadBeforeTheyAreWritten, "race") {
  Sum(Dense(y, 16, 4), Dense(y, 16, 4), Columns(x, 4, 4), a);  // [1]
  if (mended) Link(a, b);
  Sum(Columns(x, 4, 4), Dense(y, 16, 4), Dense(z, 16, 4), b);  // [2]
}

MISTAKE(ATransposedViewIsTheSameMemory, "race") {
  Sum(Dense(y, 16, 16), Dense(y, 16, 16), Dense(x, 16, 16), a);  // [1]
  if (mended) Link(a, b);
  Sum({x, {16, 16}, {1, 16}}, Dense(y, 16, 16), Dense(z, 16, 16), b);  // [2]
}

// Every other element, and the first of them again.
MISTAKE(StepsMeet, "race") {
  Sum({y, {64}, {1}}, {y, {64}, {1}}, {x, {64}, {2}}, a);                  // [1]
  Sum({z, {64}, {1}}, {z, {64}, {1}}, {x, {64}, {2}, mended ? 1 : 2}, b);  // [2]
}

MISTAKE(ABroadcastRowIsOverwritten, "race") {
  Sum(Dense(y, 16, 16), {x, {16, 16}, {0, 1}}, Dense(z, 16, 16), a);               // [1]
  OK(aclrtMemsetAsync(static_cast<char*>(x) + (mended ? 64 : 60), 64, 0, 64, b));  // [2]
}

// Two halves of one result; what is put together needs both.
MISTAKE(OneHalfIsMissing, "race") {
  Sum(Vector(y, 64), Vector(y, 64), {x, {64}, {1}}, a);
  Sum(Vector(y, 64), Vector(y, 64), {x, {64}, {1}, 64}, b);  // [1]
  Link(a, c);
  if (mended) Link(b, c);
  Sum(Vector(x, 128), Vector(y, 128), Vector(z, 128), c);  // [2]
}

// Each sample of a batch on a stream of its own, one row too far.
MISTAKE(SamplesOfABatchOverlap, "race") {
  Sum(Dense(y, 8, 16), Dense(y, 8, 16), Rows(x, 0, 8), a);               // [1]
  Sum(Dense(y, 8, 16), Dense(y, 8, 16), Rows(x, mended ? 8 : 7, 8), b);  // [2]
}

MISTAKE(AnInputIsReplacedWhileItIsRead, "race") {
  Sum(Vector(x), Vector(y), Vector(z), a);  // [1]
  if (mended) Link(a, b);
  Copy(x, pinned, b);  // [2]
}

MISTAKE(AMatrixIsMultipliedBeforeItIsThere, "race") {
  Copy(x, pinned, a);  // [1]
  if (mended) Link(a, b);
  aclTensor* tensors[] = {Tensor(Dense(x, 16, 16)), Tensor(Dense(y, 16, 16)), Tensor(Dense(z, 16, 16))};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnMatmulGetWorkspaceSize(tensors[0], tensors[1], tensors[2], 0, &bytes, &executor));
  void* workspace = bytes == 0 ? nullptr : NewBlock(bytes);
  OK(aclnnMatmul(workspace, bytes, executor, b));  // [2]
  Wait(b);
  if (workspace != nullptr) Free(workspace);
}

// Results of one operator, operand of the next on another stream.
MISTAKE(AnOperatorRunsAheadOfItsOperand, "race") {
  Sum(Vector(x), Vector(x), Vector(y), a);  // [1]
  if (mended) Link(a, b);
  Sum(Vector(y), Vector(y), Vector(z), b);  // [2]
}

MISTAKE(OneWorkspaceForTwoStreams, "race") {
  uint64_t bytes = 0, again = 0;
  aclOpExecutor* first = PrepareSort(&bytes);
  void* workspace = NewBlock(bytes);
  OK(aclnnSort(workspace, bytes, first, a));  // [1]
  if (mended) Link(a, b);
  const int64_t size = 64, one = 1;
  aclTensor *from = Tensor(Vector(z, size)), *to = Tensor({z, {size}, {1}, 256});
  aclTensor* places = aclCreateTensor(&size, 1, ACL_INT64, &one, 0, ACL_FORMAT_ND, &size, 1,
                                      static_cast<char*>(z) + kBytes / 2);
  aclOpExecutor* second = nullptr;
  OK(aclnnSortGetWorkspaceSize(from, true, 0, false, to, places, &again, &second));
  OK(aclnnSort(workspace, bytes, second, b));  // [2]
  OK(aclrtSynchronizeDevice());
  Free(workspace);
}

MISTAKE(TheWorkspaceIsTooShort, "short-workspace") {
  uint64_t bytes = 0;
  aclOpExecutor* executor = PrepareSort(&bytes);
  void* workspace = NewBlock(bytes);
  TWIN(aclnnSort(workspace, mended ? bytes : bytes - 1, executor, a));  // [1]
  Wait(a);
  Free(workspace);
}

MISTAKE(TheWorkspaceIsFreedAtOnce, "free-while-used") {
  uint64_t bytes = 0;
  aclOpExecutor* executor = PrepareSort(&bytes);
  void* workspace = NewBlock(bytes);
  OK(aclnnSort(workspace, bytes, executor, a));  // [2]
  if (mended) Wait(a);
  Free(workspace);  // [1]
}

// A block of as many bytes as there are numbers, as ggml has it.
MISTAKE(StatisticsOverlap, "results-overlap") {
  const int64_t groups = 8, apart = mended ? groups : groups / 4;
  aclTensor* of[] = {Tensor({x, {1, groups, 4}, {groups * 4, 4, 1}}),
                     Tensor({y, {1, groups, 4}, {groups * 4, 4, 1}}), Tensor({z, {1, groups}, {groups, 1}}),
                     Tensor({z, {1, groups}, {groups, 1}, apart})};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnGroupNormGetWorkspaceSize(of[0], nullptr, nullptr, 1, groups, 4, groups, 1e-5, of[1], of[2], of[3],
                                    &bytes, &executor));
  void* workspace = bytes == 0 ? nullptr : NewBlock(bytes);
  OK(aclnnGroupNorm(workspace, bytes, executor, a));  // [1]
  Wait(a);
  if (workspace != nullptr) Free(workspace);
}

MISTAKE(AnOperatorIsGivenHostMemory, "host-memory-on-device") {
  TWIN(Add(Vector(mended ? x : host, 8), Vector(y, 8), Vector(z, 8), a));  // [1]
}

MISTAKE(AnOperatorIsGivenPinnedMemory, "host-memory-on-device") {
  TWIN(Add(Vector(mended ? x : pinned, 8), Vector(y, 8), Vector(z, 8), a));  // [1]
}

MISTAKE(ATensorIsLongerThanItsBlock, "beyond-end") {
  void* block = NewBlock(kBytes / 2);                              // [2]
  TWIN(Add(Vector(mended ? x : block), Vector(y), Vector(z), a));  // [1]
  Wait(a);
  Free(block);
}

// Each row is longer than the shape says, so that the last one ends behind the block.
MISTAKE(TheStridesReachTooFar, "beyond-end") {
  void* block = NewBlock(1024);  // [2]
  const View rows{block, {16, 16}, {mended ? 16 : 17, 1}};
  TWIN(Add(rows, Dense(y, 16, 16), Dense(z, 16, 16), a));  // [1]
  Wait(a);
  Free(block);
}

MISTAKE(TheOffsetIsCountedInBytes, "beyond-end") {
  void* block = NewBlock(1024);  // [2]
  const View half{block, {128}, {1}, mended ? 128 : 512};
  TWIN(Add(half, Vector(y, 128), Vector(z, 128), a));  // [1]
  Wait(a);
  Free(block);
}

// --- which of the elements are touched the data or the attributes say; but some are

MISTAKE(IndicesComeTooLate, "race") {
  const Workspace workspace;
  aclTensor* indices = Indices(z, 4);
  OK(aclrtMemsetAsync(static_cast<char*>(z) + kBytes / 2 + 8, 1, 1, 1, a));  // [1]
  if (mended) Link(a, b);
  LookUpRows(indices, 4, b, workspace);  // [2]
}

MISTAKE(ATableIsReplacedWhileItIsLookedUp, "race") {
  const Workspace workspace;
  LookUpRows(Indices(z, 4), 4, a, workspace);  // [1]
  if (mended) Link(a, b);
  Copy(x, pinned, b);  // [2]
}

MISTAKE(ATableIsCopiedWhileARowIsReplaced, "race") {
  const Workspace workspace;
  aclTensor *table = Tensor(Dense(x, 16, 16)), *indices = Indices(z, 1), *row = Tensor(Dense(z, 1, 16));
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnInplaceIndexCopyGetWorkspaceSize(table, 0, indices, row, &bytes, &executor));
  OK(aclnnInplaceIndexCopy(workspace.block, bytes, executor, a));  // [1]
  for (aclTensor* tensor : {table, indices, row}) aclDestroyTensor(tensor);
  if (mended) Link(a, b);
  Copy(y, x, b);  // [2]
}

MISTAKE(AnImageIsNotThereYet, "race") {
  aclTensor* tensors[] = {Tensor({x, {1, 1, 16, 16}, {256, 256, 16, 1}}),
                          Tensor({y, {1, 1, 3, 3}, {9, 9, 3, 1}}),
                          Tensor({z, {1, 1, 14, 14}, {196, 196, 14, 1}})};
  const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
  aclIntArray *one = aclCreateIntArray(ones, 2), *zero = aclCreateIntArray(zeros, 2);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnConvolutionGetWorkspaceSize(tensors[0], tensors[1], nullptr, one, zero, one, false, zero, 1,
                                      tensors[2], 0, &bytes, &executor));
  void* workspace = bytes == 0 ? nullptr : NewBlock(bytes);
  Copy(x, pinned, a);  // [1]
  if (mended) Link(a, b);
  OK(aclnnConvolution(workspace, bytes, executor, b));  // [2]
  Wait(b);
  if (workspace != nullptr) Free(workspace);
  for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
  for (aclIntArray* array : {one, zero}) aclDestroyIntArray(array);
}

// --- executors

MISTAKE(AnExecutorIsUsedUp, "use-after-destroy") {
  uint64_t bytes = 0;
  aclOpExecutor* executor = PrepareSort(&bytes);
  void* workspace = NewBlock(bytes);
  if (mended) OK(aclSetAclOpExecutorRepeatable(executor));
  OK(aclnnSort(workspace, bytes, executor, a));
  TWIN(aclnnSort(workspace, bytes, executor, a));  // [1]
  Wait(a);
  if (mended) OK(aclDestroyAclOpExecutor(executor));
  Free(workspace);
}

MISTAKE(ARepeatableExecutorIsDestroyedTooSoon, "use-after-destroy") {
  uint64_t bytes = 0;
  aclOpExecutor* executor = PrepareSort(&bytes);
  void* workspace = NewBlock(bytes);
  OK(aclSetAclOpExecutorRepeatable(executor));
  if (!mended) OK(aclDestroyAclOpExecutor(executor));  // [2]
  TWIN(aclnnSort(workspace, bytes, executor, a));      // [1]
  Wait(a);
  if (mended) OK(aclDestroyAclOpExecutor(executor));
  Free(workspace);
}

MISTAKE(ATensorIsDestroyedTwice, "use-after-destroy") {
  aclTensor* tensor = Tensor(Vector(x));
  OK(aclDestroyTensor(tensor));
  if (!mended) TWIN(aclDestroyTensor(tensor));  // [1]
}

// A diagonal and a part of a row.
MISTAKE(ADiagonalCrossesARow, "race") {
  const int64_t size = mended ? 3 : 4;
  const View diagonal{x, {16}, {33}}, row{x, {size}, {1}, 30};
  Sum(diagonal, diagonal, diagonal, a);  // [1]
  Sum(row, Vector(y, size), row, b);     // [2]
}

MISTAKE(WindowsOverlap, "race") {
  const View first{x, {8, 8}, {16, 1}}, second{x, {8, 8}, {16, 1}, mended ? 8 : 7};
  Sum(first, first, first, a);             // [1]
  Sum(second, Dense(z, 8, 8), second, b);  // [2]
}

namespace {

// y + z to x, again and again.
struct Repeated {
  aclTensor *left = Tensor(Vector(y)), *right = Tensor(Vector(z)), *out = Tensor(Vector(x));
  aclOpExecutor* executor = nullptr;
  Repeated() {
    float one = 1;
    uint64_t bytes = 0;
    OK(aclnnAddGetWorkspaceSize(left, right, aclCreateScalar(&one, ACL_FLOAT), out, &bytes, &executor));
    OK(aclSetAclOpExecutorRepeatable(executor));
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;
  ~Repeated() {
    Wait(a);
    OK(aclDestroyAclOpExecutor(executor));
  }
  int Run() { return aclnnAdd(nullptr, 0, executor, a); }
};

}  // namespace

MISTAKE(TheNextOperandIsNotThereYet, "race") {
  void* next = NewBlock();
  {
    Repeated add;
    OK(add.Run());
    Copy(next, z, b);  // [1]
    if (mended) Link(b, a);
    OK(aclSetInputTensorAddr(add.executor, 0, add.left, next));
    OK(add.Run());  // [2]
  }
  Wait(b);
  Free(next);
}

MISTAKE(TheNextOperandIsGone, "use-after-free") {
  void* next = NewBlock();  // [3]
  {
    Repeated add;
    OK(aclSetInputTensorAddr(add.executor, 0, add.left, next));
    if (!mended) Free(next);  // [2]
    TWIN(add.Run());          // [1]
  }
  if (mended) Free(next);
}

MISTAKE(ASliceMeetsARow, "race") {
  Fill(static_cast<char*>(x) + 4 * 64, a, 64);  // [1]
  aclTensor* tensors[] = {Tensor(Dense(x, 16, 16)), Tensor(Dense(y, mended ? 3 : 4, 16))};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnSliceGetWorkspaceSize(tensors[0], 0, mended ? 5 : 4, 8, 1, tensors[1], &bytes, &executor));
  OK(aclnnSlice(nullptr, 0, executor, b));  // [2]
}

// What a training leaves beside its result.
MISTAKE(RunningMeansAreCopiedWhileTheyMove, "race") {
  aclTensor *images = Tensor({x, {4, 8, 2, 2}, {32, 4, 2, 1}}),
            *normal = Tensor({y, {4, 8, 2, 2}, {32, 4, 2, 1}});
  aclTensor* rows[4];
  for (int64_t i = 0; i < 4; ++i) rows[i] = Tensor({z, {8}, {1}, 8 * i});
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnBatchNormGetWorkspaceSize(images, nullptr, nullptr, rows[0], rows[1], true, 0.1, 1e-5, normal,
                                    rows[2], rows[3], &bytes, &executor));
  const Workspace workspace;
  OK(aclnnBatchNorm(workspace.block, bytes, executor, a));                                // [1]
  Copy(static_cast<char*>(x) + 2048, static_cast<char*>(z) + (mended ? 128 : 0), b, 32);  // [2]
}
