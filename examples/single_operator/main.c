/* One operator by its name, without a model: y = softmax(x) along the last axis. */
#include "../check.h"

#include "acl/acl_op_compiler.h"

enum { kRows = 2, kColumns = 3 };

int main(void) {
  const float x[kRows][kColumns] = {{1, 2, 3}, {0, 0, 0}};
  const int64_t dims[2] = {kRows, kColumns};
  const int64_t axes[1] = {-1};
  float y[kRows][kColumns];
  aclrtStream stream = NULL;
  void *in = NULL, *out = NULL;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtMalloc(&in, sizeof x, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&out, sizeof y, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(in, sizeof x, x, sizeof x, ACL_MEMCPY_HOST_TO_DEVICE));

  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  aclDataBuffer* from = aclCreateDataBuffer(in, sizeof x);
  aclDataBuffer* to = aclCreateDataBuffer(out, sizeof y);
  const aclTensorDesc* descs[1] = {desc};
  const aclDataBuffer* inputs[1] = {from};
  aclDataBuffer* outputs[1] = {to};
  aclopAttr* attributes = aclopCreateAttr();
  CHECK(aclopSetAttrListInt(attributes, "axes", 1, axes));
  CHECK(aclopCompileAndExecute("SoftmaxV2", 1, descs, inputs, 1, descs, outputs, attributes, ACL_ENGINE_SYS,
                               ACL_COMPILE_SYS, NULL, stream));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(y, sizeof y, out, sizeof y, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) printf(" %.4f", y[row][column]);
    printf("\n");
  }
  aclopDestroyAttr(attributes);
  CHECK(aclDestroyDataBuffer(from));
  CHECK(aclDestroyDataBuffer(to));
  aclDestroyTensorDesc(desc);
  CHECK(aclrtFree(in));
  CHECK(aclrtFree(out));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
