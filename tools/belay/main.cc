// The belay command: one subcommand per file.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <regex>

#include "belay/check.h"
#include "belay/check_explain.h"
#include "belay/doctor.h"
#include "belay/explore.h"
#include "belay/info.h"
#include "belay/launch.h"
#include "belay/run.h"
#include "belay/toolkit.h"
#include "belay/trace.h"

namespace belay::tool {
namespace {

void AddRunOptions(CLI::App* run, RunOptions& options) {
  run->add_option("--devices", options.devices, "How many devices there are (BELAY_DEVICES)")
      ->check(CLI::Range(1, 64));
  run->add_option("--device-memory", options.device_memory,
                  "Memory of each device, such as 8G (BELAY_DEVICE_MEMORY)")
      ->check(CLI::Validator(
          [](const std::string& text) {
            bool usable = std::regex_match(text, std::regex("[0-9]+[KMGTkmgt]?"));
            return usable ? "" : "'" + text + "' is no number of bytes; it is one like 8G, with K, M, G or T";
          },
          "BYTES"));
  run->add_option("--soc", options.soc, "The name of the SoC, such as Ascend910B1 (BELAY_SOC)");
  run->add_option("--run-mode", options.run_mode,
                  "Whether the program takes itself to run on the host or on the device "
                  "(BELAY_RUN_MODE)")
      ->check(CLI::IsMember({"host", "device"}));
  run->add_option("--workers", options.workers, "Threads that run tasks (BELAY_WORKERS)")
      ->check(CLI::Range(1, 1024));
  run->add_option("--faults", options.faults,
                  "Failures to inject, such as malloc:3 or task:softmax:507015 (BELAY_FAULTS)");
  run->add_flag("--preload", options.preload,
                "Load Belay's libraries first: for programs whose DT_RPATH names other ones");
  run->add_option("command", options.command, "-- program and its arguments")->required();
  run->positionals_at_end();
}

CLI::App* AddRun(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Run a program with Belay in the place of a card");
  AddRunOptions(run, options);
  run->footer("The exit code is the program's; 127 when it was not found, 126 when it cannot start.");
  return run;
}

CLI::App* AddCheck(CLI::App& app, CheckOptions& options) {
  CLI::App* check =
      app.add_subcommand("check", "Run a program and say where it lacks a wait or misuses memory");
  AddRunOptions(check, options.run);
  check
      ->add_option("--error-exitcode", options.error_exitcode,
                   "The exit code when something was found and the program ended with 0; a program that can "
                   "never get on is ended with it")
      ->check(CLI::Range(0, 255));
  check
      ->add_option(
          "--hang-after", options.hang_after,
          "Seconds without progress after which it is said who waits for what (10); 0: only at SIGQUIT")
      ->check(CLI::NonNegativeNumber);
  check->add_option("--json", options.json, "Write the reports to this file, as JSON");
  check->add_option("--sarif", options.sarif, "Write them as SARIF, which code scanning takes");
  check->add_option("--html", options.html, "Write them as one page that needs nothing but itself");
  CLI::Option* all =
      check->add_flag("--host-accesses", options.host_accesses,
                      "See all loads and stores of pinned blocks that a pending copy touches; by "
                      "default those that take a twentieth of the time at most to see");
  check->add_flag("--no-host-accesses", options.no_host_accesses, "See none of them")->excludes(all);
  check->add_flag("--leaks", options.leaks, "Also tell what is not freed when the program ends its device");
  check->add_flag("--notes", options.notes, "Also note where a synchronisation never orders anything");
  check->add_flag("--nan", options.nan, "Also note the first operator that makes a NaN of numbers");
  check->add_flag("--undefined", options.undefined,
                  "Also tell what is read of device memory that nothing has written");
  check
      ->add_option("--suppress", options.suppress,
                   "A file that says what not to tell: lines of a kind and a pattern for a frame")
      ->check(CLI::ExistingFile);
  check->footer("The exit code is the program's, or 128 and the number of the signal that ended it.");
  return check;
}

CLI::App* AddExplore(CLI::App& app, ExploreOptions& options) {
  CLI::App* explore = app.add_subcommand(
      "explore",
      "Run a program again and again, its work in other legal orders, until one makes a difference");
  AddRunOptions(explore, options.run);
  explore->add_option("--runs", options.runs, "How many orders are tried")->check(CLI::Range(1, 1'000'000));
  explore->add_option("--seed", options.seed, "Only the order of this seed, the program's output untouched");
  explore
      ->add_option("--timeout", options.timeout, "Seconds after which a run counts as one that does not end")
      ->check(CLI::PositiveNumber);
  explore
      ->add_option("--error-exitcode", options.error_exitcode,
                   "The exit code when a run differs and the program ends with 0")
      ->check(CLI::Range(0, 255));
  explore->footer(
      "The exit code is 0 when no order made a difference, else the program's in the one that did.");
  return explore;
}

void AddHostOptions(CLI::App* launch, LaunchOptions& options) {
  launch->add_option(
      "--hosts", options.hosts,
      "Run them on these hosts: names or addresses, such as a,b. Each has Belay and the program "
      "at the same place");
  launch
      ->add_option("--over", options.over,
                   "The command that runs a command line on a host; {host} is its name")
      ->capture_default_str();
  launch->add_option("--master", options.master, "MASTER_ADDR; the first host where this is not given");
  launch
      ->add_option("--env", options.env,
                   "Pass on NAME too, or all that begins so (PREFIX*), or set NAME=value; once for each")
      ->allow_extra_args(false);
  launch
      ->add_option("--lost-after", options.lost_after,
                   "Seconds without a word from this command after which the ranks of a host are ended")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
}

CLI::App* AddLaunch(CLI::App& app, LaunchOptions& options) {
  CLI::App* launch =
      app.add_subcommand("launch", "Run a program as several ranks of a group, each in a process of its own");
  AddRunOptions(launch, options.run);
  launch->add_option("-n,--ranks", options.ranks, "How many ranks there are")
      ->required()
      ->check(CLI::Range(1, 1024));
  launch->add_option("--port", options.port, "MASTER_PORT; one that is free where this is not given")
      ->check(CLI::Range(1, 65535));
  launch->add_flag("--rank-table", options.rank_table,
                   "Set RANK_TABLE_FILE, for programs that meet by a rank table");
  launch
      ->add_option("--grace", options.grace,
                   "Seconds from SIGTERM to SIGKILL for the others when a rank has failed")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddHostOptions(launch, options);
  launch->footer(
      "Lines of output begin with the rank. The exit code is 0, or that of the rank that failed first; the others are "
      "ended then, and whatever ranks leave behind.");
  return launch;
}

CLI::App* AddTrace(CLI::App& app, TraceOptions& options) {
  CLI::App* trace =
      app.add_subcommand("trace", "Run a program and write its timeline to a file for Perfetto");
  AddRunOptions(trace, options.run);
  trace->add_option("-o,--output", options.file, "The file")->capture_default_str();
  trace->add_option("--calls", options.calls,
                    "Also write a line for each call to this file: its arguments, and what it gave");
  trace->add_option("--msprof", options.msprof,
                    "Also write msprof's tables of operators, tasks and calls to this folder");
  trace->footer(
      "The exit code is the program's. A file that cannot be written is told, and the program runs without it.");
  return trace;
}

// A program of its own draws: it is linked with the compiler of models.
int StartGraph(char** arguments) {
  std::string program = ToolkitHome() + "/libexec/belay-graph";
  execv(program.c_str(), arguments);
  throw std::runtime_error("cannot start " + program + ": " + std::strerror(errno));
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "graph") return StartGraph(argv + 1);
  if (argc > 1 && std::string(argv[1]) == "launch-part") return LaunchPart();
  CLI::App app("Belay runs programs for Ascend cards on this machine's CPU.", "belay");
  app.set_version_flag("--version", BELAY_VERSION);
  RunOptions options;
  CLI::App* run = AddRun(app, options);
  CheckOptions check_options;
  CLI::App* check = AddCheck(app, check_options);
  ExploreOptions explore_options;
  CLI::App* explore = AddExplore(app, explore_options);
  TraceOptions trace_options;
  CLI::App* trace = AddTrace(app, trace_options);
  LaunchOptions launch_options;
  CLI::App* launch = AddLaunch(app, launch_options);
  CLI::App* explain =
      app.add_subcommand("explain", "Say what a report of belay check means, and how it is mended");
  std::vector<std::string> explained;
  explain->add_option("kind", explained, "Kinds of reports, such as race; without any they are listed");
  CLI::App* doctor =
      app.add_subcommand("doctor", "Find what would keep a program from running here, without running it");
  std::vector<std::string> examined;
  doctor->add_option("program", examined, "Programs or libraries to look into");
  doctor->footer("The exit code is 0, or 1 when there is a problem.");
  app.add_subcommand("graph",
                     "Draw a compiled model: fused nodes, memory, time per node (see belay graph --help)");
  [[maybe_unused]] bool json = false;
#ifdef BELAY_HAS_INFO
  CLI::App* info = app.add_subcommand("info", "Say what a program would find here");
  info->add_flag("--json", json, "As JSON");
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // help and version are "errors" with code 0
  }
#ifdef BELAY_HAS_INFO
  if (info->parsed()) return Info(json);
#endif
  if (doctor->parsed()) return Doctor(examined);
  if (run->parsed()) return Run(options);
  if (check->parsed()) return Check(check_options);
  if (explain->parsed()) return ExplainKinds(explained);
  if (explore->parsed()) return Explore(explore_options);
  if (launch->parsed()) return Launch(launch_options);
  if (trace->parsed()) return Trace(trace_options);
  std::fputs(app.help().c_str(), stderr);
  return 2;
}

}  // namespace
}  // namespace belay::tool

int main(int argc, char** argv) {
  try {
    return belay::tool::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "belay: %s\n", error.what());
    return 1;
  }
}
