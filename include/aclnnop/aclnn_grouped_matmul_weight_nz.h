/**
 * aclnnGroupedMatmulV5 with weights in the tiles of ACL_FORMAT_FRACTAL_NZ, each whole or transposed
 * as a whole. quantGroupSize is 0. Belay implements this interface on the CPU. A function follows
 * the page of its name in the public API reference; "Page:" gives that page's number where it is
 * known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_WEIGHT_NZ_H_
#define BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_WEIGHT_NZ_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * aclnnGroupedMatmulV5 with weights in the tiles of ACL_FORMAT_FRACTAL_NZ, each whole or transposed
 * as a whole. quantGroupSize is 0. Checks the arguments and makes an executor; up to 8 dimensions,
 * any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnGroupedMatmulWeightNzGetWorkspaceSize(
    const aclTensorList *x, const aclTensorList *weight, const aclTensorList *biasOptional, const
    aclTensorList *scaleOptional, const aclTensorList *offsetOptional, const aclTensorList
    *antiquantScaleOptional, const aclTensorList *antiquantOffsetOptional, const aclTensorList
    *perTokenScaleOptional, const aclTensor *groupListOptional, const aclTensorList
    *activationInputOptional, const aclTensorList *activationQuantScaleOptional, const aclTensorList
    *activationQuantOffsetOptional, int64_t splitItem, int64_t groupType, int64_t groupListType,
    int64_t actType, const aclIntArray *tuningConfigOptional, int64_t quantGroupSize, aclTensorList
    *results, aclTensorList *activationFeatureOutOptional, aclTensorList *dynQuantScaleOutOptional,
    uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnGroupedMatmulWeightNz(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_WEIGHT_NZ_H_ */
