/**
 * aclnnRotaryPositionEmbedding, or with a matrix rotate [d, d] out = x * cos + (x x rotate) * sin.
 * Belay implements this interface on the CPU. A function follows the page of its name in the public
 * API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_ROTARY_POSITION_EMBEDDING_V2_H_
#define BELAY_ACLNNOP_ACLNN_ROTARY_POSITION_EMBEDDING_V2_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * aclnnRotaryPositionEmbedding, or with a matrix rotate [d, d] out = x * cos + (x x rotate) * sin.
 * Checks the arguments and makes an executor; up to 8 dimensions, any strides. Types: f32, f16 and
 * bf16.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnRotaryPositionEmbeddingV2GetWorkspaceSize(
    const aclTensor *x, const aclTensor *cos, const aclTensor *sin, int64_t mode, const aclTensor
    *rotateOptional, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnRotaryPositionEmbeddingV2(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_ROTARY_POSITION_EMBEDDING_V2_H_ */
