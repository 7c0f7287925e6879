// Operators on views of one block, and what the two stages of an operator are given.
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_group_norm.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_sort.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

// Columns of a matrix of 16 x 16 in the block.
View Columns(void* block, int64_t first, int64_t count) { return {block, {16, count}, {16, 1}, first}; }
View Rows(void* block, int64_t first, int64_t count) { return {block, {count, 16}, {16, 1}, 16 * first}; }
View Dense(void* block, int64_t rows, int64_t columns) { return {block, {rows, columns}, {columns, 1}}; }

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
