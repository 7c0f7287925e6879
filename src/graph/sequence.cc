#include "graph/sequence.h"

#include <unordered_map>

#include "base/error.h"
#include "graph/codes.h"
#include "graph/interpreter.h"

namespace belay::graph {
namespace {

using Members = HostTensor::Members;
using Inputs = std::span<const Constant>;

const Members& MembersOf(const Node& node, const Constant& value) {
  if (value != nullptr && value->members() != nullptr) return *value->members();
  Fail(kGraphInvalid, "graph-sequence", "node '{}' ({}) needs a sequence, but gets a tensor", node.name,
       node.type);
}

std::vector<Constant> Sequence(Members members) { return {std::make_shared<HostTensor>(std::move(members))}; }

// A place among `count` members; negative ones count from the end.
size_t PlaceOf(const Node& node, const Constant& position, size_t count) {
  int64_t place = position->Ints().at(0), size = static_cast<int64_t>(count);
  if (place < -size || place >= size) {
    Fail(kGraphInvalid, "graph-sequence-place", "node '{}' ({}) asks for member {} of {}", node.name,
         node.type, place, count);
  }
  return static_cast<size_t>(place < 0 ? place + size : place);
}

void Need(const Node& node, Inputs inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i < inputs.size() && inputs[i] != nullptr) continue;
    Fail(kGraphInvalid, "graph-input-absent", "node '{}' ({}) lacks its input {}", node.name, node.type, i);
  }
}

bool IsGiven(Inputs inputs, size_t i) { return i < inputs.size() && inputs[i] != nullptr; }

// As ONNX has it: what lay in sequences in sequences could be as deep as a loop makes it.
void NeedTensor(const Node& node, const Constant& member) {
  if (member != nullptr && member->members() == nullptr) return;
  Fail(kGraphInvalid, "graph-sequence",
       "node '{}' ({}) is to put something into a sequence that is no tensor", node.name, node.type);
}

std::vector<Constant> Construct(const Node& node, Inputs inputs, BodyRunner&) {
  for (const Constant& member : inputs) NeedTensor(node, member);
  return Sequence({inputs.begin(), inputs.end()});
}
std::vector<Constant> Empty(const Node&, Inputs, BodyRunner&) { return Sequence({}); }

std::vector<Constant> Insert(const Node& node, Inputs inputs, BodyRunner&) {
  Need(node, inputs, 2);
  NeedTensor(node, inputs[1]);
  Members members = MembersOf(node, inputs[0]);
  size_t place = members.size();
  if (IsGiven(inputs, 2)) {
    int64_t wanted = inputs[2]->Ints().at(0);
    if (wanted != static_cast<int64_t>(place)) place = PlaceOf(node, inputs[2], members.size());
  }
  members.insert(members.begin() + static_cast<ptrdiff_t>(place), inputs[1]);
  return Sequence(std::move(members));
}

std::vector<Constant> Erase(const Node& node, Inputs inputs, BodyRunner&) {
  Need(node, inputs, 1);
  Members members = MembersOf(node, inputs[0]);
  Constant last = IntConstant(-1);
  size_t place = PlaceOf(node, IsGiven(inputs, 1) ? inputs[1] : last, members.size());
  members.erase(members.begin() + static_cast<ptrdiff_t>(place));
  return Sequence(std::move(members));
}

std::vector<Constant> ElementAt(const Node& node, Inputs inputs, BodyRunner&) {
  Need(node, inputs, 2);
  const Members& members = MembersOf(node, inputs[0]);
  return {members[PlaceOf(node, inputs[1], members.size())]};
}

std::vector<Constant> Length(const Node& node, Inputs inputs, BodyRunner&) {
  Need(node, inputs, 1);
  return {IntConstant(static_cast<int64_t>(MembersOf(node, inputs[0]).size()))};
}

int64_t IntOf(const Node& node, std::string_view name, int64_t missing) {
  const auto* value = FindAttribute<int64_t>(node, name);
  return value == nullptr ? missing : *value;
}

// The sizes of the pieces: as listed, or all of one size but the last.
std::vector<int64_t> PieceSizes(const Node& node, int64_t whole, const Constant& split) {
  if (split != nullptr && split->shape().rank() > 0) return split->Ints();
  int64_t each = split == nullptr ? 1 : split->Ints().at(0);
  if (each < 1)
    Fail(kGraphInvalid, "graph-sequence-split", "node '{}' cuts pieces of {} elements", node.name, each);
  std::vector<int64_t> sizes;
  for (int64_t rest = whole; rest > 0; rest -= each) sizes.push_back(std::min(rest, each));
  return sizes;
}

// Pieces along the outermost dimension lie one behind the other: they stay where they are. None where that is
// not so, or where they are not the whole.
Members PiecesInPlace(const Constant& whole, const std::vector<int64_t>& sizes, int axis) {
  const Shape& shape = whole->shape();
  const auto bytes = static_cast<int64_t>(BytesOf(whole->dtype()));
  int64_t outer = 1, inner = bytes, sum = 0;
  for (int d = 0; d < shape.rank(); ++d) (d < axis ? outer : inner) *= d == axis ? 1 : shape[d];
  for (int64_t size : sizes) {
    if (size < 0 || size > shape[axis]) return {};
    sum += size;
  }
  if (outer != 1 || bytes == 0 || sum != shape[axis]) return {};
  Members pieces;
  const std::byte* at = whole->data();
  for (int64_t size : sizes) {
    Shape piece = shape;
    piece[axis] = size;
    pieces.push_back(std::make_shared<HostTensor>(whole->dtype(), piece, at, whole));
    at += size * inner;
  }
  return pieces;
}

std::vector<Constant> SplitApart(const Node& node, Inputs inputs, BodyRunner&) {
  Need(node, inputs, 1);
  const Shape& shape = inputs[0]->shape();
  int64_t axis = IntOf(node, "axis", 0);
  if (axis < 0) axis += shape.rank();
  if (axis < 0 || axis >= shape.rank()) {
    Fail(kGraphInvalid, "graph-sequence-split", "node '{}' cuts along dimension {} of {}", node.name, axis,
         shape.ToString());
  }
  Constant split = IsGiven(inputs, 1) ? inputs[1] : nullptr;
  std::vector<int64_t> sizes = PieceSizes(node, shape[static_cast<int>(axis)], split);
  Members pieces = PiecesInPlace(inputs[0], sizes, static_cast<int>(axis));
  Node cut{.name = node.name, .type = "SplitVD", .outputs = static_cast<int>(sizes.size())};
  cut.attributes["size_splits"] = sizes;
  cut.attributes["split_dim"] = axis;
  if (pieces.empty()) pieces = EvaluateNode(cut, inputs.first(1));
  if (split == nullptr && IntOf(node, "keepdims", 1) == 0) {
    for (Constant& piece : pieces)
      piece = std::make_shared<HostTensor>(piece->dtype(), WithoutDim(piece->shape(), static_cast<int>(axis)),
                                           piece);
  }
  return Sequence(std::move(pieces));
}

std::vector<Constant> Concat(const Node& node, Inputs inputs, BodyRunner&) {
  Need(node, inputs, 1);
  const Members& members = MembersOf(node, inputs[0]);
  bool stack = IntOf(node, "new_axis", 0) != 0;
  Node join{.name = node.name, .type = stack ? "Pack" : "ConcatD"};
  join.attributes[stack ? "axis" : "concat_dim"] = IntOf(node, "axis", 0);
  return EvaluateNode(join, members);
}

}  // namespace

ControlFunction FindSequenceOp(std::string_view type) {
  static const auto* table = new std::unordered_map<std::string_view, ControlFunction>{
      {"SequenceConstruct", Construct}, {"SequenceEmpty", Empty},      {"SequenceInsert", Insert},
      {"SequenceErase", Erase},         {"SequenceAt", ElementAt},     {"SequenceLength", Length},
      {"SplitToSequence", SplitApart},  {"ConcatFromSequence", Concat}};
  auto it = table->find(type);
  return it == table->end() ? nullptr : it->second;
}

}  // namespace belay::graph
