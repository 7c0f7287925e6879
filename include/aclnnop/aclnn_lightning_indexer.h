/**
 * sparseIndicesOut = the keys with the sparseCount greatest scores for each token of query, the
 * greatest first, and -1 behind them; a score is the sum over the heads of weights times the
 * product of query and key where that is above 0. Layouts BSND and TND, keys also in pages
 * (PA_BSND); sparseMode 3: the last token sees all keys, each one before it a key less. Belay
 * implements this interface on the CPU. A function follows the page of its name in the public API
 * reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_LIGHTNING_INDEXER_H_
#define BELAY_ACLNNOP_ACLNN_LIGHTNING_INDEXER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * sparseIndicesOut = the keys with the sparseCount greatest scores for each token of query, the
 * greatest first, and -1 behind them; a score is the sum over the heads of weights times the
 * product of query and key where that is above 0. Layouts BSND and TND, keys also in pages
 * (PA_BSND); sparseMode 3: the last token sees all keys, each one before it a key less. Checks the
 * arguments and makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnLightningIndexerGetWorkspaceSize(
    const aclTensor *query, const aclTensor *key, const aclTensor *weights, const aclTensor
    *actualSeqLengthsQuery, const aclTensor *actualSeqLengthsKey, const aclTensor *blockTable, const
    char *layoutQuery, const char *layoutKey, int64_t sparseCount, int64_t sparseMode, int64_t
    preTokens, int64_t nextTokens, bool returnValue, aclTensor *sparseIndicesOut, aclTensor
    *sparseValuesOut, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnLightningIndexer(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_LIGHTNING_INDEXER_H_ */
