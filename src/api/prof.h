// What the end of use means for profiling.
#pragma once

namespace belay::api {

// As aclprofFinalize does; nothing where profiling is not on.
void EndProfiling();

}  // namespace belay::api
