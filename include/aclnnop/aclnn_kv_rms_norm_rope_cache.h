/**
 * The first part of each row of kv [batch, 1, tokens, c + r], divided by the root of its mean
 * square and times gamma [c], goes to ckvCache; the rest, its even elements before the odd ones and
 * turned by cos and sin, to kCache: at index of a batch (cacheMode Norm) or of all rows of the
 * pages (PA, PA_BNSD, PA_NZ in tiles), or where index tells for each page of tokens (PA_BLK_BNSD,
 * PA_BLK_NZ). Negative ones are left out. With isOutputKv both go to cKvOut and kRopeOut, too.
 * Caches are not quantised. Belay implements this interface on the CPU. A function follows the page
 * of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_KV_RMS_NORM_ROPE_CACHE_H_
#define BELAY_ACLNNOP_ACLNN_KV_RMS_NORM_ROPE_CACHE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The first part of each row of kv [batch, 1, tokens, c + r], divided by the root of its mean
 * square and times gamma [c], goes to ckvCache; the rest, its even elements before the odd ones and
 * turned by cos and sin, to kCache: at index of a batch (cacheMode Norm) or of all rows of the
 * pages (PA, PA_BNSD, PA_NZ in tiles), or where index tells for each page of tokens (PA_BLK_BNSD,
 * PA_BLK_NZ). Negative ones are left out. With isOutputKv both go to cKvOut and kRopeOut, too.
 * Caches are not quantised. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnKvRmsNormRopeCacheGetWorkspaceSize(
    const aclTensor *kv, const aclTensor *gamma, const aclTensor *cos, const aclTensor *sin, const
    aclTensor *index, aclTensor *kCacheRef, aclTensor *ckvCacheRef, const aclTensor
    *kRopeScaleOptional, const aclTensor *ckvScaleOptional, const aclTensor *kRopeOffsetOptional,
    const aclTensor *ckvOffsetOptional, double epsilon, const char *cacheModeOptional, bool
    isOutputKv, aclTensor *kRopeOut, aclTensor *cKvOut, uint64_t *workspaceSize, aclOpExecutor
    **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnKvRmsNormRopeCache(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_KV_RMS_NORM_ROPE_CACHE_H_ */
