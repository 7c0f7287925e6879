// Where the toolkit is that this command belongs to, and the environment that programs find it by.
#pragma once

#include <string>
#include <vector>

namespace belay::tool {

// The folder above the one this command lies in. Throws std::runtime_error if it has no lib64/.
std::string ToolkitHome();

// What stands between the colons of an environment variable such as LD_LIBRARY_PATH.
std::vector<std::string> ListOf(const char* name);
// Adds to such a list, with what stands between its words.
void AddToList(const char* name, const std::string& value, char between);

// Sets what set_env.sh sets, for this process and what it starts.
void SetToolkitEnvironment(const std::string& home);

}  // namespace belay::tool
