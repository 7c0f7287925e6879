/**
 * out = self, but not below clipValueMin nor above clipValueMax. out = self, but not below
 * clipValueMin nor above clipValueMax, with broadcasting; one of them may be null. out = self, but
 * not below clipValueMin. out = self, but not below clipValueMin, with broadcasting. out = self,
 * but not above clipValueMax. out = self, but not above clipValueMax, with broadcasting. Belay
 * implements this interface on the CPU. A function follows the page of its name in the public API
 * reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_CLAMP_H_
#define BELAY_ACLNNOP_ACLNN_CLAMP_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * out = self, but not below clipValueMin nor above clipValueMax. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64 and u8.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnClampGetWorkspaceSize(
    const aclTensor *self, const aclScalar *clipValueMin, const aclScalar *clipValueMax, aclTensor
    *out, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnClamp(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not below clipValueMin nor above clipValueMax, with broadcasting; one of them may
 * be null. Checks the arguments and makes an executor; up to 8 dimensions, any strides. Types: f32,
 * f16, bf16, f64, i8, i16, i32, i64 and u8.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnClampTensorGetWorkspaceSize(
    const aclTensor *self, const aclTensor *clipValueMin, const aclTensor *clipValueMax, aclTensor
    *out, uint64_t *workspaceSize, aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnClampTensor(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not below clipValueMin. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64 and u8.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnClampMinGetWorkspaceSize(
    const aclTensor *self, const aclScalar *clipValueMin, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnClampMin(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not below clipValueMin, with broadcasting. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64, u8 and
 * bool.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnClampMinTensorGetWorkspaceSize(
    const aclTensor *self, const aclTensor *clipValueMin, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnClampMinTensor(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not below clipValueMin, with broadcasting. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64, u8 and
 * bool.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnInplaceClampMinTensorGetWorkspaceSize(
    aclTensor *selfRef, const aclTensor *clipValueMin, uint64_t *workspaceSize, aclOpExecutor
    **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnInplaceClampMinTensor(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not above clipValueMax. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64 and u8.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnClampMaxGetWorkspaceSize(
    const aclTensor *self, const aclScalar *clipValueMax, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnClampMax(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not above clipValueMax. Checks the arguments and makes an executor; up to 8
 * dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64 and u8.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnInplaceClampMaxGetWorkspaceSize(
    aclTensor *selfRef, const aclScalar *clipValueMax, uint64_t *workspaceSize, aclOpExecutor
    **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnInplaceClampMax(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not above clipValueMax, with broadcasting. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64, u8 and
 * bool.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnClampMaxTensorGetWorkspaceSize(
    const aclTensor *self, const aclTensor *clipValueMax, aclTensor *out, uint64_t *workspaceSize,
    aclOpExecutor **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnClampMaxTensor(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/**
 * out = self, but not above clipValueMax, with broadcasting. Checks the arguments and makes an
 * executor; up to 8 dimensions, any strides. Types: f32, f16, bf16, f64, i8, i16, i32, i64, u8 and
 * bool.
 * Errors: 161001: a required argument is null; 161002: types, shapes or formats do not fit;
 * aclGetRecentErrMsg says which.
 */
aclnnStatus aclnnInplaceClampMaxTensorGetWorkspaceSize(
    aclTensor *selfRef, const aclTensor *clipValueMax, uint64_t *workspaceSize, aclOpExecutor
    **executor);

/**
 * Enqueues the work and returns. An executor that is not repeatable is spent by it.
 * Errors: 161002: memory of a tensor or the workspace is missing, freed, too short or on the host,
 * or the executor is another operator's; 561103: executor is null or spent.
 */
aclnnStatus aclnnInplaceClampMaxTensor(
    void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_CLAMP_H_ */
