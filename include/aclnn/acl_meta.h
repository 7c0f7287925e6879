/**
 * Tensors, scalars, arrays, lists and executors of the two-stage operators. Belay implements this
 * interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 without aclInit, where it is needed; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. A function that returns a value gives 0 or NULL
 * then, if its comment says nothing else.
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
 * Page: operatorlist_00019
 */
aclTensor *aclCreateTensor(
    const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
    int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum, void
    *tensorData);

/**
 * Makes an existing tensor another view, with the arguments of aclCreateTensor.
 * Errors: 161001: a number of sizes without the sizes; 161002: sizes, strides, type or format that
 * no tensor has, or a view beyond its storage.
 */
aclnnStatus aclInitTensor(
    aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const
    int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t
    storageDimsNum, void *tensorDataAddr);

/**
 * Frees the view, not the memory. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyTensor(const aclTensor *tensor);

/** The sizes of the view in a new array, which the caller frees with delete[], and their number. */
aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum);

/**
 * The strides of the view in elements, in a new array, which the caller frees with delete[], and
 * their number.
 */
aclnnStatus aclGetViewStrides(
    const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum);

/** The offset of the view in elements. */
aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset);

/**
 * The sizes of the storage in a new array, which the caller frees with delete[], and their number.
 */
aclnnStatus aclGetStorageShape(
    const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum);

/** The format of a tensor. */
aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format);

/** The element type of a tensor. */
aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType);

/**
 * Gives a tensor other memory (32-byte aligned) for its next use; not between the two stages.
 * Errors: 161002: addr is not 32-byte aligned.
 * Page: operatorlist_00426
 */
aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr);

/**
 * The address of a tensor's memory.
 * Page: operatorlist_00426
 */
aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr);

/** A copy of one value of that type. NULL when value is NULL or no scalar has the type. */
aclScalar *aclCreateScalar(void *value, aclDataType dataType);

/**
 * Frees a scalar. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyScalar(const aclScalar *scalar);

/** A copy of size numbers. NULL when value is not that long. */
aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);

/**
 * Frees an array. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyIntArray(const aclIntArray *array);

/** The number of elements. */
aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size);

/** A copy of size numbers. NULL when value is not that long. */
aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);

/**
 * Frees an array. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);

/** The number of elements. */
aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size);

/** A copy of size truth values. NULL when value is not that long. */
aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);

/**
 * Frees an array. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);

/** The number of elements. */
aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size);

/** A list of size tensors, which then belong to it. NULL when one of them is not alive. */
aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size);

/**
 * Frees a list and its tensors. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyTensorList(const aclTensorList *array);

/** The number of tensors. */
aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size);

/** A list of size scalars, which then belong to it. NULL when one of them is not alive. */
aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size);

/**
 * Frees a list and its scalars. NULL is allowed.
 * Errors: 161002: destroyed already, or never made.
 */
aclnnStatus aclDestroyScalarList(const aclScalarList *array);

/** The number of scalars. */
aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size);

/**
 * Lets the second stage run an executor many times. Call it right after the first stage.
 * Errors: 561103: executor is null or spent.
 * Page: operatorlist_00041
 */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);

/**
 * Frees a repeatable executor; one that the second stage has used up is left alone.
 * Errors: 561103: executor is null, or never was one.
 * Page: operatorlist_00042
 */
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

/**
 * Gives a tensor of a repeatable executor, counted over inputs and outputs, other memory (32-byte
 * aligned).
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the tensor is null.
 * Page: operatorlist_00047
 */
aclnnStatus aclSetTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * As aclSetTensorAddr, counted over the inputs.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the tensor is null.
 */
aclnnStatus aclSetInputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * As aclSetTensorAddr, counted over the outputs.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the tensor is null.
 */
aclnnStatus aclSetOutputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * As aclSetTensorAddr for tensor relativeIndex of the list that is parameter irIndex.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the list is null.
 */
aclnnStatus aclSetDynamicTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * As aclSetDynamicTensorAddr, counted over the inputs.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the list is null.
 */
aclnnStatus aclSetDynamicInputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * As aclSetDynamicTensorAddr, counted over the outputs.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the list is null.
 */
aclnnStatus aclSetDynamicOutputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * The older spelling of aclSetTensorAddr.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the tensor is null.
 */
aclnnStatus AclSetTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * The older spelling of aclSetInputTensorAddr.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the tensor is null.
 */
aclnnStatus AclSetInputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * The older spelling of aclSetOutputTensorAddr.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the tensor is null.
 */
aclnnStatus AclSetOutputTensorAddr(
    aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/**
 * The older spelling of aclSetDynamicTensorAddr.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the list is null.
 */
aclnnStatus AclSetDynamicTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * The older spelling of aclSetDynamicInputTensorAddr.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the list is null.
 */
aclnnStatus AclSetDynamicInputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

/**
 * The older spelling of aclSetDynamicOutputTensorAddr.
 * Errors: 161002: no such tensor, or addr is not 32-byte aligned; 561103: executor is null or
 * spent, or the list is null.
 */
aclnnStatus AclSetDynamicOutputTensorAddr(
    aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex, aclTensorList *tensors,
    void *addr);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNN_ACL_META_H_ */
