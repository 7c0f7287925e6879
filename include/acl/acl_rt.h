/**
 * The runtime: devices, contexts, streams, events, memory, callbacks, capture. Belay implements
 * this interface on the CPU. A function follows the page of its name in the public API reference;
 * "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it. Functions that wait: 100000 in a callback, 107022 when
 * the tasks were dropped meanwhile, and the code of a task that failed. A function that returns a
 * value gives 0 or NULL then, if its comment says nothing else.
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

/* sizes of arrays in structs */
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

/* memory between processes */
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS 0x1UL
#define ACL_RT_VMM_EXPORT_FLAG_DEFAULT 0x0UL
#define ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION 0x1UL

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
    ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE = 204,
    ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301,
    ACL_DEV_ATTR_L2_CACHE_SIZE = 302,
    ACL_DEV_ATTR_SMP_ID = 401,
    ACL_DEV_ATTR_PHY_CHIP_ID = 402,
    ACL_DEV_ATTR_SUPER_POD_DEVICE_ID = 403,
    ACL_DEV_ATTR_SUPER_POD_DEVIDE_ID = 403,
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
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM = 10,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX = 11,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN = 12,
    ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL = 13
} aclrtReduceKind;

typedef enum {
    ACL_RT_STREAM_STATE_CREATE_POST = 1,
    ACL_RT_STREAM_STATE_DESTROY_PRE = 2
} aclrtStreamState;

typedef enum {
    ACL_RT_DEVICE_STATE_SET_PRE = 0,
    ACL_RT_DEVICE_STATE_SET_POST = 1,
    ACL_RT_DEVICE_STATE_RESET_PRE = 2,
    ACL_RT_DEVICE_STATE_RESET_POST = 3
} aclrtDeviceState;

typedef enum {
    ACL_RT_DEVICE_TASK_ABORT_PRE = 0,
    ACL_RT_DEVICE_TASK_ABORT_POST = 1
} aclrtDeviceTaskAbortStage;

typedef void *aclmdlRI;
typedef void *aclmdlRITask;
typedef void *aclrtTaskGrp;
typedef void *aclrtNotify;
typedef void *aclrtBinHandle;
typedef void *aclrtFuncHandle;
typedef struct aclrtBinaryLoadOptions aclrtBinaryLoadOptions;
typedef void *aclrtDrvMemHandle;
typedef struct rtExceptionInfo aclrtExceptionInfo;
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;

typedef void (*aclrtCallback)(void *userData);

typedef void (*aclrtHostFunc)(void *args);

typedef void (*aclrtExceptionInfoCallback)(aclrtExceptionInfo *exceptionInfo);

typedef void (*aclrtStreamStateCallback)(aclrtStream stm, aclrtStreamState state, void *args);

typedef void (*aclrtDeviceStateCallback)(uint32_t devId, aclrtDeviceState state, void *args);

typedef int32_t (*aclrtDeviceTaskAbortCallback)(int32_t deviceId, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args);

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

/**
 * Names the thread that runs the callbacks of a stream in aclrtProcessReport. A thread may serve
 * several streams of one device.
 * Errors: 107011: the stream has a thread already; 107012: the thread serves streams of another
 * device.
 */
aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * Puts a host callback into a stream. It runs in the subscribed thread; with ACL_CALLBACK_BLOCK
 * later tasks wait for it. It must not call functions that wait, allocate or launch.
 * Errors: 107000: no such blockType; 107015: no thread serves the stream.
 */
aclError aclrtLaunchCallback(
    aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream);

/**
 * Runs the callbacks that are due, or waits up to timeout milliseconds for one; -1 waits for ever.
 * Errors: 107000: timeout is 0 or less than -1; 107012: the thread serves no stream; 107019: none
 * came in time.
 */
aclError aclrtProcessReport(int32_t timeout);

/**
 * Takes aclrtSubscribeReport back.
 * Errors: 107011: no thread serves the stream; 107012: another thread serves it.
 */
aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * Puts a host function into a stream: a thread of the runtime runs it and later tasks wait for it.
 * It must not call the runtime.
 * Page: aclcppdevg_03_1959
 */
aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args);

/** Calls callback when a task fails; NULL removes it. */
aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback);

/**
 * The number of the failed task; 0xFFFFFFFF without info. Only inside the exception callback. Needs
 * no aclInit.
 */
uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info);

/**
 * The number of the failed task's stream; 0xFFFFFFFF without info. Only inside the exception
 * callback. Needs no aclInit.
 */
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info);

/**
 * The number of the thread that issued the failed task; 0xFFFFFFFF without info. Only inside the
 * exception callback. Needs no aclInit.
 * Not implemented (tasks do not know the thread that issued them): returns 0xFFFFFFFFu.
 */
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info);

/**
 * The failed task's device; 0xFFFFFFFF without info. Only inside the exception callback. Needs no
 * aclInit.
 */
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info);

/**
 * The code that the task failed with; 0xFFFFFFFF without info. Only inside the exception callback.
 * Needs no aclInit.
 */
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info);

/**
 * From here to aclmdlRICaptureEnd tasks issued to the stream are kept, not run. The mode says which
 * calls that would spoil a capture are refused, and in which threads. Not for the default stream.
 * Errors: 107000: the default stream or an unknown mode; 107003: stream of another context; 107030:
 * the stream is being captured.
 * Page: aclcppdevg_03_1782
 */
aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);

/**
 * Ends the capture and gives the model instance made of it. Streams that joined through events must
 * have come back to this one.
 * Errors: 107000: no capture began on this stream; 107025: a joined stream did not come back, or
 * got work after its return; 107030: another thread began the capture; 107033: the capture was
 * spoiled.
 * Page: aclcppdevg_03_1784
 */
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI);

/**
 * Whether a capture has the stream (none, active or spoiled), and the instance it is making.
 * *modelRI means nothing when there is none.
 * Page: aclcppdevg_03_1783
 */
aclError aclmdlRICaptureGetInfo(
    aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI);

/**
 * Sets the calling thread's mode for calls that a capture forbids to *mode, and puts the old one
 * there.
 * Errors: 107000: no such mode.
 * Page: aclcppdevg_03_1788
 */
aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode);

/**
 * Operators issued from here to aclmdlRICaptureTaskGrpEnd form a group that can be replaced later.
 * The stream must be in a capture.
 * Errors: 107000: the stream is not being captured, or has a group open; 107033: the capture was
 * spoiled; 507009: returned by calls inside that issue something else than an operator.
 * Page: aclcppdevg_03_1823
 */
aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);

/**
 * Ends the group and gives its handle, which is valid until the instance is destroyed.
 * Errors: 107000: the stream is not being captured, or has no group open; 107033: the capture was
 * spoiled.
 * Page: aclcppdevg_03_1824
 */
aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp *handle);

/**
 * Operators issued from here to aclmdlRICaptureTaskUpdateEnd replace those of the group, one by
 * one. The stream must not be in a capture.
 * Errors: 107000: the stream is being captured or updates a group already, or the capture of the
 * group has not ended; 107004: stream of another device than the group's; 107017: no group, or its
 * instance was destroyed; 507009: returned by calls inside that issue something else than an
 * operator.
 * Page: aclcppdevg_03_1825
 */
aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle);

/**
 * Ends the replacement, which takes effect in the order of the stream: the next replay that reaches
 * the group after that runs the new operators.
 * Errors: 107000: no update began on this stream, or the number of operators differs from the
 * group's.
 * Page: aclcppdevg_03_1826
 */
aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

/**
 * Runs the instance once and waits, at most timeout milliseconds; -1 waits for ever.
 * Errors: 107000: the instance is being captured, memory that it uses was freed, or timeout is less
 * than -1; 107002: the thread has no context; 107004: the current context is on another device;
 * 107019: not finished in time.
 * Page: aclcppdevg_03_1850
 */
aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout);

/**
 * Runs the instance once, in the order of the stream. NULL is the default stream.
 * Errors: 107000: the instance is being captured, or memory that it uses was freed; 107003: stream
 * of another context; 107004: stream of another device; 107030: the stream is being captured.
 * Page: aclcppdevg_03_1822
 */
aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);

/**
 * Destroys an instance. Destroy it before the streams, tensors and memory that its tasks use.
 * Errors: 107000: the instance is being captured; 107017: no live instance.
 */
aclError aclmdlRIDestroy(aclmdlRI modelRI);

/**
 * Calls func(userData) when the instance is destroyed.
 * Page: aclcppdevg_03_2152
 */
aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void *userData);

/**
 * Takes aclmdlRIDestroyRegisterCallback back.
 * Errors: 107000: func is not registered with the instance.
 * Page: aclcppdevg_03_2153
 */
aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func);

/**
 * Prints the instance's streams and tasks to standard output.
 * Errors: 107000: the instance is being captured.
 */
aclError aclmdlRIDebugPrint(aclmdlRI modelRI);

/**
 * Writes the instance to a file for chrome://tracing. flags is ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY
 * or _VERBOSE.
 * Errors: 107000: no such flags, or the instance is being captured; 107009: the file cannot be
 * opened; 107010: the file cannot be written.
 * Page: aclcppdevg_03_1988
 */
aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char *path, uint32_t flags);

/** The number of an instance, which no other of the process has. */
aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t *modelRIId);

/**
 * Names an instance; the last name counts.
 * Page: aclcppdevg_03_1883
 */
aclError aclmdlRISetName(aclmdlRI modelRI, const char *name);

/**
 * Copies the name, at most maxLen bytes (and 512) with the zero at its end; empty when there is
 * none.
 * Errors: 107000: maxLen is 0.
 * Page: aclcppdevg_03_1884
 */
aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char *name);

/**
 * The streams of an instance. With streams NULL *numStreams becomes their number, else it says how
 * many fit. They are good for aclmdlRIGetTasksByStream, until the instance is destroyed.
 * Errors: 107000: the instance is being captured, or the array is too short.
 * Page: aclcppdevg_03_2146
 */
aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams);

/**
 * The tasks of one stream of an instance. With tasks NULL *numTasks becomes their number, else it
 * says how many fit.
 * Errors: 107000: the array is too short; 107017: not a stream of a live instance.
 * Page: aclcppdevg_03_2147
 */
aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks);

/**
 * What kind of task it is.
 * Errors: 107017: not a task of a live instance.
 * Page: aclcppdevg_03_2148
 */
aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType *type);

/**
 * The number of a task in its instance, counted in the order of the capture.
 * Errors: 107017: not a task of a live instance.
 * Page: aclcppdevg_03_2175
 */
aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t *id);

/**
 * Makes a context with a default stream on a device and makes it the calling thread's own.
 * Errors: 107001: no such device.
 * Page: aclcppdevg_03_0058
 */
aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/**
 * Destroys a context made by aclrtCreateContext, and its default stream.
 * Errors: 100000: the default context of a device; 107017: no live context.
 */
aclError aclrtDestroyContext(aclrtContext context);

/**
 * Makes a context, and its device, that of the calling thread.
 * Errors: 107017: no live context.
 * Page: aclcppdevg_03_0061
 */
aclError aclrtSetCurrentContext(aclrtContext context);

/**
 * The context of the calling thread.
 * Errors: 107002: the thread has none.
 */
aclError aclrtGetCurrentContext(aclrtContext *context);

/**
 * *active is 1 when the default context of a device exists. flags is reserved and may be NULL.
 * Errors: 107001: no such device.
 */
aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active);

/**
 * Sets an option of the current context: 1 is on, 0 is off.
 * Errors: 107000: no such option, or value is neither 0 nor 1; 107002: the thread has no context.
 */
aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/**
 * Reads an option of the current context.
 * Errors: 107000: no such option; 107002: the thread has no context; 107021: never set in this
 * context.
 */
aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/**
 * Makes the device, its default context and its default stream those of the calling thread, and
 * counts one more user of the device. All threads that set a device share its default context.
 * Errors: 107001: no such device.
 * Page: aclcppdevg_03_0039
 */
aclError aclrtSetDevice(int32_t deviceId);

/**
 * Counts one user of the device less. The last one waits for its work, then frees the default
 * context, its streams and the device's memory.
 * Errors: 107001: no such device; 107002: nobody uses the device.
 * Page: aclcppdevg_03_0040
 */
aclError aclrtResetDevice(int32_t deviceId);

/**
 * As the last aclrtResetDevice, however many users the device has. Work of explicit contexts that
 * has not begun is dropped, and so is what waits for something that no stream of the device brings.
 * Errors: 107001: no such device; 107002: nobody uses the device.
 * Page: aclcppdevg_03_0041
 */
aclError aclrtResetDeviceForce(int32_t deviceId);

/**
 * The device of the calling thread's context.
 * Errors: 107002: the thread has no context.
 */
aclError aclrtGetDevice(int32_t *deviceId);

/** How many devices the process may use. Needs no aclInit. */
aclError aclrtGetDeviceCount(uint32_t *count);

/**
 * ACL_HOST when the program runs beside the device, ACL_DEVICE when it runs on it. Needs no
 * aclInit.
 */
aclError aclrtGetRunMode(aclrtRunMode *runMode);

/**
 * Waits until every stream of the current device has finished; returns the error of a task that
 * failed.
 * Errors: 107002: the thread has no context; 107027: a stream of the device is being captured.
 * Page: aclpythondevg_0120
 */
aclError aclrtSynchronizeDevice(void);

/**
 * As aclrtSynchronizeDevice, for at most timeout milliseconds; -1 waits for ever.
 * Errors: 107000: timeout is less than -1; 107002: the thread has no context; 107019: not finished
 * in time; 107027: a stream of the device is being captured.
 */
aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/**
 * *canAccessPeer is 1 when the first device can copy from and to the memory of the second.
 * Errors: 107001: no such device.
 */
aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId);

/**
 * Lets the current device use the memory of another, in this direction only. flags is 0.
 * Errors: 107000: flags is not 0; 107001: no such device, or the current one; 107002: the thread
 * has no context.
 */
aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/**
 * Takes aclrtDeviceEnablePeerAccess back.
 * Errors: 107001: no such device, or the current one; 107002: the thread has no context.
 * Page: aclcppdevg_03_0053
 */
aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/**
 * One attribute of a device, a number in the unit of the attribute (cores, bytes).
 * Errors: 107001: no such device; 207000: an attribute that the product does not have.
 * Page: aclcppdevg_03_1867
 */
aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value);

/**
 * Whether the device works. It always does: ACL_RT_DEVICE_STATUS_NORMAL.
 * Errors: 107001: no such device.
 */
aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus);

/**
 * How busy the parts of a device are, in percent; -1 for its memory. utilizationExtend must be
 * NULL.
 * Errors: 107000: utilizationExtend is not NULL; 107001: no such device.
 */
aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo);

/**
 * Drops the tasks of all streams of a device and waits up to timeout milliseconds for the running
 * ones (0: as long as it takes). Calls that wait for them fail afterwards.
 * Errors: 107001: no such device; 107019: a task still ran at the end of the time limit.
 */
aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout);

/**
 * Calls callback before and after each call that sets or resets a device, on the thread that calls.
 * One callback a name; callback NULL removes it.
 * Errors: 107000: regName is empty, or has a callback already.
 * Page: aclcppdevg_03_1993
 */
aclError aclrtRegDeviceStateCallback(
    const char *regName, aclrtDeviceStateCallback callback, void *args);

/**
 * Calls callback before and after aclrtDeviceTaskAbort, with the time limit of that; what it
 * returns does not matter. One callback a name; callback NULL removes it.
 * Errors: 107000: regName is empty, or has a callback already.
 * Page: aclcppdevg_03_2001
 */
aclError aclrtSetDeviceTaskAbortCallback(
    const char *regName, aclrtDeviceTaskAbortCallback callback, void *args);

/**
 * The process id as seen outside containers, for lists of processes that memory is shared with.
 * Page: aclcppdevg_03_0119
 */
aclError aclrtDeviceGetBareTgid(int32_t *pid);

/**
 * A number of 16 bytes that no other device has.
 * Errors: 107001: no such device.
 * Page: aclcppdevg_03_2054
 */
aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid);

/**
 * Which device an entry of ASCEND_RT_VISIBLE_DEVICES stands for.
 * Errors: 107001: no such device.
 */
aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId);

/**
 * Chooses the task scheduler of the AI cores or of the vector cores.
 * Not implemented (products of the A2 family have one task scheduler): returns 207000.
 */
aclError aclrtSetTsDevice(aclrtTsId tsId);

/**
 * Whether floating-point overflow saturates (ACL_RT_OVERFLOW_MODE_SATURATION) or gives infinity
 * (_INFNAN).
 * Errors: 107000: no such mode.
 */
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode);

/** What floating-point overflow does now. */
aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode);

/**
 * Lets the process use at most value cores of a kind on a device.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107000: no such type, or value is 0 or more than the device has; 107001: no such device.
 */
aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value);

/**
 * How many cores of a kind the process may use on a device.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107000: no such type; 107001: no such device.
 */
aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value);

/**
 * Removes the limits of aclrtSetDeviceResLimit.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107001: no such device.
 */
aclError aclrtResetDeviceResLimit(int32_t deviceId);

/**
 * How many cores of a kind operators that this thread prepares may use.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107000: no such type; 107002: the thread has no context.
 */
aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value);

/**
 * Makes an event for waiting, timing and progress. It must be reset with aclrtResetEvent before it
 * is recorded again.
 * Errors: 107002: the thread has no context; 207007: the device has no event left.
 */
aclError aclrtCreateEvent(aclrtEvent *event);

/**
 * Makes an event for what flag says (ACL_EVENT_ bits). Without ACL_EVENT_SYNC no stream can wait
 * for it, and a device can have any number.
 * Errors: 107000: flag is 0 or has unknown bits, or ACL_EVENT_IPC or _EXTERNAL beside others;
 * 107002: the thread has no context; 207007: the device has no event left.
 * Page: aclcppdevg_03_0080
 */
aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Makes an event that may be recorded again and again without a reset. flag as for
 * aclrtCreateEventWithFlag. A device can have any number of them.
 * Errors: 107000: flag is 0 or has unknown bits, or ACL_EVENT_IPC or _EXTERNAL beside others;
 * 107002: the thread has no context; 207007: the process has no event left.
 * Page: aclcppdevg_03_0081
 */
aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * Destroys an event without waiting; work that still needs it goes on.
 * Errors: 107017: no live event.
 * Page: aclcppdevg_03_0082
 */
aclError aclrtDestroyEvent(aclrtEvent event);

/**
 * The event stands for all tasks issued to the stream so far; a later record replaces this one.
 * NULL is the default stream.
 * Errors: 107003: stream of another context; 107030: the stream is being captured, and the event
 * was made with ACL_EVENT_IPC.
 * Page: aclcppdevg_03_0083
 */
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/**
 * As aclrtRecordEvent; with ACL_EVENT_RECORD_EXTERNAL the record inside a capture can be seen from
 * outside.
 * Errors: 107000: unknown flag; or EXTERNAL and the event is none of aclrtCreateEventExWithFlag
 * with ACL_EVENT_SYNC alone, was recorded by aclrtRecordEvent, or the stream is not being captured;
 * 107003: stream of another context; 107030: as aclrtRecordEvent.
 * Page: aclcppdevg_03_2282
 */
aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag);

/**
 * When the stream gets there, the event is as if never recorded. Not for events of
 * aclrtCreateEventExWithFlag.
 * Errors: 107000: an event of aclrtCreateEventExWithFlag, or one without ACL_EVENT_SYNC; 107003:
 * stream of another context.
 */
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * Tasks issued to the stream from now on wait for the tasks of the event's latest record; the host
 * does not wait. A wait can pull the stream into a capture. NULL is the default stream.
 * Errors: 107000: the event was made without ACL_EVENT_SYNC; 107003: stream of another context;
 * 107027: the event was recorded in a capture that has ended; 107030: the stream is being captured
 * and the event was not recorded in that capture, or the stream cannot join it.
 * Page: aclcppdevg_03_0091
 */
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/**
 * As aclrtStreamWaitEvent, with a limit of its own in seconds; 0 is no limit.
 * Errors: 107000: the event was made without ACL_EVENT_SYNC, or timeout is less than 0; 107003:
 * stream of another context; 107027: the event was recorded in a capture that has ended; 107030:
 * the stream is being captured and the event was not recorded in that capture, or the stream cannot
 * join it.
 * Page: aclcppdevg_03_2051
 */
aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout);

/**
 * Whether the event's record has been reached: ACL_EVENT_STATUS_COMPLETE is 0 here. Deprecated, and
 * not for events of aclrtCreateEventExWithFlag.
 * Errors: 107000: an event of aclrtCreateEventExWithFlag; 107027: the event was recorded in a
 * capture.
 */
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status);

/**
 * Whether the event's record has been reached: ACL_EVENT_RECORDED_STATUS_COMPLETE is 1 here.
 * Errors: 107027: the event was recorded in a capture.
 */
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status);

/**
 * Whether all waits issued for the event are over. Not for events of aclrtCreateEventExWithFlag.
 * Errors: 107000: an event of aclrtCreateEventExWithFlag, or one without ACL_EVENT_SYNC.
 */
aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status);

/**
 * The host waits until the event's record has been reached; returns the error of a task that failed
 * before it.
 * Errors: 107000: the event was never recorded and is none of aclrtCreateEventExWithFlag; 107027:
 * the event was recorded in a capture.
 */
aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * As aclrtSynchronizeEvent, for at most timeout milliseconds; -1 waits for ever.
 * Errors: 107000: the event was never recorded and is none of aclrtCreateEventExWithFlag, or
 * timeout is less than -1; 107027: the event was recorded in a capture; 507047: not reached in
 * time.
 * Page: aclcppdevg_03_0089
 */
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/**
 * Milliseconds from one record to the other. Both must have been reached.
 * Errors: 107000: an event made with ACL_EVENT_IPC; 107006: an event has no time; 107007: the end
 * is before the start.
 * Page: aclcppdevg_03_0090
 */
aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent);

/**
 * Microseconds on the device's clock when the record was reached.
 * Errors: 107000: an event made with ACL_EVENT_IPC; 107006: the event has no time.
 * Page: aclcppdevg_03_1780
 */
aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp);

/**
 * The number of an event, which no other of the process has.
 * Errors: 107000: an event made with ACL_EVENT_IPC.
 * Page: aclcppdevg_03_1865
 */
aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId);

/**
 * The limit in seconds of waits for events issued from now on, for the whole process; 0 is no
 * limit. A call that synchronises reports a wait that took longer.
 * Page: aclcppdevg_03_0092
 */
aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/**
 * The limit in seconds for one operator, for the whole process.
 * In part: kept and reported; an operator that takes longer is not stopped.
 * Page: aclcppdevg_03_0132
 */
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);

/**
 * The limit in microseconds for one operator; *actualTimeout is the one in force. 0 is the longest,
 * which is no limit: *actualTimeout is the largest number then.
 * In part: kept and reported; an operator that takes longer is not stopped.
 * Page: aclcppdevg_03_1986
 */
aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout);

/**
 * How many more events the current device can have.
 * Errors: 107002: the thread has no context.
 * Page: aclcppdevg_03_1866
 */
aclError aclrtGetEventAvailNum(uint32_t *eventCount);

/**
 * Makes a notify: one stream sets it, another waits and clears it. flag is 0, or
 * ACL_NOTIFY_DEVICE_USE_ONLY.
 * Errors: 107000: unknown flag; 107002: the thread has no context; 207009: the device has no notify
 * left.
 * Page: aclcppdevg_03_1860
 */
aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag);

/**
 * Destroys a notify; tasks that still use it go on.
 * Page: aclcppdevg_03_1861
 */
aclError aclrtDestroyNotify(aclrtNotify notify);

/**
 * Sets the notify when the stream gets there. NULL is the default stream.
 * Page: aclcppdevg_03_1862
 */
aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/**
 * The stream waits until the notify is set, and clears it. timeout is in seconds, 0 is no limit.
 * NULL is the default stream.
 * Page: aclcppdevg_03_1863
 */
aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout);

/**
 * The number of a notify.
 * Page: hcclopdevapi_07_0051
 */
aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId);

/**
 * A text by which other processes can import the notify; len is 65 at least. flags 0: only those
 * that aclrtNotifySetImportPid names; 1: any of the same user.
 * Errors: 100000: unknown flags; 107000: len is too small, or the notify came from another process;
 * 107017: no live notify.
 * Page: aclcppdevg_03_1939
 */
aclError aclrtNotifyGetExportKey(aclrtNotify notify, char *key, size_t len, uint64_t flags);

/**
 * The processes that may import a notify that was exported; see aclrtDeviceGetBareTgid.
 * Errors: 100000: no process or too many; 107000: the notify was not exported; 107017: no live
 * notify.
 * Page: aclcppdevg_03_1940
 */
aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t *pid, size_t num);

/**
 * The notify of another process, by its key.
 * Errors: 100000: unknown flags, exported by this process, or this process was not named; 107002:
 * the thread has no context; 107017: no such export (any more); 507022: the system refuses access
 * to the other process.
 * Page: aclcppdevg_03_1941
 */
aclError aclrtNotifyImportByKey(aclrtNotify *notify, const char *key, uint64_t flags);

/**
 * What other processes open an event made with ACL_EVENT_IPC by.
 * Errors: 107000: the event was made without ACL_EVENT_IPC, or came from another process; 107017:
 * no live event.
 * Page: aclcppdevg_03_2094
 */
aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle);

/**
 * The event of another process.
 * Errors: 100000: an event of this process; 107002: the thread has no context; 107017: no such
 * event (any more); 507022: the system refuses access to the other process.
 */
aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event);

/**
 * Clears num notifies at once, whatever streams do.
 * Errors: 107017: one is no live notify; none was cleared then.
 * Page: aclcppdevg_03_1938
 */
aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num);

/**
 * The code of the last call of this thread that failed, 0 when none did; and sets it back to 0.
 * level is always ACL_RT_THREAD_LEVEL. Needs no aclInit.
 * Page: aclcppdevg_03_0144
 */
aclError aclrtGetLastError(aclrtLastErrLevel level);

/**
 * The code of the last call of this thread that failed, 0 when none did; leaves it as it is. level
 * is always ACL_RT_THREAD_LEVEL. Needs no aclInit.
 * Page: aclcppdevg_03_0143
 */
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

/**
 * Sets an option for the whole process: 1 is on, 0 is off.
 * Errors: 107000: no such option, or value is neither 0 nor 1.
 */
aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/**
 * Reads an option of the process; 0 where it was never set.
 * Errors: 107000: no such option.
 */
aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value);

/**
 * Loads length bytes of kernels that were compiled for a card. Such kernels cannot run here.
 * Not implemented: returns 207000.
 * Page: aclcppdevg_03_1896
 */
aclError aclrtBinaryLoadFromData(
    const void *data, size_t length, const aclrtBinaryLoadOptions *options, aclrtBinHandle
    *binHandle);

/**
 * The kernel of that name among loaded ones. Kernels for a card cannot run here.
 * Not implemented: returns 207000.
 */
aclError aclrtBinaryGetFunction(
    const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle);

/**
 * Where a kernel lies for the two kinds of cores of a card. Such kernels cannot run here.
 * Not implemented: returns 207000.
 * Page: aclcppdevg_03_1795
 */
aclError aclrtGetFunctionAddr(aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr);

/**
 * size bytes of device memory, 64-byte aligned, not initialised. The block is rounded up to 32
 * bytes and 32 more. policy prefers huge or normal pages.
 * Errors: 100000: size is 0; 207001: the device is full.
 * Page: aclcppdevg_03_0095
 */
aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * As aclrtMalloc without the 32 bytes more.
 * Errors: 100000: size is 0; 207001: the device is full.
 */
aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * As aclrtMalloc, cached: see aclrtMemFlush and aclrtMemInvalidate.
 * Errors: 100000: size is 0; 207001: the device is full.
 */
aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * As aclrtMalloc with attributes; cfg may be NULL.
 * Errors: 100000: size is 0, or cfg has an unknown attribute; 107001: cfg names a device that does
 * not exist; 207001: the device is full.
 * Page: aclcppdevg_03_1796
 */
aclError aclrtMallocWithCfg(
    void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg);

/**
 * As aclrtMallocWithCfg, for memory that the device's task scheduler uses.
 * Errors: 100000: size is 0, or cfg has an unknown attribute; 107001: cfg names a device that does
 * not exist; 207001: the device is full.
 * Page: aclcppdevg_03_1797
 */
aclError aclrtMallocForTaskScheduler(
    void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg);

/**
 * Frees a block of aclrtMalloc and its relatives. Waits for nothing.
 * Errors: 100000: no block starts there.
 */
aclError aclrtFree(void *devPtr);

/**
 * As aclrtFree after all tasks of the device have finished.
 * Errors: 100000: no block starts there.
 * Page: aclcppdevg_03_2074
 */
aclError aclrtFreeWithDevSync(void *devPtr);

/**
 * size bytes of pinned host memory, 64-byte aligned, not initialised.
 * Errors: 100000: size is 0; 207001: not enough memory.
 * Page: aclcppdevg_03_0101
 */
aclError aclrtMallocHost(void **hostPtr, size_t size);

/**
 * As aclrtMallocHost with attributes; cfg may be NULL.
 * Errors: 100000: size is 0, or cfg has an unknown attribute; 107001: cfg names a device that does
 * not exist; 207001: not enough memory.
 */
aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg);

/**
 * Frees a block of aclrtMallocHost or aclrtMallocHostWithCfg.
 * Errors: 100000: no block starts there.
 */
aclError aclrtFreeHost(void *hostPtr);

/**
 * As aclrtFreeHost after all tasks of the device have finished.
 * Errors: 100000: no block starts there.
 * Page: aclcppdevg_03_2075
 */
aclError aclrtFreeHostWithDevSync(void *hostPtr);

/**
 * Writes size cached bytes of device memory back. Memory is always coherent here, so this only
 * checks.
 * Errors: 100000: size is 0, or the bytes are not in a block of device memory.
 */
aclError aclrtMemFlush(void *devPtr, size_t size);

/**
 * Drops size cached bytes of device memory, so that the next read sees memory. Memory is always
 * coherent here, so this only checks.
 * Errors: 100000: size is 0, or the bytes are not in a block of device memory.
 */
aclError aclrtMemInvalidate(void *devPtr, size_t size);

/**
 * Copies count bytes now; waits for no stream. The addresses decide the direction, whatever kind
 * says. destMax is the size of the destination, at least count.
 * Errors: 100000: a range is outside its block, count is 0 or over destMax, or the devices have no
 * access to each other; 107030: not allowed in the capture mode in force.
 * Page: aclcppdevg_03_0105
 */
aclError aclrtMemcpy(
    void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind);

/**
 * Copies count bytes when the stream gets there. Pageable host memory is copied before the call
 * returns. A copy between two host addresses is accepted; its task fails with 207000. NULL is the
 * default stream.
 * Errors: 100000: a range is outside its block, count is 0 or over destMax, or the devices have no
 * access to each other; 107003: stream of another context; 107030: memory that is not pinned, which
 * the capture mode in force does not allow.
 * Page: aclcppdevg_03_0106
 */
aclError aclrtMemcpyAsync(
    void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream
    stream);

/**
 * Copies height rows of width bytes, dpitch and spitch bytes apart, now.
 * Errors: 100000: width or height is 0, a row is wider than a pitch or outside its block, or the
 * devices have no access to each other; 107030: not allowed in the capture mode in force.
 */
aclError aclrtMemcpy2d(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    aclrtMemcpyKind kind);

/**
 * Copies height rows of width bytes, dpitch and spitch bytes apart, when the stream gets there; at
 * most 5,242,880 rows. Host memory as with aclrtMemcpyAsync.
 * Errors: 100000: width or height is 0, too many rows, a row is wider than a pitch or outside its
 * block, or the devices have no access to each other; 107003: stream of another context; 107030:
 * memory that is not pinned, which the capture mode in force does not allow.
 * Page: aclcppdevg_03_0109
 */
aclError aclrtMemcpy2dAsync(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    aclrtMemcpyKind kind, aclrtStream stream);

/**
 * As aclrtMemcpyAsync; the call decides by the addresses whether it may return before the copy.
 * Errors: 100000: a range is outside its block, count is 0 or over destMax, or the devices have no
 * access to each other; 107003: stream of another context; 107030: memory that is not pinned, which
 * the capture mode in force does not allow.
 */
aclError aclrtMemcpyAsyncWithCondition(
    void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream
    stream);

/**
 * numBatches copies now, in any order: sizes[i] bytes from srcs[i] to dsts[i], which has room for
 * destMaxs[i]. attrs say where addresses live; attrsIndexes[i] is the first copy of attrs[i].
 * *failIndex is the copy that cannot be made, or SIZE_MAX; then none is.
 * Errors: 100000: attrs do not say what copies are made of, or a copy is outside its blocks or of
 * no size or over its destMax; 107030: not allowed in the capture mode in force.
 * Page: aclcppdevg_03_1933
 */
aclError aclrtMemcpyBatch(
    void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
    aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex);

/**
 * As aclrtMemcpyBatch when the stream gets there.
 * Errors: 100000: attrs do not say what copies are made of, or a copy is outside its blocks or of
 * no size or over its destMax; 107003: stream of another context; 107030: memory that is not
 * pinned, which the capture mode in force does not allow; 207000: a copy between two host
 * addresses.
 * Page: aclcppdevg_03_1957
 */
aclError aclrtMemcpyBatchAsync(
    void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
    aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
    aclrtStream stream);

/**
 * Sets count bytes at an address of the host or the device to value now. maxCount is the size of
 * the block.
 * Errors: 100000: the range is outside its block, or count is 0 or over maxCount; 107030: not
 * allowed in the capture mode in force.
 */
aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count);

/**
 * Sets count bytes to value when the stream gets there. maxCount is the size of the block.
 * Errors: 100000: the range is outside its block, or count is 0 or over maxCount; 107003: stream of
 * another context; 107030: memory that is not pinned, which the capture mode in force does not
 * allow.
 * Page: aclcppdevg_03_0104
 */
aclError aclrtMemsetAsync(
    void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream);

/**
 * Free and total bytes of a kind of memory of the current device, or of device 0 when there is
 * none.
 * Errors: 100000: no such kind of memory.
 * Page: aclcppdevg_03_0107
 */
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/**
 * Bytes in use by component, largest first: inputNum entries at most, *outputNum were filled.
 * Errors: 107001: no such device.
 * Page: aclcppdevg_03_2125
 */
aclError aclrtGetMemUsageInfo(
    int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum);

/**
 * Where an address lives (host, device and which, or unknown) and the size of its pages in bytes.
 */
aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes);

/**
 * Makes size bytes of host memory known to the device. ptr is 4096-byte aligned; *devPtr is its
 * address for kernels.
 * Errors: 100000: ptr is not aligned, the size bytes there are no host memory, or some are
 * registered already; 207000: another type than ACL_HOST_REGISTER_MAPPED.
 * Page: aclcppdevg_03_1804
 */
aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr);

/**
 * As aclrtHostRegister with ACL_HOST_REG_ bits; aclrtHostGetDevicePointer gives the address.
 * ACL_HOST_REG_PINNED is for memory that is not pinned.
 * Errors: 100000: unknown flag; memory of aclrtMallocHost with ACL_HOST_REG_PINNED; or as for
 * aclrtHostRegister; 207000: ACL_HOST_REG_IOMEMORY or _READONLY.
 * Page: aclcppdevg_03_2128
 */
aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/**
 * Takes aclrtHostRegister or aclrtHostRegisterV2 back.
 * Errors: 100000: no registered range starts there.
 */
aclError aclrtHostUnregister(void *ptr);

/**
 * The address for kernels of registered host memory. flag is 0.
 * Errors: 100000: flag is not 0, or pHost is not in host memory that was registered as mapped.
 * Page: aclcppdevg_03_2129
 */
aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag);

/**
 * Writes a 64-bit value to device memory when the stream gets there. flag is 0.
 * Errors: 100000: flag is not 0, or devAddr is not 8-byte aligned device memory; 107003: stream of
 * another context.
 */
aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/**
 * The stream waits until the 64-bit number at devAddr meets flag: ACL_VALUE_WAIT_GEQ, at least
 * value (by the sign of the difference); _EQ, equal to it; _AND, a bit in common; _NOR, a bit that
 * both lack.
 * Errors: 100000: no such flag, or devAddr is not 8-byte aligned device memory; 107003: stream of
 * another context.
 * Page: aclcppdevg_03_1848
 */
aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream);

/**
 * A hint for the cache about size bytes of device memory, when the stream gets there.
 * Errors: 100000: size is 0, no such type, or not memory of the stream's device; 107003: stream of
 * another context; 207000: another type than ACL_RT_CMO_TYPE_PREFETCH.
 * Page: aclcppdevg_03_0123
 */
aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream);

/**
 * Adds what lies at src to what lies at dst, or keeps the greater or the smaller of both, when the
 * stream gets there. count is the bytes of each; type is ACL_INT8, _INT16, _INT32, _FLOAT16, _FLOAT
 * or _BF16, of which sums are rounded once, sums of whole numbers wrap, and a NaN stays one. dst
 * and src are the same or lie apart. reserve is NULL.
 * Errors: 100000: no such kind or type, count is 0 or no multiple of an element, reserve is not
 * NULL, the ranges overlap in part, or not memory of the stream's device; 107003: stream of another
 * context; 207000: ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, or another type.
 * Page: aclcppdevg_03_1871
 */
aclError aclrtReduceAsync(
    void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type, aclrtStream
    stream, void *reserve);

/**
 * Reserves size bytes of addresses without memory. alignment is 0; expectPtr is where they shall
 * be, or NULL; flags is 0 for normal pages, 1 for huge ones.
 * Errors: 100000: size or alignment or flags is not possible; 207001: no such range of addresses is
 * left, or the one at expectPtr is not free.
 * Page: aclcppdevg_03_0114
 */
aclError aclrtReserveMemAddress(
    void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags);

/**
 * Gives reserved addresses back; nothing may be mapped there.
 * Errors: 100000: no reserved range starts there, or memory is still mapped in it.
 * Page: aclcppdevg_03_0115
 */
aclError aclrtReleaseMemAddress(void *virPtr);

/**
 * Device memory without an address. size is in bytes, a multiple of what
 * aclrtMemGetAllocationGranularity gives; flags is 0.
 * Errors: 100000: size is 0 or no multiple of the granularity, or flags or a type in prop is not 0;
 * 107001: no such device; 207000: prop names another place than a device; 207001: the device is
 * full.
 * Page: aclcppdevg_03_0112
 */
aclError aclrtMallocPhysical(
    aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags);

/**
 * Frees memory of aclrtMallocPhysical; what is mapped stays until it is unmapped.
 * Errors: 107017: no live handle.
 * Page: aclcppdevg_03_0113
 */
aclError aclrtFreePhysical(aclrtDrvMemHandle handle);

/**
 * Maps the memory at a reserved address, as a whole: size is the one of aclrtMallocPhysical, offset
 * and flags are 0. A reserved range takes memory of one device, and either of this process or
 * imported.
 * Errors: 100000: not inside one reserved range, mapped already, a part of the memory, another kind
 * of memory than the range has, flags is not 0, or no multiple of the granularity; 107017: no live
 * handle.
 * Page: aclcppdevg_03_0116
 */
aclError aclrtMapMem(
    void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags);

/**
 * Takes aclrtMapMem at that address back.
 * Errors: 100000: no mapping starts there.
 * Page: aclcppdevg_03_0117
 */
aclError aclrtUnmapMem(void *virPtr);

/**
 * The unit in bytes of sizes for aclrtMallocPhysical.
 * Errors: 100000: no such option; 107001: no such device.
 * Page: aclcppdevg_03_0122
 */
aclError aclrtMemGetAllocationGranularity(
    aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option, size_t *granularity);

/**
 * A number by which other processes can import memory of aclrtMallocPhysical, until it is freed.
 * flags 0: only those that aclrtMemSetPidToShareableHandle names; 1: any of the same user.
 * Errors: 100000: unknown flags or handleType, or the memory was exported before; 107017: no live
 * handle.
 * Page: aclcppdevg_03_0118
 */
aclError aclrtMemExportToShareableHandle(
    aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags, uint64_t
    *shareableHandle);

/**
 * Memory that another process exported, as memory of a device of this one.
 * Errors: 100000: exported by this process, or this process was not named; 107001: no such device;
 * 107017: no such export (any more); 507022: the system refuses access to the other process.
 * Page: aclcppdevg_03_0121
 */
aclError aclrtMemImportFromShareableHandle(
    uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle);

/**
 * The processes that may import exported memory; see aclrtDeviceGetBareTgid.
 * Errors: 100000: no process or too many; 107017: not exported by this process.
 * Page: aclcppdevg_03_0120
 */
aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid, size_t pidNum);

/**
 * A text of 65 bytes by which other processes can import a part of a block of aclrtMalloc, until
 * aclrtIpcMemClose. flags 0: only those that aclrtIpcMemSetImportPid names; 1: any of the same
 * user.
 * Errors: 100000: not inside a live block of aclrtMalloc, size is 0, len is not 65, or unknown
 * flags; 507022: the system gave no memory to share.
 * Page: aclcppdevg_03_1934
 */
aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key, size_t len, uint64_t flags);

/**
 * The processes that may import memory by its key; see aclrtDeviceGetBareTgid.
 * Errors: 100000: no process or too many; 107017: not exported by this process.
 */
aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num);

/**
 * The memory of another process, by its key, at an address of this one. flags 1 enables peer access
 * to its device as well.
 * Errors: 100000: unknown flags, exported by this process, imported before, or this process was not
 * named; 107017: no such export (any more); 507022: the system refuses access to the other process.
 * Page: aclcppdevg_03_1936
 */
aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flags);

/**
 * Ends an import, or an export; importers close before the exporter does. The exporter's memory is
 * freed by aclrtFree.
 * Errors: 107017: the process has neither exported nor imported it.
 */
aclError aclrtIpcMemClose(const char *key);

/**
 * Makes a stream of the highest priority in the current context.
 * Errors: 107002: the thread has no context; 207008: the device has no stream left.
 * Page: aclcppdevg_03_0066
 */
aclError aclrtCreateStream(aclrtStream *stream);

/**
 * Makes a stream. priority is 0 (highest) to 7, larger values count as 7; flag is ACL_STREAM_ bits,
 * unknown ones are ignored. Of ready streams that of the higher priority runs first.
 * Errors: 107002: the thread has no context; 207008: the device has no stream left.
 */
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);

/** Makes a set of options for aclrtCreateStreamV2; NULL when memory is short. */
aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void);

/**
 * Sets one option; attrValue points to valueSize bytes of the type of the option: a pointer, two
 * size_t and a uint32_t.
 * Errors: 107000: no such option, or the size is not that of its type; 107017: no set of options.
 * Page: aclcppdevg_03_0068
 */
aclError aclrtSetStreamConfigOpt(
    aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attrValue, size_t
    valueSize);

/**
 * Makes a stream from a set of options. Its working memory has no use here.
 * Errors: 107002: the thread has no context; 107017: no set of options; 207008: the device has no
 * stream left.
 * Page: aclcppdevg_03_0067
 */
aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle);

/**
 * Frees a set of options.
 * Errors: 107017: no set of options.
 */
aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle);

/**
 * Waits for the stream's tasks and destroys it.
 * Errors: 107000: a default stream; 107003: stream of another context; 107017: no live stream.
 * Page: aclcppdevg_03_0070
 */
aclError aclrtDestroyStream(aclrtStream stream);

/**
 * Destroys the stream at once; tasks that have not started are dropped.
 * Errors: 107000: a default stream; 107003: stream of another context; 107017: no live stream.
 * Page: aclcppdevg_03_0071
 */
aclError aclrtDestroyStreamForce(aclrtStream stream);

/**
 * Whether all tasks of the stream have finished (ACL_STREAM_STATUS_COMPLETE or _NOT_READY). NULL is
 * the default stream.
 * Errors: 107003: stream of another context; 107027: the stream is being captured.
 */
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/**
 * Waits until the stream has finished; returns the error of a task that failed. NULL is the default
 * stream.
 * Errors: 107003: stream of another context; 107027: the stream is being captured.
 * Page: aclcppdevg_03_0076
 */
aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * As aclrtSynchronizeStream, for at most timeout milliseconds; -1 waits for ever.
 * Errors: 107000: timeout is less than -1; 107003: stream of another context; 107027: the stream is
 * being captured; 507046: not finished in time.
 * Page: aclcppdevg_03_0077
 */
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/** The number of a stream, which no other of the process has. NULL is the default stream. */
aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId);

/**
 * The priority of a stream: 0 (highest) to 7. NULL is the default stream.
 * Page: aclcppdevg_03_2120
 */
aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority);

/**
 * The flags that a stream was made with. NULL is the default stream.
 * Page: aclcppdevg_03_2121
 */
aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags);

/**
 * How many more streams the current device can have.
 * Errors: 107002: the thread has no context.
 * Page: aclcppdevg_03_1856
 */
aclError aclrtGetStreamAvailableNum(uint32_t *streamCount);

/**
 * Whether a failed task stops the stream (ACL_STOP_ON_FAILURE) or the next one runs
 * (ACL_CONTINUE_ON_FAILURE, the default). Stopping is set for all streams of the context: after a
 * failure of one they drop what they have and take no more. NULL is the default stream.
 * Errors: 107000: no such mode, or the mode of the stream was set before.
 * Page: aclcppdevg_03_0074
 */
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/**
 * Sets one attribute of a stream to the member of *value that belongs to it. NULL is the default
 * stream.
 * Errors: 107000: no such attribute; for the failure mode as aclrtSetStreamFailureMode.
 * Page: aclcppdevg_03_1857
 */
aclError aclrtSetStreamAttribute(
    aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value);

/**
 * Reads one attribute of a stream into the member of *value that belongs to it. NULL is the default
 * stream.
 * Errors: 107000: no such attribute.
 * Page: aclcppdevg_03_1858
 */
aclError aclrtGetStreamAttribute(
    aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value);

/**
 * Turns the detection of overflow in a stream's operators on (1) or off (0). NULL is the default
 * stream.
 */
aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);

/** Whether overflow is detected in a stream's operators: 1 or 0. NULL is the default stream. */
aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag);

/**
 * Drops the tasks of a stream, the running one too. Calls that wait for the stream fail. NULL is
 * the default stream.
 * Errors: 107027: the stream is being captured; 207000: the stream was made with
 * ACL_STREAM_DEVICE_USE_ONLY.
 * Page: aclcppdevg_03_1777
 */
aclError aclrtStreamAbort(aclrtStream stream);

/**
 * Stops the running task of a stream; queued tasks stay.
 * In part: a task that runs is not stopped; the call is refused with 207000 then.
 * Errors: 107017: no live stream; 207000: the stream was not made with ACL_STREAM_DEVICE_USE_ONLY,
 * or a task is running.
 * Page: aclcppdevg_03_1997
 */
aclError aclrtStreamStop(aclrtStream stream);

/**
 * Calls callback after each stream is made and before each is destroyed, default streams too. One
 * callback a name; callback NULL removes it.
 * Errors: 107000: regName is empty, or has a callback already.
 * Page: aclcppdevg_03_1996
 */
aclError aclrtRegStreamStateCallback(
    const char *regName, aclrtStreamStateCallback callback, void *args);

/**
 * Lets the operators of a stream use at most value cores of a kind.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107000: no such type, or value is 0 or more than the device has.
 */
aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value);

/**
 * How many cores of a kind the operators of a stream may use.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107000: no such type.
 */
aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value);

/**
 * Removes the limits of aclrtSetStreamResLimit.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 */
aclError aclrtResetStreamResLimit(aclrtStream stream);

/**
 * Operators that this thread prepares keep to the core limits of the stream.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 */
aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/**
 * Takes aclrtUseStreamResInCurrentThread back.
 * In part: kept and reported; the cores of the CPU are not limited by it.
 * Errors: 107000: the thread does not use the limits of this stream.
 */
aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);

#ifdef __cplusplus
}

#include "acl/acl_rt_overloads.h"
#endif

#endif  /* BELAY_ACL_ACL_RT_H_ */
