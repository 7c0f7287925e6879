/**
 * The runtime: devices, contexts, streams, events, memory, callbacks, capture. Belay implements
 * this interface on the CPU.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_RT_H_
#define BELAY_ACL_ACL_RT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* event flag */
#define ACL_EVENT_SYNC 0x00000001u
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002u
#define ACL_EVENT_TIME_LINE 0x00000008u
#define ACL_EVENT_EXTERNAL 0x20
#define ACL_EVENT_DEVICE_USE_ONLY 0x10
#define ACL_EVENT_IPC 0x40

/* stream flag */
#define ACL_STREAM_FAST_LAUNCH 0x00000001u
#define ACL_STREAM_FAST_SYNC 0x00000002u
#define ACL_STREAM_PERSISTENT 0x4
#define ACL_STREAM_HUGE 0x8
#define ACL_STREAM_CPU_SCHEDULE 0x10
#define ACL_STREAM_DEVICE_USE_ONLY 0x20

/* stream failure mode */
#define ACL_CONTINUE_ON_FAILURE 0x00000000u
#define ACL_STOP_ON_FAILURE 0x00000001u

/* macro acl_rt.h */
#define MAX_MEM_UCE_INFO_ARRAY_SIZE 128
#define UCE_INFO_RESERVED_SIZE 14
#define ACL_RT_MEM_UCE_INFO_MAX_NUM 20
#define ACL_IPC_EVENT_HANDLE_SIZE 64

/* event record flag */
#define ACL_EVENT_RECORD_DEFAULT 0x0
#define ACL_EVENT_RECORD_EXTERNAL 0x1

/* value wait flag */
#define ACL_STREAM_WAIT_VALUE_GEQ 0x0
#define ACL_STREAM_WAIT_VALUE_EQ 0x1
#define ACL_STREAM_WAIT_VALUE_AND 0x2
#define ACL_STREAM_WAIT_VALUE_NOR 0x3
#define ACL_VALUE_WAIT_GEQ 0x0
#define ACL_VALUE_WAIT_EQ 0x1
#define ACL_VALUE_WAIT_AND 0x2
#define ACL_VALUE_WAIT_NOR 0x3

/* host register flag (V2) */
#define ACL_HOST_REG_MAPPED 0x2
#define ACL_HOST_REG_IOMEMORY 0x4
#define ACL_HOST_REG_READONLY 0x8
#define ACL_HOST_REG_PINNED 0x10000000

/* notify flag */
#define ACL_NOTIFY_DEFAULT 0x00000000U
#define ACL_NOTIFY_DEVICE_USE_ONLY 0x00000001U
#define ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x02UL

/* debug print flag */
#define ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY 0x0UL
#define ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE 0x1UL

typedef enum {
    ACL_DEVICE = 0,
    ACL_HOST = 1
} aclrtRunMode;

typedef enum {
    ACL_TS_ID_AICORE = 0,
    ACL_TS_ID_AIVECTOR = 1,
    ACL_TS_ID_RESERVED = 2
} aclrtTsId;

typedef enum {
    ACL_EVENT_STATUS_COMPLETE = 0,
    ACL_EVENT_STATUS_NOT_READY = 1,
    ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

typedef enum {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

typedef enum {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED = 0xffff
} aclrtEventWaitStatus;

typedef enum {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED = 0xffff
} aclrtStreamStatus;

typedef enum {
    ACL_CALLBACK_NO_BLOCK = 0,
    ACL_CALLBACK_BLOCK = 1
} aclrtCallbackBlockType;

typedef enum {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4
} aclrtMemcpyKind;

typedef enum {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 256,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

typedef enum {
    ACL_DDR_MEM = 0,
    ACL_HBM_MEM = 1,
    ACL_DDR_MEM_HUGE = 2,
    ACL_DDR_MEM_NORMAL = 3,
    ACL_HBM_MEM_HUGE = 4,
    ACL_HBM_MEM_NORMAL = 5,
    ACL_DDR_MEM_P2P_HUGE = 6,
    ACL_DDR_MEM_P2P_NORMAL = 7,
    ACL_HBM_MEM_P2P_HUGE = 8,
    ACL_HBM_MEM_P2P_NORMAL = 9,
    ACL_HBM_MEM_HUGE1G = 10,
    ACL_HBM_MEM_P2P_HUGE1G = 11,
    ACL_MEM_NORMAL = 12,
    ACL_MEM_HUGE = 13,
    ACL_MEM_HUGE1G = 14,
    ACL_MEM_P2P_NORMAL = 15,
    ACL_MEM_P2P_HUGE = 16,
    ACL_MEM_P2P_HUGE1G = 17
} aclrtMemAttr;

typedef enum {
    ACL_GROUP_AICORE_INT = 0,
    ACL_GROUP_AIV_INT = 1,
    ACL_GROUP_AIC_INT = 2,
    ACL_GROUP_SDMANUM_INT = 3,
    ACL_GROUP_ASQNUM_INT = 4,
    ACL_GROUP_GROUPID_INT = 5
} aclrtGroupAttr;

typedef enum {
    ACL_RT_OVERFLOW_MODE_SATURATION = 0,
    ACL_RT_OVERFLOW_MODE_INFNAN = 1,
    ACL_RT_OVERFLOW_MODE_UNDEF = 2
} aclrtFloatOverflowMode;

typedef enum {
    ACL_RT_STREAM_WORK_ADDR_PTR = 0,
    ACL_RT_STREAM_WORK_SIZE = 1,
    ACL_RT_STREAM_FLAG = 2,
    ACL_RT_STREAM_PRIORITY = 3
} aclrtStreamConfigAttr;

typedef enum {
    ACL_MEM_LOCATION_TYPE_HOST = 0,
    ACL_MEM_LOCATION_TYPE_DEVICE = 1,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4
} aclrtMemLocationType;

typedef enum {
    ACL_MEM_ALLOCATION_TYPE_PINNED = 0
} aclrtMemAllocationType;

typedef enum {
    ACL_MEM_HANDLE_TYPE_NONE = 0
} aclrtMemHandleType;

typedef enum {
    ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
    ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
    ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF = 0xffff
} aclrtMemGranularityOptions;

typedef enum {
    ACL_RT_DEVICE_STATUS_NORMAL = 0,
    ACL_RT_DEVICE_STATUS_ABNORMAL = 1,
    ACL_RT_DEVICE_STATUS_END = 0xffff
} aclrtDeviceStatus;

typedef enum {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2
} aclmdlRICaptureStatus;

typedef enum {
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,
    ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1,
    ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2
} aclmdlRICaptureMode;

typedef enum {
    ACL_RT_MEM_ATTR_RSV = 0,
    ACL_RT_MEM_ATTR_MODULE_ID = 1,
    ACL_RT_MEM_ATTR_DEVICE_ID = 2,
    ACL_RT_MEM_ATTR_VA_FLAG = 3
} aclrtMallocAttrType;

typedef enum {
    ACL_HOST_REGISTER_MAPPED = 0,
    ACL_HOST_REGISTER_IOMEMORY = 0x04,
    ACL_HOST_REGISTER_READONLY = 0x08
} aclrtHostRegisterType;

typedef enum {
    ACL_DEV_ATTR_AICPU_CORE_NUM = 1,
    ACL_DEV_ATTR_AICORE_CORE_NUM = 101,
    ACL_DEV_ATTR_CUBE_CORE_NUM = 102,
    ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
    ACL_DEV_ATTR_WARP_SIZE = 202,
    ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE = 203,
    ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE = 204,
    ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
    ACL_DEV_ATTR_L2_CACHE_SIZE = 302,
    ACL_DEV_ATTR_SMP_ID = 401,
    ACL_DEV_ATTR_PHY_CHIP_ID = 402,
    ACL_DEV_ATTR_SUPER_POD_DEVICE_ID = 403,
    ACL_DEV_ATTR_SUPER_POD_SERVER_ID = 404,
    ACL_DEV_ATTR_SUPER_POD_ID = 405,
    ACL_DEV_ATTR_CUST_OP_PRIVILEGE = 406,
    ACL_DEV_ATTR_MAINBOARD_ID = 407,
    ACL_DEV_ATTR_IS_VIRTUAL = 501
} aclrtDevAttr;

typedef enum {
    ACL_RT_NO_ERROR = 0,
    ACL_RT_ERROR_MEMORY = 1,
    ACL_RT_ERROR_L2 = 2,
    ACL_RT_ERROR_AICORE = 3,
    ACL_RT_ERROR_LINK = 4,
    ACL_RT_ERROR_L3_PORT = 5,
    ACL_RT_ERROR_OTHERS = 0xFFFF
} aclrtErrorType;

typedef enum {
    ACL_RT_AICORE_ERROR_UNKOWN = 0,
    ACL_RT_AICORE_ERROR_SW = 1,
    ACL_RT_AICORE_ERROR_HW_LOCAL = 2
} aclrtAicoreErrorType;

typedef enum {
    ACL_RT_DEV_RES_CUBE_CORE = 0,
    ACL_RT_DEV_RES_VECTOR_CORE = 1
} aclrtDevResLimitType;

typedef enum {
    ACL_MODEL_RI_TASK_DEFAULT = 0,
    ACL_MODEL_RI_TASK_KERNEL = 1,
    ACL_MODEL_RI_TASK_EVENT_RECORD = 2,
    ACL_MODEL_RI_TASK_EVENT_WAIT = 3,
    ACL_MODEL_RI_TASK_EVENT_RESET = 4,
    ACL_MODEL_RI_TASK_VALUE_WRITE = 5,
    ACL_MODEL_RI_TASK_VALUE_WAIT = 6
} aclmdlRITaskType;

typedef enum {
    ACL_STREAM_ATTR_FAILURE_MODE = 1,
    ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK = 2,
    ACL_STREAM_ATTR_USER_CUSTOM_TAG = 3,
    ACL_STREAM_ATTR_CACHE_OP_INFO = 4,
    ACL_STREAM_ATTR_PRIORITY = 5
} aclrtStreamAttr;

typedef enum {
    ACL_RT_THREAD_LEVEL = 0
} aclrtLastErrLevel;

typedef enum {
    ACL_RT_CMO_TYPE_PREFETCH = 0,
    ACL_RT_CMO_TYPE_WRITEBACK = 1,
    ACL_RT_CMO_TYPE_INVALID = 2,
    ACL_RT_CMO_TYPE_FLUSH = 3
} aclrtCmoType;

typedef enum {
    ACL_RT_STREAM_STATE_CREATE_POST = 1,
    ACL_RT_STREAM_STATE_DESTROY_PRE = 2
} aclrtStreamState;

typedef void *aclmdlRI;
typedef void *aclmdlRITask;
typedef void *aclrtTaskGrp;
typedef void *aclrtNotify;
typedef void *aclrtDrvMemHandle;
typedef struct rtExceptionInfo aclrtExceptionInfo;
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;

typedef void (*aclrtCallback)(void *userData);

typedef void (*aclrtHostFunc)(void *args);

typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *exceptionInfo);

typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void *args);

typedef struct aclrtMemLocation {
    uint32_t id;
    aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize;
    uint32_t rsv[4];
} aclrtPtrAttributes;

typedef struct aclrtMemcpyBatchAttr {
    aclrtMemLocation dstLoc;
    aclrtMemLocation srcLoc;
    uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

typedef struct aclrtPhysicalMemProp {
    aclrtMemHandleType handleType;
    aclrtMemAllocationType allocationType;
    aclrtMemAttr memAttr;
    aclrtMemLocation location;
    uint64_t reserve;
} aclrtPhysicalMemProp;

typedef union aclrtMallocAttrValue {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
} aclrtMallocAttrValue;

typedef struct aclrtMallocAttribute {
    aclrtMallocAttrType attr;
    aclrtMallocAttrValue value;
} aclrtMallocAttribute;

typedef struct aclrtMallocConfig {
    aclrtMallocAttribute *attrs;
    size_t numAttrs;
} aclrtMallocConfig;

typedef struct aclrtMemUsageInfo {
    char name[32];
    uint64_t curMemSize;
    uint64_t memPeakSize;
    size_t reserved[8];
} aclrtMemUsageInfo;

typedef struct aclrtMemUceInfo {
    void *addr;
    size_t len;
    size_t reserved[UCE_INFO_RESERVED_SIZE];
} aclrtMemUceInfo;

typedef struct aclrtMemUceInfoArray {
    size_t arraySize;
    aclrtMemUceInfo memUceInfoArray[ACL_RT_MEM_UCE_INFO_MAX_NUM];
} aclrtMemUceInfoArray;

typedef union aclrtErrorInfoDetail {
    aclrtMemUceInfoArray uceInfo;
    aclrtAicoreErrorType aicoreErrType;
} aclrtErrorInfoDetail;

typedef struct aclrtErrorInfo {
    uint8_t tryRepair;
    uint8_t hasDetail;
    uint8_t reserved[2];
    aclrtErrorType errorType;
    aclrtErrorInfoDetail detail;
} aclrtErrorInfo;

typedef struct aclrtUuid {
    char bytes[16];
} aclrtUuid;

typedef struct aclrtUtilizationInfo {
    int32_t cubeUtilization;
    int32_t vectorUtilization;
    int32_t aicpuUtilization;
    int32_t memoryUtilization;
    aclrtUtilizationExtendInfo *utilizationExtend;
} aclrtUtilizationInfo;

typedef struct aclrtStreamConfigHandle {
    void *workptr;
    size_t workSize;
    size_t flag;
    uint32_t priority;
} aclrtStreamConfigHandle;

typedef union aclrtStreamAttrValue {
    uint64_t failureMode;
    uint32_t overflowSwitch;
    uint32_t userCustomTag;
    uint32_t cacheOpInfoSwitch;
    uint32_t streamPriority;
    uint32_t reserve[4];
} aclrtStreamAttrValue;

typedef struct aclrtIpcEventHandle {
    char reserved[ACL_IPC_EVENT_HANDLE_SIZE];
} aclrtIpcEventHandle;

/** Binds a user thread (id) to process callbacks of a stream */
aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/** Queues host callback into stream, run by subscribed thread in ProcessReport */
aclError aclrtLaunchCallback(
    aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream);

/** Called in a loop by the subscribed thread; waits up to timeout ms and runs due callbacks */
aclError aclrtProcessReport(int32_t timeout);

/** Unbinds thread and stream */
aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * Queues host function run by an internal thread; always blocks later tasks of the stream
 * Page: aclcppdevg_03_1959
 */
aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/** Registers callback run when a task fails; NULL clears */
aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/** Task id of the failed task */
uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Stream id of the failed task */
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Thread id of the failed task */
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Device id of the failed task */
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);

/** Error code of the failed task */
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

/**
 * Starts capture: tasks on stream are stored, not run
 * Page: aclcppdevg_03_1782
 */
aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);

/**
 * Ends capture and returns the model instance
 * Page: aclcppdevg_03_1784
 */
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI);

/**
 * Capture status of a stream and the instance being built
 * Page: aclcppdevg_03_1783
 */
aclError aclmdlRICaptureGetInfo(
    aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI);

/**
 * Sets the thread's capture mode to *mode and returns the previous one through *mode
 * Page: aclcppdevg_03_1788
 */
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode);

/**
 * Marks the start of an updatable task group in a capture
 * Page: aclcppdevg_03_1823
 */
aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);

/**
 * Ends the group and returns its handle
 * Page: aclcppdevg_03_1824
 */
aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle);

/**
 * Starts updating a task group: following launches replace the recorded tasks
 * Page: aclcppdevg_03_1825
 */
aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle);

/**
 * Ends update; update itself is async
 * Page: aclcppdevg_03_1826
 */
aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

/**
 * Synchronous replay
 * Page: aclcppdevg_03_1850
 */
aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout);

/**
 * Replays instance on stream; success means queued, not done
 * Page: aclcppdevg_03_1822
 */
aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);

/** Destroys instance */
aclError aclmdlRIDestroy(aclmdlRI modelRI);

/**
 * func(userData) is called when the instance is destroyed
 * Page: aclcppdevg_03_2152
 */
aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void *userData);

/**
 * Cancels a destroy callback
 * Page: aclcppdevg_03_2153
 */
aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func);

/** Prints instance for debugging */
aclError aclmdlRIDebugPrint(aclmdlRI modelRI);

/**
 * Writes the instance as JSON for chrome://tracing: model id, stream ids, task ids, task types
 * Page: aclcppdevg_03_1988
 */
aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path, uint32_t flags);

/** Numeric id of instance */
aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId);

/**
 * Names the instance; last call wins
 * Page: aclcppdevg_03_1883
 */
aclError aclmdlRISetName(aclmdlRI modelRI, const char *name);

/**
 * Reads the name; empty string when none was set
 * Page: aclcppdevg_03_1884
 */
aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name);

/**
 * Streams of an instance; two calls: streams NULL gives the count in *numStreams, then an array of
 * that size is filled
 * Page: aclcppdevg_03_2146
 */
aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams);

/**
 * Tasks of one stream of an instance; same two-call pattern
 * Page: aclcppdevg_03_2147
 */
aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks);

/**
 * Type of a task from GetTasksByStream
 * Page: aclcppdevg_03_2148
 */
aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type);

/**
 * Sequence id of a task
 * Page: aclcppdevg_03_2175
 */
aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id);

/**
 * Explicit context on a device; becomes current for the calling thread; carries its own default
 * stream
 */
aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/** Destroys an explicitly created context only */
aclError aclrtDestroyContext(aclrtContext context);

/**
 * Binds a context to the thread; last call wins; a context of another device switches the device
 * too
 * Page: aclcppdevg_03_0061
 */
aclError aclrtSetCurrentContext(aclrtContext context);

/** Current context of the thread */
aclError aclrtGetCurrentContext(aclrtContext *context);

/** State of default context */
aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active);

/** Per-context system option (deterministic, debug kernel) */
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads per-context option */
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/**
 * Selects device for the calling thread; implicitly creates the device default context + default
 * stream; all threads of a process that set one device share that one default context
 * Page: aclcppdevg_03_0039
 */
aclError aclrtSetDevice(int32_t deviceId);

/**
 * Drops one reference; at 0 waits for the tasks of the default context and stream, then frees them
 * and all streams made under the default context
 * Page: aclcppdevg_03_0040
 */
aclError aclrtResetDevice(int32_t deviceId);

/**
 * Frees device resources regardless of how many SetDevice calls were made
 * Page: aclcppdevg_03_0041
 */
aclError aclrtResetDeviceForce(int32_t deviceId);

/** Device id of the current context of the calling thread */
aclError aclrtGetDevice(int32_t *deviceId);

/** Number of usable devices (uint32_t*) */
aclError aclrtGetDeviceCount(uint32_t *count);

/** ACL_HOST when app runs on host, ACL_DEVICE when on the device SoC */
aclError aclrtGetRunMode(aclrtRunMode *runMode);

/**
 * Blocks until all work of the current context's device is finished
 * Page: aclpythondevg_0120
 */
aclError aclrtSynchronizeDevice(void);

/** SynchronizeDevice with ms timeout, -1 forever */
aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/** canAccessPeer=1 when P2P copy is possible between two devices */
aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId);

/** Allows current device to access peer memory; one direction */
aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/** Undoes EnablePeerAccess */
aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/** Reads device attribute */
aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value);

/** Device health: NORMAL/ABNORMAL */
aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus);

/** Fills cube/vector/aicpu/memory utilisation percentages */
aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo);

/** Kills running tasks and discards queued ones on a device; timeout ms, 0 = wait */
aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/** Host pid usable for IPC whitelists (container aware) */
aclError aclrtDeviceGetBareTgid(int32_t *pid);

/**
 * 16-byte device uuid
 * Page: aclcppdevg_03_2054
 */
aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid);

/** Maps ASCEND_RT_VISIBLE_DEVICES index to logic id */
aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId);

/** Selects AI Core or Vector Core task scheduler */
aclError aclrtSetTsDevice(aclrtTsId tsId);

/** Sets float overflow mode (saturation / inf-nan) of the device */
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

/** Reads float overflow mode */
aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);

/** Limits cores per device for process */
aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value);

/** Reads it */
aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value);

/** Clears it */
aclError aclrtResetDeviceResLimit(int32_t deviceId);

/** Effective core limit in thread */
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

/** Event usable for sync, timing and progress */
aclError aclrtCreateEvent(aclrtEvent *event);

/**
 * Event with flag bits
 * Page: aclcppdevg_03_0080
 */
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Event that can be re-recorded freely; hardware event taken only at record time
 * Page: aclcppdevg_03_0081
 */
aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Destroys an event, also one not yet complete: does not block, resources go when it completes
 * (pages since 8.0, any constructor)
 * Page: aclcppdevg_03_0082
 */
aclError aclrtDestroyEvent(aclrtEvent event);

/**
 * Async: the event captures all tasks issued so far on the stream
 * Page: aclcppdevg_03_0083
 */
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/**
 * Record with DEFAULT or EXTERNAL visibility
 * Page: aclcppdevg_03_2282
 */
aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag);

/** Async: returns event to unrecorded */
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * Async: tasks issued later on stream wait for the tasks captured in the event's latest record;
 * several streams may wait for one event
 * Page: aclcppdevg_03_0091
 */
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/**
 * StreamWaitEvent with its own limit
 * Page: aclcppdevg_03_2051
 */
aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout);

/** Deprecated status query */
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/** COMPLETE(1)/NOT_READY(0) of recorded tasks */
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status);

/** Whether tasks waiting on event have passed */
aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status);

/** Blocks host until tasks captured in event finish */
aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * Same with timeout ms, -1 forever
 * Page: aclcppdevg_03_0089
 */
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/** Milliseconds (float) between two recorded events of the same stream */
aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

/**
 * Microseconds since AI processor boot at event completion
 * Page: aclcppdevg_03_1780
 */
aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/**
 * Numeric event id
 * Page: aclcppdevg_03_1865
 */
aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/**
 * Seconds an op may wait on an event; process-wide, for StreamWaitEvent tasks issued later; last
 * call wins
 * Page: aclcppdevg_03_0092
 */
aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/** Seconds before AI core/CPU op is killed */
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/** Op timeout in microseconds; returns value actually applied */
aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/**
 * Creates a notify (device-side flag, set once, reset by the wait)
 * Page: aclcppdevg_03_1860
 */
aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag);

/**
 * Destroys a notify
 * Page: aclcppdevg_03_1861
 */
aclError aclrtDestroyNotify(aclrtNotify notify);

/**
 * Async: sets the notify when the stream reaches it
 * Page: aclcppdevg_03_1862
 */
aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/**
 * Async: stream waits until the notify is set, then resets it
 * Page: aclcppdevg_03_1863
 */
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout);

/**
 * Numeric notify id
 * Page: hcclopdevapi_07_0051
 */
aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId);

/**
 * Resets many notifies
 * Page: aclcppdevg_03_1938
 */
aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num);

/**
 * Returns and clears the thread's last runtime error
 * Page: aclcppdevg_03_0144
 */
aclError aclrtGetLastError(aclrtLastErrLevel level);

/**
 * Returns last runtime error of thread without clearing
 * Page: aclcppdevg_03_0143
 */
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/** Process-wide system option */
aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/** Reads it */
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/**
 * Device memory, 64-byte aligned start; size rounded up to 32 then +32
 * Page: aclcppdevg_03_0095
 */
aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** As aclrtMalloc without the extra 32 bytes */
aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/** Cached device memory; pair with MemFlush/MemInvalidate */
aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * aclrtMalloc with attributes (cfg); 64-byte aligned start
 * Page: aclcppdevg_03_1796
 */
aclError aclrtMallocWithCfg(
    void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg);

/**
 * Memory the device task scheduler can use (some graph-mode operators need it)
 * Page: aclcppdevg_03_1797
 */
aclError aclrtMallocForTaskScheduler(
    void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg);

/** Frees memory from aclrtMalloc family */
aclError aclrtFree(void *devPtr);

/**
 * Frees device memory after an implicit device synchronisation (tasks using it finish first)
 * Page: aclcppdevg_03_2074
 */
aclError aclrtFreeWithDevSync(void *devPtr);

/**
 * Pinned host memory, 64-byte aligned start; on a SoC (RC form) it is device memory on normal pages
 * without that alignment
 * Page: aclcppdevg_03_0101
 */
aclError aclrtMallocHost(void **hostPtr, size_t size);

/** Pinned host memory with attributes (module id, device id, VA flag) */
aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg);

/** Frees memory from aclrtMallocHost(WithCfg) */
aclError aclrtFreeHost(void *hostPtr);

/**
 * Frees pinned host memory (MallocHost, MallocHostWithCfg) after an implicit device synchronisation
 * Page: aclcppdevg_03_2075
 */
aclError aclrtFreeHostWithDevSync(void *hostPtr);

/** Flush cache range to DDR */
aclError aclrtMemFlush(void *devPtr, size_t size);

/** Invalidate cache range */
aclError aclrtMemInvalidate(void *devPtr, size_t size);

/**
 * Synchronous copy, done at once, with no implicit device or stream synchronisation; host memory
 * may be unpinned
 * Page: aclcppdevg_03_0105
 */
aclError aclrtMemcpy(
    void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);

/**
 * Async copy on stream with pinned host memory; with pageable host memory returns after the copy
 * finished (8.3 and later pages; older: unpredictable)
 * Page: aclcppdevg_03_0106
 */
aclError aclrtMemcpyAsync(
    void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream
    stream);

/** Synchronous pitched copy */
aclError aclrtMemcpy2d(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    aclrtMemcpyKind kind);

/** Async pitched copy */
aclError aclrtMemcpy2dAsync(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    aclrtMemcpyKind kind, aclrtStream stream);

/** Conditional-async copy variant */
aclError aclrtMemcpyAsyncWithCondition(
    void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream
    stream);

/**
 * Batch of sync copies, unordered
 * Page: aclcppdevg_03_1933
 */
aclError aclrtMemcpyBatch(
    void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
    aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex);

/** Async batch copy */
aclError aclrtMemcpyBatchAsync(
    void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
    aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
    aclrtStream stream);

/** Synchronous fill with byte value; detects host/device by address */
aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);

/** Async fill on stream */
aclError aclrtMemsetAsync(
    void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream);

/** Free/total of a memory class (DDR/HBM, huge/normal, p2p) */
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/**
 * Per-component memory use, sorted descending
 * Page: aclcppdevg_03_2125
 */
aclError aclrtGetMemUsageInfo(
    int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum);

/** Location/page size of any pointer */
aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes);

/**
 * Maps host memory for device access
 * Page: aclcppdevg_03_2229
 */
aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr);

/**
 * Registers host memory by flag bits
 * Page: aclcppdevg_03_2128
 */
aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/** Undoes HostRegister(V2) */
aclError aclrtHostUnregister(void *ptr);

/**
 * Device address of registered host memory
 * Page: aclcppdevg_03_2129
 */
aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/** Async: writes value to device memory */
aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/**
 * Async: stream waits until the 64-bit value at devAddr satisfies comparison
 * Page: aclcppdevg_03_1848
 */
aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/**
 * Async cache maintenance (prefetch etc.) on a device range
 * Page: aclcppdevg_03_0123
 */
aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream);

/** Reserves VA range */
aclError aclrtReserveMemAddress(
    void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags);

/** Releases a VA range */
aclError aclrtReleaseMemAddress(void *virPtr);

/** Physical allocation handle from prop */
aclError aclrtMallocPhysical(
    aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags);

/** Releases physical handle */
aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/** Maps a physical handle at a reserved VA */
aclError aclrtMapMem(
    void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags);

/** Unmaps VA */
aclError aclrtUnmapMem(void *virPtr);

/** Minimum/recommended granularity for a prop (2 MB) */
aclError aclrtMemGetAllocationGranularity(
    aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity);

/** New stream in current context, highest priority */
aclError aclrtCreateStream(aclrtStream *stream);

/** Stream with priority 0(highest)..7 and flag bits */
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);

/** Stream option object (for CreateStreamV2) */
aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);

/** Sets one stream option */
aclError aclrtSetStreamConfigOpt(
    aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attrValue, size_t
    valueSize);

/** Stream from config handle */
aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle);

/** Frees it */
aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle);

/**
 * Waits for pending tasks, then destroys
 * Page: aclcppdevg_03_0070
 */
aclError aclrtDestroyStream(aclrtStream stream);

/**
 * Destroys immediately, dropping unfinished tasks
 * Page: aclcppdevg_03_0071
 */
aclError aclrtDestroyStreamForce(aclrtStream stream);

/** COMPLETE(0)/NOT_READY(1) for all tasks of the stream */
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/** Blocks host until stream drained; returns first async task error */
aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * Same with timeout in ms
 * Page: aclcppdevg_03_0077
 */
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/** Numeric stream id */
aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);

/**
 * Priority; smaller = higher
 * Page: aclcppdevg_03_2120
 */
aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);

/**
 * Flags given at creation, OR-ed; 0 when none were given
 * Page: aclcppdevg_03_2121
 */
aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/**
 * Number of streams still available on the current device
 * Page: aclcppdevg_03_1856
 */
aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);

/** CONTINUE_ON_FAILURE(0, default) or STOP_ON_FAILURE(1) after a task fails */
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/**
 * Sets failure mode / overflow switch / tag / op-info cache
 * Page: aclcppdevg_03_1874
 */
aclError aclrtSetStreamAttribute(
    aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value);

/**
 * Reads one attribute of a stream
 * Page: aclcppdevg_03_1858
 */
aclError aclrtGetStreamAttribute(
    aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value);

/** Turns overflow detection of a stream on/off */
aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);

/** Reads it (0 off, else on) */
aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/**
 * Stops running and discards queued tasks of a stream
 * Page: aclcppdevg_03_1777
 */
aclError aclrtStreamAbort(aclrtStream stream);

/**
 * Stops the task running on the stream without discarding queued tasks
 * Page: aclcppdevg_03_1997
 */
aclError aclrtStreamStop(aclrtStream stream);

/**
 * Called after every stream creation (CREATE_POST = 1) and before every destruction (DESTROY_PRE =
 * 2), default streams included
 * Page: aclcppdevg_03_1996
 */
aclError aclrtRegStreamStateCallback(
    const char *regName, aclrtStreamStateCallback callback, void *args);

/** Limits cube/vector cores for a stream */
aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value);

/** Reads stream core limit */
aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value);

/** Removes stream core limit */
aclError aclrtResetStreamResLimit(aclrtStream stream);

/** Applies stream limits to ops prepared in this thread */
aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/** Undo */
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_RT_H_ */
