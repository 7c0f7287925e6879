/**
 * Writes round(updates / quantScales + quantZeroPoints), halves to the even one, within INT8, to
 * the tensor: updates[i], which has as many elements as the tensor along the dimensions but the
 * first and axis, into batch i from indices[i] of axis on, or, where indices has two columns, into
 * the batch that the first of them says. The scales and points are those of the last dimension,
 * quantAxis; reduction is 1. Belay implements this interface on the CPU. A function follows the
 * page of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_QUANT_SCATTER_H_
#define BELAY_ACLNNOP_ACLNN_QUANT_SCATTER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes round(updates / quantScales + quantZeroPoints), halves to the even one, within INT8, to
 * the tensor: updates[i], which has as many elements as the tensor along the dimensions but the
 * first and axis, into batch i from indices[i] of axis on, or, where indices has two columns, into
 * the batch that the first of them says. The scales and points are those of the last dimension,
 * quantAxis; reduction is 1. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnInplaceQuantScatterGetWorkspaceSize(
    aclTensor *selfRef, const aclTensor *indices, const aclTensor *updates, const aclTensor
    *quantScales, const aclTensor *quantZeroPoints, int64_t axis, int64_t quantAxis, int64_t
    reduction, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnInplaceQuantScatter(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_QUANT_SCATTER_H_ */
