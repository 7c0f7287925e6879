/**
 * aclnnFusedInferAttentionScoreV3 with learnableSink: a score for each head that joins the sum of
 * powers and has no value. Belay implements this interface on the CPU. A function follows the page
 * of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V4_H_
#define BELAY_ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V4_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * aclnnFusedInferAttentionScoreV3 with learnableSink: a score for each head that joins the sum of
 * powers and has no value. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnFusedInferAttentionScoreV4GetWorkspaceSize(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor
    *pseShift, const aclTensor *attenMask, const aclIntArray *actualSeqQLen, const aclIntArray
    *actualSeqKvLen, const aclTensor *dequantScale1, const aclTensor *quantScale1, const aclTensor
    *dequantScale2, const aclTensor *quantScaleOut, const aclTensor *quantOffsetOut, const aclTensor
    *antiquantScale, const aclTensor *antiquantOffset, const aclTensor *blockTable, const aclTensor
    *queryPaddingSize, const aclTensor *kvPaddingSize, const aclTensor *dequantScaleKey, const
    aclTensor *dequantOffsetKey, const aclTensor *dequantScaleValue, const aclTensor
    *dequantOffsetValue, const aclTensor *keySharedPrefix, const aclTensor *valueSharedPrefix, const
    aclIntArray *actualSharedPrefixLen, const aclTensor *queryRope, const aclTensor *keyRope, const
    aclTensor *dequantScaleKeyRope, const aclTensor *dequantScaleQuery, const aclTensor
    *learnableSink, int64_t numQueryHeads, double softmaxScale, int64_t preTokens, int64_t
    nextTokens, const char *inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t
    innerPrecise, int64_t blockSize, int64_t antiquantMode, bool returnSoftmaxLse, int64_t
    keyQuantMode, int64_t valueQuantMode, int64_t queryQuantMode, aclTensor *out, aclTensor
    *softmaxLse, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnFusedInferAttentionScoreV4(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * aclnnFusedInferAttentionScoreV3 with learnableSink: a score for each head that joins the sum of
 * powers and has no value. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnFusedInferAttentionScoreV4GetMaxWorkspaceSize(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor
    *pseShift, const aclTensor *attenMask, const aclIntArray *actualSeqQLen, const aclIntArray
    *actualSeqKvLen, const aclTensor *dequantScale1, const aclTensor *quantScale1, const aclTensor
    *dequantScale2, const aclTensor *quantScaleOut, const aclTensor *quantOffsetOut, const aclTensor
    *antiquantScale, const aclTensor *antiquantOffset, const aclTensor *blockTable, const aclTensor
    *queryPaddingSize, const aclTensor *kvPaddingSize, const aclTensor *dequantScaleKey, const
    aclTensor *dequantOffsetKey, const aclTensor *dequantScaleValue, const aclTensor
    *dequantOffsetValue, const aclTensor *keySharedPrefix, const aclTensor *valueSharedPrefix, const
    aclIntArray *actualSharedPrefixLen, const aclTensor *queryRope, const aclTensor *keyRope, const
    aclTensor *dequantScaleKeyRope, const aclTensor *dequantScaleQuery, const aclTensor
    *learnableSink, int64_t numQueryHeads, double softmaxScale, int64_t preTokens, int64_t
    nextTokens, const char *inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t
    innerPrecise, int64_t blockSize, int64_t antiquantMode, bool returnSoftmaxLse, int64_t
    keyQuantMode, int64_t valueQuantMode, int64_t queryQuantMode, aclTensor *out, aclTensor
    *softmaxLse, uint64_t *workspaceSize, aclOpExecutor **executor);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V4_H_ */
