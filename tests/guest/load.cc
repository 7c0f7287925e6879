// Loading and unloading libraries, and two copies of Belay in one process.
#include <dlfcn.h>

#include <filesystem>

#include "scenario.h"

namespace {

namespace fs = std::filesystem;
const fs::path kLibraries = BELAY_LIB64;

void* Load(const fs::path& file, int flags = RTLD_NOW) {
  void* library = dlopen(file.c_str(), flags);
  if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  EXPECT(library != nullptr);
  return library;
}

template <class Function>
Function* Find(void* library, const char* name) {
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  EXPECT(function != nullptr);
  return function;
}

// A second toolkit, in a folder of its own.
fs::path CopyToolkit() {
  fs::path copy = fs::temp_directory_path() / ("belay-second-" + std::to_string(getpid()));
  fs::create_directories(copy);
  for (const char* name : {"libascendcl.so", "libnnopbase.so", "libopapi.so", "libbelay_core.so"}) {
    fs::copy_file(kLibraries / name, copy / name, fs::copy_options::overwrite_existing);
  }
  return copy;
}

void ExpectRefusal(int code, const fs::path& copy) {
  EXPECT(code != ACL_SUCCESS);
  const char* raw = aclGetRecentErrMsg();
  std::string text = raw == nullptr ? "" : raw;
  EXPECT(text.find(fs::canonical(copy).string()) != std::string::npos);
  EXPECT(text.find(fs::canonical(kLibraries).string()) != std::string::npos);
}

}  // namespace

SCENARIO(unloaded_and_loaded_again) {
  for (int round = 0; round < 10; ++round) {
    void* library = Load(kLibraries / "libascendcl.so");
    guest::WholeProgram();
    EXPECT(dlclose(library) == 0);
  }
}

SCENARIO(unloaded_while_in_use) {
  void* library = Load(kLibraries / "libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  guest::Start();
  aclrtStream stream = nullptr;
  OK(aclrtCreateStream(&stream));
  static guest::Gate gate;
  OK(aclrtLaunchHostFunc(stream, &guest::Gate::Wait, &gate));
  EXPECT(dlclose(library) == 0);
  gate.open = true;
  OK(aclrtSynchronizeStream(stream));
}

SCENARIO(a_plugin_comes_and_goes) {
  for (int round = 0; round < 5; ++round) {
    void* plugin = Load(kLibraries / "libguest_plugin.so");
    EXPECT(Find<aclrtStream()>(plugin, "PluginStream")() != nullptr);
    EXPECT(dlclose(plugin) == 0);
  }
  guest::WholeProgram();
}

// Its destructor runs after main, and so does what it calls.
SCENARIO(a_plugin_stays_until_exit) {
  Load(kLibraries / "libguest_plugin.so");
  OK(aclrtSetDevice(0));
  guest::UseDevice();
}

SCENARIO(a_second_core_is_refused) {
  fs::path copy = CopyToolkit();
  void* core = Load(copy / "libbelay_core.so", RTLD_NOW | RTLD_LOCAL);
  ExpectRefusal(aclInit(nullptr), copy);
  EXPECT(Find<aclError(const char*)>(core, "belay_aclInit")(nullptr) != ACL_SUCCESS);
  fs::remove_all(copy);
}

// The loader binds it to the core that is there: parts of two toolkits in one process.
SCENARIO(a_library_of_another_toolkit_is_refused) {
  fs::path copy = CopyToolkit();
  Load(copy / "libascendcl.so", RTLD_NOW | RTLD_LOCAL);
  ExpectRefusal(aclInit(nullptr), copy);
  fs::remove_all(copy);
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
