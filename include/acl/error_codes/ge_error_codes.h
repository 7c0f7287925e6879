/**
 * Error codes of graphs and models. Belay implements this interface on the CPU. A function follows
 * the page of its name in the public API reference; "Page:" gives that page's number where it is
 * known.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ERROR_CODES_GE_ERROR_CODES_H_
#define BELAY_ACL_ERROR_CODES_GE_ERROR_CODES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

static const int ACL_ERROR_GE_PARAM_INVALID = 145000; /* argument check failed */
static const int ACL_ERROR_GE_EXEC_NOT_INIT = 145001; /* executor not initialised */
static const int ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID = 145002; /* model path invalid */
static const int ACL_ERROR_GE_EXEC_MODEL_ID_INVALID = 145003; /* model id invalid */
static const int ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID = 145006; /* model data size invalid */
static const int ACL_ERROR_GE_EXEC_MODEL_ADDR_INVALID = 145007; /* model address invalid */
/* queue id of the model invalid */
static const int ACL_ERROR_GE_EXEC_MODEL_QUEUE_ID_INVALID = 145008;
static const int ACL_ERROR_GE_EXEC_LOAD_MODEL_REPEATED = 145009; /* model loaded twice */
/* dynamic input address invalid */
static const int ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID = 145011;
/* dynamic input length invalid */
static const int ACL_ERROR_GE_DYNAMIC_INPUT_LENGTH_INVALID = 145012;
static const int ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID = 145013; /* dynamic batch size invalid */
static const int ACL_ERROR_GE_AIPP_BATCH_EMPTY = 145014; /* AIPP batch empty */
static const int ACL_ERROR_GE_AIPP_NOT_EXIST = 145015; /* AIPP not present */
static const int ACL_ERROR_GE_AIPP_MODE_INVALID = 145016; /* AIPP mode invalid */
static const int ACL_ERROR_GE_OP_TASK_TYPE_INVALID = 145017; /* task type of the operator invalid */
/* kernel type of the operator invalid */
static const int ACL_ERROR_GE_OP_KERNEL_TYPE_INVALID = 145018;
static const int ACL_ERROR_GE_PLGMGR_PATH_INVALID = 145019; /* plugin path invalid */
static const int ACL_ERROR_GE_FORMAT_INVALID = 145020; /* format invalid */
static const int ACL_ERROR_GE_SHAPE_INVALID = 145021; /* shape invalid */
static const int ACL_ERROR_GE_DATATYPE_INVALID = 145022; /* data type invalid */
static const int ACL_ERROR_GE_MEMORY_ALLOCATION = 245000; /* memory allocation failed */
static const int ACL_ERROR_GE_MEMORY_OPERATE_FAILED = 245001; /* memory operation failed */
/* device memory operation failed */
static const int ACL_ERROR_GE_DEVICE_MEMORY_OPERATE_FAILED = 245002;
static const int ACL_ERROR_GE_SUBHEALTHY = 345102; /* service partly healthy */
static const int ACL_ERROR_GE_INTERNAL_ERROR = 545000; /* GE internal error */
static const int ACL_ERROR_GE_LOAD_MODEL = 545001; /* model load failed */
/* model partition cannot be loaded */
static const int ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED = 545002;
/* weight partition cannot be loaded */
static const int ACL_ERROR_GE_EXEC_LOAD_WEIGHT_PARTITION_FAILED = 545003;
/* task partition cannot be loaded */
static const int ACL_ERROR_GE_EXEC_LOAD_TASK_PARTITION_FAILED = 545004;
/* kernel partition cannot be loaded */
static const int ACL_ERROR_GE_EXEC_LOAD_KERNEL_PARTITION_FAILED = 545005;
static const int ACL_ERROR_GE_EXEC_RELEASE_MODEL_DATA = 545006; /* model data cannot be released */
static const int ACL_ERROR_GE_COMMAND_HANDLE = 545007; /* command handling failed */
static const int ACL_ERROR_GE_GET_TENSOR_INFO = 545008; /* tensor information cannot be read */
static const int ACL_ERROR_GE_UNLOAD_MODEL = 545009; /* model unload failed */
static const int ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT = 545601; /* model execution timed out */
static const int ACL_ERROR_GE_REDEPLOYING = 545602; /* redeployment in progress */

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ERROR_CODES_GE_ERROR_CODES_H_ */
