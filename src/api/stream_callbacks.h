// Who wants to hear of streams that are created and destroyed (aclrtRegStreamStateCallback).
#pragma once

#include "acl/acl_rt.h"

namespace belay::api {

// Null unregisters. Throws 107000 for an empty name or one that is taken.
void RegisterStreamStateCallback(const char* name, aclrtStreamStateCallback callback, void* args);

}  // namespace belay::api
