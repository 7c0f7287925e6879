/**
 * Tensors, scalars, arrays, lists and executors of the two-stage operators. Belay implements this
 * interface on the CPU.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNN_ACL_META_H_
#define BELAY_ACLNN_ACL_META_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Tensor view: dims, strides, offset (elements), storage dims, device pointer; NULL on error */
aclTensor *aclCreateTensor(
    const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
    int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum, void
    *tensorData);

/** Re-initialises an existing tensor object in place */
aclnnStatus aclInitTensor(
    aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const
    int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t
    storageDimsNum, void *tensorDataAddr);

/** Frees view only */
aclnnStatus aclDestroyTensor(const aclTensor *tensor);

/** Allocates and returns view dims */
aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum);

/** Allocates and returns strides */
aclnnStatus aclGetViewStrides(
    const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum);

/** View offset in elements */
aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);

/** Allocates and returns storage dims */
aclnnStatus aclGetStorageShape(
    const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum);

/** Tensor format */
aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);

/** Tensor dtype */
aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType);

/** Copies a scalar value of given dtype */
aclScalar *aclCreateScalar(void *value, aclDataType dataType);

/** Frees */
aclnnStatus aclDestroyScalar(const aclScalar *scalar);

/** Copies int64 values */
aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);

/** Frees */
aclnnStatus aclDestroyIntArray(const aclIntArray *array);

/** Element count */
aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size);

/** Copies float values */
aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);

/** Frees */
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);

/** Element count */
aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size);

/** Copies bools */
aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);

/** Frees */
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);

/** Element count */
aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size);

/**
 * Builds a list from tensor pointers; the list then owns the tensors (per comments in ggml-cann
 * acl_tensor.h)
 */
aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size);

/** Frees list and the tensors in it */
aclnnStatus aclDestroyTensorList(const aclTensorList *array);

/** Tensor count */
aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size);

/** List of scalars */
aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size);

/** Frees list and scalars */
aclnnStatus aclDestroyScalarList(const aclScalarList *array);

/** Scalar count */
aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size);

/** Makes executor reusable for repeated 2nd-phase calls */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);

/** Destroys a repeatable executor */
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

/** Replaces data pointer bound in a repeatable executor */
aclnnStatus aclSetTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Replaces data pointer bound in a repeatable executor */
aclnnStatus aclSetInputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Replaces data pointer bound in a repeatable executor */
aclnnStatus aclSetOutputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Replaces data pointer bound in a repeatable executor */
aclnnStatus aclSetDynamicTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** Replaces data pointer bound in a repeatable executor */
aclnnStatus aclSetDynamicInputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** Replaces data pointer bound in a repeatable executor */
aclnnStatus aclSetDynamicOutputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** Older capital-A spelling of aclSetTensorAddr */
aclnnStatus AclSetTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Older capital-A spelling of aclSetInputTensorAddr */
aclnnStatus AclSetInputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Older capital-A spelling of aclSetOutputTensorAddr */
aclnnStatus AclSetOutputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Older capital-A spelling of aclSetDynamicTensorAddr */
aclnnStatus AclSetDynamicTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** Older capital-A spelling of aclSetDynamicInputTensorAddr */
aclnnStatus AclSetDynamicInputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** Older capital-A spelling of aclSetDynamicOutputTensorAddr */
aclnnStatus AclSetDynamicOutputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNN_ACL_META_H_ */
