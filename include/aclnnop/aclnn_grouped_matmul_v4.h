/**
 * results = activation(x times weight + bias) for each group: of the tensors (groupType -1), of the
 * rows of one x (0), of what is summed over (2). groupListOptional divides one x by running sums
 * (groupListType 0), counts (1) or pairs of an expert and a count (2). actType 0 none, 1 relu, 2
 * gelu by tanh, 4 fast gelu, 5 silu. INT8 times INT8 is summed exactly, plus a bias of INT32, times
 * the scale of columns (packed as aclnnTransQuantParamV2 does for results of INT8; none for INT32)
 * and perTokenScale of rows, plus any other bias. x of FLOAT16 or BFLOAT16 times weights of INT8 or
 * INT4 (as INT4, or eight of them in an INT32): (weight + antiquantOffset) * antiquantScale, of
 * columns, or of groups of rows of INT4. Belay implements this interface on the CPU. A function
 * follows the page of its name in the public API reference; "Page:" gives that page's number where
 * it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_V4_H_
#define BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_V4_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * results = activation(x times weight + bias) for each group: of the tensors (groupType -1), of the
 * rows of one x (0), of what is summed over (2). groupListOptional divides one x by running sums
 * (groupListType 0), counts (1) or pairs of an expert and a count (2). actType 0 none, 1 relu, 2
 * gelu by tanh, 4 fast gelu, 5 silu. INT8 times INT8 is summed exactly, plus a bias of INT32, times
 * the scale of columns (packed as aclnnTransQuantParamV2 does for results of INT8; none for INT32)
 * and perTokenScale of rows, plus any other bias. x of FLOAT16 or BFLOAT16 times weights of INT8 or
 * INT4 (as INT4, or eight of them in an INT32): (weight + antiquantOffset) * antiquantScale, of
 * columns, or of groups of rows of INT4. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnGroupedMatmulV4GetWorkspaceSize(
    const aclTensorList *x, const aclTensorList *weight, const aclTensorList *biasOptional, const
    aclTensorList *scaleOptional, const aclTensorList *offsetOptional, const aclTensorList
    *antiquantScaleOptional, const aclTensorList *antiquantOffsetOptional, const aclTensorList
    *perTokenScaleOptional, const aclTensor *groupListOptional, const aclTensorList
    *activationInputOptional, const aclTensorList *activationQuantScaleOptional, const aclTensorList
    *activationQuantOffsetOptional, int64_t splitItem, int64_t groupType, int64_t groupListType,
    int64_t actType, aclTensorList *results, aclTensorList *activationFeatureOutOptional,
    aclTensorList *dynQuantScaleOutOptional, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnGroupedMatmulV4(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_V4_H_ */
