/**
 * Single operators. Belay implements this interface on the CPU. A function follows the page of its
 * name in the public API reference; "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_OP_H_
#define BELAY_ACL_ACL_OP_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ACL_ENGINE_SYS = 0,
    ACL_ENGINE_AICORE = 1,
    ACL_ENGINE_VECTOR = 2
} aclopEngineType;

typedef struct aclopAttr aclopAttr;
typedef struct aclopKernelDesc aclopKernelDesc;
typedef struct aclopHandle aclopHandle;

typedef void (*aclDataDeallocator)(void *data, size_t length);

typedef aclError (*aclopCompileFunc)(int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs, const aclTensorDesc *const outputDesc[], const aclopAttr *opAttr, aclopKernelDesc *aclopKernelDesc);

/** An empty set of attributes. */
aclopAttr *aclopCreateAttr(void);

/** Frees it. */
void aclopDestroyAttr(const aclopAttr *attr);

/** A truth value. The name and the value are copied. */
aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue);

/** A whole number. The name and the value are copied. */
aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue);

/** A number. The name and the value are copied. */
aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue);

/** A text. The name and the value are copied. */
aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue);

/** An element type. The name and the value are copied. */
aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName, aclDataType attrValue);

/**
 * Truth values, kept as whole numbers. They are copied.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListBool(
    aclopAttr *attr, const char *attrName, int numValues, const uint8_t *values);

/**
 * Whole numbers. They are copied.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListInt(
    aclopAttr *attr, const char *attrName, int numValues, const int64_t *values);

/**
 * Numbers. They are copied.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListFloat(
    aclopAttr *attr, const char *attrName, int numValues, const float *values);

/**
 * Element types, kept as their numbers. They are copied.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListDataType(
    aclopAttr *attr, const char *attrName, int numValues, const aclDataType values[]);

/**
 * Texts. They are copied.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListString(
    aclopAttr *attr, const char *attrName, int numValues, const char **values);

/**
 * Lists of whole numbers, kept one behind the other, with their lengths under the name with
 * ".lengths".
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListListInt(
    aclopAttr *attr, const char *attrName, int numLists, const int *numValues, const int64_t *const
    values[]);

/**
 * Runs one operator on the stream that was loaded or compiled before; as long as nothing was loaded
 * it need not have been.
 * Errors: 100024: models were loaded, but none for this call; 100000: arrays or buffers are missing
 * or too small; 145000: descriptions or attributes do not fit the operator; 200001: there is no
 * such operator here.
 */
aclError aclopExecute(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], const aclDataBuffer
    *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[], aclDataBuffer *const
    outputs[], const aclopAttr *attr, aclrtStream stream);

/**
 * The same, and writes the shapes of the results to outputDesc.
 * Errors: 100024: models were loaded, but none for this call; 100000: arrays or buffers are missing
 * or too small; 145000: descriptions or attributes do not fit the operator; 200001: there is no
 * such operator here.
 */
aclError aclopExecuteV2(
    const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int
    numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr *attr, aclrtStream
    stream);

/**
 * Writes type and shape of the results to outputDesc. Where elements of an input decide, its buffer
 * must be readable.
 * Errors: 100000: arrays or buffers are missing or too small; 145000: descriptions or attributes do
 * not fit the operator; 200001: there is no such operator here.
 */
aclError aclopInferShape(
    const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int
    numOutputs, aclTensorDesc *outputDesc[], aclopAttr *attr);

/**
 * An operator with its descriptions and attributes, to be run with aclopExecWithHandle.
 * Errors: 100024: models were loaded, but none for this call; 100000: arrays or buffers are missing
 * or too small; 145000: descriptions or attributes do not fit the operator; 200001: there is no
 * such operator here.
 */
aclError aclopCreateHandle(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs, const
    aclTensorDesc *const outputDesc[], const aclopAttr *opAttr, aclopHandle **handle);

/** Frees it. */
void aclopDestroyHandle(aclopHandle *handle);

/**
 * Runs the operator of the handle on the stream.
 * Errors: 100000: other numbers of inputs or outputs than the handle has, or buffers that are too
 * small.
 */
aclError aclopExecWithHandle(
    aclopHandle *handle, int numInputs, const aclDataBuffer *const inputs[], int numOutputs,
    aclDataBuffer *const outputs[], aclrtStream stream);

/**
 * Converts the elements of a tensor.
 * Errors: 100024: models were loaded, but none for this call; 100000: arrays or buffers are missing
 * or too small; 145000: descriptions or attributes do not fit the operator; 200001: there is no
 * such operator here.
 */
aclError aclopCast(
    const aclTensorDesc *srcDesc, const aclDataBuffer *srcBuffer, const aclTensorDesc *dstDesc,
    aclDataBuffer *dstBuffer, uint8_t truncate, aclrtStream stream);

/**
 * A handle that converts the elements of a tensor.
 * Errors: 100024: models were loaded, but none for this call; 100000: arrays or buffers are missing
 * or too small; 145000: descriptions or attributes do not fit the operator; 200001: there is no
 * such operator here.
 */
aclError aclopCreateHandleForCast(
    aclTensorDesc *srcDesc, aclTensorDesc *dstDesc, uint8_t truncate, aclopHandle **handle);

/**
 * Loads every single-operator model (*.om) in the folder, in its folders and in theirs. From then
 * on aclopExecute and kin run only what was loaded or compiled.
 * Errors: 100002: a folder was set before; 100003: no such folder; 545001: a file is no
 * single-operator model.
 */
aclError aclopSetModelDir(const char *modelDir);

/**
 * Loads a single-operator model from memory, which may be freed afterwards.
 * Errors: 545001: the bytes are no single-operator model.
 */
aclError aclopLoad(const void *model, size_t modelSize);

/**
 * How many prepared operators are kept.
 * Errors: 100000: zero.
 */
aclError aclopSetMaxOpQueueNum(uint64_t maxOpNum);

/** Kernels for a card cannot run here. */
aclError aclopCreateKernel(
    const char *opType, const char *kernelId, const char *kernelName, void *binData, int binSize,
    aclopEngineType enginetype, aclDataDeallocator deallocator);

/** Kernels for a card cannot run here. */
aclError aclopRegisterCompileFunc(const char *opType, aclopCompileFunc func);

/** Kernels for a card cannot run here. */
aclError aclopUnregisterCompileFunc(const char *opType);

/** Kernels for a card cannot run here. */
aclError aclopSetKernelArgs(
    aclopKernelDesc *kernelDesc, const char *kernelId, uint32_t blockDim, const void *args, uint32_t
    argSize);

/** Kernels for a card cannot run here. */
aclError aclopSetKernelWorkspaceSizes(
    aclopKernelDesc *kernelDesc, int numWorkspaces, size_t *workspaceSizes);

/** Kernels for a card cannot run here. */
aclError aclopUpdateParams(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs, const
    aclTensorDesc *const outputDesc[], const aclopAttr *attr);

/** Dumps of operators are not written. */
aclError aclopStartDumpArgs(uint32_t dumpType, const char *path);

/** Dumps of operators are not written. */
aclError aclopStopDumpArgs(uint32_t dumpType);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_OP_H_ */
