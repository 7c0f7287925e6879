/**
 * y = activation(x times weight1 + bias1) times weight2 + bias2, of the rows of each expert where
 * expertTokens has their numbers, or (tokensIndexFlag) running sums. activation relu, gelu,
 * fastgelu or silu. INT8 times INT8 is summed exactly, plus a bias of INT32, times deqScale of
 * columns; what is between becomes INT8 by scale and offset of an expert (or scale of each column).
 * Weights of INT8 and x of floats: (weight + antiquantOffset) * antiquantScale of columns. Belay
 * implements this interface on the CPU. A function follows the page of its name in the public API
 * reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_FFN_V2_H_
#define BELAY_ACLNNOP_ACLNN_FFN_V2_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * y = activation(x times weight1 + bias1) times weight2 + bias2, of the rows of each expert where
 * expertTokens has their numbers, or (tokensIndexFlag) running sums. activation relu, gelu,
 * fastgelu or silu. INT8 times INT8 is summed exactly, plus a bias of INT32, times deqScale of
 * columns; what is between becomes INT8 by scale and offset of an expert (or scale of each column).
 * Weights of INT8 and x of floats: (weight + antiquantOffset) * antiquantScale of columns. Checks
 * the arguments and makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnFFNV2GetWorkspaceSize(
    const aclTensor *x, const aclTensor *weight1, const aclTensor *weight2, const aclIntArray
    *expertTokensOptional, const aclTensor *bias1Optional, const aclTensor *bias2Optional, const
    aclTensor *scaleOptional, const aclTensor *offsetOptional, const aclTensor *deqScale1Optional,
    const aclTensor *deqScale2Optional, const aclTensor *antiquantScale1Optional, const aclTensor
    *antiquantScale2Optional, const aclTensor *antiquantOffset1Optional, const aclTensor
    *antiquantOffset2Optional, const char *activation, int64_t innerPrecise, bool tokensIndexFlag,
    aclTensor *y, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnFFNV2(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_FFN_V2_H_ */
