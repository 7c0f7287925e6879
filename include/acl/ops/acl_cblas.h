/**
 * Products of matrices and vectors. Belay implements this interface on the CPU. A function follows
 * the page of its name in the public API reference; "Page:" gives that page's number where it is
 * known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it. Functions that wait: 100000 in a callback, 107022 when
 * the tasks were dropped meanwhile, and the code of a task that failed.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_OPS_ACL_CBLAS_H_
#define BELAY_ACL_OPS_ACL_CBLAS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ACL_TRANS_N = 0,
    ACL_TRANS_T = 1,
    ACL_TRANS_NZ = 2,
    ACL_TRANS_NZ_T = 3
} aclTransType;

typedef enum {
    ACL_COMPUTE_HIGH_PRECISION = 0,
    ACL_COMPUTE_LOW_PRECISION = 1
} aclComputeType;

/**
 * matrixC = alpha * A x B + beta * matrixC, with A of m x k and B of k x n, which may lie
 * transposed. alpha and beta have the type of matrixC. float16 gives float16 or float, int8 gives
 * float or int32.
 * Errors: 100000: sizes, types or reserved arguments that are not possible, or memory that is too
 * small; 100024: models were loaded, but none for this product; 200006: a matrix in NZ form.
 */
aclError aclblasGemmEx(
    aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, const void
    *alpha, const void *matrixA, int lda, aclDataType dataTypeA, const void *matrixB, int ldb,
    aclDataType dataTypeB, const void *beta, void *matrixC, int ldc, aclDataType dataTypeC,
    aclComputeType type, aclrtStream stream);

/**
 * matrixC = alpha * A x B + beta * matrixC, with A of m x k and B of k x n, which may lie
 * transposed. alpha and beta have the type of matrixC. All float16.
 * Errors: 100000: sizes, types or reserved arguments that are not possible, or memory that is too
 * small; 100024: models were loaded, but none for this product; 200006: a matrix in NZ form.
 */
aclError aclblasHgemm(
    aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, const
    aclFloat16 *alpha, const aclFloat16 *matrixA, int lda, const aclFloat16 *matrixB, int ldb, const
    aclFloat16 *beta, aclFloat16 *matrixC, int ldc, aclComputeType type, aclrtStream stream);

/**
 * matrixC = alpha * A x B + beta * matrixC, with A of m x k and B of k x n, which may lie
 * transposed. alpha and beta have the type of matrixC. int8 with int32 results.
 * Errors: 100000: sizes, types or reserved arguments that are not possible, or memory that is too
 * small; 100024: models were loaded, but none for this product; 200006: a matrix in NZ form.
 */
aclError aclblasS8gemm(
    aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, const
    int32_t *alpha, const int8_t *matrixA, int lda, const int8_t *matrixB, int ldb, const int32_t
    *beta, int32_t *matrixC, int ldc, aclComputeType type, aclrtStream stream);

/**
 * y = alpha * A x + beta * y, with A of m x n as it lies; transposed, x has m elements and y has n.
 * alpha and beta have the type of y. float16 gives float16 or float, int8 gives float or int32.
 * Errors: 100000: sizes, types or reserved arguments that are not possible, or memory that is too
 * small; 100024: models were loaded, but none for this product; 200006: a matrix in NZ form.
 */
aclError aclblasGemvEx(
    aclTransType transA, int m, int n, const void *alpha, const void *a, int lda, aclDataType
    dataTypeA, const void *x, int incx, aclDataType dataTypeX, const void *beta, void *y, int incy,
    aclDataType dataTypeY, aclComputeType type, aclrtStream stream);

/**
 * y = alpha * A x + beta * y, with A of m x n as it lies; transposed, x has m elements and y has n.
 * alpha and beta have the type of y. All float16.
 * Errors: 100000: sizes, types or reserved arguments that are not possible, or memory that is too
 * small; 100024: models were loaded, but none for this product; 200006: a matrix in NZ form.
 */
aclError aclblasHgemv(
    aclTransType transA, int m, int n, const aclFloat16 *alpha, const aclFloat16 *a, int lda, const
    aclFloat16 *x, int incx, const aclFloat16 *beta, aclFloat16 *y, int incy, aclComputeType type,
    aclrtStream stream);

/**
 * y = alpha * A x + beta * y, with A of m x n as it lies; transposed, x has m elements and y has n.
 * alpha and beta have the type of y. int8 with int32 results.
 * Errors: 100000: sizes, types or reserved arguments that are not possible, or memory that is too
 * small; 100024: models were loaded, but none for this product; 200006: a matrix in NZ form.
 */
aclError aclblasS8gemv(
    aclTransType transA, int m, int n, const int32_t *alpha, const int8_t *a, int lda, const int8_t
    *x, int incx, const int32_t *beta, int32_t *y, int incy, aclComputeType type, aclrtStream
    stream);

/**
 * A handle for aclopExecWithHandle that does what aclblasGemmEx does. Its inputs are A, B, C, alpha
 * and beta.
 * Errors: 100000: sizes or types that are not possible; 100024: models were loaded, but none for
 * this product; 200006: a matrix in NZ form.
 */
aclError aclblasCreateHandleForGemmEx(
    aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k, aclDataType
    dataTypeA, aclDataType dataTypeB, aclDataType dataTypeC, aclComputeType type, aclopHandle
    **handle);

/**
 * A handle for aclopExecWithHandle that does what aclblasHgemm does. Its inputs are A, B, C, alpha
 * and beta.
 * Errors: 100000: sizes or types that are not possible; 100024: models were loaded, but none for
 * this product; 200006: a matrix in NZ form.
 */
aclError aclblasCreateHandleForHgemm(
    aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
    aclComputeType type, aclopHandle **handle);

/**
 * A handle for aclopExecWithHandle that does what aclblasS8gemm does. Its inputs are A, B, C, alpha
 * and beta.
 * Errors: 100000: sizes or types that are not possible; 100024: models were loaded, but none for
 * this product; 200006: a matrix in NZ form.
 */
aclError aclblasCreateHandleForS8gemm(
    aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
    aclComputeType type, aclopHandle **handle);

/**
 * A handle for aclopExecWithHandle that does what aclblasGemvEx does. Its inputs are a, x, y, alpha
 * and beta.
 * Errors: 100000: sizes or types that are not possible; 100024: models were loaded, but none for
 * this product; 200006: a matrix in NZ form.
 */
aclError aclblasCreateHandleForGemvEx(
    aclTransType transA, int m, int n, aclDataType dataTypeA, aclDataType dataTypeX, aclDataType
    dataTypeY, aclComputeType type, aclopHandle **handle);

/**
 * A handle for aclopExecWithHandle that does what aclblasHgemv does. Its inputs are a, x, y, alpha
 * and beta.
 * Errors: 100000: sizes or types that are not possible; 100024: models were loaded, but none for
 * this product; 200006: a matrix in NZ form.
 */
aclError aclblasCreateHandleForHgemv(
    aclTransType transA, int m, int n, aclComputeType type, aclopHandle **handle);

/**
 * A handle for aclopExecWithHandle that does what aclblasS8gemv does. Its inputs are a, x, y, alpha
 * and beta.
 * Errors: 100000: sizes or types that are not possible; 100024: models were loaded, but none for
 * this product; 200006: a matrix in NZ form.
 */
aclError aclblasCreateHandleForS8gemv(
    aclTransType transA, int m, int n, aclComputeType type, aclopHandle **handle);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_OPS_ACL_CBLAS_H_ */
