/**
 * What compiled kernels call when they are loaded. Belay implements this interface on the CPU. A
 * function follows the page of its name in the public API reference; "Page:" gives that page's
 * number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_RUNTIME_RT_H_
#define BELAY_RUNTIME_RT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

/**
 * Kernels for a card cannot run here.
 * Not implemented: returns 207000.
 */
int32_t rtDevBinaryRegister(const void *bin, void **handle);

/**
 * Kernels for a card cannot run here.
 * Not implemented: returns 207000.
 */
int32_t rtFunctionRegister(
    void *binHandle, const void *stubFunc, const char *stubName, const void *kernelInfoExt, uint32_t
    funcMode);

/**
 * Kernels for a card cannot run here.
 * Not implemented: returns 207000.
 */
int32_t rtKernelLaunch(
    const void *stubFunc, uint32_t blockDim, void *args, uint32_t argsSize, void *smDesc, void
    *stream);

/**
 * Where the cores of a card meet; there are none.
 * Not implemented: returns 207000.
 */
int32_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_RUNTIME_RT_H_ */
