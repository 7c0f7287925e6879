/**
 * out = the inverse hyperbolic sine of self. Belay implements this interface on the CPU. A function
 * follows the page of its name in the public API reference; "Page:" gives that page's number where
 * it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_ASINH_H_
#define BELAY_ACLNNOP_ACLNN_ASINH_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * out = the inverse hyperbolic sine of self. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnAsinhGetWorkspaceSize(
    const aclTensor *self, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 561103: executor is null or spent.
 */
aclnnStatus aclnnAsinh(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = the inverse hyperbolic sine of self. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnInplaceAsinhGetWorkspaceSize(
    aclTensor *selfRef, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 561103: executor is null or spent.
 */
aclnnStatus aclnnInplaceAsinh(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_ASINH_H_ */
