/**
 * Error codes of the runtime. Belay implements this interface on the CPU. A function follows the
 * page of its name in the public API reference; "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ERROR_CODES_RT_ERROR_CODES_H_
#define BELAY_ACL_ERROR_CODES_RT_ERROR_CODES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

static const int ACL_RT_SUCCESS = 0; /* success */
static const int ACL_ERROR_RT_PARAM_INVALID = 107000; /* argument check failed */
static const int ACL_ERROR_RT_INVALID_DEVICEID = 107001; /* bad device id */
/* thread has no current context (no SetDevice, SetCurrentContext) */
static const int ACL_ERROR_RT_CONTEXT_NULL = 107002;
static const int ACL_ERROR_RT_STREAM_CONTEXT = 107003; /* stream belongs to another context */
static const int ACL_ERROR_RT_MODEL_CONTEXT = 107004; /* model belongs to another context */
static const int ACL_ERROR_RT_STREAM_MODEL = 107005; /* stream not bound to this model */
static const int ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID = 107006; /* event has no valid timestamp */
/* end event is earlier than start event */
static const int ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL = 107007;
static const int ACL_ERROR_RT_ADDR_UNALIGNED = 107008; /* address not aligned */
static const int ACL_ERROR_RT_FILE_OPEN = 107009; /* file cannot be opened */
static const int ACL_ERROR_RT_FILE_WRITE = 107010; /* file cannot be written */
/* stream not subscribed, or subscribed twice */
static const int ACL_ERROR_RT_STREAM_SUBSCRIBE = 107011;
/* thread not subscribed, or subscribed twice */
static const int ACL_ERROR_RT_THREAD_SUBSCRIBE = 107012;
static const int ACL_ERROR_RT_GROUP_NOT_SET = 107013; /* no group set */
static const int ACL_ERROR_RT_GROUP_NOT_CREATE = 107014; /* no such group */
/* no thread registered for the stream's callbacks */
static const int ACL_ERROR_RT_STREAM_NO_CB_REG = 107015;
static const int ACL_ERROR_RT_INVALID_MEMORY_TYPE = 107016; /* memory type invalid */
static const int ACL_ERROR_RT_INVALID_HANDLE = 107017; /* handle invalid */
static const int ACL_ERROR_RT_INVALID_MALLOC_TYPE = 107018; /* wrong kind of memory requested */
static const int ACL_ERROR_RT_WAIT_TIMEOUT = 107019; /* waiting timed out */
static const int ACL_ERROR_RT_TASK_TIMEOUT = 107020; /* task timed out */
static const int ACL_ERROR_RT_SYSPARAMOPT_NOT_SET = 107021; /* system parameter not set */
/* tasks of the device were aborted (aclrtDeviceTaskAbort) */
static const int ACL_ERROR_RT_DEVICE_TASK_ABORT = 107022;
/* feature not supported (by driver or product) */
static const int ACL_ERROR_RT_FEATURE_NOT_SUPPORT = 207000;
static const int ACL_ERROR_RT_MEMORY_ALLOCATION = 207001; /* memory allocation failed */
static const int ACL_ERROR_RT_MEMORY_FREE = 207002; /* memory cannot be freed */
static const int ACL_ERROR_RT_AICORE_OVER_FLOW = 207003; /* AI Core operator overflowed */
static const int ACL_ERROR_RT_NO_DEVICE = 207004; /* device not available */
/* resource allocation failed (text says memory) */
static const int ACL_ERROR_RT_RESOURCE_ALLOC_FAIL = 207005;
static const int ACL_ERROR_RT_NO_PERMISSION = 207006; /* no permission */
static const int ACL_ERROR_RT_NO_EVENT_RESOURCE = 207007; /* no event left */
static const int ACL_ERROR_RT_NO_STREAM_RESOURCE = 207008; /* no stream left */
static const int ACL_ERROR_RT_NO_NOTIFY_RESOURCE = 207009; /* no notify left */
static const int ACL_ERROR_RT_NO_MODEL_RESOURCE = 207010; /* no model resource left */
static const int ACL_ERROR_RT_NO_CDQ_RESOURCE = 207011; /* runtime-internal resource used up */
static const int ACL_ERROR_RT_OVER_LIMIT = 207012; /* too many queues */
static const int ACL_ERROR_RT_QUEUE_EMPTY = 207013; /* queue empty */
static const int ACL_ERROR_RT_QUEUE_FULL = 207014; /* queue full */
static const int ACL_ERROR_RT_REPEATED_INIT = 207015; /* queue initialised twice */
static const int ACL_ERROR_RT_AIVEC_OVER_FLOW = 207016; /* AI Vector operator overflowed */
static const int ACL_ERROR_RT_OVER_FLOW = 207017; /* overflow */
static const int ACL_ERROR_RT_DEVICE_OOM = 207018; /* device memory used up */
static const int ACL_ERROR_RT_INTERNAL_ERROR = 507000; /* host runtime internal error */
static const int ACL_ERROR_RT_TS_ERROR = 507001; /* device task scheduler internal error */
static const int ACL_ERROR_RT_STREAM_TASK_FULL = 507002; /* stream holds its maximum of tasks */
static const int ACL_ERROR_RT_STREAM_TASK_EMPTY = 507003; /* stream has no task */
static const int ACL_ERROR_RT_STREAM_NOT_COMPLETE = 507004; /* stream not finished */
static const int ACL_ERROR_RT_END_OF_SEQUENCE = 507005; /* AI CPU task sequence ended */
static const int ACL_ERROR_RT_EVENT_NOT_COMPLETE = 507006; /* event not complete */
static const int ACL_ERROR_RT_CONTEXT_RELEASE_ERROR = 507007; /* context cannot be released */
static const int ACL_ERROR_RT_SOC_VERSION = 507008; /* SoC version cannot be read */
static const int ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT = 507009; /* task type not supported */
static const int ACL_ERROR_RT_LOST_HEARTBEAT = 507010; /* task scheduler heartbeat lost */
static const int ACL_ERROR_RT_MODEL_EXECUTE = 507011; /* model execution failed */
/* no message from the task scheduler (report timeout) */
static const int ACL_ERROR_RT_REPORT_TIMEOUT = 507012;
static const int ACL_ERROR_RT_SYS_DMA = 507013; /* DMA hardware error */
static const int ACL_ERROR_RT_AICORE_TIMEOUT = 507014; /* AI Core timed out */
static const int ACL_ERROR_RT_AICORE_EXCEPTION = 507015; /* AI Core exception */
static const int ACL_ERROR_RT_AICORE_TRAP_EXCEPTION = 507016; /* AI Core trap */
static const int ACL_ERROR_RT_AICPU_TIMEOUT = 507017; /* AI CPU timed out */
static const int ACL_ERROR_RT_AICPU_EXCEPTION = 507018; /* AI CPU exception */
/* AI CPU gave no answer after a data dump */
static const int ACL_ERROR_RT_AICPU_DATADUMP_RSP_ERR = 507019;
/* AI CPU gave no answer after running a model */
static const int ACL_ERROR_RT_AICPU_MODEL_RSP_ERR = 507020;
static const int ACL_ERROR_RT_PROFILING_ERROR = 507021; /* profiling abnormal */
static const int ACL_ERROR_RT_IPC_ERROR = 507022; /* inter-process communication abnormal */
static const int ACL_ERROR_RT_MODEL_ABORT_NORMAL = 507023; /* model left execution */
static const int ACL_ERROR_RT_KERNEL_UNREGISTERING = 507024; /* operator is being unregistered */
static const int ACL_ERROR_RT_RINGBUFFER_NOT_INIT = 507025; /* ring buffer not initialised */
static const int ACL_ERROR_RT_RINGBUFFER_NO_DATA = 507026; /* ring buffer empty */
static const int ACL_ERROR_RT_KERNEL_LOOKUP = 507027; /* kernel not registered in the runtime */
static const int ACL_ERROR_RT_KERNEL_DUPLICATE = 507028; /* kernel registered twice */
static const int ACL_ERROR_RT_DEBUG_REGISTER_FAIL = 507029; /* debug registration failed */
static const int ACL_ERROR_RT_DEBUG_UNREGISTER_FAIL = 507030; /* debug unregistration failed */
static const int ACL_ERROR_RT_LABEL_CONTEXT = 507031; /* label belongs to another context */
static const int ACL_ERROR_RT_PROGRAM_USE_OUT = 507032; /* too many registered programs */
static const int ACL_ERROR_RT_DEV_SETUP_ERROR = 507033; /* device cannot be started */
static const int ACL_ERROR_RT_VECTOR_CORE_TIMEOUT = 507034; /* vector core timed out */
static const int ACL_ERROR_RT_VECTOR_CORE_EXCEPTION = 507035; /* vector core exception */
static const int ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION = 507036; /* vector core trap */
static const int ACL_ERROR_RT_CDQ_BATCH_ABNORMAL = 507037; /* runtime-internal resource abnormal */
static const int ACL_ERROR_RT_DIE_MODE_CHANGE_ERROR = 507038; /* die mode cannot be changed */
static const int ACL_ERROR_RT_DIE_SET_ERROR = 507039; /* die cannot be chosen in single-die mode */
static const int ACL_ERROR_RT_INVALID_DIEID = 507040; /* bad die id */
static const int ACL_ERROR_RT_DIE_MODE_NOT_SET = 507041; /* die mode not set */
static const int ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW = 507042; /* AI Core read out of bounds */
static const int ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW = 507043; /* AI Core write out of bounds */
/* vector core read out of bounds */
static const int ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW = 507044;
/* vector core write out of bounds */
static const int ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW = 507045;
/* stream not finished within the synchronise limit */
static const int ACL_ERROR_RT_STREAM_SYNC_TIMEOUT = 507046;
/* event not complete within the synchronise limit */
static const int ACL_ERROR_RT_EVENT_SYNC_TIMEOUT = 507047;
static const int ACL_ERROR_RT_FFTS_PLUS_TIMEOUT = 507048; /* internal (FFTS+) task timed out */
static const int ACL_ERROR_RT_FFTS_PLUS_EXCEPTION = 507049; /* internal (FFTS+) task exception */
static const int ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION = 507050; /* internal (FFTS+) task trap */
static const int ACL_ERROR_RT_SEND_MSG = 507051; /* message not sent while enqueuing data */
static const int ACL_ERROR_RT_COPY_DATA = 507052; /* copy failed while enqueuing data */
static const int ACL_ERROR_RT_DEVICE_MTE_ERROR = 507053; /* device MTE error */
static const int ACL_ERROR_RT_DRV_INTERNAL_ERROR = 507899; /* driver internal error */
static const int ACL_ERROR_RT_AICPU_INTERNAL_ERROR = 507900; /* AI CPU internal error */
static const int ACL_ERROR_RT_SOCKET_CLOSE = 507901; /* host-device connection closed */
static const int ACL_ERROR_RT_AICPU_INFO_LOAD_RSP_ERR = 507902; /* AI CPU info load answer error */

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ERROR_CODES_RT_ERROR_CODES_H_ */
