// Who wants to hear of streams that are created and destroyed, of devices that are set and reset, and of
// aborts (aclrtRegStreamStateCallback, aclrtRegDeviceStateCallback, aclrtSetDeviceTaskAbortCallback).
#pragma once

#include <cstdint>

#include "acl/acl_rt.h"

namespace belay::api {

// A null callback unregisters. Throw 107000 for an empty name or one that is taken.
void RegisterStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* args);
void RegisterDeviceStateCallback(const char* name, aclrtDeviceStateCallback callback, void* args);
void RegisterTaskAbortCallback(const char* name, aclrtDeviceTaskAbortCallback callback, void* args);

// On the calling thread. Cheap while nobody listens.
void TellDeviceState(int device, aclrtDeviceState state);
void TellTaskAbort(int device, aclrtDeviceTaskAbortStage stage, uint32_t timeout);

}  // namespace belay::api
