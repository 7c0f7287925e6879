/**
 * What latent attention does before it attends. c = tokenX x weightDq over the root of its mean
 * square, times its gamma; of each head c x weightUqQr is a part that weightUk takes to queryOut
 * and one that is turned to queryRopeOut, neighbours put apart first. The first part of tokenX x
 * weightDkvKr, normalised as c is, goes to the rows of kvCache that cacheIndex names, the rest,
 * turned, to those of krCache; cacheMode PA_BSND, or PA_NZ in tiles. Weights and tokens may be of
 * INT8, each with its dequantScale, and then c is quantised row by row; caches of INT8 hold what
 * quantScaleCkv and Ckr make of them. Belay implements this interface on the CPU. A function
 * follows the page of its name in the public API reference; "Page:" gives that page's number where
 * it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_MLA_PROLOG_V2_WEIGHT_NZ_H_
#define BELAY_ACLNNOP_ACLNN_MLA_PROLOG_V2_WEIGHT_NZ_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What latent attention does before it attends. c = tokenX x weightDq over the root of its mean
 * square, times its gamma; of each head c x weightUqQr is a part that weightUk takes to queryOut
 * and one that is turned to queryRopeOut, neighbours put apart first. The first part of tokenX x
 * weightDkvKr, normalised as c is, goes to the rows of kvCache that cacheIndex names, the rest,
 * turned, to those of krCache; cacheMode PA_BSND, or PA_NZ in tiles. Weights and tokens may be of
 * INT8, each with its dequantScale, and then c is quantised row by row; caches of INT8 hold what
 * quantScaleCkv and Ckr make of them. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnMlaPrologV2WeightNzGetWorkspaceSize(
    const aclTensor *tokenX, const aclTensor *weightDq, const aclTensor *weightUqQr, const aclTensor
    *weightUk, const aclTensor *weightDkvKr, const aclTensor *rmsnormGammaCq, const aclTensor
    *rmsnormGammaCkv, const aclTensor *ropeSin, const aclTensor *ropeCos, const aclTensor
    *cacheIndex, aclTensor *kvCacheRef, aclTensor *krCacheRef, const aclTensor
    *dequantScaleXOptional, const aclTensor *dequantScaleWDqOptional, const aclTensor
    *dequantScaleWUqQrOptional, const aclTensor *dequantScaleWDkvKrOptional, const aclTensor
    *quantScaleCkvOptional, const aclTensor *quantScaleCkrOptional, const aclTensor
    *smoothScalesCqOptional, double rmsnormEpsilonCq, double rmsnormEpsilonCkv, const char
    *cacheModeOptional, aclTensor *queryOut, aclTensor *queryRopeOut, aclTensor
    *dequantScaleQNopeOutOptional, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnMlaPrologV2WeightNz(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_MLA_PROLOG_V2_WEIGHT_NZ_H_ */
