// Why the system refused something, in words that help: the limit that was reached, where it can be seen.
#pragma once

#include <string>

namespace belay {

// "errno 12: Cannot allocate memory; the process has 65530 mappings, ..." for an error number of a call
// that makes mappings or opens files.
std::string ExplainRefusal(int error);

}  // namespace belay
