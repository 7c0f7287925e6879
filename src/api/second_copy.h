// Two copies of Belay in one process would have two sets of devices: the second is refused.
#pragma once

namespace belay::api {

// Throws 500001 naming two files when libraries of a toolkit are loaded from more than one folder.
void RefuseSecondCopy();

}  // namespace belay::api
