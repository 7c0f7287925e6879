/**
 * aclnnRopeWithSinCosCache whose three rows of positions have their sections one after another
 * (cacheMode 0) or by turns (1): of the angles below three times the second section every second of
 * three is of the second row and every third of the third, and the others are of the first. Belay
 * implements this interface on the CPU. A function follows the page of its name in the public API
 * reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_ROPE_WITH_SIN_COS_CACHE_V2_H_
#define BELAY_ACLNNOP_ACLNN_ROPE_WITH_SIN_COS_CACHE_V2_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * aclnnRopeWithSinCosCache whose three rows of positions have their sections one after another
 * (cacheMode 0) or by turns (1): of the angles below three times the second section every second of
 * three is of the second row and every third of the third, and the others are of the first. Checks
 * the arguments and makes an executor; up to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnRopeWithSinCosCacheV2GetWorkspaceSize(
    const aclTensor *positions, const aclTensor *queryIn, const aclTensor *keyIn, const aclTensor
    *cosSinCache, const aclIntArray *mropeSection, int64_t headSize, bool isNeoxStyle, int64_t
    cacheMode, aclTensor *queryOut, aclTensor *keyOut, uint64_t *workspaceSize, aclOpExecutor
    **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnRopeWithSinCosCacheV2(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_ROPE_WITH_SIN_COS_CACHE_V2_H_ */
