// A program that is compiled with libstdc++'s older std::string uses the graph interface.
#include <cstdio>

#include "ge/ge_api.h"
#include "graph/graph.h"

static_assert(_GLIBCXX_USE_CXX11_ABI == 0, "compile with -D_GLIBCXX_USE_CXX11_ABI=0");

#define CHECK(what) \
  if (!(what)) return std::printf("line %d: %s\n", __LINE__, #what), 1

int main() {
  ge::Graph graph(std::string("a name that is longer than any short string"));
  CHECK(graph.GetName() == "a name that is longer than any short string");
  ge::Operator op(std::string("r"), std::string("Relu"));
  CHECK(op.GetName() == "r" && op.GetOpType() == "Relu");
  op.SetAttr(std::string("a"), std::vector<std::string>{"one", "two"});
  std::vector<std::string> texts;
  CHECK(op.GetAttr(std::string("a"), texts) == ge::GRAPH_SUCCESS && texts.at(1) == "two");
  CHECK(ge::GEInitialize(std::map<std::string, std::string>{{"ge.exec.deviceId", "none"}}) != ge::SUCCESS);
  std::string text = ge::GEGetErrorMsg();
  CHECK(text.find("ge.exec.deviceId") != std::string::npos);
  return 0;
}
