/**
 * Types, error codes and helpers that every other header uses. Belay implements this interface on
 * the CPU. A function follows the page of its name in the public API reference; "Page:" gives that
 * page's number where it is known.
 * Errors that are not said with each function: 100001 without aclInit, where it is needed; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. A function that returns a value gives 0 or NULL
 * then, if its comment says nothing else.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_BASE_H_
#define BELAY_ACL_ACL_BASE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/error_codes/rt_error_codes.h"
#include "acl/error_codes/ge_error_codes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* writes to the application log from here */
#define ACL_APP_LOG(level, ...) aclAppLog(level, __func__, __FILE__, __LINE__, __VA_ARGS__)

/* ranks and ranges of tensor descriptions */
#define ACL_TENSOR_SHAPE_RANGE_NUM 2
#define ACL_TENSOR_VALUE_RANGE_NUM 2
#define ACL_UNKNOWN_RANK 0xFFFFFFFFFFFFFFFE

/* package version text */
#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

/** 0 is success; the codes are in this file and in error_codes/ */
typedef int aclError;

/** the bits of an IEEE half */
typedef uint16_t aclFloat16;

static const int ACL_ERROR_NONE = 0; /* success */
static const int ACL_SUCCESS = 0; /* success */
static const int ACL_ERROR_INVALID_PARAM = 100000; /* argument check failed */
/* not initialised (aclInit, or the init call of the feature in use, is missing) */
static const int ACL_ERROR_UNINITIALIZE = 100001;
static const int ACL_ERROR_REPEAT_INITIALIZE = 100002; /* initialised or loaded a second time */
static const int ACL_ERROR_INVALID_FILE = 100003; /* file missing or not accessible */
static const int ACL_ERROR_WRITE_FILE = 100004; /* file cannot be written (path or permission) */
static const int ACL_ERROR_INVALID_FILE_SIZE = 100005; /* file size not acceptable */
static const int ACL_ERROR_PARSE_FILE = 100006; /* file content cannot be parsed */
static const int ACL_ERROR_FILE_MISSING_ATTR = 100007; /* file lacks a required field */
static const int ACL_ERROR_FILE_ATTR_INVALID = 100008; /* a field of the file has a bad value */
static const int ACL_ERROR_INVALID_DUMP_CONFIG = 100009; /* dump configuration invalid */
static const int ACL_ERROR_INVALID_PROFILING_CONFIG = 100010; /* profiling configuration invalid */
static const int ACL_ERROR_INVALID_MODEL_ID = 100011; /* no model with this id */
/* model cannot be deserialised (other version) */
static const int ACL_ERROR_DESERIALIZE_MODEL = 100012;
static const int ACL_ERROR_PARSE_MODEL = 100013; /* model cannot be parsed (other version) */
static const int ACL_ERROR_READ_MODEL_FAILURE = 100014; /* model file cannot be read */
static const int ACL_ERROR_MODEL_SIZE_INVALID = 100015; /* model size invalid (damaged file) */
static const int ACL_ERROR_MODEL_MISSING_ATTR = 100016; /* model lacks attributes (other version) */
static const int ACL_ERROR_MODEL_INPUT_NOT_MATCH = 100017; /* inputs do not fit the model */
static const int ACL_ERROR_MODEL_OUTPUT_NOT_MATCH = 100018; /* outputs do not fit the model */
static const int ACL_ERROR_MODEL_NOT_DYNAMIC = 100019; /* dynamic-shape call on a static model */
static const int ACL_ERROR_OP_TYPE_NOT_MATCH = 100020; /* operator type differs */
static const int ACL_ERROR_OP_INPUT_NOT_MATCH = 100021; /* operator inputs differ */
static const int ACL_ERROR_OP_OUTPUT_NOT_MATCH = 100022; /* operator outputs differ */
static const int ACL_ERROR_OP_ATTR_NOT_MATCH = 100023; /* operator attributes differ */
static const int ACL_ERROR_OP_NOT_FOUND = 100024; /* no such operator */
static const int ACL_ERROR_OP_LOAD_FAILED = 100025; /* operator model cannot be loaded */
static const int ACL_ERROR_UNSUPPORTED_DATA_TYPE = 100026; /* data type unknown or not supported */
static const int ACL_ERROR_FORMAT_NOT_MATCH = 100027; /* format does not fit */
/* no selector registered for a binary-selected operator */
static const int ACL_ERROR_BIN_SELECTOR_NOT_REGISTERED = 100028;
static const int ACL_ERROR_KERNEL_NOT_FOUND = 100029; /* operator kernel not registered */
static const int ACL_ERROR_BIN_SELECTOR_ALREADY_REGISTERED = 100030; /* selector registered twice */
static const int ACL_ERROR_KERNEL_ALREADY_REGISTERED = 100031; /* kernel registered twice */
static const int ACL_ERROR_INVALID_QUEUE_ID = 100032; /* bad queue id */
/* report thread subscribed twice for a stream */
static const int ACL_ERROR_REPEAT_SUBSCRIBE = 100033;
/* stream not subscribed (old; newer: ACL_ERROR_RT_STREAM_NO_CB_REG) */
static const int ACL_ERROR_STREAM_NOT_SUBSCRIBE = 100034;
/* thread not subscribed (old; newer: ACL_ERROR_RT_THREAD_SUBSCRIBE) */
static const int ACL_ERROR_THREAD_NOT_SUBSCRIBE = 100035;
/* waiting for a callback timed out (old; newer: ACL_ERROR_RT_REPORT_TIMEOUT) */
static const int ACL_ERROR_WAIT_CALLBACK_TIMEOUT = 100036;
static const int ACL_ERROR_REPEAT_FINALIZE = 100037; /* finalised a second time */
/* no static AIPP information (old; newer: ACL_ERROR_GE_AIPP_NOT_EXIST) */
static const int ACL_ERROR_NOT_STATIC_AIPP = 100038;
/* linked against the compile-time stub library */
static const int ACL_ERROR_COMPILING_STUB_MODE = 100039;
static const int ACL_ERROR_GROUP_NOT_SET = 100040; /* no group set (aclrtSetGroup missing) */
static const int ACL_ERROR_GROUP_NOT_CREATE = 100041; /* no such group */
static const int ACL_ERROR_PROF_ALREADY_RUN = 100042; /* profiling already running on the device */
static const int ACL_ERROR_PROF_NOT_RUN = 100043; /* profiling call before aclprofInit */
/* dump already configured (aclInit file and aclmdlInitDump together) */
static const int ACL_ERROR_DUMP_ALREADY_RUN = 100044;
static const int ACL_ERROR_DUMP_NOT_RUN = 100045; /* dump call before aclmdlInitDump */
/* same model subscribed twice for profiling */
static const int ACL_ERROR_PROF_REPEAT_SUBSCRIBE = 148046;
static const int ACL_ERROR_PROF_API_CONFLICT = 148047; /* the two profiling interfaces were mixed */
/* max_opqueue_num value invalid */
static const int ACL_ERROR_INVALID_MAX_OPQUEUE_NUM_CONFIG = 148048;
static const int ACL_ERROR_INVALID_OPP_PATH = 148049; /* ASCEND_OPP_PATH unset or wrong */
/* operator does not take dynamic shapes */
static const int ACL_ERROR_OP_UNSUPPORTED_DYNAMIC = 148050;
/* something that depends on the resource still lives (channel before its description) */
static const int ACL_ERROR_RELATIVE_RESOURCE_NOT_CLEARED = 148051;
static const int ACL_ERROR_UNSUPPORTED_JPEG = 148052; /* JPEG coding not supported by the decoder */
static const int ACL_ERROR_INVALID_BUNDLE_MODEL_ID = 148053; /* bundle model id invalid */
static const int ACL_ERROR_BAD_ALLOC = 200000; /* out of memory */
static const int ACL_ERROR_API_NOT_SUPPORT = 200001; /* function not supported by this interface */
/* no such device (old; newer: ACL_ERROR_RT_INVALID_DEVICEID) */
static const int ACL_ERROR_INVALID_DEVICE = 200002;
static const int ACL_ERROR_MEMORY_ADDRESS_UNALIGNED = 200003; /* address not aligned */
/* resources do not belong together (stream, context) */
static const int ACL_ERROR_RESOURCE_NOT_MATCH = 200004;
static const int ACL_ERROR_INVALID_RESOURCE_HANDLE = 200005; /* handle destroyed or in use */
static const int ACL_ERROR_FEATURE_UNSUPPORTED = 200006; /* feature not supported */
static const int ACL_ERROR_PROF_MODULES_UNSUPPORTED = 200007; /* profiling setting not supported */
static const int ACL_ERROR_STORAGE_OVER_LIMIT = 300000; /* storage limit reached */
static const int ACL_ERROR_INTERNAL_ERROR = 500000; /* unknown internal error */
static const int ACL_ERROR_FAILURE = 500001; /* internal error in acl */
static const int ACL_ERROR_GE_FAILURE = 500002; /* internal error in GE */
static const int ACL_ERROR_RT_FAILURE = 500003; /* internal error in the runtime */
static const int ACL_ERROR_DRV_FAILURE = 500004; /* internal error in the driver */
static const int ACL_ERROR_PROFILING_FAILURE = 500005; /* internal error in profiling */

typedef enum {
    ACL_DT_UNDEFINED = -1,
    ACL_FLOAT = 0,
    ACL_FLOAT16 = 1,
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,
    ACL_BOOL = 12,
    ACL_STRING = 13,
    ACL_COMPLEX64 = 16,
    ACL_COMPLEX128 = 17,
    ACL_BF16 = 27,
    ACL_INT4 = 29,
    ACL_UINT1 = 30,
    ACL_COMPLEX32 = 33,
    ACL_HIFLOAT8 = 34,
    ACL_FLOAT8_E5M2 = 35,
    ACL_FLOAT8_E4M3FN = 36,
    ACL_FLOAT8_E8M0 = 37,
    ACL_FLOAT6_E3M2 = 38,
    ACL_FLOAT6_E2M3 = 39,
    ACL_FLOAT4_E2M1 = 40,
    ACL_FLOAT4_E1M2 = 41
} aclDataType;

typedef enum {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_NHWC = 1,
    ACL_FORMAT_ND = 2,
    ACL_FORMAT_NC1HWC0 = 3,
    ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_NC1HWC0_C04 = 12,
    ACL_FORMAT_HWCN = 16,
    ACL_FORMAT_NDHWC = 27,
    ACL_FORMAT_FRACTAL_NZ = 29,
    ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NDC1HWC0 = 32,
    ACL_FRACTAL_Z_3D = 33,
    ACL_FORMAT_NC = 35,
    ACL_FORMAT_NCL = 47
} aclFormat;

typedef enum {
    ACL_DEBUG = 0,
    ACL_INFO = 1,
    ACL_WARNING = 2,
    ACL_ERROR = 3
} aclLogLevel;

typedef enum {
    ACL_MEMTYPE_DEVICE = 0,
    ACL_MEMTYPE_HOST = 1,
    ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2
} aclMemType;

typedef enum {
    ACL_OPT_DETERMINISTIC = 0,
    ACL_OPT_ENABLE_DEBUG_KERNEL = 1
} aclSysParamOpt;

typedef enum {
    ACL_CANN_ATTR_UNDEFINED = -1,
    ACL_CANN_ATTR_INF_NAN = 0,
    ACL_CANN_ATTR_BF16 = 1,
    ACL_CANN_ATTR_JIT_COMPILE = 2
} aclCannAttr;

typedef enum {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
    ACL_DEVICE_INFO_L2_SIZE = 2
} aclDeviceInfo;

typedef enum {
    ACL_PKG_NAME_CANN = 0,
    ACL_PKG_NAME_RUNTIME = 1,
    ACL_PKG_NAME_COMPILER = 2,
    ACL_PKG_NAME_HCCL = 3,
    ACL_PKG_NAME_TOOLKIT = 4,
    ACL_PKG_NAME_OPP = 5,
    ACL_PKG_NAME_OPP_KERNEL = 6,
    ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtContext;
typedef struct aclDataBuffer aclDataBuffer;
typedef struct aclTensorDesc aclTensorDesc;

typedef struct aclCANNPackageVersion {
    char version[ACL_PKG_VERSION_MAX_SIZE];
    char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
    char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/** The bytes of one element; 0 for types without a whole number of bytes. */
size_t aclDataTypeSize(aclDataType dataType);

/** Half precision to single precision, exact. */
float aclFloat16ToFloat(aclFloat16 value);

/** Single precision to half precision, rounded to nearest even. */
aclFloat16 aclFloatToFloat16(float value);

/** A description of size bytes at data, which stay the caller's. NULL when memory is short. */
aclDataBuffer *aclCreateDataBuffer(void *data, size_t size);

/** Frees the description, not the memory. */
aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer);

/** Points the description to size bytes at data, which stay the caller's. */
aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size);

/** The address in the description; NULL without one. */
void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer);

/** The size in the description, cut to 32 bits. Deprecated: use aclGetDataBufferSizeV2. */
uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer);

/** The size in the description in bytes. */
size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer);

/**
 * A description of a tensor. A dimension of -1 is unknown; a single -2 means that not even the rank
 * is known. NULL when an argument is wrong.
 */
aclTensorDesc *aclCreateTensorDesc(
    aclDataType dataType, int numDims, const int64_t *dims, aclFormat format);

/** Frees a description. */
void aclDestroyTensorDesc(const aclTensorDesc *desc);

/**
 * The smallest and the largest size of each of the dimsCount dimensions, for shapes that vary; -1
 * as the largest is no limit.
 * Errors: 100000: another number of ranges than of dimensions, or a range that ends before it
 * starts.
 */
aclError aclSetTensorShapeRange(
    aclTensorDesc *desc, size_t dimsCount, int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]);

/**
 * valueCount ranges of the tensor's values, each the smallest and the largest; -1 as the largest is
 * no limit.
 * Errors: 100000: a range that ends before it starts.
 */
aclError aclSetTensorValueRange(
    aclTensorDesc *desc, size_t valueCount, int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]);

/** The data type; ACL_DT_UNDEFINED without a description. */
aclDataType aclGetTensorDescType(const aclTensorDesc *desc);

/** The format; ACL_FORMAT_UNDEFINED without a description. */
aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc);

/** The size of the tensor in bytes; 0 when a dimension is unknown, and without a description. */
size_t aclGetTensorDescSize(const aclTensorDesc *desc);

/** The number of elements; 0 when a dimension is unknown, and without a description. */
size_t aclGetTensorDescElementCount(const aclTensorDesc *desc);

/** The number of dimensions; ACL_UNKNOWN_RANK when it is not known, 0 without a description. */
size_t aclGetTensorDescNumDims(const aclTensorDesc *desc);

/**
 * The size of dimension index, counted from 0; -1 when it is unknown, and when there is no such
 * dimension. Deprecated: use aclGetTensorDescDimV2.
 */
int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index);

/**
 * *dimSize is the size of dimension index, counted from 0; -1 when it is unknown.
 * Errors: 100000: no such dimension, or the rank is unknown.
 */
aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize);

/**
 * The smallest and the largest size of dimension index into dimRange, which has room for
 * dimRangeNum (at least 2) numbers; -1 as the largest is no limit.
 * Errors: 100000: no such dimension, or dimRangeNum is less than 2.
 */
aclError aclGetTensorDescDimRange(
    const aclTensorDesc *desc, size_t index, size_t dimRangeNum, int64_t *dimRange);

/** Names the tensor; the text is copied. NULL takes the name away. */
void aclSetTensorDescName(aclTensorDesc *desc, const char *name);

/** The name of the tensor, empty when it has none; valid until the next name is set. */
const char *aclGetTensorDescName(aclTensorDesc *desc);

/** The format in which the tensor lies in memory. */
aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format);

/**
 * The shape in memory: numDims sizes, as for aclCreateTensorDesc.
 * Errors: 100000: numDims is not 0 to 128, dims is NULL, or a size that no tensor has.
 */
aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** The format that the program means, before any conversion for the device. */
aclError aclSetTensorOriginFormat(aclTensorDesc *desc, aclFormat format);

/**
 * The shape that the program means, before any format: numDims sizes, as for aclCreateTensorDesc.
 * Errors: 100000: numDims is not 0 to 128, dims is NULL, or a size that no tensor has.
 */
aclError aclSetTensorOriginShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** The format in which the tensor lies in memory. Deprecated: use aclSetTensorFormat. */
aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format);

/**
 * The shape in memory. Deprecated: use aclSetTensorShape.
 * Errors: 100000: numDims is not 0 to 128, dims is NULL, or a size that no tensor has.
 */
aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims);

/** Whether the tensor's data is on the device or on the host. */
aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType);

/** Names the input of varying length that the tensor belongs to. */
aclError aclSetTensorDynamicInput(aclTensorDesc *desc, const char *dynamicInputName);

/**
 * Marks the tensor as constant; its value is a copy of the length bytes of host memory at
 * dataBuffer.
 * Errors: 100000: dataBuffer is NULL, or has less than length bytes.
 */
aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length);

/** Always NULL: where a tensor lies is in its data buffer, not in its description. */
void *aclGetTensorDescAddress(const aclTensorDesc *desc);

/**
 * Element index of an array of descriptions. aclCreateTensorDesc makes one, which is element 0;
 * NULL for any other.
 */
aclTensorDesc *aclGetTensorDescByIndex(aclTensorDesc *desc, size_t index);

/**
 * How many cores a device has, or the bytes of its L2 cache. Needs aclInit.
 * Errors: 100000: no such deviceInfo; 107001: no such device.
 */
aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value);

/** The name of the simulated processor, such as Ascend910B3. The text is static. */
const char *aclrtGetSocName(void);

/**
 * The version of one package of the toolkit, whole and in parts.
 * Errors: 100000: no such package.
 */
aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version);

/**
 * The version of the package called pkgName as text; versionStr has room for
 * ACL_PKG_VERSION_MAX_SIZE bytes.
 * Errors: 100000: no package of that name.
 */
aclError aclsysGetVersionStr(char *pkgName, char *versionStr);

/**
 * *value is 1 when the toolkit has the ability, else 0.
 * Errors: 100000: no such ability.
 */
aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value);

/** The abilities that aclGetCannAttribute knows: a static array and its length. */
aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num);

/** Writes a line to the application log, formatted as printf does. */
void aclAppLog(
    aclLogLevel logLevel, const char *func, const char *file, uint32_t line, const char *fmt, ...);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_BASE_H_ */
