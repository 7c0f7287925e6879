/**
 * out = softmax(query x key * scaleValue + pseShift, where attenMask and sparseMode do not forbid
 * it) x value for each head, for inference: sequences of their own lengths, packed (TND, NTD:
 * running sums) or not, with keys and values in pages of blockSize rows that blockTable names
 * ([pages, rows, heads * size] or [pages, heads, rows, size]), and with the rope parts of query and
 * key in tensors of their own. softmaxLse = the logarithm of the sum of powers of each row. Rows
 * that see nothing are 0, their softmaxLse -inf. Pages may be in tiles of 32 bytes ([pages, heads,
 * size / tile, rows, tile]). Key and value of INT8 are (x + offset) * scale by keyAntiquantScale
 * and kin, in the modes 0 to 5 (of channels or all, of tokens, of heads, of tokens and heads, of
 * tokens in pages, of these and heads), or by antiquantScale of both, in the modes 0 and 1. Without
 * quantised queries and results, padding and shared prefixes. Belay implements this interface on
 * the CPU. A function follows the page of its name in the public API reference; "Page:" gives that
 * page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V3_H_
#define BELAY_ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V3_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * out = softmax(query x key * scaleValue + pseShift, where attenMask and sparseMode do not forbid
 * it) x value for each head, for inference: sequences of their own lengths, packed (TND, NTD:
 * running sums) or not, with keys and values in pages of blockSize rows that blockTable names
 * ([pages, rows, heads * size] or [pages, heads, rows, size]), and with the rope parts of query and
 * key in tensors of their own. softmaxLse = the logarithm of the sum of powers of each row. Rows
 * that see nothing are 0, their softmaxLse -inf. Pages may be in tiles of 32 bytes ([pages, heads,
 * size / tile, rows, tile]). Key and value of INT8 are (x + offset) * scale by keyAntiquantScale
 * and kin, in the modes 0 to 5 (of channels or all, of tokens, of heads, of tokens and heads, of
 * tokens in pages, of these and heads), or by antiquantScale of both, in the modes 0 and 1. Without
 * quantised queries and results, padding and shared prefixes. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnFusedInferAttentionScoreV3GetWorkspaceSize(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor
    *pseShift, const aclTensor *attenMask, const aclIntArray *actualSeqLengths, const aclIntArray
    *actualSeqLengthsKv, const aclTensor *deqScale1, const aclTensor *quantScale1, const aclTensor
    *deqScale2, const aclTensor *quantScale2, const aclTensor *quantOffset2, const aclTensor
    *antiquantScale, const aclTensor *antiquantOffset, const aclTensor *blockTable, const aclTensor
    *queryPaddingSize, const aclTensor *kvPaddingSize, const aclTensor *keyAntiquantScale, const
    aclTensor *keyAntiquantOffset, const aclTensor *valueAntiquantScale, const aclTensor
    *valueAntiquantOffset, const aclTensor *keySharedPrefix, const aclTensor *valueSharedPrefix,
    const aclIntArray *actualSharedPrefixLen, const aclTensor *queryRope, const aclTensor *keyRope,
    const aclTensor *keyRopeAntiquantScale, int64_t numHeads, double scaleValue, int64_t preTokens,
    int64_t nextTokens, const char *inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
    int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t
    keyAntiquantMode, int64_t valueAntiquantMode, aclTensor *out, aclTensor *softmaxLse, uint64_t
    *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnFusedInferAttentionScoreV3(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = softmax(query x key * scaleValue + pseShift, where attenMask and sparseMode do not forbid
 * it) x value for each head, for inference: sequences of their own lengths, packed (TND, NTD:
 * running sums) or not, with keys and values in pages of blockSize rows that blockTable names
 * ([pages, rows, heads * size] or [pages, heads, rows, size]), and with the rope parts of query and
 * key in tensors of their own. softmaxLse = the logarithm of the sum of powers of each row. Rows
 * that see nothing are 0, their softmaxLse -inf. Pages may be in tiles of 32 bytes ([pages, heads,
 * size / tile, rows, tile]). Key and value of INT8 are (x + offset) * scale by keyAntiquantScale
 * and kin, in the modes 0 to 5 (of channels or all, of tokens, of heads, of tokens and heads, of
 * tokens in pages, of these and heads), or by antiquantScale of both, in the modes 0 and 1. Without
 * quantised queries and results, padding and shared prefixes. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnFusedInferAttentionScoreV3GetMaxWorkspaceSize(
    const aclTensor *query, const aclTensorList *key, const aclTensorList *value, const aclTensor
    *pseShift, const aclTensor *attenMask, const aclIntArray *actualSeqLengths, const aclIntArray
    *actualSeqLengthsKv, const aclTensor *deqScale1, const aclTensor *quantScale1, const aclTensor
    *deqScale2, const aclTensor *quantScale2, const aclTensor *quantOffset2, const aclTensor
    *antiquantScale, const aclTensor *antiquantOffset, const aclTensor *blockTable, const aclTensor
    *queryPaddingSize, const aclTensor *kvPaddingSize, const aclTensor *keyAntiquantScale, const
    aclTensor *keyAntiquantOffset, const aclTensor *valueAntiquantScale, const aclTensor
    *valueAntiquantOffset, const aclTensor *keySharedPrefix, const aclTensor *valueSharedPrefix,
    const aclIntArray *actualSharedPrefixLen, const aclTensor *queryRope, const aclTensor *keyRope,
    const aclTensor *keyRopeAntiquantScale, int64_t numHeads, double scaleValue, int64_t preTokens,
    int64_t nextTokens, const char *inputLayout, int64_t numKeyValueHeads, int64_t sparseMode,
    int64_t innerPrecise, int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t
    keyAntiquantMode, int64_t valueAntiquantMode, aclTensor *out, aclTensor *softmaxLse, uint64_t
    *workspaceSize, aclOpExecutor **executor);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_FUSED_INFER_ATTENTION_SCORE_V3_H_ */
