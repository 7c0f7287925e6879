// Libraries of the toolkit that are loaded when they are first needed, because they bring others along
// that a program should not pay for at its start or meet among its own symbols.
#pragma once

#include <string>

namespace belay {

// The handle of `name` from the folder of this library (or, for programs of the build tree that have the
// code linked in, from lib64 beside theirs); null with the reason. Its symbols stay its own.
void* LoadBeside(const char* name, std::string* reason);

}  // namespace belay
