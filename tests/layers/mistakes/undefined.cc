// Bytes that nothing has written.
#include "aclnnop/aclnn_add.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

void* Raw(size_t bytes = kBytes) {
  void* block = nullptr;
  OK(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  return block;
}

}  // namespace

MISTAKE(AResultThatNobodyWrote, "undefined-bytes") {
  void* block = Raw();  // [2]
  if (mended) Copy(block, x, a);
  Wait(a);
  Read(block);  // [1]
  Free(block);
}

MISTAKE(ACopyToPinnedMemoryOfNothing, "undefined-bytes") {
  void* block = Raw();  // [2]
  if (mended) Fill(block, a);
  Copy(pinned, block, a);  // [1]
  Wait(a);
  Free(block);
}

MISTAKE(AnOperandWasNotUploaded, "undefined-bytes") {
  void* block = Raw();  // [2]
  if (mended) OK(aclrtMemcpy(block, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  Sum(Vector(x), Vector(block), Vector(y), a);  // [1]
  Wait(a);
  Free(block);
}

// The new block lies where the old one lay.
MISTAKE(WhatWasWrittenWasTheBlockBefore, "undefined-bytes") {
  void* before = Raw();
  Fill(before, a);
  Copy(pinned, before, a);
  Wait(a);
  Free(before);
  void* block = Raw();  // [2]
  if (mended) Fill(block, a);
  Copy(pinned, block, a);  // [1]
  Wait(a);
  Free(block);
}

// The upload went to the first half.
MISTAKE(AnOperandLiesElsewhere, "undefined-bytes") {
  void* block = Raw();  // [2]
  Fill(block, a, kBytes / 2);
  const View operand{block, {256}, {1}, mended ? 0 : 512};
  Sum(operand, Vector(x, 256), Vector(y, 256), a);  // [1]
  Wait(a);
  Free(block);
}

// A copy takes along that nothing was written.
MISTAKE(WhatWasCopiedWasNothing, "undefined-bytes") {
  void *from = Raw(), *to = Raw();  // [2]
  if (mended) Fill(from, a);
  Copy(to, from, a);
  Wait(a);
  Read(to);  // [1]
  Free(from);
  Free(to);
}

// The first stage fails, and nobody looks.
MISTAKE(TheOperatorNeverRan, "undefined-bytes") {
  void* block = Raw();  // [2]
  aclTensor *from = Tensor(Vector(x)), *out = Tensor(Vector(block, mended ? kBytes / 4 : 8));
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  TWIN(aclnnAddGetWorkspaceSize(from, from, alpha, out, &bytes, &executor));
  if (mended) OK(aclnnAdd(nullptr, 0, executor, a));
  Wait(a);
  Read(block, 32);  // [1]
  aclDestroyTensor(from);
  aclDestroyTensor(out);
  aclDestroyScalar(alpha);
  Free(block);
}

// Of a block that other processes have nobody here knows who writes it.
MISTAKE(NoOtherProcessHasIt, "undefined-bytes") {
  void* block = Raw();  // [2]
  char key[65];
  if (mended) OK(aclrtIpcMemGetExportKey(block, kBytes, key, sizeof key, 0));
  Read(block);  // [1]
  Free(block);
}
