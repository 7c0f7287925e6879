#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "base/error.h"
#include "graph/om/om.h"

namespace belay::graph {
namespace {

// Beyond `ulimit -f` the system raises a signal that ends a process.
TEST(SaveModel, BeyondTheLimitOfFilesIsAnError) {
  std::string path = testing::TempDir() + "belay-save-model-" + std::to_string(getpid()) + ".om";
  std::string data(10'000, 'x');
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string why;
  try {
    SaveModel(path, data.data(), data.size());
  } catch (const Error& error) {
    why = error.sentence();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(why.find("File too large"), std::string::npos) << why;
  SaveModel(path, data.data(), data.size());
  unlink(path.c_str());
}

}  // namespace
}  // namespace belay::graph
