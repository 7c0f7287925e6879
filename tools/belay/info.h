// belay info: what a program would find here.
#pragma once

namespace belay::tool {

int Info(bool json);  // the exit code

}  // namespace belay::tool
