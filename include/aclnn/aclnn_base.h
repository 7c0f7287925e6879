/**
 * Status codes of the two-stage operators, start and end of their use. Belay implements this
 * interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 without aclInit, where it is needed; 161001
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNN_ACLNN_BASE_H_
#define BELAY_ACLNN_ACLNN_BASE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

static const int ACLNN_SUCCESS = 0; /* success */
static const int ACLNN_ERR_PARAM_NULLPTR = 161001; /* a required argument of an operator is null */
/* an argument of an operator is wrong: type, shape, range or index */
static const int ACLNN_ERR_PARAM_INVALID = 161002;
static const int ACLNN_ERR_RUNTIME_ERROR = 361001; /* a call into the runtime failed */
static const int ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101; /* the executor could not be made */
static const int ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR = 561102; /* the executor was not handed over */
/* null where an object is needed, also a null executor */
static const int ACLNN_ERR_INNER_NULLPTR = 561103;

/** Prepares the operators. Optional: the first use does it too. */
aclnnStatus aclnnInit(const char *configPath);

/** Ends the use of the operators. Optional. */
aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNN_ACLNN_BASE_H_ */
