/**
 * One half of each row of x (activateLeft: the first) times its sigmoid and the other half, times
 * smoothScales of its group ([groups, n] or [groups]), quantised as aclnnDynamicQuant does, and
 * scaleOut = 127 / the largest number of each. groupIndex holds running sums (groupListType 0) or
 * counts (1); rows of no group are left as they are. quantMode is dynamic, which takes no offsets;
 * dstType is INT8. Belay implements this interface on the CPU. A function follows the page of its
 * name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_SWI_GLU_QUANT_V2_H_
#define BELAY_ACLNNOP_ACLNN_SWI_GLU_QUANT_V2_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * One half of each row of x (activateLeft: the first) times its sigmoid and the other half, times
 * smoothScales of its group ([groups, n] or [groups]), quantised as aclnnDynamicQuant does, and
 * scaleOut = 127 / the largest number of each. groupIndex holds running sums (groupListType 0) or
 * counts (1); rows of no group are left as they are. quantMode is dynamic, which takes no offsets;
 * dstType is INT8. Checks the arguments and makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnSwiGluQuantV2GetWorkspaceSize(
    const aclTensor *x, const aclTensor *smoothScalesOptional, const aclTensor *offsetsOptional,
    const aclTensor *groupIndexOptional, bool activateLeft, const char *quantModeOptional, int64_t
    groupListType, int64_t dstType, aclTensor *yOut, aclTensor *scaleOut, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnSwiGluQuantV2(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_SWI_GLU_QUANT_V2_H_ */
