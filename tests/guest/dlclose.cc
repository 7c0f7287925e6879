// The library is opened, used, closed and opened again. It stays in memory, so workers do not lose the
// code they run.
#include <dlfcn.h>

#include <string>

#include "guest.h"

namespace {

template <class Function>
Function* Symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

int main(int, char** argv) {
  std::string path = std::string(argv[1]) + "/libopapi.so";
  for (int round = 0; round < 3; ++round) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != nullptr);
    EXPECT(Symbol<void>(library, "aclnnAddGetWorkspaceSize") != nullptr);
    EXPECT(dlclose(library) == 0);
    guest::Start();
    guest::KeepBusy(guest::NewStream(), 20);
    guest::RoundTrip(round);
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
  }
  return 0;
}
