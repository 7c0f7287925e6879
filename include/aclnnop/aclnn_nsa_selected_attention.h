/**
 * attentionOut = the attention of each token of query [T, N, D] over those blocks of
 * selectedBlockSize keys of its sequence that topkIndices [T, heads of key, selectedBlockCount]
 * names, up to the first that is negative. Lengths are running sums. sparseMode 0: where attenMask
 * [S, S] does not forbid it; 2: with attenMask [2048, 2048], which is not read, keys up to the
 * token's own place. softmaxMaxOut and softmaxSumOut [T, N, 8] as aclnnFlashAttentionScore has
 * them. Belay implements this interface on the CPU. A function follows the page of its name in the
 * public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_NSA_SELECTED_ATTENTION_H_
#define BELAY_ACLNNOP_ACLNN_NSA_SELECTED_ATTENTION_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * attentionOut = the attention of each token of query [T, N, D] over those blocks of
 * selectedBlockSize keys of its sequence that topkIndices [T, heads of key, selectedBlockCount]
 * names, up to the first that is negative. Lengths are running sums. sparseMode 0: where attenMask
 * [S, S] does not forbid it; 2: with attenMask [2048, 2048], which is not read, keys up to the
 * token's own place. softmaxMaxOut and softmaxSumOut [T, N, 8] as aclnnFlashAttentionScore has
 * them. Checks the arguments and makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnNsaSelectedAttentionGetWorkspaceSize(
    const aclTensor *query, const aclTensor *key, const aclTensor *value, const aclTensor
    *topkIndices, const aclTensor *attenMaskOptional, const aclIntArray *actualSeqQLenOptional,
    const aclIntArray *actualSeqKvLenOptional, double scaleValue, int64_t headNum, const char
    *inputLayout, int64_t sparseMode, int64_t selectedBlockSize, int64_t selectedBlockCount,
    aclTensor *softmaxMaxOut, aclTensor *softmaxSumOut, aclTensor *attentionOut, uint64_t
    *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnNsaSelectedAttention(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_NSA_SELECTED_ATTENTION_H_ */
