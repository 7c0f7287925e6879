/**
 * logitsSelectIdx = where the greatest probability stands, divided by qOptional + eps where that is
 * given, of those that are left of each row of logits: the topK greatest (from 1 to the lesser of
 * ksMax and the row), of these the first whose sum reaches topP (one where that is not above 0, all
 * from 1 on), of these what is at least minPs times the greatest (one from 1 on). Probabilities are
 * the softmax of what topK leaves, or the numbers as they are without inputIsLogits. With
 * isNeedLogits logitsTopKPSelect = logits, and -inf (0 without inputIsLogits) for what is not left.
 * With isNeedSampleResult logitsIdx and logitsSortMasked hold places and probabilities of what is
 * left, the greatest first, and zeros behind. topKGuess changes no result. Belay implements this
 * interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_TOP_K_TOP_P_SAMPLE_V2_H_
#define BELAY_ACLNNOP_ACLNN_TOP_K_TOP_P_SAMPLE_V2_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * logitsSelectIdx = where the greatest probability stands, divided by qOptional + eps where that is
 * given, of those that are left of each row of logits: the topK greatest (from 1 to the lesser of
 * ksMax and the row), of these the first whose sum reaches topP (one where that is not above 0, all
 * from 1 on), of these what is at least minPs times the greatest (one from 1 on). Probabilities are
 * the softmax of what topK leaves, or the numbers as they are without inputIsLogits. With
 * isNeedLogits logitsTopKPSelect = logits, and -inf (0 without inputIsLogits) for what is not left.
 * With isNeedSampleResult logitsIdx and logitsSortMasked hold places and probabilities of what is
 * left, the greatest first, and zeros behind. topKGuess changes no result. Checks the arguments and
 * makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnTopKTopPSampleV2GetWorkspaceSize(
    const aclTensor *logits, const aclTensor *topK, const aclTensor *topP, const aclTensor
    *qOptional, const aclTensor *minPsOptional, double eps, bool isNeedLogits, int64_t topKGuess,
    int64_t ksMax, bool inputIsLogits, bool isNeedSampleResult, aclTensor *logitsSelectIdx,
    aclTensor *logitsTopKPSelect, aclTensor *logitsIdx, aclTensor *logitsSortMasked, uint64_t
    *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnTopKTopPSampleV2(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_TOP_K_TOP_P_SAMPLE_V2_H_ */
