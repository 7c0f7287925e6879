/* Sizes and offsets that programs have compiled in (LP64). A change here breaks them. */
#include <stddef.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "hccl/hccl.h"

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), "size of " #type)
#define AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), "offset of " #type "." #field)

SIZE(aclError, 4);
SIZE(aclnnStatus, 4);
SIZE(aclFloat16, 2);
SIZE(aclDataType, 4);
SIZE(aclFormat, 4);
SIZE(aclrtMemcpyKind, 4);
SIZE(aclrtStream, 8);
SIZE(aclrtEvent, 8);
SIZE(aclrtContext, 8);
SIZE(aclmdlRI, 8);
SIZE(aclrtDrvMemHandle, 8);

SIZE(aclrtMemLocation, 8);
AT(aclrtMemLocation, id, 0);
AT(aclrtMemLocation, type, 4);

SIZE(aclrtPtrAttributes, 28);
AT(aclrtPtrAttributes, pageSize, 8);

SIZE(aclrtMemcpyBatchAttr, 32);
AT(aclrtMemcpyBatchAttr, srcLoc, 8);

SIZE(aclrtPhysicalMemProp, 32);
AT(aclrtPhysicalMemProp, memAttr, 8);
AT(aclrtPhysicalMemProp, location, 12);
AT(aclrtPhysicalMemProp, reserve, 24);

SIZE(aclrtMallocAttrValue, 8);
SIZE(aclrtMallocAttribute, 12);
SIZE(aclrtMallocConfig, 16);
AT(aclrtMallocConfig, numAttrs, 8);

SIZE(aclrtMemUsageInfo, 112);
AT(aclrtMemUsageInfo, curMemSize, 32);
SIZE(aclrtMemUceInfo, 128);
SIZE(aclrtErrorInfo, 2576);
AT(aclrtErrorInfo, errorType, 4);
AT(aclrtErrorInfo, detail, 8);

SIZE(aclrtUuid, 16);
SIZE(aclrtUtilizationInfo, 24);
AT(aclrtUtilizationInfo, utilizationExtend, 16);
SIZE(aclrtStreamConfigHandle, 32);
SIZE(aclrtStreamAttrValue, 16);
SIZE(aclrtIpcEventHandle, 64);
SIZE(aclCANNPackageVersion, 512);

SIZE(aclmdlIODims, 1160);
AT(aclmdlIODims, dimCount, 128);
AT(aclmdlIODims, dims, 136);
SIZE(aclmdlIODimsRange, 2056);
SIZE(aclmdlBatch, 1032);
SIZE(aclmdlHW, 2056);
SIZE(aclmdlExeOMDesc, 128);

_Static_assert(ACL_DT_UNDEFINED == -1 && ACL_BF16 == 27 && ACL_COMPLEX32 == 33, "aclDataType");
_Static_assert(ACL_FORMAT_ND == 2 && ACL_FORMAT_FRACTAL_NZ == 29, "aclFormat");
_Static_assert(ACL_MEMCPY_DEVICE_TO_DEVICE == 3, "aclrtMemcpyKind");
_Static_assert(ACL_EVENT_STATUS_COMPLETE == 0 && ACL_EVENT_RECORDED_STATUS_COMPLETE == 1,
               "the two event queries mean opposite numbers");

/* Of the collectives. Older headers end the configuration at earlier fields. */
SIZE(HcclComm, 8);
SIZE(HcclRootInfo, 4108);
SIZE(HcclConfigValue, 4);
SIZE(HcclCommConfig, 2240);
AT(HcclCommConfig, hcclBufferSize, 24);
AT(HcclCommConfig, hcclDeterministic, 28);
AT(HcclCommConfig, hcclCommName, 32);
AT(HcclCommConfig, hcclUdi, 160);
AT(HcclCommConfig, hcclOpExpansionMode, 288);
AT(HcclCommConfig, hcclRdmaServiceLevel, 296);
AT(HcclCommConfig, hcclWorldRankID, 300);
AT(HcclCommConfig, hcclJobID, 304);
AT(HcclCommConfig, aclGraphZeroCopyEnable, 312);
AT(HcclCommConfig, hcclExecTimeOut, 316);
AT(HcclCommConfig, hcclAlgo, 320);
AT(HcclCommConfig, hcclRetryEnable, 1920);
AT(HcclCommConfig, hcclRetryParams, 1970);
AT(HcclCommConfig, hcclBufferName, 2098);
AT(HcclCommConfig, hcclQos, 2228);
AT(HcclCommConfig, hcclSymWinMaxMemSizePerRank, 2232);
SIZE(HcclSendRecvItem, 32);
AT(HcclSendRecvItem, buf, 8);
AT(HcclSendRecvItem, count, 16);
AT(HcclSendRecvItem, dataType, 24);
AT(HcclSendRecvItem, remoteRank, 28);
