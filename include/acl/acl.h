/**
 * Start and end of use; includes the other headers of the interface. Belay implements this
 * interface on the CPU.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_H_
#define BELAY_ACL_ACL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "acl/acl_mdl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* version of this interface */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 10
#define ACL_PATCH_VERSION 0

/**
 * Process-wide init; configPath NULL or a JSON file ({} allowed); counted: +1 per call since
 * aclFinalizeReference exists (8.5 pages)
 * Page: aclcppdevg_03_1976
 */
aclError aclInit(const char *configPath);

/**
 * Process-wide deinit: clears the aclInit count and deinitialises at once
 * Page: aclcppdevg_03_1974
 */
aclError aclFinalize(void);

/**
 * Lowers the aclInit count by one and deinitialises only at 0; *refCount gets the count left (may
 * be NULL)
 * Page: aclcppdevg_03_1974
 */
aclError aclFinalizeReference(uint64_t *refCount);

/**
 * Returns and clears the text(s) of calls that failed in the same thread (default) or process
 * (err_msg_mode); several messages are joined, newest on top; NULL when it cannot get one
 * Page: aclcppdevg_03_0028
 */
const char *aclGetRecentErrMsg(void);

/** Reports interface version triple (1.10.0 in the 2025-06 header) */
aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_H_ */
