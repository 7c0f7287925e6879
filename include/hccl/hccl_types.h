/**
 * Collectives: types. Belay implements this interface on the CPU. A function follows the page of
 * its name in the public API reference; "Page:" gives that page's number where it is known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_HCCL_HCCL_TYPES_H_
#define BELAY_HCCL_HCCL_TYPES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sizes of what communicators are made from */
#define HCCL_ROOT_INFO_BYTES 4108
#define HCCL_COMM_CONFIG_INFO_BYTES 24
#define COMM_NAME_MAX_LENGTH 128
#define UDI_MAX_LENGTH 128
#define BUFFER_NAME_MAX_LENGTH 128
#define HCCL_COMM_ALGO_MAX_LENGTH 1600
#define HCCL_COMM_RETRY_ENABLE_MAX_LENGTH 50
#define HCCL_COMM_RETRY_PARAMS_MAX_LENGTH 128

typedef enum {
    HCCL_SUCCESS = 0, /* success */
    HCCL_E_PARA = 1, /* an argument is wrong */
    HCCL_E_PTR = 2, /* a pointer is null */
    HCCL_E_MEMORY = 3, /* memory is short */
    HCCL_E_INTERNAL = 4, /* internal error */
    HCCL_E_NOT_SUPPORT = 5, /* not supported */
    HCCL_E_NOT_FOUND = 6, /* what was asked for was not found */
    HCCL_E_UNAVAIL = 7, /* not available */
    HCCL_E_SYSCALL = 8, /* a call of the system failed */
    HCCL_E_TIMEOUT = 9, /* waiting took too long */
    HCCL_E_OPEN_FILE_FAILURE = 10, /* a file cannot be opened */
    HCCL_E_TCP_CONNECT = 11, /* no connection could be made */
    HCCL_E_ROCE_CONNECT = 12, /* no RoCE connection could be made */
    HCCL_E_TCP_TRANSFER = 13, /* a connection broke, or brought what cannot be */
    HCCL_E_ROCE_TRANSFER = 14, /* a RoCE connection broke */
    HCCL_E_RUNTIME = 15, /* the runtime refused */
    HCCL_E_DRV = 16, /* the driver refused */
    HCCL_E_PROFILING = 17, /* the profiler refused */
    HCCL_E_CCE = 18, /* the compiler of kernels refused */
    HCCL_E_NETWORK = 19, /* the network refused */
    HCCL_E_AGAIN = 20, /* busy; try again */
    HCCL_E_REMOTE = 21, /* another rank failed */
    HCCL_E_SUSPENDING = 22, /* the communicator is being suspended */
    HCCL_E_RESERVED = 23 /* reserved */
} HcclResult;

typedef enum {
    HCCL_DATA_TYPE_INT8 = 0,
    HCCL_DATA_TYPE_INT16 = 1,
    HCCL_DATA_TYPE_INT32 = 2,
    HCCL_DATA_TYPE_FP16 = 3,
    HCCL_DATA_TYPE_FP32 = 4,
    HCCL_DATA_TYPE_INT64 = 5,
    HCCL_DATA_TYPE_UINT64 = 6,
    HCCL_DATA_TYPE_UINT8 = 7,
    HCCL_DATA_TYPE_UINT16 = 8,
    HCCL_DATA_TYPE_UINT32 = 9,
    HCCL_DATA_TYPE_FP64 = 10,
    HCCL_DATA_TYPE_BFP16 = 11,
    HCCL_DATA_TYPE_INT128 = 12,
    HCCL_DATA_TYPE_HIF8 = 14,
    HCCL_DATA_TYPE_FP8E4M3 = 15,
    HCCL_DATA_TYPE_FP8E5M2 = 16,
    HCCL_DATA_TYPE_FP8E8M0 = 17,
    HCCL_DATA_TYPE_RESERVED = 255
} HcclDataType;

typedef enum {
    HCCL_REDUCE_SUM = 0,
    HCCL_REDUCE_PROD = 1,
    HCCL_REDUCE_MAX = 2,
    HCCL_REDUCE_MIN = 3,
    HCCL_REDUCE_RESERVED = 4
} HcclReduceOp;

/** The page names the type; the order of its values is Belay's reading of it. */
typedef enum {
    HCCL_SEND = 0,
    HCCL_RECV = 1,
    HCCL_SEND_RECV_RESERVED = 2
} HcclSendRecvType;

typedef enum {
    HCCL_DETERMINISTIC = 0,
    HCCL_CONFIG_RESERVED = 1
} HcclConfig;

typedef enum {
    HCCL_COMM_CONFIG_BUFFER_SIZE = 0,
    HCCL_COMM_CONFIG_DETERMINISTIC = 1,
    HCCL_COMM_CONFIG_COMM_NAME = 2,
    HCCL_COMM_CONFIG_OP_EXPANSION = 3,
    HCCL_COMM_CONFIG_SUPPORT_INIT_BY_ENV = 4,
    HCCL_COMM_CONFIG_WORLD_RANKID = 5,
    HCCL_COMM_CONFIG_JOBID = 6,
    HCCL_COMM_CONFIG_ACLGRAPH_ZEROCOPY_ENABLE = 7,
    HCCL_COMM_CONFIG_EXEC_TIMEOUT = 8,
    HCCL_COMM_CONFIG_ALGO = 9,
    HCCL_COMM_CONFIG_RETRY = 10,
    HCCL_COMM_CONFIG_BUFFER_NAME = 11,
    HCCL_COMM_CONFIG_RESERVED = 12
} HcclCommConfigCapability;

typedef void *HcclComm;

typedef struct HcclRootInfo {
    char internal[HCCL_ROOT_INFO_BYTES];
} HcclRootInfo;

typedef struct HcclCommConfig {
    char reserved[HCCL_COMM_CONFIG_INFO_BYTES];
    uint32_t hcclBufferSize;
    uint32_t hcclDeterministic;
    char hcclCommName[COMM_NAME_MAX_LENGTH];
    char hcclUdi[UDI_MAX_LENGTH];
    uint32_t hcclOpExpansionMode;
    uint32_t hcclRdmaTrafficClass;
    uint32_t hcclRdmaServiceLevel;
    uint32_t hcclWorldRankID;
    uint64_t hcclJobID;
    uint8_t aclGraphZeroCopyEnable;
    int32_t hcclExecTimeOut;
    char hcclAlgo[HCCL_COMM_ALGO_MAX_LENGTH];
    char hcclRetryEnable[HCCL_COMM_RETRY_ENABLE_MAX_LENGTH];
    char hcclRetryParams[HCCL_COMM_RETRY_PARAMS_MAX_LENGTH];
    char hcclBufferName[BUFFER_NAME_MAX_LENGTH];
    uint32_t hcclQos;
    uint64_t hcclSymWinMaxMemSizePerRank;
} HcclCommConfig;

typedef struct HcclSendRecvItem {
    HcclSendRecvType sendRecvType;
    void *buf;
    uint64_t count;
    HcclDataType dataType;
    uint32_t remoteRank;
} HcclSendRecvItem;

typedef union HcclConfigValue {
    int32_t value;
} HcclConfigValue;

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_HCCL_HCCL_TYPES_H_ */
