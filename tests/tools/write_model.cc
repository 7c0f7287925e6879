// write_model NAME FILE: writes a small ONNX model for the tests of the commands.
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "support/onnx_builder.h"

namespace {

using namespace onnx_builder;

// Two ways from x to y, and a second output in the middle of one.
std::string Branches() {
  Model model;
  model.inputs = {Value("x", {2, 3})};
  model.outputs = {Value("y", {2, 3}), Value("middle", {2, 3})};
  model.constants = {Floats("three", {}, {3})};
  model.nodes = {Node("Mul", {"x", "three"}, {"middle"}), Node("Abs", {"middle"}, {"right"}),
                 Node("Neg", {"x"}, {"left"}), Node("Sub", {"left", "right"}, {"y"})};
  return model.Bytes();
}

// A product that passes fuse with what follows.
std::string Product() {
  Model model;
  model.inputs = {Value("x", {-1, 4})};
  model.outputs = {Value("y", {-1, 4})};
  model.constants = {Floats("w", {4, 4}, std::vector<float>(16, 1)), Floats("b", {4}, {1, 2, 3, 4})};
  model.nodes = {Node("MatMul", {"x", "w"}, {"product"}), Node("Add", {"product", "b"}, {"sum"}),
                 Node("Relu", {"sum"}, {"y"})};
  return model.Bytes();
}

// The data decides how long y is.
std::string Dynamic() {
  Model model;
  model.inputs = {Value("x", {6})};
  model.outputs = {Value("y", {1, -1}, kInt64)};
  model.nodes = {Node("Neg", {"x"}, {"negative"}), Node("NonZero", {"negative"}, {"y"})};
  return model.Bytes();
}

std::string Unknown() {
  Model model;
  model.inputs = {Value("x", {2})};
  model.outputs = {Value("y", {2})};
  model.nodes = {Node("Frobnicate", {"x"}, {"y"})};
  return model.Bytes();
}

}  // namespace

int main(int count, char** arguments) {
  std::map<std::string, std::string> models = {{"six_times", SixTimes({2, 3})}, {"open", SixTimes({-1, 3})},
                                               {"branches", Branches()},        {"product", Product()},
                                               {"dynamic", Dynamic()},          {"unknown", Unknown()}};
  if (count != 3 || models.count(arguments[1]) == 0) {
    std::fprintf(stderr, "write_model six_times|open|branches|product|dynamic|unknown FILE\n");
    return 2;
  }
  std::ofstream(arguments[2], std::ios::binary) << models[arguments[1]];
  return 0;
}
