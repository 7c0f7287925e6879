/**
 * Single operators. Belay implements this interface on the CPU. A function follows the page of its
 * name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it. Functions that wait: 100000 in a callback, 107022 when
 * the tasks were dropped meanwhile, and the code of a task that failed. A function that returns a
 * value gives 0 or NULL then, if its comment says nothing else.
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

/** An empty set of attributes of an operator. Needs no aclInit. */
aclopAttr *aclopCreateAttr(void);

/** Frees a set of attributes. Needs no aclInit. */
void aclopDestroyAttr(const aclopAttr *attr);

/**
 * Sets attribute attrName to a truth value, 0 for false. The name and the value are copied. Needs
 * no aclInit.
 */
aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue);

/**
 * Sets attribute attrName to a whole number. The name and the value are copied. Needs no aclInit.
 */
aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue);

/** Sets attribute attrName to a number. The name and the value are copied. Needs no aclInit. */
aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue);

/** Sets attribute attrName to a text. The name and the value are copied. Needs no aclInit. */
aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue);

/**
 * Sets attribute attrName to an element type. The name and the value are copied. Needs no aclInit.
 */
aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName, aclDataType attrValue);

/**
 * Sets attribute attrName to numValues truth values, kept as whole numbers. The name and the values
 * are copied. Needs no aclInit.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListBool(
    aclopAttr *attr, const char *attrName, int numValues, const uint8_t *values);

/**
 * Sets attribute attrName to numValues whole numbers. The name and the values are copied. Needs no
 * aclInit.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListInt(
    aclopAttr *attr, const char *attrName, int numValues, const int64_t *values);

/**
 * Sets attribute attrName to numValues numbers. The name and the values are copied. Needs no
 * aclInit.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListFloat(
    aclopAttr *attr, const char *attrName, int numValues, const float *values);

/**
 * Sets attribute attrName to numValues element types, kept as their numbers. The name and the
 * values are copied. Needs no aclInit.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListDataType(
    aclopAttr *attr, const char *attrName, int numValues, const aclDataType values[]);

/**
 * Sets attribute attrName to numValues texts. The name and the values are copied. Needs no aclInit.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListString(
    aclopAttr *attr, const char *attrName, int numValues, const char **values);

/**
 * Sets attribute attrName to numLists lists of whole numbers, list i of numValues[i], kept one
 * behind the other, with their lengths under the name with ".lengths". All is copied. Needs no
 * aclInit.
 * Errors: 100000: a negative count, or no values.
 */
aclError aclopSetAttrListListInt(
    aclopAttr *attr, const char *attrName, int numLists, const int *numValues, const int64_t *const
    values[]);

/**
 * Runs one operator on the stream that was loaded or compiled before; as long as no model was
 * loaded it need not have been.
 * Errors: 100000: arrays or buffers are missing or too small; 100024: models were loaded, but none
 * for this call; 145000: descriptions or attributes do not fit the operator; 145021: a tensor has
 * more than eight dimensions; 200001: there is no such operator here.
 */
aclError aclopExecute(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], const aclDataBuffer
    *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[], aclDataBuffer *const
    outputs[], const aclopAttr *attr, aclrtStream stream);

/**
 * As aclopExecute, and writes the shapes of the results to outputDesc.
 * Errors: 100000: arrays or buffers are missing or too small; 100024: models were loaded, but none
 * for this call; 145000: descriptions or attributes do not fit the operator; 145021: a tensor has
 * more than eight dimensions; 200001: there is no such operator here.
 */
aclError aclopExecuteV2(
    const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int
    numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr *attr, aclrtStream
    stream);

/**
 * Writes type and shape of the results to outputDesc. Where elements of an input decide, its buffer
 * must be readable.
 * Errors: 100000: arrays or buffers are missing or too small; 145000: descriptions or attributes do
 * not fit the operator; 145021: a tensor has more than eight dimensions; 200001: there is no such
 * operator here.
 * Page: aclcppdevg_03_0254
 */
aclError aclopInferShape(
    const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int
    numOutputs, aclTensorDesc *outputDesc[], aclopAttr *attr);

/**
 * An operator with its descriptions and attributes, to be run with aclopExecWithHandle.
 * Errors: 100000: arrays are missing; 100024: models were loaded, but none for this call; 107002:
 * the thread has no context; 145000: descriptions or attributes do not fit the operator; 145021: a
 * tensor has more than eight dimensions; 200001: there is no such operator here.
 */
aclError aclopCreateHandle(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs, const
    aclTensorDesc *const outputDesc[], const aclopAttr *opAttr, aclopHandle **handle);

/** Frees a handle of an operator; runs that are queued go on. Needs no aclInit. */
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
 * Converts the elements of a tensor to the type of dstDesc. truncate is not looked at.
 * Errors: 100000: arrays or buffers are missing or too small; 100024: models were loaded, but none
 * for this call; 145000: descriptions or attributes do not fit the operator; 145021: a tensor has
 * more than eight dimensions; 200001: there is no such operator here.
 */
aclError aclopCast(
    const aclTensorDesc *srcDesc, const aclDataBuffer *srcBuffer, const aclTensorDesc *dstDesc,
    aclDataBuffer *dstBuffer, uint8_t truncate, aclrtStream stream);

/**
 * A handle for aclopExecWithHandle that does what aclopCast does.
 * Errors: 100000: arrays are missing; 100024: models were loaded, but none for this call; 107002:
 * the thread has no context; 145000: descriptions or attributes do not fit the operator; 145021: a
 * tensor has more than eight dimensions; 200001: there is no such operator here.
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
 * Page: aclcppdevg_03_0246
 */
aclError aclopLoad(const void *model, size_t modelSize);

/**
 * How many prepared operators are kept; when there would be more, all are prepared again.
 * Errors: 100000: maxOpNum is 0.
 */
aclError aclopSetMaxOpQueueNum(uint64_t maxOpNum);

/**
 * Registers a kernel that was compiled for a card. Such kernels cannot run here.
 * Not implemented: returns 200001.
 * Page: aclcppdevg_03_0259
 */
aclError aclopCreateKernel(
    const char *opType, const char *kernelId, const char *kernelName, void *binData, int binSize,
    aclopEngineType enginetype, aclDataDeallocator deallocator);

/**
 * Registers the function that chooses the kernel of an operator. Kernels for a card cannot run
 * here.
 * Not implemented: returns 200001.
 */
aclError aclopRegisterCompileFunc(const char *opType, aclopCompileFunc func);

/**
 * Takes aclopRegisterCompileFunc back.
 * Not implemented: returns 200001.
 */
aclError aclopUnregisterCompileFunc(const char *opType);

/**
 * Sets the arguments with which a kernel for a card is launched. Such kernels cannot run here.
 * Not implemented: returns 200001.
 */
aclError aclopSetKernelArgs(
    aclopKernelDesc *kernelDesc, const char *kernelId, uint32_t blockDim, const void *args, uint32_t
    argSize);

/**
 * Sets the bytes of work memory of a kernel for a card. Such kernels cannot run here.
 * Not implemented: returns 200001.
 */
aclError aclopSetKernelWorkspaceSizes(
    aclopKernelDesc *kernelDesc, int numWorkspaces, size_t *workspaceSizes);

/**
 * Chooses the kernel of an operator again, for other descriptions. Kernels for a card cannot run
 * here.
 * Not implemented: returns 200001.
 */
aclError aclopUpdateParams(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs, const
    aclTensorDesc *const outputDesc[], const aclopAttr *attr);

/**
 * Begins to write the arguments of operators to files in the folder path.
 * Not implemented: returns 200001.
 */
aclError aclopStartDumpArgs(uint32_t dumpType, const char *path);

/**
 * Ends what aclopStartDumpArgs began.
 * Not implemented: returns 200001.
 */
aclError aclopStopDumpArgs(uint32_t dumpType);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_OP_H_ */
