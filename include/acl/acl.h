/**
 * Start and end of use; includes the other headers of the interface. Belay implements this
 * interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 without aclInit, where it is needed; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. A function that returns a value gives 0 or NULL
 * then, if its comment says nothing else.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_H_
#define BELAY_ACL_ACL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "acl/acl_op.h"
#include "acl/acl_mdl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* version of this interface */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 10
#define ACL_PATCH_VERSION 0

/**
 * Prepares the process: call it before anything else. configPath names a JSON file, or is NULL for
 * the defaults. Calls are counted; each needs an aclFinalizeReference, or one aclFinalize ends them
 * all.
 * Errors: 100002: called before with another default device; 100003: the file cannot be opened;
 * 100005: the file has more than 10 MiB; 100006: the file is no valid JSON or nests too deep;
 * 100008: a key has a bad value; 107001: the default device does not exist; 207004:
 * ASCEND_RT_VISIBLE_DEVICES leaves no device; 500001: parts of two toolkits are loaded.
 * Page: aclcppdevg_03_0022
 */
aclError aclInit(const char *configPath);

/**
 * Ends the use of the interface at once, however often aclInit was called, and frees what is left.
 * Errors: 100037: nothing to end.
 * Page: aclcppdevg_03_0023
 */
aclError aclFinalize(void);

/**
 * Takes back one aclInit; the last one ends the use of the interface. *refCount becomes the number
 * of calls still open (refCount may be NULL).
 * Errors: 100037: nothing to end.
 * Page: aclcppdevg_03_1974
 */
aclError aclFinalizeReference(uint64_t *refCount);

/**
 * The texts of this thread's failed calls since the last time, newest first, and forgets them; NULL
 * when there are none. The text is valid until the next call.
 * Page: aclcppdevg_03_0028
 */
const char *aclGetRecentErrMsg(void);

/** The version of the interface as three numbers. */
aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_H_ */
