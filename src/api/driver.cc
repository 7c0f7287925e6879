// What programs ask the driver, which there is none of.
#include "api/handlers.h"

namespace belay::api {

int32_t halGetAPIVersion(int32_t* halAPIVersion) {
  *halAPIVersion = 0;
  return 0;
}

}  // namespace belay::api
