/**
 * Profiling that a program steers itself. Belay implements this interface on the CPU. A function
 * follows the page of its name in the public API reference; "Page:" gives that page's number where
 * it is known.
 * Errors that are not said with each function: 100001 before aclInit and after aclFinalize; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it. Functions that wait: 100000 in a callback, 107022 when
 * the tasks were dropped meanwhile, and the code of a task that failed. A function that returns a
 * value gives 0 or NULL then, if its comment says nothing else.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_PROF_H_
#define BELAY_ACL_ACL_PROF_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* what to collect */
#define ACL_PROF_ACL_API 0x0001ULL
#define ACL_PROF_TASK_TIME 0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU 0x0008ULL
#define ACL_PROF_L2CACHE 0x0010ULL
#define ACL_PROF_HCCL_TRACE 0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX 0x0080ULL
#define ACL_PROF_RUNTIME_API 0x0100ULL
#define ACL_PROF_FWK_SCHEDULE_L0 0x0200ULL
#define ACL_PROF_TASK_TIME_L0 0x0800ULL
#define ACL_PROF_TASK_MEMORY 0x1000ULL
#define ACL_PROF_FWK_SCHEDULE_L1 0x01000000ULL
#define ACL_PROF_TASK_TIME_L2 0x2000ULL
#define ACL_PROF_OP_ATTR 0x4000ULL

/* longest names of subscribed operators */
#define ACL_PROF_MAX_OP_NAME_LEN 257
#define ACL_PROF_MAX_OP_TYPE_LEN 65

typedef enum {
    ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
    ACL_AICORE_PIPE_UTILIZATION = 1,
    ACL_AICORE_MEMORY_BANDWIDTH = 2,
    ACL_AICORE_L0B_AND_WIDTH = 3,
    ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
    ACL_AICORE_MEMORY_UB = 5,
    ACL_AICORE_L2_CACHE = 6,
    ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
    ACL_AICORE_NONE = 255
} aclprofAicoreMetrics;

typedef enum {
    ACL_STEP_START = 0,
    ACL_STEP_END = 1
} aclprofStepTag;

typedef enum {
    ACL_SUBSCRIBE_OP = 0,
    ACL_SUBSCRIBE_SUBGRAPH = 1,
    ACL_SUBSCRIBE_OP_THREAD = 2,
    ACL_SUBSCRIBE_NONE = 255
} aclprofSubscribeOpFlag;

typedef enum {
    ACL_SUBSCRIBE_ATTRI_THREADID = 0,
    ACL_SUBSCRIBE_ATTRI_NONE = 1
} aclprofSubscribeOpAttri;

typedef enum {
    ACL_PROF_ARGS_MIN = 0,
    ACL_PROF_STORAGE_LIMIT = 1,
    ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
    ACL_PROF_LLC_MODE = 4,
    ACL_PROF_SYS_IO_FREQ = 5,
    ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
    ACL_PROF_DVPP_FREQ = 7,
    ACL_PROF_HOST_SYS = 8,
    ACL_PROF_HOST_SYS_USAGE = 9,
    ACL_PROF_HOST_SYS_USAGE_FREQ = 10,
    ACL_PROF_LOW_POWER_FREQ = 11,
    ACL_PROF_SYS_MEM_SERVICEFLOW = 12,
    ACL_PROF_SYS_CPU_FREQ = 13,
    ACL_PROF_SCALE = 14,
    ACL_PROF_ARGS_MAX = 15
} aclprofConfigType;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofSubscribeConfig aclprofSubscribeConfig;
typedef struct aclprofStepInfo aclprofStepInfo;

/**
 * Gets ready to profile, and says where the tables go: to a folder of their own below this one,
 * which is made where it is missing. length is that of the path, at most 4096. Before this call
 * profiling costs nothing.
 * Errors: 100000: length is 0, more than 4096, or not that of the path; 100002: aclprofFinalize has
 * not ended the last one; 100004: nothing can be written there; 500005: the part of Belay that
 * writes the tables cannot be loaded.
 * Page: aclcppdevg_03_1258
 */
aclError aclprofInit(const char *profilerResultPath, size_t length);

/**
 * Ends profiling. What is still being collected is written.
 * Errors: 100043: aclprofInit was not called.
 * Page: aclcppdevg_03_1255
 */
aclError aclprofFinalize(void);

/**
 * One more setting, before aclprofStart. They are about the storage and about counters of a card,
 * of which there are none here: the value is checked, and a warning in the log says that it has no
 * effect.
 * Errors: 100000: no such configType; or configLength is 0, more than 256 or not that of config;
 * 100010: the value is none of this setting's; 100042: profiling runs.
 * Page: aclcppdevg_03_1259
 */
aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength);

/**
 * What to collect of which devices: an or of ACL_PROF_*. aicoreEvents is NULL. NULL when a device
 * does not exist or stands there twice, or a value is unknown. ACL_PROF_TASK_TIME,
 * ACL_PROF_TASK_TIME_L0, ACL_PROF_ACL_API and ACL_PROF_MSPROFTX have effects; counters of a card
 * are not collected.
 * Page: aclcppdevg_03_1610
 */
aclprofConfig *aclprofCreateConfig(
    uint32_t *deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics, const
    aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig);

/** Frees a configuration. What it started goes on. */
aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);

/**
 * Gets ready for aclprofStart with this configuration.
 * Errors: 100043: aclprofInit was not called.
 */
aclError aclprofWarmup(const aclprofConfig *profilerConfig);

/**
 * Begins to collect what the configuration asks for.
 * Errors: 100004: the tables cannot be written; 100042: one of its devices is being profiled;
 * 100043: aclprofInit was not called.
 * Page: aclcppdevg_03_1255
 */
aclError aclprofStart(const aclprofConfig *profilerConfig);

/**
 * Stops what aclprofStart began with this configuration. With the last one the tables are written
 * to their ends; tasks that have not ended by then are not in them.
 * Errors: 100043: it was not started.
 * Page: aclcppdevg_03_1255
 */
aclError aclprofStop(const aclprofConfig *profilerConfig);

/**
 * Devices that are set from now on are profiled, too, where the configuration names them. They
 * always are.
 * Errors: 100043: aclprofInit was not called.
 */
aclError aclprofRegisterDeviceCallback(void);

/**
 * A table of what a profiler can do, whose form no page tells.
 * Not implemented: returns 200007.
 */
aclError aclprofGetSupportedFeatures(size_t *featuresSize, void **featuresData);

/**
 * A table of what a profiler can do, whose form no page tells.
 * Not implemented: returns 200007.
 */
aclError aclprofGetSupportedFeaturesV2(size_t *featuresSize, void **featuresData);

/** A stamp, which marks a moment or a span of time. */
void *aclprofCreateStamp(void);

/** Frees a stamp. Spans that it began go on. */
void aclprofDestroyStamp(void *stamp);

/**
 * Says what a stamp is called in tables and timelines.
 * Page: aclcppdevg_03_1269
 */
aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen);

/** Marks this moment. */
aclError aclprofMark(void *stamp);

/**
 * Marks this moment, and the one in which the stream gets there. msg has at most 127 bytes.
 * Errors: 100000: msgLen is 0 or more than 127.
 * Page: aclcppdevg_03_1271
 */
aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);

/**
 * Begins a span of this thread within the one that it is in. aclprofPop ends it.
 * Page: aclcppdevg_03_1272
 */
aclError aclprofPush(void *stamp);

/**
 * Ends the span that this thread began last.
 * Errors: 100000: there is none.
 */
aclError aclprofPop(void);

/**
 * Begins a span that any thread may end, and gives its number.
 * Page: aclcppdevg_03_1274
 */
aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);

/**
 * Ends the span of that number.
 * Errors: 100000: there is none.
 * Page: aclcppdevg_03_1275
 */
aclError aclprofRangeStop(uint32_t rangeId);

/** A step of a training, of which aclprofGetStepTimestamp marks the start and the end. */
aclprofStepInfo *aclprofCreateStepInfo(void);

/** Frees it. */
void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);

/**
 * Marks the start or the end of a step on a stream, each once.
 * Errors: 100000: no such tag; or this step has it already.
 * Page: aclcppdevg_03_1296
 */
aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream);

/**
 * What to send of a model's operators: with timeInfoSwitch 1 a record of each that runs, with 0
 * nothing. fd leads to the number of the pipe's end that is written to. It is closed once all
 * models that use it are unsubscribed from and all has been sent. aicoreMetrics has no effect. NULL
 * when a value is unknown or nothing can be written there.
 * Page: aclcppdevg_03_1612
 */
aclprofSubscribeConfig *aclprofCreateSubscribeConfig(
    int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics, void *fd);

/**
 * Frees it. Subscriptions go on.
 * Page: aclcppdevg_03_1613
 */
aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig);

/**
 * From now on a record of each operator of a loaded model that runs is sent. Of 1,048,576 that
 * nobody has read the next are dropped, which the log says.
 * Errors: 145003: there is no such model; 148046: it is subscribed to already; 148047: profiling is
 * on (aclprofInit); 500005: no thread can be started.
 * Page: aclcppdevg_03_1277
 */
aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig);

/**
 * Ends aclprofModelSubscribe. What has run is still sent, then the pipe is closed.
 * Errors: 100000: nobody has subscribed to it.
 * Page: aclcppdevg_03_1277
 */
aclError aclprofModelUnSubscribe(uint32_t modelId);

/** The size of a record in bytes. */
aclError aclprofGetOpDescSize(size_t *opDescSize);

/**
 * How many records there are; 0 in no bytes.
 * Errors: 100000: these are no whole records.
 */
aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen, uint32_t *opNumber);

/**
 * The room that a record's type of operator takes, with the 0 at its end.
 * Errors: 100000: there is no such record.
 */
aclError aclprofGetOpTypeLen(
    const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opTypeLen);

/**
 * A record's type of operator.
 * Errors: 100000: there is no such record; or it does not fit.
 */
aclError aclprofGetOpType(
    const void *opInfo, size_t opInfoLen, uint32_t index, char *opType, size_t opTypeLen);

/**
 * The room that a record's name takes, with the 0 at its end.
 * Errors: 100000: there is no such record.
 */
aclError aclprofGetOpNameLen(
    const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opNameLen);

/**
 * A record's name.
 * Errors: 100000: there is no such record; or it does not fit.
 */
aclError aclprofGetOpName(
    const void *opInfo, size_t opInfoLen, uint32_t index, char *opName, size_t opNameLen);

/**
 * When the operator began, in nanoseconds of a clock that only goes on. 0 when there is no such
 * record.
 * Page: aclcppdevg_03_1287
 */
uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen, uint32_t index);

/** When the operator ended. */
uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index);

/**
 * How long the operator took, in nanoseconds.
 * Page: aclcppdevg_03_1289
 */
uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen, uint32_t index);

/** The model of a record. */
size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index);

/**
 * What kind of record it is. No page tells what else there may be.
 * Not implemented: returns ACL_SUBSCRIBE_NONE.
 */
aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen, uint32_t index);

/**
 * An attribute of a record, whose form no page tells.
 * Not implemented: returns 0.
 */
const char *aclprofGetOpAttriValue(
    const void *opInfo, size_t opInfoLen, uint32_t index, aclprofSubscribeOpAttri attri);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_PROF_H_ */
