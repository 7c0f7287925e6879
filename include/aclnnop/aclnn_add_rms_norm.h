/**
 * xOut = x1 + x2; out = xOut divided by the root of its mean square, times gamma. Belay implements
 * this interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_ADD_RMS_NORM_H_
#define BELAY_ACLNNOP_ACLNN_ADD_RMS_NORM_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * xOut = x1 + x2; out = xOut divided by the root of its mean square, times gamma. Checks the
 * arguments and makes an executor; up to 8 dimensions, any strides. Types: f32, f16, bf16 and f64.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnAddRmsNormGetWorkspaceSize(
    const aclTensor *x1, const aclTensor *x2, const aclTensor *gamma, double epsilon, aclTensor
    *out, aclTensor *rstdOut, aclTensor *xOut, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 561103: executor is null or spent.
 */
aclnnStatus aclnnAddRmsNorm(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_ADD_RMS_NORM_H_ */
