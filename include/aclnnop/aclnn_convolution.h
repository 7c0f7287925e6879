/**
 * output = the convolution of input [n, c, spatial...] with weight, or its transpose. padding has a
 * number for each spatial dimension, or (images) two that are equal. out = the convolution of each
 * channel of self with its own kernels. output [time, batch, to] = the convolution over time of
 * self [time, batch, from], padded by pad at both ends, with weight [taps, from, to]. Belay
 * implements this interface on the CPU. A function follows the page of its name in the public API
 * reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_CONVOLUTION_H_
#define BELAY_ACLNNOP_ACLNN_CONVOLUTION_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * output = the convolution of input [n, c, spatial...] with weight, or its transpose. padding has a
 * number for each spatial dimension, or (images) two that are equal. Checks the arguments and makes
 * an executor; up to 8 dimensions, any strides. Types: f32, f16 and bf16.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnConvolutionGetWorkspaceSize(
    const aclTensor *input, const aclTensor *weight, const aclTensor *bias, const aclIntArray
    *stride, const aclIntArray *padding, const aclIntArray *dilation, bool transposed, const
    aclIntArray *outputPadding, int64_t groups, aclTensor *output, int8_t cubeMathType, uint64_t
    *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnConvolution(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = the convolution of each channel of self with its own kernels. Checks the arguments and
 * makes an executor; up to 8 dimensions, any strides. Types: f32, f16 and bf16.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnConvDepthwise2dGetWorkspaceSize(
    const aclTensor *self, const aclTensor *weight, const aclIntArray *kernelSize, const aclTensor
    *bias, const aclIntArray *stride, const aclIntArray *padding, const aclIntArray *dilation,
    aclTensor *out, int8_t cubeMathType, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnConvDepthwise2d(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * output [time, batch, to] = the convolution over time of self [time, batch, from], padded by pad
 * at both ends, with weight [taps, from, to]. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides. Types: f32, f16 and bf16.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnConvTbcGetWorkspaceSize(
    const aclTensor *self, const aclTensor *weight, const aclTensor *bias, int64_t pad, aclTensor
    *output, int8_t cubeMathType, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnConvTbc(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_CONVOLUTION_H_ */
