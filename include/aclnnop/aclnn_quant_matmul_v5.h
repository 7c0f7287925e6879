/**
 * out = (x1 x x2 + a bias of INT32) * x2Scale * x1Scale + any other bias, with INT8 or INT4 (as
 * INT4, or eight of them in an INT32) summed exactly. x2Scale is one number, or one for each
 * column, as it is or as aclnnTransQuantParamV2 packs it; x1Scale one for each row. Results of INT8
 * are rounded, halves to the even one, with x2Offset or the packed offset; those of INT32 are the
 * sums, with a bias of INT32 and without scales. groupSize is 0; yScale, x1Offset and yOffset are
 * null or without elements. Belay implements this interface on the CPU. A function follows the page
 * of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_QUANT_MATMUL_V5_H_
#define BELAY_ACLNNOP_ACLNN_QUANT_MATMUL_V5_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * out = (x1 x x2 + a bias of INT32) * x2Scale * x1Scale + any other bias, with INT8 or INT4 (as
 * INT4, or eight of them in an INT32) summed exactly. x2Scale is one number, or one for each
 * column, as it is or as aclnnTransQuantParamV2 packs it; x1Scale one for each row. Results of INT8
 * are rounded, halves to the even one, with x2Offset or the packed offset; those of INT32 are the
 * sums, with a bias of INT32 and without scales. groupSize is 0; yScale, x1Offset and yOffset are
 * null or without elements. Checks the arguments and makes an executor; up to 8 dimensions, any
 * strides.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnQuantMatmulV5GetWorkspaceSize(
    const aclTensor *x1, const aclTensor *x2, const aclTensor *x1ScaleOptional, const aclTensor
    *x2Scale, const aclTensor *yScaleOptional, const aclTensor *x1OffsetOptional, const aclTensor
    *x2OffsetOptional, const aclTensor *yOffsetOptional, const aclTensor *biasOptional, bool
    transposeX1, bool transposeX2, int64_t groupSize, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnQuantMatmulV5(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_QUANT_MATMUL_V5_H_ */
