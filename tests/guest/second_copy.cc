// Another toolkit's core in the same process: aclInit refuses and names both files.
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "guest.h"

int main(int, char** argv) {
  namespace fs = std::filesystem;
  fs::path here = fs::canonical(argv[1]) / "libbelay_core.so";
  fs::path other_folder = fs::temp_directory_path() / ("belay-second-copy-" + std::to_string(getpid()));
  fs::create_directories(other_folder);
  fs::path other = other_folder / "libbelay_core.so";
  fs::copy_file(here, other, fs::copy_options::overwrite_existing);
  void* library = dlopen(other.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != nullptr);
  EXPECT(aclInit(nullptr) != ACL_SUCCESS);
  const char* text = aclGetRecentErrMsg();
  EXPECT(text != nullptr);
  EXPECT(std::strstr(text, here.c_str()) != nullptr);
  EXPECT(std::strstr(text, fs::canonical(other).c_str()) != nullptr);
  fs::remove_all(other_folder);
  return 0;
}
