// atc: the offline compiler of models.
#include <signal.h>

#include <cstdio>
#include <exception>

#include "atc/commands.h"
#include "atc/options.h"
#include "base/error.h"

namespace {

int RunAtc(const atc::Options& options) {
  std::puts("ATC start working now, please wait for a moment.");
  std::fflush(stdout);
  for (const std::string& name : options.without_effect) {
    std::printf("W: option --%s has no effect here.\n", name.c_str());
  }
  std::string mode = options.Get("mode");
  if (mode == "0") {
    atc::Progress progress(std::chrono::seconds(5), [](const std::string& line) {
      std::puts(line.c_str());
      std::fflush(stdout);
    });
    atc::Compile(options, progress);
  } else if (mode == "1") {
    atc::WriteJson(options);
  } else if (mode == "3") {
    atc::Check(options);
  } else {
    atc::ShowInfo(options);
  }
  std::puts("ATC run success, welcome to the next use.");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error with words
  std::string reason;
  try {
    atc::Options options = atc::Parse(count, arguments);
    if (options.help || count == 1) {
      atc::PrintHelp();
      return 0;
    }
    return RunAtc(options);
  } catch (const belay::Error& error) {
    reason = error.sentence();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  std::puts("ATC run failed, Please check the detail log, Try 'atc --help' for more information");
  std::puts(reason.c_str());
  return 1;
}
