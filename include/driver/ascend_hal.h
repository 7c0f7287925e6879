/**
 * The driver: there is none, and its version says so. Belay implements this interface on the CPU. A
 * function follows the page of its name in the public API reference; "Page:" gives that page's
 * number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_DRIVER_ASCEND_HAL_H_
#define BELAY_DRIVER_ASCEND_HAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

/**
 * The version of the driver's interface, which is 0: there is no driver, and none of its other
 * functions. Returns 0, or -1 without a place for it.
 */
int32_t halGetAPIVersion(int32_t *halAPIVersion);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_DRIVER_ASCEND_HAL_H_ */
