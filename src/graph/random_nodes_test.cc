// Nodes of every operator with inputs and attributes of any kind: each is computed or refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "base/error.h"
#include "graph/ops/random_node.h"

namespace belay::graph {
namespace {

// With BELAY_TEST_VERBOSE the last line before a crash names the operator and the seed. BELAY_TEST_FIRST is
// another number to begin behind, for a search that goes further.
TEST(RandomNodes, AreComputedOrRefused) {
  const char* only = std::getenv("BELAY_TEST_SEED");
  const bool verbose = std::getenv("BELAY_TEST_VERBOSE") != nullptr;
  constexpr uint32_t kTries = 150;
  const char* first = std::getenv("BELAY_TEST_FIRST");
  auto seed = static_cast<uint32_t>(first == nullptr ? 0 : std::strtoul(first, nullptr, 10));
  for (const OpSchema& schema : AllOps()) {
    for (uint32_t i = 0; i < kTries; ++i) {
      if (++seed; only != nullptr && std::strtoul(only, nullptr, 10) != seed) continue;
      SCOPED_TRACE(std::string(schema.type) + ", BELAY_TEST_SEED=" + std::to_string(seed));
      if (verbose) fprintf(stderr, "%s %u\n", schema.type, seed);
      try {
        samples::RandomNode(schema, seed).Evaluate();
      } catch (const Error&) {
      } catch (const std::bad_alloc&) {  // a result of 2^40 elements
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace belay::graph
