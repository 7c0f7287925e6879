#include "case.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace belay::cases {
namespace {

[[noreturn]] void Unreadable(const std::string& what) {
  throw std::runtime_error("cannot read \"" + what + "\"");
}

std::vector<int64_t> Numbers(const std::string& text) {
  std::vector<int64_t> values;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) values.push_back(std::stoll(item));
  return values;
}

DType TypeNamed(const std::string& name) {
  DType type = tensor::DTypeNamed(name.c_str());
  if (type == DType::kUndefined) Unreadable(name);
  return type;
}

void Lay(tensor::Tensor& t, const std::string& layout, Argument& argument) {
  int rank = t.shape.rank();
  if (layout == "t") {
    int64_t step = 1;
    for (int i = 0; i < rank; ++i) t.strides[i] = step, step *= t.shape[i];
  } else if (layout == "s") {
    int64_t step = 3;
    for (int i = rank - 1; i >= 0; --i)
      t.strides[i] = step, step = step * std::max<int64_t>(t.shape[i], 1) + 1;
  } else if (layout == "b") {
    if (rank > 0) t.strides[rank - 1] = 0;
  } else if (layout == "o") {
    t.offset = 7;
  } else if (layout == "d") {
    argument.flat_storage = false;
  } else {
    Unreadable("." + layout);
  }
}

Argument ParseTensor(const std::string& text) {
  Argument argument;
  argument.kind = Kind::kTensor;
  size_t open = text.find('['), close = text.find(']');
  if (close == std::string::npos) Unreadable(text);
  size_t start = text[0] == '>' ? 1 : 0;
  argument.written = start == 1;
  tensor::Tensor& t = argument.tensor;
  t.dtype = TypeNamed(text.substr(start, open - start));
  std::vector<int64_t> dims = Numbers(text.substr(open + 1, close - open - 1));
  t.shape = tensor::Shape::Of(dims.data(), static_cast<int>(dims.size()));
  t.strides = PackedStrides(t.shape);
  std::stringstream layouts(text.substr(close + 1));
  std::string layout;
  std::getline(layouts, layout, '.');  // what lies before the first dot: nothing
  while (std::getline(layouts, layout, '.')) Lay(t, layout, argument);
  t.storage_count = t.offset + ExtentOf(t.shape, t.strides).value_or(0);
  return argument;
}

Argument ParseArgument(const std::string& word) {
  Argument argument;
  if (word.find('[') != std::string::npos) return ParseTensor(word);
  size_t colon = word.find(':');
  if (word == "null") {
    argument.kind = Kind::kNull;
  } else if (word[0] == '{') {
    argument.kind = Kind::kInts;
    argument.ints = Numbers(word.substr(1, word.size() - 2));
  } else if (colon == 0) {
    argument.kind = Kind::kDType;
    argument.dtype = TypeNamed(word.substr(1));
  } else if (colon != std::string::npos) {
    argument.kind = Kind::kScalar;
    argument.number = std::stod(word.substr(0, colon));
    argument.dtype = TypeNamed(word.substr(colon + 1));
  } else {
    argument.number = std::stod(word);
  }
  return argument;
}

}  // namespace

Case ParseCase(const std::string& line) {
  Case result;
  result.text = line;
  std::stringstream words(line);
  words >> result.function;
  for (std::string word; words >> word;) {
    if (word[0] == '~') {
      result.tolerance = std::stod(word.substr(1));
    } else if (word[0] == '!') {
      result.code = std::stoi(word.substr(1));
    } else {
      result.arguments.push_back(ParseArgument(word));
    }
  }
  return result;
}

std::vector<Case> ReadCases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t") != std::string::npos) cases.push_back(ParseCase(line));
  }
  return cases;
}

}  // namespace belay::cases
