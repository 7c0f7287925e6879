/**
 * The gradients of aclnnFlashAttentionVarLenScoreV3. Belay implements this interface on the CPU. A
 * function follows the page of its name in the public API reference; "Page:" gives that page's
 * number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_FLASH_ATTENTION_UNPADDING_SCORE_GRAD_V3_H_
#define BELAY_ACLNNOP_ACLNN_FLASH_ATTENTION_UNPADDING_SCORE_GRAD_V3_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The gradients of aclnnFlashAttentionVarLenScoreV3. Checks the arguments and makes an executor; up
 * to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnFlashAttentionUnpaddingScoreGradV3GetWorkspaceSize(
    const aclTensor *query, const aclTensor *queryRope, const aclTensor *keyIn, const aclTensor
    *keyInRope, const aclTensor *value, const aclTensor *dy, const aclTensor *pseShiftOptional,
    const aclTensor *dropMaskOptional, const aclTensor *paddingMaskOptional, const aclTensor
    *attenMaskOptional, const aclTensor *softmaxMaxOptional, const aclTensor *softmaxSumOptional,
    const aclTensor *softmaxInOptional, const aclTensor *attentionInOptional, const aclIntArray
    *prefixOptional, const aclIntArray *actualSeqQLenOptional, const aclIntArray
    *actualSeqKvLenOptional, const aclIntArray *qStartIdxOptional, const aclIntArray
    *kvStartIdxOptional, double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens,
    int64_t headNum, const char *inputLayout, int64_t innerPrecise, int64_t sparseMode, int64_t
    pseType, aclTensor *dqOut, aclTensor *dqRopeOut, aclTensor *dkOut, aclTensor *dkRopeOut,
    aclTensor *dvOut, aclTensor *dpseOut, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnFlashAttentionUnpaddingScoreGradV3(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_FLASH_ATTENTION_UNPADDING_SCORE_GRAD_V3_H_ */
