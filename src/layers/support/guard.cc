#include "layers/support/guard.h"

#include <unistd.h>

#include <cstdio>
#include <exception>

#include "base/quiet_write.h"

namespace belay::layers {
namespace {

constinit const char* g_name = "";

}  // namespace

constinit GuardState g_guard;

void NameLayer(const char* name) {
  g_name = name;
  g_guard.failed = false;  // also in a child of a process where it had
  g_guard.places = TheTally().inside;
  g_guard.who = Tally::Who(getpid(), name);
}

void FailLayer() noexcept {
  if (g_guard.failed.exchange(true)) return;
  ++TheTally().failed;
  char text[512];
  const auto write = [&](const char* why) {
    const int bytes = std::snprintf(
        text, sizeof text, "belay: the layer '%s' has failed (%.300s); the program goes on without it\n",
        g_name, why);
    WriteAllQuietly(STDERR_FILENO, text, static_cast<size_t>(bytes));
  };
  try {
    throw;
  } catch (const std::exception& error) {
    write(error.what());
  } catch (...) {
    write("for no known reason");
  }
}

}  // namespace belay::layers
