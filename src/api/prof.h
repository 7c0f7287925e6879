// What the end of use means for profiling.
#pragma once

namespace belay::api {

// As aclprofFinalize does; nothing where profiling is not on.
void EndProfiling();
bool IsProfiling();  // from aclprofInit to aclprofFinalize

// Whether a model's operators are being sent (aclprofModelSubscribe).
bool AnySubscriptions();
// What has been collected is sent, then the pipes are closed.
void EndSubscriptions();

}  // namespace belay::api
