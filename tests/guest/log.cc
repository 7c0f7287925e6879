// The log, as the usual environment variables steer it.
#include <filesystem>
#include <fstream>

#include "scenario.h"

namespace {

namespace fs = std::filesystem;

struct Folder {
  std::string path = fs::temp_directory_path() / ("belay-guest-log-" + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    for (const char* name : {"ASCEND_PROCESS_LOG_PATH", "ASCEND_WORK_PATH", "ASCEND_GLOBAL_LOG_LEVEL",
                             "ASCEND_SLOG_PRINT_TO_STDOUT"}) {
      unsetenv(name);
    }
    setenv("HOME", (path + "/home").c_str(), 1);
  }
  ~Folder() { fs::remove_all(path); }

  // The one file in <folder>/debug/plog; "" when there is none.
  std::string Text(const std::string& folder) const {
    if (!fs::exists(path + folder)) return "";
    std::string text;
    for (const auto& entry : fs::directory_iterator(path + folder + "/debug/plog")) {
      EXPECT(text.empty());
      EXPECT(entry.path().filename().string().rfind("plog-" + std::to_string(getpid()) + "_", 0) == 0);
      std::ifstream file(entry.path());
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    return text;
  }
};

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

SCENARIO(errors_are_logged_in_the_home_folder) {
  Folder folder;
  guest::Start();
  guest::UseDevice();
  EXPECT(!fs::exists(folder.path));  // nothing to say, no file
  EXPECT(aclrtSetDevice(99) != 0);
  std::string text = folder.Text("/home/ascend/log");
  EXPECT(Has(text, "[ERROR] ASCENDCL(") && Has(text, "[aclrtSetDevice:107001]") && Has(text, "device 99"));
  EXPECT(!Has(text, "INFO"));
}

SCENARIO(the_work_path_wins_over_home) {
  Folder folder;
  setenv("ASCEND_WORK_PATH", (folder.path + "/work").c_str(), 1);
  EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);  // also before aclInit
  EXPECT(Has(folder.Text("/work/log"), "aclInit was not called"));
  EXPECT(!fs::exists(folder.path + "/home"));
}

SCENARIO(keys_of_the_init_file_without_effect_are_named) {
  Folder folder;
  fs::create_directories(folder.path);
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "2", 1);
  std::string file = folder.path + "/acl.json";
  std::ofstream(file) << R"({"err_msg_mode": "0", "dump": {"dump_path": "x"}, "max_opqueue_num": "10000"})";
  OK(aclInit(file.c_str()));
  std::string text = folder.Text("/home/ascend/log");
  EXPECT(Has(text, "[WARNING] ASCENDCL(") && Has(text, "no effect for these keys: dump, max_opqueue_num"));
  OK(aclFinalize());
}

SCENARIO(the_log_path_wins_over_both) {
  Folder folder;
  setenv("ASCEND_WORK_PATH", (folder.path + "/work").c_str(), 1);
  setenv("ASCEND_PROCESS_LOG_PATH", (folder.path + "/chosen").c_str(), 1);
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
  guest::WholeProgram();
  std::string text = folder.Text("/chosen");
  for (const char* call :
       {"aclInit", "aclrtSetDevice: device 0", "aclrtResetDevice: device 0", "aclFinalize"}) {
    EXPECT(Has(text, call));
  }
  EXPECT(!Has(text, "ERROR") && !fs::exists(folder.path + "/work"));
}

SCENARIO(nothing_at_level_4) {
  Folder folder;
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
  EXPECT(aclrtSetDevice(0) != 0);
  guest::WholeProgram();
  EXPECT(!fs::exists(folder.path));
}

SCENARIO(a_path_that_cannot_be_written) {
  Folder folder;
  setenv("ASCEND_PROCESS_LOG_PATH", "/proc/self/nowhere", 1);
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "0", 1);
  guest::WholeProgram();
  EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
}

SCENARIO(to_standard_output) {
  Folder folder;
  setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
  fs::create_directories(folder.path);
  EXPECT(freopen((folder.path + "/out").c_str(), "w", stdout) != nullptr);
  EXPECT(aclrtSetDevice(0) != 0);
  std::ifstream file(folder.path + "/out");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT(Has(text, "[ERROR] ASCENDCL(") && !fs::exists(folder.path + "/home"));
}

int main(int argc, char** argv) { return guest::RunScenario(argc, argv); }
