/**
 * What a program says of itself to tools: marks, ranges of time, and its pools of memory. Belay
 * implements this interface on the CPU. A function follows the page of its name in the public API
 * reference; "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_MSTX_MS_TOOLS_EXT_H_
#define BELAY_MSTX_MS_TOOLS_EXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** 0: there is no range */
typedef uint64_t mstxRangeId;

typedef struct mstxDomainRegistration_st * mstxDomainHandle_t;

typedef struct mstxMemHeap_st * mstxMemHeapHandle_t;

typedef struct mstxMemRegion_st * mstxMemRegionHandle_t;

typedef enum {
    MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 0
} mstxMemHeapUsageType;

typedef enum {
    MSTX_MEM_TYPE_VIRTUAL_ADDRESS = 0
} mstxMemType;

typedef enum {
    MSTX_MEM_REGION_REF_TYPE_POINTER = 0,
    MSTX_MEM_REGION_REF_TYPE_HANDLE = 1
} mstxMemRegionRefType;

typedef struct mstxDomainRegistration_st mstxDomainRegistration_t;
typedef struct mstxMemHeap_st mstxMemHeap_t;
typedef struct mstxMemRegion_st mstxMemRegion_t;

typedef struct mstxMemVirtualRangeDesc_t {
    uint32_t deviceId;
    const void *ptr;
    uint64_t size;
} mstxMemVirtualRangeDesc_t;

typedef struct mstxMemHeapDesc_t {
    mstxMemHeapUsageType usage;
    mstxMemType type;
    const void *typeSpecificDesc;
} mstxMemHeapDesc_t;

typedef struct mstxMemRegionsRegisterBatch_t {
    mstxMemHeapHandle_t heap;
    mstxMemType regionType;
    size_t regionCount;
    const void *regionDescArray;
    mstxMemRegionHandle_t *regionHandleArrayOut;
} mstxMemRegionsRegisterBatch_t;

typedef struct mstxMemRegionRef_t {
    mstxMemRegionRefType refType;
    union { const void *pointer; mstxMemRegionHandle_t handle; };
} mstxMemRegionRef_t;

typedef struct mstxMemRegionsUnregisterBatch_t {
    size_t refCount;
    const mstxMemRegionRef_t *refArray;
} mstxMemRegionsUnregisterBatch_t;

/**
 * The domain of this name, the same each time: digits, letters and _, at most 1023. What is in no
 * domain is in that named default. NULL when it cannot be a name.
 * Page: msprof_tx_0006
 */
mstxDomainHandle_t mstxDomainCreateA(const char *name);

/** Ends a domain. What is marked in it from now on is not shown. */
void mstxDomainDestroy(mstxDomainHandle_t domain);

/**
 * Marks this moment, and the one in which the stream gets there; NULL: this one alone. message has
 * at most 255 bytes.
 * Page: msprof_tx_0003
 */
void mstxMarkA(const char *message, aclrtStream stream);

/**
 * Begins a range of time, also on the stream. 0 when there is none, as with a message of more than
 * 255 bytes.
 * Page: msprof_tx_0004
 */
mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);

/**
 * Ends a range, also on the stream that it began on, by any thread.
 * Page: atlasopdev_16_0118
 */
void mstxRangeEnd(mstxRangeId id);

/** mstxMarkA, in this domain. */
void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);

/** mstxRangeStartA, in this domain. */
mstxRangeId mstxDomainRangeStartA(
    mstxDomainHandle_t domain, const char *message, aclrtStream stream);

/** mstxRangeEnd of a range of this domain. */
void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

/**
 * Says that memory is a pool from which the program gives out regions: what no region holds may not
 * be touched. desc->typeSpecificDesc is a mstxMemVirtualRangeDesc_t. The handle is the first
 * address.
 * Page: atlasopdev_16_0145
 */
mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc);

/**
 * It is no pool any more, and its regions are none.
 * Page: atlasopdev_16_0146
 */
void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);

/**
 * Gives out regions of a pool: regionDescArray has a mstxMemVirtualRangeDesc_t for each. Handles
 * are their first addresses, and are left in regionHandleArrayOut where heap is a registered pool.
 * Page: atlasopdev_16_0147
 */
void mstxMemRegionsRegister(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *desc);

/**
 * Takes regions back, named by their first addresses or their handles. What is queued may still use
 * them.
 * Page: atlasopdev_16_0148
 */
void mstxMemRegionsUnregister(
    mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *desc);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_MSTX_MS_TOOLS_EXT_H_ */
