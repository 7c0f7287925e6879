/**
 * out = onValue where self names the place along axis and offValue elsewhere; other numbers give
 * offValue only. Belay implements this interface on the CPU. A function follows the page of its
 * name in the public API reference; "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_ONE_HOT_H_
#define BELAY_ACLNNOP_ACLNN_ONE_HOT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * out = onValue where self names the place along axis and offValue elsewhere; other numbers give
 * offValue only. Checks the arguments and makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnOneHotGetWorkspaceSize(
    const aclTensor *self, int64_t depth, const aclTensor *onValue, const aclTensor *offValue,
    int64_t axis, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 561103: executor is null or spent.
 */
aclnnStatus aclnnOneHot(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_ONE_HOT_H_ */
