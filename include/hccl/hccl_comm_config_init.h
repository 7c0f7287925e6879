/**
 * The first bytes of an HcclCommConfig: how long it is and by which version of this header it was made, so that
 * the library reads no field that the program does not know. They lie where other headers put theirs.
 */
#ifndef BELAY_HCCL_HCCL_COMM_CONFIG_INIT_H_
#define BELAY_HCCL_HCCL_COMM_CONFIG_INIT_H_

#include <string.h>

#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Puts the defaults into a configuration. */
static inline void HcclCommConfigInit(HcclCommConfig *config) {
    uint64_t size = sizeof(HcclCommConfig);
    uint32_t magic_and_version[2] = {0xf0f0f0f0u, 9};
    if (config == NULL) return;
    memset(config, 0, sizeof(HcclCommConfig));
    memcpy(config->reserved, &size, sizeof size);
    memcpy(config->reserved + sizeof size, magic_and_version, sizeof magic_and_version);
    config->hcclBufferSize = 200;
    config->hcclDeterministic = 0xffffffffu;
    config->hcclRdmaTrafficClass = 0xffffffffu;
    config->hcclRdmaServiceLevel = 0xffffffffu;
    config->hcclWorldRankID = 0xffffffffu;
    config->hcclExecTimeOut = (int32_t)0xffffffffu;
}

#ifdef __cplusplus
}
#endif

#endif  /* BELAY_HCCL_HCCL_COMM_CONFIG_INIT_H_ */
