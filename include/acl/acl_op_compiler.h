/**
 * Single operators that are compiled when they are called. Belay implements this interface on the
 * CPU. A function follows the page of its name in the public API reference; "Page:" gives that
 * page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it. Functions that wait: 100000 in a callback, 107022 when
 * the tasks were dropped meanwhile, and the code of a task that failed. A function that returns a
 * value gives 0 or NULL then, if its comment says nothing else.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_OP_COMPILER_H_
#define BELAY_ACL_ACL_OP_COMPILER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ACL_COMPILE_SYS = 0,
    ACL_COMPILE_UNREGISTERED = 1
} aclopCompileType;

typedef enum {
    ACL_PRECISION_MODE = 0,
    ACL_AICORE_NUM = 1,
    ACL_AUTO_TUNE_MODE = 2,
    ACL_OP_SELECT_IMPL_MODE = 3,
    ACL_OPTYPELIST_FOR_IMPLMODE = 4,
    ACL_OP_DEBUG_LEVEL = 5,
    ACL_DEBUG_DIR = 6,
    ACL_OP_COMPILER_CACHE_MODE = 7,
    ACL_OP_COMPILER_CACHE_DIR = 8,
    ACL_OP_PERFORMANCE_MODE = 9,
    ACL_OP_JIT_COMPILE = 10,
    ACL_OP_DETERMINISTIC = 11,
    ACL_CUSTOMIZE_DTYPES = 12,
    ACL_OP_PRECISION_MODE = 13,
    ACL_ALLOW_HF32 = 14,
    ACL_PRECISION_MODE_V2 = 15,
    ACL_OP_DEBUG_OPTION = 16
} aclCompileOpt;

typedef enum {
    ACL_OP_COMPILE_DEFAULT = 0,
    ACL_OP_COMPILE_FUZZ = 1
} aclOpCompileFlag;

/**
 * Runs one operator on the stream; descriptions, buffers and attributes may be destroyed at once.
 * Prepared operators are kept for the next call with the same types.
 * Errors: 100000: arrays or buffers are missing or too small; 145000: descriptions or attributes do
 * not fit the operator; 145021: a tensor has more than eight dimensions; 200001: there is no such
 * operator here.
 * Page: aclcppdevg_03_0251
 */
aclError aclopCompileAndExecute(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], const aclDataBuffer
    *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[], aclDataBuffer *const
    outputs[], const aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
    const char *opPath, aclrtStream stream);

/**
 * As aclopCompileAndExecute, and writes the shapes of the results to outputDesc.
 * Errors: 100000: arrays or buffers are missing or too small; 145000: descriptions or attributes do
 * not fit the operator; 145021: a tensor has more than eight dimensions; 200001: there is no such
 * operator here.
 */
aclError aclopCompileAndExecuteV2(
    const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[], int
    numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr *attr,
    aclopEngineType engineType, aclopCompileType compileFlag, const char *opPath, aclrtStream
    stream);

/**
 * Prepares an operator for calls with these descriptions.
 * Errors: 100000: arrays are missing; 107002: the thread has no context; 145000: descriptions or
 * attributes do not fit the operator; 145021: a tensor has more than eight dimensions; 200001:
 * there is no such operator here.
 * Page: aclcppdevg_03_0248
 */
aclError aclopCompile(
    const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs, const
    aclTensorDesc *const outputDesc[], const aclopAttr *attr, aclopEngineType engineType,
    aclopCompileType compileFlag, const char *opPath);

/**
 * Accepted; operators are always prepared for the shapes at hand.
 * Errors: 100000: no such flag.
 */
aclError aclopSetCompileFlag(aclOpCompileFlag flag);

/**
 * Keeps the option. None changes results here but the precision of the documentation, which is
 * always the highest.
 * Errors: 100000: no such option.
 */
aclError aclSetCompileopt(aclCompileOpt opt, const char *value);

/** The bytes of the value of an option with the zero at its end; 0 when there is no such option. */
size_t aclGetCompileoptSize(aclCompileOpt opt);

/**
 * Copies the value of an option, with the zero at its end, to value, which has room for length
 * bytes. One that was not set has its default: allow_fp32_to_fp16 for ACL_PRECISION_MODE, disable
 * for ACL_OP_JIT_COMPILE, and an empty text where no page has one.
 * Errors: 100000: no such option, or length is too small.
 * Page: aclcppdevg_03_0026
 */
aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_OP_COMPILER_H_ */
