// The start of the runtime, by whichever function of an interface comes first.
#pragma once

#include <string>

namespace belay::api {

// Where it does not run yet those come before it who watch (BELAY_LAYERS), and the failures that the user
// asks for.
void StartRuntime(int default_device, const std::string& faults_of_file = {});

}  // namespace belay::api
