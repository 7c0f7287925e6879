// The configuration of AIPP: any text; what is understood is written and read as the same again.
// With: base tensor src/graph/aipp/config.cc
#include "base/error.h"
#include "fuzz.h"
#include "graph/aipp/config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using belay::graph::AippText;
  using belay::graph::ParseAipp;
  try {
    for (const auto& config : ParseAipp({reinterpret_cast<const char*>(data), size}, "input")) {
      std::string text = AippText(config);
      FUZZ_REQUIRE(AippText(ParseAipp(text, "text")[0]) == text);
    }
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() != 0 && !error.sentence().empty());
  }
  return 0;
}
