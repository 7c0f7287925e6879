/**
 * y = round(n * scale + offset), halves to the even one, within INT8, n being the rows of x divided
 * by the root of their mean square, times gamma plus beta, which have a row's elements. scale and
 * offset are one number. Belay implements this interface on the CPU. A function follows the page of
 * its name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_RMS_NORM_QUANT_H_
#define BELAY_ACLNNOP_ACLNN_RMS_NORM_QUANT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * y = round(n * scale + offset), halves to the even one, within INT8, n being the rows of x divided
 * by the root of their mean square, times gamma plus beta, which have a row's elements. scale and
 * offset are one number. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnRmsNormQuantGetWorkspaceSize(
    const aclTensor *x, const aclTensor *gamma, const aclTensor *beta, const aclTensor *scale, const
    aclTensor *offset, double epsilon, aclTensor *y, uint64_t *workspaceSize, aclOpExecutor
    **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnRmsNormQuant(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_RMS_NORM_QUANT_H_ */
