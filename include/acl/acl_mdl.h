/**
 * Models. Belay implements this interface on the CPU. A function follows the page of its name in
 * the public API reference; "Page:" gives that page's number where it is known.
 * Errors that are not said with each function: 100001 without aclInit, where it is needed; 100000
 * for a null pointer or handle where none may be; 107017 for a handle whose object is not alive, or
 * no longer; 200000 when host memory is short. With a stream: 107002 when the thread has no
 * context, 107003 when the stream is of another one, 107033 when a capture of it was spoiled, and
 * the code of the failure that stopped it. Functions that wait: 100000 in a callback, 107022 when
 * the tasks were dropped meanwhile, and the code of a task that failed. A function that returns a
 * value gives 0 or NULL then, if its comment says nothing else.
 * Generated from spec/ by gen/generate.py; edit there.
 */
#ifndef BELAY_ACL_ACL_MDL_H_
#define BELAY_ACL_ACL_MDL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* limits, names and ways to load of models */
#define ACL_DIM_ENDPOINTS 2
#define ACL_MAX_DIM_CNT 128
#define ACL_MAX_TENSOR_NAME_LEN 128
#define ACL_MAX_BATCH_NUM 128
#define ACL_MAX_HW_NUM 128
#define ACL_MAX_SHAPE_COUNT 128
#define ACL_INVALID_NODE_INDEX 0xFFFFFFFF
#define ACL_MDL_LOAD_FROM_FILE 1
#define ACL_MDL_LOAD_FROM_FILE_WITH_MEM 2
#define ACL_MDL_LOAD_FROM_MEM 3
#define ACL_MDL_LOAD_FROM_MEM_WITH_MEM 4
#define ACL_MDL_LOAD_FROM_FILE_WITH_Q 5
#define ACL_MDL_LOAD_FROM_MEM_WITH_Q 6
#define ACL_DYNAMIC_TENSOR_NAME "ascend_mbatch_shape_data"
#define ACL_DYNAMIC_AIPP_NAME "ascend_dynamic_aipp_data"
#define ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES "_datadump_original_op_names"
#define ACL_WORKSPACE_MEM_OPTIMIZE_DEFAULT 0
#define ACL_WORKSPACE_MEM_OPTIMIZE_INPUTOUTPUT 1

typedef enum {
    ACL_YUV420SP_U8 = 1,
    ACL_XRGB8888_U8 = 2,
    ACL_RGB888_U8 = 3,
    ACL_YUV400_U8 = 4,
    ACL_NC1HWC0DI_FP16 = 5,
    ACL_NC1HWC0DI_S8 = 6,
    ACL_ARGB8888_U8 = 7,
    ACL_YUYV_U8 = 8,
    ACL_YUV422SP_U8 = 9,
    ACL_AYUV444_U8 = 10,
    ACL_RAW10 = 11,
    ACL_RAW12 = 12,
    ACL_RAW16 = 13,
    ACL_RAW24 = 14,
    ACL_AIPP_RESERVED = 0xffff
} aclAippInputFormat;

typedef enum {
    ACL_MDL_PRIORITY_INT32 = 0,
    ACL_MDL_LOAD_TYPE_SIZET = 1,
    ACL_MDL_PATH_PTR = 2,
    ACL_MDL_MEM_ADDR_PTR = 3,
    ACL_MDL_MEM_SIZET = 4,
    ACL_MDL_WEIGHT_ADDR_PTR = 5,
    ACL_MDL_WEIGHT_SIZET = 6,
    ACL_MDL_WORKSPACE_ADDR_PTR = 7,
    ACL_MDL_WORKSPACE_SIZET = 8,
    ACL_MDL_INPUTQ_NUM_SIZET = 9,
    ACL_MDL_INPUTQ_ADDR_PTR = 10,
    ACL_MDL_OUTPUTQ_NUM_SIZET = 11,
    ACL_MDL_OUTPUTQ_ADDR_PTR = 12,
    ACL_MDL_WORKSPACE_MEM_OPTIMIZE = 13,
    ACL_MDL_WEIGHT_PATH_PTR = 14,
    ACL_MDL_MODEL_DESC_PTR = 15,
    ACL_MDL_MODEL_DESC_SIZET = 16,
    ACL_MDL_KERNEL_PTR = 17,
    ACL_MDL_KERNEL_SIZET = 18,
    ACL_MDL_KERNEL_ARGS_PTR = 19,
    ACL_MDL_KERNEL_ARGS_SIZET = 20,
    ACL_MDL_STATIC_TASK_PTR = 21,
    ACL_MDL_STATIC_TASK_SIZET = 22,
    ACL_MDL_DYNAMIC_TASK_PTR = 23,
    ACL_MDL_DYNAMIC_TASK_SIZET = 24,
    ACL_MDL_MEM_MALLOC_POLICY_SIZET = 25,
    ACL_MDL_FIFO_PTR = 26,
    ACL_MDL_FIFO_SIZET = 27,
    ACL_MDL_WITHOUT_GRAPH_INT32 = 28
} aclmdlConfigAttr;

typedef enum {
    ACL_MDL_STREAM_SYNC_TIMEOUT = 0,
    ACL_MDL_EVENT_SYNC_TIMEOUT = 1,
    ACL_MDL_WORK_ADDR_PTR = 2,
    ACL_MDL_WORK_SIZET = 3,
    ACL_MDL_MPAIMID_SIZET = 4,
    ACL_MDL_AICQOS_SIZET = 5,
    ACL_MDL_AICOST_SIZET = 6,
    ACL_MDL_MEC_TIMETHR_SIZET = 7
} aclmdlExecConfigAttr;

typedef enum {
    ACL_DATA_WITHOUT_AIPP = 0,
    ACL_DATA_WITH_STATIC_AIPP = 1,
    ACL_DATA_WITH_DYNAMIC_AIPP = 2,
    ACL_DYNAMIC_AIPP_NODE = 3
} aclmdlInputAippType;

typedef struct aclmdlDataset aclmdlDataset;
typedef struct aclmdlDesc aclmdlDesc;
typedef struct aclmdlAIPP aclmdlAIPP;
typedef struct aclAippExtendInfo aclAippExtendInfo;
typedef struct aclmdlConfigHandle aclmdlConfigHandle;
typedef struct aclmdlExecConfigHandle aclmdlExecConfigHandle;

typedef struct aclmdlIODims {
    char name[ACL_MAX_TENSOR_NAME_LEN];
    size_t dimCount;
    int64_t dims[ACL_MAX_DIM_CNT];
} aclmdlIODims;

typedef struct aclmdlIODimsRange {
    size_t rangeCount;
    int64_t range[ACL_MAX_DIM_CNT][ACL_DIM_ENDPOINTS];
} aclmdlIODimsRange;

typedef struct aclAippDims {
    aclmdlIODims srcDims;
    size_t srcSize;
    aclmdlIODims aippOutdims;
    size_t aippOutSize;
} aclAippDims;

typedef struct aclmdlBatch {
    size_t batchCount;
    uint64_t batch[ACL_MAX_BATCH_NUM];
} aclmdlBatch;

typedef struct aclmdlHW {
    size_t hwCount;
    uint64_t hw[ACL_MAX_HW_NUM][2];
} aclmdlHW;

typedef struct aclAippInfo {
    aclAippInputFormat inputFormat;
    int32_t srcImageSizeW;
    int32_t srcImageSizeH;
    int8_t cropSwitch;
    int32_t loadStartPosW;
    int32_t loadStartPosH;
    int32_t cropSizeW;
    int32_t cropSizeH;
    int8_t resizeSwitch;
    int32_t resizeOutputW;
    int32_t resizeOutputH;
    int8_t paddingSwitch;
    int32_t leftPaddingSize;
    int32_t rightPaddingSize;
    int32_t topPaddingSize;
    int32_t bottomPaddingSize;
    int8_t cscSwitch;
    int8_t rbuvSwapSwitch;
    int8_t axSwapSwitch;
    int8_t singleLineMode;
    int32_t matrixR0C0;
    int32_t matrixR0C1;
    int32_t matrixR0C2;
    int32_t matrixR1C0;
    int32_t matrixR1C1;
    int32_t matrixR1C2;
    int32_t matrixR2C0;
    int32_t matrixR2C1;
    int32_t matrixR2C2;
    int32_t outputBias0;
    int32_t outputBias1;
    int32_t outputBias2;
    int32_t inputBias0;
    int32_t inputBias1;
    int32_t inputBias2;
    int32_t meanChn0;
    int32_t meanChn1;
    int32_t meanChn2;
    int32_t meanChn3;
    float minChn0;
    float minChn1;
    float minChn2;
    float minChn3;
    float varReciChn0;
    float varReciChn1;
    float varReciChn2;
    float varReciChn3;
    aclFormat srcFormat;
    aclDataType srcDatatype;
    size_t srcDimNum;
    size_t shapeCount;
    aclAippDims outDims[ACL_MAX_SHAPE_COUNT];
    aclAippExtendInfo *aippExtend;
} aclAippInfo;

typedef struct aclmdlExeOMDesc {
    size_t workSize;
    size_t weightSize;
    size_t modelDescSize;
    size_t kernelSize;
    size_t kernelArgsSize;
    size_t staticTaskSize;
    size_t dynamicTaskSize;
    size_t reserved[9];
} aclmdlExeOMDesc;

/**
 * The bytes of work memory and of constants that the model in the file needs, at least 64 of each.
 * Needs aclInit.
 * Errors: 145002: the file cannot be read; 545001: the file is no model of Belay.
 */
aclError aclmdlQuerySize(const char *fileName, size_t *workSize, size_t *weightSize);

/**
 * The bytes of work memory and of constants that the model of modelSize bytes in host memory needs,
 * at least 64 of each. Needs aclInit.
 * Errors: 545001: the bytes are no model of Belay.
 */
aclError aclmdlQuerySizeFromMem(
    const void *model, size_t modelSize, size_t *workSize, size_t *weightSize);

/**
 * Loads a model on the current device. Its constants are used where they lie in the file, which
 * processes share. Needs aclInit.
 * Errors: 107002: no device is set; 145002: the file cannot be read; 545001: the file is no model
 * of Belay.
 * Page: aclcppdevg_03_0283
 */
aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId);

/**
 * Loads a model from host memory, which may be freed afterwards. Needs aclInit.
 * Errors: 107002: no device is set; 545001: the bytes are no model of Belay.
 */
aclError aclmdlLoadFromMem(const void *model, size_t modelSize, uint32_t *modelId);

/**
 * As aclmdlLoadFromFile, with work memory of the caller, who frees it after unloading. The memory
 * for constants must be as large as aclmdlQuerySize says, but Belay leaves them in the file. Sizes
 * are in bytes; memory that is NULL is allocated. Needs aclInit.
 * Errors: 100000: memory that is given is too small or no device memory; 107002: no device is set;
 * 145002: the file cannot be read; 545001: the file is no model of Belay.
 * Page: aclcppdevg_03_0285
 */
aclError aclmdlLoadFromFileWithMem(
    const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize, void *weightPtr,
    size_t weightSize);

/**
 * As aclmdlLoadFromFileWithMem, from modelSize bytes of host memory. Needs aclInit.
 * Errors: 100000: memory that is given is too small or no device memory; 107002: no device is set;
 * 545001: the bytes are no model of Belay.
 */
aclError aclmdlLoadFromMemWithMem(
    const void *model, size_t modelSize, uint32_t *modelId, void *workPtr, size_t workSize, void
    *weightPtr, size_t weightSize);

/** An empty set of options for aclmdlLoadWithConfig. */
aclmdlConfigHandle *aclmdlCreateConfigHandle(void);

/** Frees a set of options of aclmdlCreateConfigHandle. */
aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle *handle);

/**
 * Sets one option; attrValue points to valueSize bytes, a value of the type at the end of the
 * attribute's name.
 * Errors: 100000: unknown attribute, wrong size, or a priority that is not 0 to 7; 200001: an
 * attribute for queues or for models of a card.
 * Page: aclcppdevg_03_1375
 */
aclError aclmdlSetConfigOpt(
    aclmdlConfigHandle *handle, aclmdlConfigAttr attr, const void *attrValue, size_t valueSize);

/**
 * Loads in the way that ACL_MDL_LOAD_TYPE_SIZET names. Queues are not supported. Needs aclInit.
 * Errors: 100000: an option that the way of loading needs is missing, or memory that is given is
 * too small or no device memory; 107002: no device is set; 145002: the file cannot be read; 200001:
 * loading with queues; 545001: it is no model of Belay.
 */
aclError aclmdlLoadWithConfig(const aclmdlConfigHandle *handle, uint32_t *modelId);

/**
 * Unloads a model. Executions that are queued still run. Needs aclInit.
 * Errors: 145003: no such model.
 * Page: aclcppdevg_03_0291
 */
aclError aclmdlUnload(uint32_t modelId);

/**
 * Loads all models of a bundle: .om files one behind the other. They share no variables. Needs
 * aclInit.
 * Errors: 107002: no device is set; 145002: the file cannot be read; 545001: it holds something
 * else than models of Belay.
 */
aclError aclmdlBundleLoadFromFile(const char *modelPath, uint32_t *bundleId);

/**
 * As aclmdlBundleLoadFromFile, from modelSize bytes of host memory, which may be freed afterwards.
 * Needs aclInit.
 * Errors: 107002: no device is set; 545001: the bytes are something else than models of Belay.
 */
aclError aclmdlBundleLoadFromMem(const void *model, size_t modelSize, uint32_t *bundleId);

/**
 * Unloads all models of a bundle. Executions that are queued still run. Needs aclInit.
 * Errors: 145003: no such bundle.
 */
aclError aclmdlBundleUnload(uint32_t bundleId);

/**
 * The number of models in a bundle. Needs aclInit.
 * Errors: 145003: no such bundle.
 */
aclError aclmdlBundleGetModelNum(uint32_t bundleId, size_t *modelNum);

/**
 * The id of model index of a bundle, for every other function of models. Needs aclInit.
 * Errors: 100000: no such index; 145003: no such bundle.
 */
aclError aclmdlBundleGetModelId(uint32_t bundleId, size_t index, uint32_t *modelId);

/** An empty description of a model, for aclmdlGetDesc to fill. */
aclmdlDesc *aclmdlCreateDesc(void);

/** Frees a description, and the names that it handed out. */
aclError aclmdlDestroyDesc(aclmdlDesc *modelDesc);

/**
 * Fills the description from a loaded model. Needs aclInit.
 * Errors: 145003: no such model.
 */
aclError aclmdlGetDesc(aclmdlDesc *modelDesc, uint32_t modelId);

/**
 * Fills the description from a file, without loading the model. Needs aclInit.
 * Errors: 145002: the file cannot be read; 545001: the file is no model of Belay.
 */
aclError aclmdlGetDescFromFile(aclmdlDesc *modelDesc, const char *modelPath);

/**
 * Fills the description from a model of modelSize bytes in host memory, without loading it. Needs
 * aclInit.
 * Errors: 545001: the bytes are no model of Belay.
 */
aclError aclmdlGetDescFromMem(aclmdlDesc *modelDesc, const void *model, size_t modelSize);

/** The number of inputs, with the one that chooses among gears; 0 without a description. */
size_t aclmdlGetNumInputs(aclmdlDesc *modelDesc);

/** The number of outputs; 0 without a description. */
size_t aclmdlGetNumOutputs(aclmdlDesc *modelDesc);

/**
 * Bytes of an input; with gears the largest; 0 when sizes are open, and when there is no such
 * input.
 */
size_t aclmdlGetInputSizeByIndex(aclmdlDesc *modelDesc, size_t index);

/**
 * Bytes of an output; with gears the largest; 0 when only the data decides, and when there is no
 * such output.
 */
size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *modelDesc, size_t index);

/**
 * Name and sizes of an input, -1 where a size is open; of images that are preprocessed [n, h, w,
 * c].
 * Errors: 100000: no such index.
 */
aclError aclmdlGetInputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);

/**
 * As aclmdlGetInputDims; for images that are preprocessed the sizes in which their bytes lie, so
 * that their product is that of aclmdlGetInputSizeByIndex.
 * Errors: 100000: no such index.
 */
aclError aclmdlGetInputDimsV2(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);

/**
 * Name and sizes of an output; with gears the largest, -1 where only the data decides.
 * Errors: 100000: no such index.
 */
aclError aclmdlGetOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);

/**
 * The sizes for the gear that was chosen last, the largest when none was.
 * Errors: 100000: no such index.
 */
aclError aclmdlGetCurOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims);

/**
 * Smallest and largest size of each dimension; -1 as the largest where there is no limit.
 * Errors: 100000: no such index.
 */
aclError aclmdlGetInputDimsRange(
    const aclmdlDesc *modelDesc, size_t index, aclmdlIODimsRange *dimsRange);

/** The name of an input; it lives as long as the description. "" for a wrong index. */
const char *aclmdlGetInputNameByIndex(const aclmdlDesc *modelDesc, size_t index);

/** The name of an output; it lives as long as the description. "" for a wrong index. */
const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *modelDesc, size_t index);

/**
 * The index of the input of that name.
 * Errors: 100000: no such name.
 */
aclError aclmdlGetInputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index);

/**
 * The index of the output of that name.
 * Errors: 100000: no such name.
 */
aclError aclmdlGetOutputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index);

/**
 * The name of an input or output by what aclmdlGetInputDims and kin call it: a name of more than
 * 127 bytes is acl_modelId_<id>_input_<index> or _output_ there. Of a name itself it is that; NULL
 * when there is none.
 */
const char *aclmdlGetTensorRealName(const aclmdlDesc *modelDesc, const char *name);

/** The format of an input; ACL_FORMAT_UNDEFINED when there is none. */
aclFormat aclmdlGetInputFormat(const aclmdlDesc *modelDesc, size_t index);

/** The format of an output; ACL_FORMAT_UNDEFINED when there is none. */
aclFormat aclmdlGetOutputFormat(const aclmdlDesc *modelDesc, size_t index);

/** The element type of an input; ACL_DT_UNDEFINED when there is none. */
aclDataType aclmdlGetInputDataType(const aclmdlDesc *modelDesc, size_t index);

/** The element type of an output; ACL_DT_UNDEFINED when there is none. */
aclDataType aclmdlGetOutputDataType(const aclmdlDesc *modelDesc, size_t index);

/** The batch sizes that the model was built for; none when it has no such gears. */
aclError aclmdlGetDynamicBatch(const aclmdlDesc *modelDesc, aclmdlBatch *batch);

/**
 * The heights and widths that the model was built for, each pair in that order. index is not looked
 * at.
 */
aclError aclmdlGetDynamicHW(const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw);

/**
 * The number of gears of dimensions. index must be -1.
 * Errors: 100000: index is not -1.
 */
aclError aclmdlGetInputDynamicGearCount(
    const aclmdlDesc *modelDesc, size_t index, size_t *gearCount);

/**
 * The gears, each with the sizes of all inputs one behind the other. index must be -1.
 * Errors: 100000: index is not -1, or gearCount is not the number of gears; 200006: the inputs have
 * more sizes in all than aclmdlIODims holds.
 * Page: aclcppdevg_03_1468
 */
aclError aclmdlGetInputDynamicDims(
    const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims, size_t gearCount);

/** An empty list of buffers: the inputs or the outputs of an execution, in their order. */
aclmdlDataset *aclmdlCreateDataset(void);

/** Frees a list of buffers; the buffers and their memory stay. */
aclError aclmdlDestroyDataset(const aclmdlDataset *dataset);

/**
 * Appends a buffer, which stays the caller's.
 * Errors: 107017: dataBuffer is not a live data buffer.
 */
aclError aclmdlAddDatasetBuffer(aclmdlDataset *dataset, aclDataBuffer *dataBuffer);

/** The number of buffers. */
size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset *dataset);

/** Buffer index of the list; NULL when there is none. */
aclDataBuffer *aclmdlGetDatasetBuffer(const aclmdlDataset *dataset, size_t index);

/**
 * The shape with which buffer index is passed, for inputs whose sizes are open.
 * Errors: 100000: no such index; 107017: tensorDesc is not a live description.
 */
aclError aclmdlSetDatasetTensorDesc(
    aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t index);

/** The description of buffer index; after an execution that of the output. NULL without one. */
aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *dataset, size_t index);

/**
 * Runs the model and waits for it. Outputs without memory get some of the model's. Needs aclInit.
 * Errors: 100000: buffers are missing, too small or no device memory, or no gear was chosen;
 * 107002: the thread has no context; 145003: no such model; 145021: an input is described with a
 * shape that the model does not take; 545001: the device was reset since the model was loaded.
 */
aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output);

/**
 * Queues one run. The datasets may be destroyed at once; the memory must stay. Needs aclInit.
 * Errors: 100000: buffers are missing, too small or no device memory, or no gear was chosen;
 * 107003: stream of another context; 145003: no such model; 145021: an input is described with a
 * shape that the model does not take; 545001: the device was reset since the model was loaded.
 * Page: aclcppdevg_03_0299
 */
aclError aclmdlExecuteAsync(
    uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream);

/**
 * Runs the model on the stream and waits for it, no longer than the configuration allows. Needs
 * aclInit.
 * Errors: 100000: buffers are missing, too small or no device memory, or no gear was chosen;
 * 107003: stream of another context; 107020: it took too long; 145003: no such model; 145021: an
 * input is described with a shape that the model does not take; 545001: the device was reset since
 * the model was loaded.
 */
aclError aclmdlExecuteV2(
    uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream, const
    aclmdlExecConfigHandle *handle);

/**
 * As aclmdlExecuteAsync; no option of the configuration changes it. Needs aclInit.
 * Errors: 100000: buffers are missing, too small or no device memory, or no gear was chosen;
 * 107003: stream of another context; 145003: no such model; 145021: an input is described with a
 * shape that the model does not take; 545001: the device was reset since the model was loaded.
 */
aclError aclmdlExecuteAsyncV2(
    uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream, const
    aclmdlExecConfigHandle *handle);

/** An empty set of options for aclmdlExecuteV2 and aclmdlExecuteAsyncV2. */
aclmdlExecConfigHandle *aclmdlCreateExecConfigHandle(void);

/** Frees a set of options of aclmdlCreateExecConfigHandle. */
aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle *handle);

/**
 * Sets one option; attrValue points to valueSize bytes of its type. The time limit for the stream,
 * in milliseconds, is kept; the others have no meaning here.
 * Errors: 100000: unknown attribute, wrong size, or a time less than -1.
 */
aclError aclmdlSetExecConfigOpt(
    aclmdlExecConfigHandle *handle, aclmdlExecConfigAttr attr, const void *attrValue, size_t
    valueSize);

/**
 * Chooses the batch size. index is that of the input ACL_DYNAMIC_TENSOR_NAME. Needs aclInit.
 * Errors: 100000: no such buffer or no memory of a device; 145003: no such model; 145013: the model
 * was not built for this size.
 */
aclError aclmdlSetDynamicBatchSize(
    uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize);

/**
 * Chooses height and width of the images. index is that of the input ACL_DYNAMIC_TENSOR_NAME. Needs
 * aclInit.
 * Errors: 100000: no such buffer or no memory of a device; 145003: no such model; 145013: the model
 * was not built for this size.
 */
aclError aclmdlSetDynamicHWSize(
    uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width);

/**
 * Chooses a gear by the sizes of all inputs, one behind the other. index is that of the input
 * ACL_DYNAMIC_TENSOR_NAME. Needs aclInit.
 * Errors: 100000: no such buffer, no memory of a device, or another number of sizes than the inputs
 * have; 145003: no such model; 145013: the model was not built for these sizes.
 */
aclError aclmdlSetInputDynamicDims(
    uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims);

/** Parameters of dynamic AIPP for batchSize images; NULL when that is 0 or over 65536. */
aclmdlAIPP *aclmdlCreateAIPP(uint64_t batchSize);

/** Frees a set of parameters of aclmdlCreateAIPP. */
aclError aclmdlDestroyAIPP(const aclmdlAIPP *aippParmsSet);

/**
 * The bytes that the parameters for batchSize images take in the dynamic AIPP input.
 * Errors: 100000: batchSize is 0 or over 65536.
 */
aclError aclmdlGetAippDataSize(uint64_t batchSize, size_t *size);

/**
 * The format of the images.
 * Errors: 100000: no such format; 200006: a format that Belay does not read.
 */
aclError aclmdlSetAIPPInputFormat(aclmdlAIPP *aippParmsSet, aclAippInputFormat inputFormat);

/**
 * Conversion of colours, in 1/256: YUV takes the input biases off before, RGB adds the output
 * biases afterwards.
 * Errors: 100000: cscSwitch is neither 0 nor 1.
 */
aclError aclmdlSetAIPPCscParams(
    aclmdlAIPP *aippParmsSet, int8_t cscSwitch, int16_t cscMatrixR0C0, int16_t cscMatrixR0C1,
    int16_t cscMatrixR0C2, int16_t cscMatrixR1C0, int16_t cscMatrixR1C1, int16_t cscMatrixR1C2,
    int16_t cscMatrixR2C0, int16_t cscMatrixR2C1, int16_t cscMatrixR2C2, uint8_t cscOutputBiasR0,
    uint8_t cscOutputBiasR1, uint8_t cscOutputBiasR2, uint8_t cscInputBiasR0, uint8_t
    cscInputBiasR1, uint8_t cscInputBiasR2);

/**
 * Whether R and B, or U and V, are swapped (1) or not (0).
 * Errors: 100000: rbuvSwapSwitch is neither 0 nor 1.
 */
aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t rbuvSwapSwitch);

/**
 * Whether the channel X of XRGB comes last, as RGBX (1), or first (0).
 * Errors: 100000: axSwapSwitch is neither 0 nor 1.
 */
aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t axSwapSwitch);

/**
 * Width, 2 to 4096, and height, 1 to 4096, of the images in pixels.
 * Errors: 100000: a size that images do not have.
 * Page: aclcppdevg_03_1418
 */
aclError aclmdlSetAIPPSrcImageSize(
    aclmdlAIPP *aippParmsSet, int32_t srcImageSizeW, int32_t srcImageSizeH);

/**
 * Resizing, which is not supported: only scfSwitch 0 is taken.
 * Errors: 100000: no such image or scfSwitch is neither 0 nor 1; 200006: scfSwitch is 1.
 */
aclError aclmdlSetAIPPScfParams(
    aclmdlAIPP *aippParmsSet, int8_t scfSwitch, int32_t scfInputSizeW, int32_t scfInputSizeH,
    int32_t scfOutputSizeW, int32_t scfOutputSizeH, uint64_t batchIndex);

/**
 * The region of image batchIndex that is used: its first column and row, 0 to 4095, its width and
 * height, 1 to 4096. With cropSwitch 0 they are not looked at.
 * Errors: 100000: no such image, cropSwitch is neither 0 nor 1, or a place or size beyond these.
 * Page: aclcppdevg_03_1420
 */
aclError aclmdlSetAIPPCropParams(
    aclmdlAIPP *aippParmsSet, int8_t cropSwitch, int32_t cropStartPosW, int32_t cropStartPosH,
    int32_t cropSizeW, int32_t cropSizeH, uint64_t batchIndex);

/**
 * The pixels that are put around image batchIndex, 0 to 32 a side; what the network takes is then
 * at most 1,080 wide. With paddingSwitch 0 they are not looked at.
 * Errors: 100000: no such image, paddingSwitch is neither 0 nor 1, or a width is not 0 to 32.
 * Page: aclcppdevg_03_1421
 */
aclError aclmdlSetAIPPPaddingParams(
    aclmdlAIPP *aippParmsSet, int8_t paddingSwitch, int32_t paddingSizeTop, int32_t
    paddingSizeBottom, int32_t paddingSizeLeft, int32_t paddingSizeRight, uint64_t batchIndex);

/**
 * What is taken off the channels of image batchIndex, 0 to 255.
 * Errors: 100000: no such image, or a value beyond these.
 * Page: aclcppdevg_03_1422
 */
aclError aclmdlSetAIPPDtcPixelMean(
    aclmdlAIPP *aippParmsSet, int16_t dtcPixelMeanChn0, int16_t dtcPixelMeanChn1, int16_t
    dtcPixelMeanChn2, int16_t dtcPixelMeanChn3, uint64_t batchIndex);

/**
 * What is taken off the channels of image batchIndex besides, after aclmdlSetAIPPDtcPixelMean, 0 to
 * 255.
 * Errors: 100000: no such image, or a value beyond these.
 * Page: aclcppdevg_03_1423
 */
aclError aclmdlSetAIPPDtcPixelMin(
    aclmdlAIPP *aippParmsSet, float dtcPixelMinChn0, float dtcPixelMinChn1, float dtcPixelMinChn2,
    float dtcPixelMinChn3, uint64_t batchIndex);

/**
 * What the channels of image batchIndex are multiplied by after both were taken off, -65504 to
 * 65504.
 * Errors: 100000: no such image, or a value beyond these.
 * Page: aclcppdevg_03_1424
 */
aclError aclmdlSetAIPPPixelVarReci(
    aclmdlAIPP *aippParmsSet, float dtcPixelVarReciChn0, float dtcPixelVarReciChn1, float
    dtcPixelVarReciChn2, float dtcPixelVarReciChn3, uint64_t batchIndex);

/**
 * Writes the parameters to the buffer of input index of the dataset, the dynamic AIPP input of the
 * model. Needs aclInit.
 * Errors: 100000: the images do not become what the network takes or the buffer is too small;
 * 145003: no such model; 145015: input index is none.
 * Page: aclcppdevg_03_0308
 */
aclError aclmdlSetInputAIPP(
    uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlAIPP *aippParmsSet);

/**
 * As aclmdlSetInputAIPP; index is the input that takes the images. Needs aclInit.
 * Errors: 100000: the images do not become what the network takes or the buffer is too small;
 * 145003: no such model; 145015: the input has no AIPP; 145016: its AIPP is static.
 * Page: aclcppdevg_03_0311
 */
aclError aclmdlSetAIPPByInputIndex(
    uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlAIPP *aippParmsSet);

/**
 * Whether images at that input are preprocessed, and where the parameters of dynamic AIPP go;
 * 0xFFFFFFFF when there are none. Needs aclInit.
 * Errors: 100000: no such input; 145003: no such model.
 */
aclError aclmdlGetAippType(
    uint32_t modelId, size_t index, aclmdlInputAippType *type, size_t *dynamicAttachedDataIndex);

/**
 * The AIPP of an input: for a static one everything, for a dynamic one type and sizes. Needs
 * aclInit.
 * Errors: 100000: no such input; 145003: no such model; 145015: the input has no AIPP.
 */
aclError aclmdlGetFirstAippInfo(uint32_t modelId, size_t index, aclAippInfo *aippInfo);

/**
 * Loads a model that takes its inputs from queues of the device and puts its outputs into others.
 * Needs aclInit.
 * Not implemented (there are no queues of a device): returns 200001.
 */
aclError aclmdlLoadFromFileWithQ(
    const char *modelPath, uint32_t *modelId, const uint32_t *inputQ, size_t inputQNum, const
    uint32_t *outputQ, size_t outputQNum);

/**
 * As aclmdlLoadFromFileWithQ, from modelSize bytes of host memory. Needs aclInit.
 * Not implemented (there are no queues of a device): returns 200001.
 */
aclError aclmdlLoadFromMemWithQ(
    const void *model, size_t modelSize, uint32_t *modelId, const uint32_t *inputQ, size_t
    inputQNum, const uint32_t *outputQ, size_t outputQNum);

/**
 * The sizes in bytes of the parts of a model that was compiled for a card. Needs aclInit.
 * Not implemented (documented as not supported on this card): returns 200001.
 */
aclError aclmdlQueryExeOMDesc(const char *fileName, aclmdlExeOMDesc *mdlPartitionSize);

/**
 * Begins to write the inputs and outputs of operators to files. Needs aclInit.
 * Not implemented (dumps of operators are not written): returns 200001.
 */
aclError aclmdlInitDump(void);

/**
 * Says in a JSON file which operators aclmdlInitDump is to write, and where. Needs aclInit.
 * Not implemented (dumps of operators are not written): returns 200001.
 * Page: aclcppdevg_03_0315
 */
aclError aclmdlSetDump(const char *dumpCfgPath);

/**
 * Ends what aclmdlInitDump began. Needs aclInit.
 * Not implemented (dumps of operators are not written): returns 200001.
 */
aclError aclmdlFinalizeDump(void);

/**
 * Which operators a fused one was made of, as "[4]conv[4]relu", for the attribute
 * _datadump_original_op_names; an empty text for other operators and attributes. It lives as long
 * as the description.
 * Page: aclcppdevg_03_1470
 */
const char *aclmdlGetOpAttr(aclmdlDesc *modelDesc, const char *opName, const char *attr);

/**
 * The name of the operator that ran as a task, and new descriptions of its inputs and outputs.
 * Needs aclInit.
 * Not implemented (the message of a failed task names its operator): returns 200001.
 */
aclError aclmdlCreateAndGetOpDesc(
    uint32_t deviceId, uint32_t streamId, uint32_t taskId, char *opName, size_t opNameLen,
    aclTensorDesc **inputDesc, size_t *numInputs, aclTensorDesc **outputDesc, size_t *numOutputs);

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_ACL_ACL_MDL_H_ */
