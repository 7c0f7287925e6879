// Attention as ONNX has it since opset 23, and as onnxruntime's own tools write it (com.microsoft), taken
// apart again: what of it is one step here, the passes find.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "graph/onnx/importer.h"

namespace belay::graph::onnx {
namespace {

constexpr double kLowest = std::numeric_limits<float>::lowest();

Port Int(OnnxNode& node, int64_t value) { return node.Const(IntConstant(value)); }

Port Reshaped(OnnxNode& node, Port x, std::initializer_list<int64_t> sizes) {
  return node.Add("Reshape", {x, node.Ints(sizes)}, {{"allowzero", int64_t{0}}});
}

Port Transposed(OnnxNode& node, Port x) {
  return node.Add("TransposeD", {x}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

Port Joined(OnnxNode& node, std::vector<Port> pieces, int64_t axis) {
  const auto count = static_cast<int64_t>(pieces.size());
  return node.Add("ConcatD", std::move(pieces), {{"concat_dim", axis}, {"N", count}});
}

Port Indexed(OnnxNode& node, Port x, int64_t index, int64_t axis) {
  return node.Add("GatherV2D", {x, Int(node, index)}, {{"axis", axis}});
}

std::vector<Port> Pieces(OnnxNode& node, Port x, std::vector<int64_t> sizes, int64_t axis) {
  const auto count = static_cast<int>(sizes.size());
  const Port first =
      node.Add("SplitVD", {x}, {{"size_splits", std::move(sizes)}, {"split_dim", axis}}, count);
  std::vector<Port> pieces;
  for (int i = 0; i < count; ++i) pieces.push_back(OnnxNode::OutputOf(first, i));
  return pieces;
}

// [batch, length, heads x size] as [batch, heads, length, size], and back.
Port Heads(OnnxNode& node, Port x, int64_t heads) {
  return Transposed(node, Reshaped(node, x, {0, 0, heads, -1}));
}
Port Flat(OnnxNode& node, Port x) { return Reshaped(node, Transposed(node, x), {0, 0, -1}); }

bool HasRank(const ValueType& type, int rank) { return type.rank_known && type.shape.rank() == rank; }
// Of that rank, and its last size is known.
bool HasWidth(const ValueType& type, int rank) { return HasRank(type, rank) && type.shape[rank - 1] >= 0; }

// What is added to the scores: the lowest number where the condition does not hold, and what is given.
Port Bias(OnnxNode& node, Port condition, Port given, Port like, double low = kLowest) {
  if (!condition.present()) return given;
  Port mask = node.Add("SelectV2", {condition, node.Const(RealConstant(0)), node.Const(RealConstant(low))});
  mask = node.Add("CastLike", {mask, like});
  return given.present() ? node.Add("Add", {mask, given}) : mask;
}

Port Both(OnnxNode& node, Port a, Port b) {
  if (!a.present()) return b;
  return b.present() ? node.Add("LogicalAnd", {a, b}) : a;
}

// Where the keys' places, `past` of which lie before the first query, are not behind the query's; of the last
// `window` ones if that is not negative.
Port Causal(OnnxNode& node, Port query, Port key, Port past, int64_t window = -1) {
  const Port rows = Reshaped(node, Counting(node, SizeOf(node, query, 2)), {-1, 1});
  const Port last = node.Add("Add", {rows, past}), places = Counting(node, SizeOf(node, key, 2));
  const Port before = node.Add("LessEqual", {places, last});
  if (window < 0) return before;
  return Both(node, before, node.Add("Greater", {places, node.Add("Sub", {last, Int(node, window)})}));
}

// As many keys as there are more of than queries were there before.
Port CausalAtEnd(OnnxNode& node, Port query, Port key) {
  return Causal(node, query, key, node.Add("Sub", {SizeOf(node, key, 2), SizeOf(node, query, 2)}));
}

// Where a mask of lengths [batch], keys [batch, keys] or scores [batch, queries, keys] lets keys be seen.
Port Seen(OnnxNode& node, Port mask, Port key) {
  const Port shape = node.Add("Shape", {key}, {{"dtype", DType::kI64}});
  const Port view = node.Add("AttentionMask", {mask, shape}, {}, 2);
  return node.Add("Less", {OnnxNode::OutputOf(view, 1), view});
}

int64_t HeadCount(OnnxNode& node) {
  const int64_t heads = node.Int("num_heads", 1);
  if (heads <= 0) node.Refuse("num_heads is not positive");
  return heads;
}

struct Sides {
  Port query, key, value;  // [batch, heads, length, size]
};

// `size`: of a head, where it is known.
Port Scaled(OnnxNode& node, Port scores, Port query, std::optional<int64_t> size) {
  double scale = node.Float("scale", 0);
  if (scale == 0 && size) scale = 1 / std::sqrt(static_cast<double>(*size));
  if (scale != 0) return node.Add("Muls", {scores}, {{"value", scale}});
  const Port width = node.Add("Cast", {SizeOf(node, query, 3)}, {{"dst_type", DType::kF32}});
  return node.Add("RealDiv", {scores, node.Add("CastLike", {node.Add("Sqrt", {width}), query})});
}

// [batch, heads, length, size]
Port AttendHeads(OnnxNode& node, const Sides& sides, Port bias, std::optional<int64_t> size, double softcap) {
  Port scores = node.Add("BatchMatMul", {sides.query, sides.key}, {{"adj_x1", false}, {"adj_x2", true}});
  scores = Scaled(node, scores, sides.query, size);
  if (softcap != 0) {
    scores = node.Add("Tanh", {node.Add("Muls", {scores}, {{"value", 1 / softcap}})});
    scores = node.Add("Muls", {scores}, {{"value", softcap}});
  }
  if (bias.present()) scores = node.Add("Add", {scores, bias});
  const Port weights = node.Add("SoftmaxV2", {scores}, {{"axes", std::vector<int64_t>{-1}}});
  return node.Add("BatchMatMul", {weights, sides.value});
}

Port Attend(OnnxNode& node, const Sides& sides, Port bias, std::optional<int64_t> size, double softcap = 0) {
  return Flat(node, AttendHeads(node, sides, bias, size, softcap));
}

// One input for query, key and value, which the node projects itself.
void ProjectedAttention(OnnxNode& node) {
  const ValueType weights = node.type_of(1);
  if (!HasWidth(weights, 2)) node.Refuse("weights of unknown shape are not supported");
  if (node.Int("do_rotary", 0) != 0) node.Refuse("do_rotary is not supported");
  node.Only("past_present_share_buffer", 0);
  node.WithoutEffect({"rotary_embedding_dim"});  // of do_rotary
  const double hidden = node.Float("mask_filter_value", -10000);
  const int64_t heads = HeadCount(node), third = weights.shape[1] / 3;
  const auto widths = node.Ints("qkv_hidden_sizes", {third, third, third});
  if (widths.size() != 3) node.Refuse("qkv_hidden_sizes are three numbers");
  Port all = node.Add("BatchMatMul", {node.in(0), node.in(1)});
  if (node.has(2)) all = node.Add("Add", {all, node.in(2)});
  std::vector<Port> parts = Pieces(node, all, widths, 2);
  for (Port& part : parts) part = Heads(node, part, heads);
  Sides sides{parts[0], parts[1], parts[2]};
  if (node.has(4)) {
    sides.key = Joined(node, {Indexed(node, node.in(4), 0, 0), sides.key}, 2);
    sides.value = Joined(node, {Indexed(node, node.in(4), 1, 0), sides.value}, 2);
  }
  Port bias = node.in(5);
  if (node.has(3)) {
    bias = Bias(node, Seen(node, node.in(3), sides.key), bias, all, hidden);
  }
  if (node.Int("unidirectional", 0) != 0) {
    bias = Bias(node, CausalAtEnd(node, sides.query, sides.key), bias, all);
  }
  node.Out(0, Attend(node, sides, bias, widths[0] / heads));
  if (!node.wants(1)) return;
  const auto one = [&](Port x) { return node.Add("UnsqueezeV3", {x, node.Ints({0})}); };
  node.Out(1, Joined(node, {one(sides.key), one(sides.value)}, 0));
}

// The bias of a side is a third of input 3; without sizes for values of another width.
Sides Projected(OnnxNode& node, int64_t heads) {
  std::array<Port, 3> sides;
  if (HasRank(node.type_of(0), 5)) {  // [batch, length, heads, 3, size]
    for (int i = 0; i < 3; ++i)
      sides[static_cast<size_t>(i)] = Transposed(node, Indexed(node, node.in(0), i, 3));
    return {sides[0], sides[1], sides[2]};
  }
  if (!node.has(2)) node.Refuse("packed keys and values are not supported");
  std::vector<Port> biases(3);
  if (node.has(3)) {
    const ValueType type = node.type_of(3);
    if (!HasWidth(type, 1) || type.shape[0] % 3 != 0) node.Refuse("a bias of this shape is not supported");
    biases = Pieces(node, node.in(3), std::vector<int64_t>(3, type.shape[0] / 3), 0);
  }
  for (int i = 0; i < 3; ++i) {
    Port x = node.in(i);
    const bool ready = HasRank(node.type_of(i), 4);  // keys and values of an encoder
    const Port bias = biases[static_cast<size_t>(i)];
    if (bias.present() && !ready) x = node.Add("Add", {x, bias});
    sides[static_cast<size_t>(i)] = ready ? x : Heads(node, x, heads);
  }
  return {sides[0], sides[1], sides[2]};
}

void MultiHeadAttention(OnnxNode& node) {
  if (node.has(8) || node.has(9)) node.Refuse("buffers shared by past and present are not supported");
  const double hidden = node.Float("mask_filter_value", -10000);
  Sides sides = Projected(node, HeadCount(node));
  if (node.has(6)) sides.key = Joined(node, {node.in(6), sides.key}, 2);
  if (node.has(7)) sides.value = Joined(node, {node.in(7), sides.value}, 2);
  Port bias = node.in(5);
  if (node.has(4)) {
    bias = Bias(node, Seen(node, node.in(4), sides.key), bias, sides.query, hidden);
  }
  if (node.Int("unidirectional", 0) != 0) {
    bias = Bias(node, CausalAtEnd(node, sides.query, sides.key), bias, sides.query);
  }
  node.Out(0, Attend(node, sides, bias, {}));
  if (node.wants(1)) node.Out(1, sides.key);
  if (node.wants(2)) node.Out(2, sides.value);
}

// Cosines and sines of a place's angles, [batch, 1, length, half of what is turned].
struct Angles {
  Port cosines, sines;
  bool neighbours;  // pairs are neighbours, or of one half and the other
};

// Of tables [batch, length, half], or of the rows [batch, length] of tables [places, half].
Angles AnglesOf(OnnxNode& node, int tables, Port places, bool neighbours) {
  const auto at = [&](Port table) {
    if (places.present()) table = node.Add("GatherV2D", {table, places}, {{"axis", int64_t{0}}});
    return node.Add("UnsqueezeV3", {table, node.Ints({1})});
  };
  return {at(node.in(tables)), at(node.in(tables + 1)), neighbours};
}

// Turns each head's vectors, [batch, heads, length, size].
Port Rotated(OnnxNode& node, Port x, const Angles& angles) {
  const Port c = angles.cosines, s = angles.sines;
  const bool neighbours = angles.neighbours;
  const int64_t axis = neighbours ? 4 : 3;
  const Port pairs = neighbours ? Reshaped(node, x, {0, 0, 0, -1, 2}) : x;
  Port a = node.Add("SplitD", {pairs}, {{"num_split", int64_t{2}}, {"split_dim", axis}}, 2);
  Port b = OnnxNode::OutputOf(a, 1);
  if (neighbours) a = Reshaped(node, a, {0, 0, 0, -1}), b = Reshaped(node, b, {0, 0, 0, -1});
  Port first = node.Add("Sub", {node.Add("Mul", {a, c}), node.Add("Mul", {b, s})});
  Port second = node.Add("Add", {node.Add("Mul", {b, c}), node.Add("Mul", {a, s})});
  if (!neighbours) return Joined(node, {first, second}, 3);
  first = node.Add("UnsqueezeV3", {first, node.Ints({4})});
  second = node.Add("UnsqueezeV3", {second, node.Ints({4})});
  return Reshaped(node, Joined(node, {first, second}, 4), {0, 0, 0, -1});
}

// The numbers behind those that turn stay.
Port RotatedHeads(OnnxNode& node, Port x, const Angles& angles, int64_t turned, int64_t size) {
  if (size <= turned) return Rotated(node, x, angles);
  const std::vector<Port> parts = Pieces(node, x, {turned, size - turned}, 3);
  return Joined(node, {Rotated(node, parts[0], angles), parts[1]}, 3);
}

// As ONNX has it: without places the tables tell of each place of each batch.
void RotaryEmbedding(OnnxNode& node) {
  const ValueType type = node.type_of(0);
  const bool split = HasRank(type, 4);
  const int64_t turned = node.Int("rotary_embedding_dim", 0), heads = node.Int("num_heads", 0);
  if (!type.rank_known) node.Refuse("an input of unknown rank is not supported");
  if (!split && heads < 1) node.Refuse("num_heads is missing, which an input of three dimensions needs");
  if (turned > 0 && !HasWidth(type, split ? 4 : 3))
    node.Refuse("rotary_embedding_dim needs an input of known shape");
  int64_t size = turned;
  if (turned > 0) size = split ? type.shape[3] : type.shape[2] / heads;
  const Angles angles = AnglesOf(node, 1, node.in(3), node.Int("interleaved", 0) != 0);
  const Port x = split ? node.in(0) : Heads(node, node.in(0), heads);
  const Port y = RotatedHeads(node, x, angles, turned, size);
  node.Out(0, split ? y : Flat(node, y));
}

void RotaryEmbeddingOfTables(OnnxNode& node) {
  node.Only("is_packed_batching", 0);
  if (node.Float("scale", 1) != 1) node.Refuse("scale is not supported");
  const ValueType table = node.type_of(2), type = node.type_of(0);
  const bool split = HasRank(type, 4), partial = node.Int("rotary_embedding_dim", 0) > 0;
  const int64_t heads = node.Int("num_heads", 0);
  if (!HasWidth(table, 2)) node.Refuse("tables of unknown shape are not supported");
  if (partial && !HasWidth(type, split ? 4 : 3)) {
    node.Refuse("rotary_embedding_dim needs an input of known shape");
  }
  int64_t size = 2 * table.shape[1];
  if (partial && node.Int("rotary_embedding_dim", 0) != size)
    node.Refuse("rotary_embedding_dim is not twice the width of the tables");
  if (!partial && !split && heads > 0 && HasWidth(type, 3) && type.shape[2] != heads * size)
    node.Refuse("num_heads heads of the tables' size are not the width of the input");
  if (partial) size = split ? type.shape[3] : type.shape[2] / std::max<int64_t>(heads, 1);
  Port x = split ? node.in(0) : Transposed(node, Reshaped(node, node.in(0), {0, 0, -1, size}));
  Port places = node.in(1);
  if (HasRank(node.type_of(1), 1)) {  // that of the first one
    places = Reshaped(node, node.Add("Add", {places, Counting(node, SizeOf(node, x, 2))}), {1, -1});
  }
  const Angles angles = AnglesOf(node, 2, places, node.Int("interleaved", 0) != 0);
  x = RotatedHeads(node, x, angles, 2 * table.shape[1], size);
  node.Out(0, split ? x : Flat(node, x));
}

// What came before, `past` of it used, and there the new: as many places as are wanted, or room was. Places
// behind the new keep what they had.
Port Continued(OnnxNode& node, Port before, Port fresh, Port past, Port wanted) {
  const Port room = SizeOf(node, before, 2), all = Joined(node, {before, fresh}, 2);
  const Port most = node.Add("Sub", {SizeOf(node, all, 2), Int(node, 1)});
  const Port places = Counting(node, node.Add("Maximum", {room, wanted}));
  const Port behind = node.Add("Add", {node.Add("Sub", {places, past}), room});
  const Port is_new =
      Both(node, node.Add("GreaterEqual", {places, past}), node.Add("LessEqual", {behind, most}));
  const Port from = node.Add("SelectV2", {is_new, behind, places});  // [batch, places]
  return node.Add("GatherV2", {all, from, Int(node, 2)}, {{"batch_dims", int64_t{1}}});
}

// Each head of keys and values as often as queries use it.
Port Repeated(OnnxNode& node, Port x, int64_t heads, int64_t times) {
  if (times == 1) return x;
  std::vector<int64_t> from(static_cast<size_t>(heads * times));
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int64_t>(i) / times;
  return node.Add("GatherV2D", {x, node.Const(IntsConstant(from))}, {{"axis", int64_t{1}}});
}

void CheckGroups(OnnxNode& node, int64_t heads, int64_t groups) {
  if (groups <= 0 || heads % groups != 0) node.Refuse("kv_num_heads does not divide num_heads");
  node.Only("qk_output", 0);
  for (const char* quantised : {"k_quant_type", "v_quant_type"}) node.Only(quantised, "NONE");
  node.Only("kv_cache_bit_width", 0);
  if (node.Int("smooth_softmax", 0) > 0 || node.has(11)) node.Refuse("smooth_softmax is not supported");
  if (node.has(3) != node.has(4)) node.Refuse("past keys and values come together");
}

Sides Grouped(OnnxNode& node, int64_t heads, int64_t groups) {
  if (node.has(1)) {
    return {Heads(node, node.in(0), heads), Heads(node, node.in(1), groups), Heads(node, node.in(2), groups)};
  }
  const std::vector<Port> parts =
      Pieces(node, Heads(node, node.in(0), heads + 2 * groups), {heads, groups, groups}, 1);
  return {parts[0], parts[1], parts[2]};
}

void GroupQueryAttention(OnnxNode& node) {
  const int64_t heads = HeadCount(node), groups = node.Int("kv_num_heads", 1);
  CheckGroups(node, heads, groups);
  Sides sides = Grouped(node, heads, groups);
  const Port last = node.Add("Cast", {Reshaped(node, node.in(5), {-1, 1})}, {{"dst_type", DType::kI64}});
  const Port fresh = SizeOf(node, sides.query, 2);
  const bool neighbours = node.Int("rotary_interleaved", 0) != 0;
  node.InputsWithoutEffect({6, 7, 8, 9});  // of a past that is not there, and of angles that are not wanted
  Port past = node.Add("Sub", {node.Add("Add", {last, Int(node, 1)}), fresh});
  past = node.Add("Maximum", {past, Int(node, 0)});  // [batch, 1]
  if (node.Int("do_rotary", 0) != 0) {
    const ValueType before = node.type_of(3), table = node.type_of(7);
    if (!HasWidth(table, 2)) node.Refuse("tables of unknown shape are not supported");
    const int64_t size = HasWidth(before, 4) ? before.shape[3] : 2 * table.shape[1];
    const Port places = node.has(9) ? node.in(9) : node.Add("Add", {past, Counting(node, fresh)});
    const Angles angles = AnglesOf(node, 7, places, neighbours);
    sides.query = RotatedHeads(node, sides.query, angles, 2 * table.shape[1], size);
    sides.key = RotatedHeads(node, sides.key, angles, 2 * table.shape[1], size);
  }
  if (node.has(3)) {
    const Port total = node.Add("Cast", {Reshaped(node, node.in(6), {1})}, {{"dst_type", DType::kI64}});
    sides.key = Continued(node, node.in(3), sides.key, past, total);
    sides.value = Continued(node, node.in(4), sides.value, past, total);
  }
  if (node.wants(1)) node.Out(1, sides.key);
  if (node.wants(2)) node.Out(2, sides.value);
  const Port condition = Causal(node, sides.query, sides.key, Reshaped(node, past, {-1, 1, 1, 1}),
                                node.Int("local_window_size", -1));
  const Port bias = Bias(node, condition, node.in(10), sides.query);
  sides.key = Repeated(node, sides.key, groups, heads / groups);
  sides.value = Repeated(node, sides.value, groups, heads / groups);
  node.Out(0, Attend(node, sides, bias, {}, node.Float("softcap", 0)));
}

// Heads of queries, and of keys and values. 0: not known.
struct HeadCounts {
  int64_t queries, keys;

  // How many queries' heads share one of keys. Where that is not known there is nothing to share but one head
  // of keys, which every product repeats.
  int64_t each() const { return queries > 0 && keys > 0 ? queries / keys : 1; }
};

// `split`: the heads are a dimension of the inputs.
HeadCounts HeadCountsOf(OnnxNode& node, bool split) {
  const auto seen = [&](int input) {
    const ValueType type = node.type_of(input);
    return split && HasRank(type, 4) ? std::max<int64_t>(type.shape[1], 0) : 0;
  };
  const HeadCounts apart{seen(0), seen(1)};
  const HeadCounts heads{node.Int("q_num_heads", apart.queries), node.Int("kv_num_heads", apart.keys)};
  if (!split && (heads.queries < 1 || heads.keys < 1)) node.Refuse("q_num_heads and kv_num_heads are needed");
  if (split && (heads.queries != apart.queries || heads.keys != apart.keys))
    node.Refuse("q_num_heads and kv_num_heads are not those of the inputs");
  if (heads.queries > 0 && heads.keys > 0 && heads.queries % heads.keys != 0)
    node.Refuse("the heads of keys do not divide those of queries");
  return heads;
}

// What the mask of the node and its causal order add to the scores: -inf where a key is not seen.
Port MaskBias(OnnxNode& node, const Sides& sides, Port past) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  const bool causal = node.Int("is_causal", 0) != 0;
  const Port order = causal ? Causal(node, sides.query, sides.key, past) : Port();
  if (!node.has(3)) return Bias(node, order, {}, sides.query, kNever);
  const ValueType mask = node.type_of(3), key = node.type_of(1);
  const auto last = [](const ValueType& type, int before) {
    const bool known = type.rank_known && type.shape.rank() > before;
    return known ? type.shape[type.shape.rank() - 1 - before] : kUnknownDim;
  };
  // The standard hides the keys that a shorter mask does not name; one of a single key would repeat here.
  const int64_t named = last(mask, 0), keys = node.has(4) ? kUnknownDim : last(key, 1);
  if (named >= 0 && named != keys && (keys >= 0 || named == 1))
    node.Refuse("a mask of fewer keys than there are is not supported");
  if (mask.dtype == DType::kBool) return Bias(node, Both(node, node.in(3), order), {}, sides.query, kNever);
  return Bias(node, order, node.in(3), sides.query, kNever);
}

// Zeros for queries that see nothing.
Port WithoutBlind(OnnxNode& node, Port result, Port bias) {
  const Port most = node.Add("ReduceMax", {bias, node.Ints({-1})}, {{"keep_dims", true}});
  const auto like = [&](double value, Port as) {
    return node.Add("CastLike", {node.Const(RealConstant(value)), as});
  };
  const Port sees = node.Add("Greater", {most, like(-std::numeric_limits<double>::infinity(), bias)});
  return node.Add("SelectV2", {sees, result, like(0, result)});
}

// That of ONNX.
void Attention(OnnxNode& node) {
  node.Only("qk_matmul_output_mode", 0);
  node.Only("softmax_precision", 1);
  node.Only("left_window_size", -1), node.Only("right_window_size", -1);
  if (node.wants(3)) node.Refuse("qk_matmul_output is not supported");
  if (node.has(4) != node.has(5)) node.Refuse("past keys and values come together");
  const ValueType query = node.type_of(0);
  const bool split = query.rank_known ? query.shape.rank() == 4 : !node.HasAttribute("q_num_heads");
  if (query.rank_known && !split && query.shape.rank() != 3)
    node.Refuse("the query has three or four dimensions");
  const HeadCounts heads = HeadCountsOf(node, split);
  const auto side = [&](int i) {
    return split ? node.in(i) : Heads(node, node.in(i), i == 0 ? heads.queries : heads.keys);
  };
  Sides sides{side(0), side(1), side(2)};
  Port past = Int(node, 0);
  if (node.has(4)) {
    past = SizeOf(node, node.in(4), 2);
    sides.key = Joined(node, {node.in(4), sides.key}, 2),
    sides.value = Joined(node, {node.in(5), sides.value}, 2);
  }
  if (node.wants(1)) node.Out(1, sides.key);
  if (node.wants(2)) node.Out(2, sides.value);
  const Port bias = MaskBias(node, sides, past);
  sides.key = Repeated(node, sides.key, heads.keys, heads.each());
  sides.value = Repeated(node, sides.value, heads.keys, heads.each());
  std::optional<int64_t> size;
  if (HasWidth(query, split ? 4 : 3)) size = split ? query.shape[3] : query.shape[2] / heads.queries;
  Port result = AttendHeads(node, sides, bias, size, node.Float("softcap", 0));
  if (node.has(3)) result = WithoutBlind(node, result, bias);
  node.Out(0, split ? result : Flat(node, result));
}

constexpr ImportRow kAttentionRows[] = {{"Attention", Attention},
                                        {"Attention", ProjectedAttention, kContribDomain},
                                        {"MultiHeadAttention", MultiHeadAttention, kContribDomain},
                                        {"GroupQueryAttention", GroupQueryAttention, kContribDomain},
                                        {"RotaryEmbedding", RotaryEmbedding},
                                        {"RotaryEmbedding", RotaryEmbeddingOfTables, kContribDomain}};

}  // namespace

std::span<const ImportRow> AttentionImports() { return kAttentionRows; }

}  // namespace belay::graph::onnx
