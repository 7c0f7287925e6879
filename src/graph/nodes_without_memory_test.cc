// Nodes of every operator where memory runs out on the way, on whichever core: they fail, and can be
// evaluated again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <new>

#include "base/error.h"
#include "base/sanitizer.h"
#include "graph/failing_memory.h"
#include "graph/ops/random_node.h"
#include "runtime/thread_engine.h"

namespace belay::graph {
namespace {

using samples::RandomNode;

// What an evaluation came to: 0, the code of its error, or that memory ran out.
constexpr int kNoMemory = -1;
int CodeOf(const RandomNode& node) {
  try {
    node.Evaluate();
    return 0;
  } catch (const Error& error) {
    return error.code();
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

constexpr uint32_t kTries = 2;

class NodesWithoutMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(BELAY_ASAN) || defined(BELAY_TSAN)
    GTEST_SKIP() << "a sanitizer's operator new does not fail when it is told to";
#endif
    rt::InstallThreadEngine(&engine_);
  }
  void TearDown() override {
    FailingMemory::Disarm();
    engine_.Stop();
    rt::InstallThreadEngine(nullptr);
  }
  // Evaluates with memory that fails, then without: that is what it was before.
  static void Fail(const RandomNode& node, int code) {
    const int failed = CodeOf(node);
    const bool had_failed = FailingMemory::Disarm();
    EXPECT_TRUE(failed == kNoMemory || failed == code || had_failed) << "code " << failed;
    EXPECT_EQ(CodeOf(node), code);
  }
  rt::ThreadEngine engine_{{.workers = 4}};
};

TEST_F(NodesWithoutMemory, FailAndCanBeEvaluatedAgain) {
  const char* only = std::getenv("BELAY_TEST_SEED");
  const bool verbose = std::getenv("BELAY_TEST_VERBOSE") != nullptr;
  uint32_t seed = 0;
  for (const OpSchema& schema : AllOps()) {
    for (uint32_t i = 0; i < kTries; ++i) {
      if (++seed; only != nullptr && std::strtoul(only, nullptr, 10) != seed) continue;
      SCOPED_TRACE(std::string(schema.type) + ", BELAY_TEST_SEED=" + std::to_string(seed));
      if (verbose) fprintf(stderr, "%s %u\n", schema.type, seed);
      const RandomNode node(schema, seed, i == 0);
      FailingMemory::Count();
      const int code = CodeOf(node);
      const int64_t allocations = FailingMemory::counted();
      for (int64_t at : {allocations / 3, allocations - 2, allocations - 1}) {
        FailingMemory::FailAt(at);
        Fail(node, code);
      }
      FailingMemory::FailOnOtherThreads();
      Fail(node, code);
    }
  }
}

Node NodeOf(const char* type, std::map<std::string, Attribute> attributes, int outputs = 1) {
  Node node;
  node.name = "n";
  node.type = type;
  node.outputs = outputs;
  for (auto& [name, value] : attributes) node.attributes[name] = value;
  return node;
}

// Rows side by side: what a core keeps does not grow with their length.
TEST_F(NodesWithoutMemory, SoftmaxTakesLittle) {
  const Node node = NodeOf("SoftmaxV2", {{"axes", std::vector<int64_t>{0}}});
  auto x = std::make_shared<HostTensor>(DType::kF32, Shape{100'000, 4});
  const std::vector<Constant> inputs{x};
  EvaluateNode(node, inputs);
  FailingMemory::Count();
  EvaluateNode(node, inputs);
  EXPECT_LE(FailingMemory::largest(), 100'000u * 16 + 4096) << "the result and little else";
}

}  // namespace
}  // namespace belay::graph
