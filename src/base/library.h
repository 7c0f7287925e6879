// Libraries of the toolkit that are loaded when they are first needed, because they bring others along
// that a program should not pay for at its start or meet among its own symbols.
#pragma once

#include <cstddef>
#include <string>

namespace belay {

// Where a library looks for the symbols that it needs: a program may bring another version of them.
enum class SymbolsOf { kProgramFirst, kLibraryFirst };

// The handle of `name` from the folder of this library (or, for programs of the build tree that have the
// code linked in, from lib64 beside theirs); null with the reason. Its symbols stay its own.
// Libraries end the process when what they make at their start gets no memory. Where there are not `room`
// bytes for it and for what it needs, std::bad_alloc is thrown, and another time it may be loaded.
void* LoadBeside(const char* name, SymbolsOf order, size_t room, std::string* reason);

}  // namespace belay
