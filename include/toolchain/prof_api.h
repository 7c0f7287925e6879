/**
 * Records for a profiler. Belay implements this interface on the CPU. A function follows the page
 * of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_TOOLCHAIN_PROF_API_H_
#define BELAY_TOOLCHAIN_PROF_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t (*ProfCommandHandle)(uint32_t type, void *data, uint32_t len);

/** Nanoseconds of a clock that only goes forward, in which records give their times. */
uint64_t MsprofSysCycleTime(void);

/**
 * A number that stands for a name in records; there are none.
 * Not implemented: returns 0.
 */
uint64_t MsprofGetHashId(const char *hashInfo, size_t length);

/**
 * Who is told when profiling starts; it does not.
 * Not implemented: returns -1.
 */
int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);

/**
 * Takes the record of a call.
 * Not implemented: returns -1.
 */
int32_t MsprofReportApi(uint32_t agingFlag, const void *api);

/**
 * Takes a short record.
 * Not implemented: returns -1.
 */
int32_t MsprofReportCompactInfo(uint32_t agingFlag, const void *data, uint32_t length);

/**
 * Takes a long record.
 * Not implemented: returns -1.
 */
int32_t MsprofReportAdditionalInfo(uint32_t agingFlag, const void *data, uint32_t length);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_TOOLCHAIN_PROF_API_H_ */
