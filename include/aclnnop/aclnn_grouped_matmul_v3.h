/**
 * Products of groups of matrices: no function yet. Belay implements this interface on the CPU. A
 * function follows the page of its name in the public API reference; "Page:" gives that page's
 * number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_V3_H_
#define BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_V3_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACLNNOP_ACLNN_GROUPED_MATMUL_V3_H_ */
