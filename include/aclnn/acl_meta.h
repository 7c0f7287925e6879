/**
 * Tensors, scalars, arrays, lists and executors of the two-stage operators. Belay implements this
 * interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNN_ACL_META_H_
#define BELAY_ACLNN_ACL_META_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** 0 is success */
typedef int32_t aclnnStatus;

typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalarList aclScalarList;
typedef struct aclOpExecutor aclOpExecutor;

/**
 * A view of memory: element i is at tensorData + (offset + sum of i[k] * stride[k]) elements.
 * stride NULL means contiguous; storageDims give the elements of the storage, in any rank. The
 * memory stays the caller's. NULL when an argument is wrong.
 */
aclTensor *aclCreateTensor(
    const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
    int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum, void
    *tensorData);

/** Makes an existing tensor another view, with the arguments of aclCreateTensor. */
aclnnStatus aclInitTensor(
    aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const
    int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t
    storageDimsNum, void *tensorDataAddr);

/** Frees the view, not the memory. */
aclnnStatus aclDestroyTensor(const aclTensor *tensor);

/** The dimensions of the view in a new array, which the caller frees. */
aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum);

/** The strides of the view in elements in a new array, which the caller frees. */
aclnnStatus aclGetViewStrides(
    const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum);

/** The offset of the view in elements. */
aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);

/** The dimensions of the storage in a new array, which the caller frees. */
aclnnStatus aclGetStorageShape(
    const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum);

/** The format. */
aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);

/** The data type. */
aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType);

/**
 * Gives a tensor other memory (32-byte aligned) for its next use; not between the two stages.
 * Page: operatorlist_00426
 */
aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr);

/**
 * The address of a tensor's memory.
 * Page: operatorlist_00426
 */
aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr);

/** A copy of the value of a type. */
aclScalar *aclCreateScalar(void *value, aclDataType dataType);

/** Frees a scalar. */
aclnnStatus aclDestroyScalar(const aclScalar *scalar);

/** A copy of size numbers. */
aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);

/** Frees an array. */
aclnnStatus aclDestroyIntArray(const aclIntArray *array);

/** The number of elements. */
aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size);

/** A copy of size numbers. */
aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);

/** Frees an array. */
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);

/** The number of elements. */
aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size);

/** A copy of size truth values. */
aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);

/** Frees an array. */
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);

/** The number of elements. */
aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size);

/** A list of size tensors, which then belong to it. */
aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size);

/** Frees a list and its tensors. */
aclnnStatus aclDestroyTensorList(const aclTensorList *array);

/** The number of tensors. */
aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size);

/** A list of size scalars, which then belong to it. */
aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size);

/** Frees a list and its scalars. */
aclnnStatus aclDestroyScalarList(const aclScalarList *array);

/** The number of scalars. */
aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size);

/**
 * Lets the second stage run an executor many times. Call it right after the first stage.
 * Page: operatorlist_00041
 */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);

/**
 * Frees a repeatable executor; one that the second stage has used up is left alone.
 * Page: operatorlist_00042
 */
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

/**
 * Gives a tensor of a repeatable executor, counted over inputs and outputs, other memory (32-byte
 * aligned).
 * Errors: 161002: no such tensor.
 * Page: operatorlist_00047
 */
aclnnStatus aclSetTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * As aclSetTensorAddr, counted over the inputs.
 * Errors: 161002: no such tensor.
 */
aclnnStatus aclSetInputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * As aclSetTensorAddr, counted over the outputs.
 * Errors: 161002: no such tensor.
 */
aclnnStatus aclSetOutputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * As aclSetTensorAddr for tensor relativeIndex of the list that is parameter irIndex.
 * Errors: 161002: no such tensor.
 */
aclnnStatus aclSetDynamicTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * As aclSetDynamicTensorAddr, counted over the inputs.
 * Errors: 161002: no such tensor.
 */
aclnnStatus aclSetDynamicInputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * As aclSetDynamicTensorAddr, counted over the outputs.
 * Errors: 161002: no such tensor.
 */
aclnnStatus aclSetDynamicOutputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** The older spelling of aclSetTensorAddr. */
aclnnStatus AclSetTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** The older spelling of aclSetInputTensorAddr. */
aclnnStatus AclSetInputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** The older spelling of aclSetOutputTensorAddr. */
aclnnStatus AclSetOutputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** The older spelling of aclSetDynamicTensorAddr. */
aclnnStatus AclSetDynamicTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** The older spelling of aclSetDynamicInputTensorAddr. */
aclnnStatus AclSetDynamicInputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/** The older spelling of aclSetDynamicOutputTensorAddr. */
aclnnStatus AclSetDynamicOutputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNN_ACL_META_H_ */
