// Libraries of the toolkit that are loaded when they are first needed, because they bring others along
// that a program should not pay for at its start or meet among its own symbols.
#pragma once

#include <string>

namespace belay {

// Where a library looks for the symbols that it needs: a program may bring another version of them.
enum class SymbolsOf { kProgramFirst, kLibraryFirst };

// The handle of `name` from the folder of this library (or, for programs of the build tree that have the
// code linked in, from lib64 beside theirs); null with the reason. Its symbols stay its own.
void* LoadBeside(const char* name, SymbolsOf order, std::string* reason);

}  // namespace belay
