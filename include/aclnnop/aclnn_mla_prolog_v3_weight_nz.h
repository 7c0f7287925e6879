/**
 * aclnnMlaPrologV2WeightNz with c times qcQrScale, which goes to queryNormOut, too, and what
 * kvCache holds times kcScale. The modes say what is quantised: of weights none (0), weightUqQr (1)
 * or all with the tokens (2); of the caches none (0), kvCache by one scale (1, with queryQuantMode
 * 1) or both by one for each column (2). cacheMode may also be PA_BLK_BSND or PA_BLK_NZ, where
 * cacheIndex names the pages of each sequence (actualSeqLen are their running sums), or BSND or
 * TND, where the caches have a row for each token. Belay implements this interface on the CPU. A
 * function follows the page of its name in the public API reference; "Page:" gives that page's
 * number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_MLA_PROLOG_V3_WEIGHT_NZ_H_
#define BELAY_ACLNNOP_ACLNN_MLA_PROLOG_V3_WEIGHT_NZ_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * aclnnMlaPrologV2WeightNz with c times qcQrScale, which goes to queryNormOut, too, and what
 * kvCache holds times kcScale. The modes say what is quantised: of weights none (0), weightUqQr (1)
 * or all with the tokens (2); of the caches none (0), kvCache by one scale (1, with queryQuantMode
 * 1) or both by one for each column (2). cacheMode may also be PA_BLK_BSND or PA_BLK_NZ, where
 * cacheIndex names the pages of each sequence (actualSeqLen are their running sums), or BSND or
 * TND, where the caches have a row for each token. Checks the arguments and makes an executor; up
 * to 8 dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnMlaPrologV3WeightNzGetWorkspaceSize(
    const aclTensor *tokenX, const aclTensor *weightDq, const aclTensor *weightUqQr, const aclTensor
    *weightUk, const aclTensor *weightDkvKr, const aclTensor *rmsnormGammaCq, const aclTensor
    *rmsnormGammaCkv, const aclTensor *ropeSin, const aclTensor *ropeCos, aclTensor *kvCacheRef,
    aclTensor *krCacheRef, const aclTensor *cacheIndexOptional, const aclTensor
    *dequantScaleXOptional, const aclTensor *dequantScaleWDqOptional, const aclTensor
    *dequantScaleWUqQrOptional, const aclTensor *dequantScaleWDkvKrOptional, const aclTensor
    *quantScaleCkvOptional, const aclTensor *quantScaleCkrOptional, const aclTensor
    *smoothScalesCqOptional, const aclTensor *actualSeqLenOptional, const aclTensor
    *kNopeClipAlphaOptional, double rmsnormEpsilonCq, double rmsnormEpsilonCkv, const char
    *cacheModeOptional, int64_t weightQuantMode, int64_t kvCacheQuantMode, int64_t queryQuantMode,
    int64_t ckvkrRepoMode, int64_t quantScaleRepoMode, int64_t tileSize, double qcQrScale, double
    kcScale, aclTensor *queryOut, aclTensor *queryRopeOut, aclTensor *dequantScaleQNopeOutOptional,
    aclTensor *queryNormOutOptional, aclTensor *dequantScaleQNormOutOptional, uint64_t
    *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnMlaPrologV3WeightNz(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_MLA_PROLOG_V3_WEIGHT_NZ_H_ */
