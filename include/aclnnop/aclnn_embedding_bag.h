/**
 * output = the sums (mode 0), means (1) or largest elements (2) of bags of rows of weight: those
 * that indices name from offsets[b] on, without paddingIdx; of a sum each times its
 * perSampleWeights. offset2bag is the bag of each index (it may be empty), bagSize how many count,
 * maxIndices the rows of the largest elements, zeros with modes 0 and 1. With includeLastOffset the
 * last offset is only an end. Belay implements this interface on the CPU. A function follows the
 * page of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_EMBEDDING_BAG_H_
#define BELAY_ACLNNOP_ACLNN_EMBEDDING_BAG_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * output = the sums (mode 0), means (1) or largest elements (2) of bags of rows of weight: those
 * that indices name from offsets[b] on, without paddingIdx; of a sum each times its
 * perSampleWeights. offset2bag is the bag of each index (it may be empty), bagSize how many count,
 * maxIndices the rows of the largest elements, zeros with modes 0 and 1. With includeLastOffset the
 * last offset is only an end. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnEmbeddingBagGetWorkspaceSize(
    const aclTensor *weight, const aclTensor *indices, const aclTensor *offsets, bool
    scaleGradByFreq, int64_t mode, bool sparse, const aclTensor *perSampleWeights, bool
    includeLastOffset, int64_t paddingIdx, aclTensor *output, aclTensor *offset2bag, aclTensor
    *bagSize, aclTensor *maxIndices, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnEmbeddingBag(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_EMBEDDING_BAG_H_ */
