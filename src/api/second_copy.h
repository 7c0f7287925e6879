// Two copies of Belay in one process would have two sets of devices: the second is refused.
#pragma once

namespace belay::api {

// Throws 500001 naming both files when libbelay_core.so is loaded from more than one place.
void RefuseSecondCopy();

}  // namespace belay::api
