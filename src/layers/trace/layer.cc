// What the core finds by name.
#include "layers/support/guarded_observer.h"
#include "layers/trace/sessions.h"
#include "layers/trace/timeline.h"
#include "layers/trace/trace.h"
#include "runtime/profiler.h"

using belay::trace::Timeline;
using belay::trace::Trace;

extern "C" [[gnu::visibility("default")]] belay::rt::Observer* belay_make_layer(
    const belay::rt::CoreFacts& core) {
  return belay::layers::MakeGuarded("trace", [&] { return Trace::OfProcess(core); });
}

// For aclprof*. Without the layer before it there is no timeline, only tables.
extern "C" [[gnu::visibility("default")]] belay::rt::MadeProfiler belay_make_profiler(
    const belay::rt::CoreFacts& core) {
  belay::rt::MadeProfiler made;
  if (!Trace::exists()) {
    Timeline::WithoutFile();
    made.observer = belay::layers::MakeGuarded("trace", [&] { return Trace::OfProcess(core); });
  }
  made.profiler = belay::trace::Sessions::OfProcess();
  return made;
}
