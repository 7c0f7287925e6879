// The gated delta rule, a linear attention: each token turns a head's state S [values, keys] into
// S * decay, corrects what S holds of its key towards its value, and reads S by its query.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/error.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostElements = 512;  // of a head

// The tokens of a sequence, and the heads of keys that those of values share.
struct DeltaBody {
  Rows query, key, value, beta, gate, key_gate, out;
  Rows state_in, state_out;  // a row for each element of a value
  Indices lengths, slots, accepted;
  int lengths_at = -1, slots_at = -1, accepted_at = -1;  // slots: a state for each token
  Scratch<int64_t> starts;
  PieceScratch<float> room;
  int64_t tokens = 0, sequences = 0, heads = 0, members = 1, size = 0, value_size = 0;
  float scale = 1;

  static int64_t RoomFor(int64_t size, int64_t value_size) { return value_size * (size + 3) + 3 * size; }

  void operator()(const Frame& frame) const {
    const int64_t* start = Starts(frame);
    std::span<const int64_t> slot, taken;
    if (slots_at >= 0) slot = Slots(frame);
    if (accepted_at >= 0) taken = Accepted(frame, start);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t part = begin; part < end; ++part) {
        const int64_t i = part / heads, head = part % heads;
        if (start[i] == start[i + 1] && slots_at >= 0) continue;
        int64_t first = i;
        if (slots_at >= 0) first = slot[static_cast<size_t>(start[i] + (taken.empty() ? 0 : taken[i] - 1))];
        LoadState(frame, first * heads + head, mine);
        for (int64_t t = start[i]; t < start[i + 1]; ++t) {
          Step(frame, t, head, mine);
          if (slots_at >= 0) StoreState(frame, slot[static_cast<size_t>(t)] * heads + head, mine);
        }
        if (slots_at < 0) StoreState(frame, part, mine);
      }
    });
  }

  // Where each sequence begins, and the end of the last.
  int64_t* Starts(const Frame& frame) const {
    const std::span<const int64_t> length = lengths.Read(frame, lengths_at);
    int64_t *start = starts.At(frame), at = 0;
    bool fits = true;
    for (int64_t i = 0; i < sequences; ++i) {
      start[i] = at;
      fits = fits && length[static_cast<size_t>(i)] >= 0 && length[static_cast<size_t>(i)] <= tokens - at;
      if (fits) at += length[static_cast<size_t>(i)];
    }
    start[sequences] = at;
    if (fits && at == tokens) return start;
    Fail(kIndexFault, "delta-lengths", "actualSeqLengths does not add up to the {} tokens", tokens);
  }

  std::span<const int64_t> Slots(const Frame& frame) const {
    const std::span<const int64_t> slot = slots.Read(frame, slots_at);
    const int64_t states = state_in.count() / (heads * value_size);
    for (const int64_t at : slot) {
      if (at >= 0 && at < states) continue;
      Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", at, states);
    }
    return slot;
  }

  std::span<const int64_t> Accepted(const Frame& frame, const int64_t* start) const {
    const std::span<const int64_t> taken = accepted.Read(frame, accepted_at);
    for (int64_t i = 0; i < sequences; ++i) {
      const int64_t n = taken[static_cast<size_t>(i)];
      if (start[i] == start[i + 1] || (n >= 1 && n <= start[i + 1] - start[i])) continue;
      Fail(kIndexFault, "delta-lengths", "numAcceptedTokens names token {} of the {} of sequence {}", n,
           start[i + 1] - start[i], i);
    }
    return taken;
  }

  void LoadState(const Frame& frame, int64_t state, float* to) const {
    for (int64_t v = 0; v < value_size; ++v) {
      float* row = to + v * size;
      const float* from = state_in.Load(frame, state * value_size + v, row);
      if (from != row) std::copy_n(from, size, row);
    }
  }
  void StoreState(const Frame& frame, int64_t state, const float* from) const {
    for (int64_t v = 0; v < value_size; ++v) state_out.Store(frame, state * value_size + v, from + v * size);
  }

  void Step(const Frame& frame, int64_t token, int64_t head, float* state) const {
    float *result = state + value_size * size, *buffer = result + value_size, *other = buffer + size,
          *decays = other + size, *values = decays + size;
    const int64_t at = token * heads + head, of_key = token * (heads / members) + head / members;
    const float *q = query.Load(frame, of_key, buffer), *k = key.Load(frame, of_key, other),
                *v = value.Load(frame, at, values);
    const float decay = gate.present() ? std::exp(gate.At(frame, token, head)) : 1,
                rate = beta.present() ? beta.At(frame, token, head) : 1;
    std::fill_n(decays, size, decay);
    if (key_gate.present()) {
      for (int64_t d = 0; d < size; ++d) decays[d] *= std::exp(key_gate.At(frame, at, d));
    }
    for (int64_t i = 0; i < value_size; ++i) {
      float *row = state + i * size, held = 0, read = 0;
      for (int64_t d = 0; d < size; ++d) row[d] *= decays[d];
      for (int64_t d = 0; d < size; ++d) held += row[d] * k[d];
      const float more = (v[i] - held) * rate;
      for (int64_t d = 0; d < size; ++d) row[d] += more * k[d];
      for (int64_t d = 0; d < size; ++d) read += row[d] * q[d];
      result[i] = read * scale;
    }
    out.Store(frame, at, result);
  }
};

struct DeltaArgs {
  const Operand &query, &key, &value, &beta, &state, &lengths, &gate, &key_gate;
  double scale;
  const Operand &state_out, &out;
};

DeltaBody TakeDelta(Plan& plan, const DeltaArgs& a) {
  for (const Operand* o : {&a.query, &a.key, &a.value}) CheckExpertRank(plan, *o, 3, 3);
  CheckExpertRank(plan, a.state, 4, 4);
  if (!a.lengths.present())
    RefuseExperts(plan, "actualSeqLengths is null; it has the tokens of each sequence");
  CheckExpertRank(plan, a.lengths, 1, 1);
  const Shape &q = a.query.shape(), &v = a.value.shape();
  const int64_t tokens = q[0], key_heads = q[1], heads = v[1];
  if (key_heads < 1 || heads < 1 || heads % key_heads != 0)
    RefuseExperts(plan, "the heads of value are no multiple of those of key");
  if (std::min(q[2], v[2]) < 1 || std::max(q[2], v[2]) > kMostElements)
    RefuseExperts(plan, "a head has 1 to 512 elements");
  CheckExpertShape(plan, a.key, q);
  CheckExpertShape(plan, a.value, {tokens, heads, v[2]});
  CheckExpertShape(plan, a.out, v);
  CheckExpertShape(plan, a.state, {a.state.shape()[0], heads, v[2], q[2]});
  CheckExpertShape(plan, a.state_out, a.state.shape());
  for (const Operand* o : {&a.beta, &a.gate})
    if (o->present()) CheckExpertShape(plan, *o, {tokens, heads});
  if (a.key_gate.present()) CheckExpertShape(plan, a.key_gate, {tokens, heads, q[2]});
  DeltaBody body;
  body.query = Rows(a.query), body.key = Rows(a.key), body.value = Rows(a.value), body.beta = Rows(a.beta);
  body.gate = Rows(a.gate), body.key_gate = Rows(a.key_gate), body.out = Rows(a.out);
  body.state_in = Rows(a.state), body.state_out = Rows(a.state_out);
  body.tokens = tokens, body.sequences = a.lengths.shape()[0], body.heads = heads;
  body.members = heads / key_heads, body.size = q[2], body.value_size = v[2];
  body.scale = static_cast<float>(a.scale);
  body.lengths = Indices(plan, *a.lengths.tensor), body.lengths_at = a.lengths.binding;
  body.starts = Scratch<int64_t>(plan, body.sequences + 1);
  body.room = {plan, body.sequences * heads, 1, DeltaBody::RoomFor(q[2], v[2])};
  plan.SetCost(500 + static_cast<uint64_t>(tokens) * static_cast<uint64_t>(heads * q[2] * v[2]) / 2);
  return body;
}

}  // namespace

namespace kernels {

void RecurrentGatedDeltaRule(Plan& plan, DType, const RecurrentGatedDeltaRuleArguments& a) {
  DeltaBody body = TakeDelta(plan, {.query = a.query,
                                    .key = a.key,
                                    .value = a.value,
                                    .beta = a.beta,
                                    .state = a.state,
                                    .lengths = a.actual_seq_lengths,
                                    .gate = a.g,
                                    .key_gate = a.gk,
                                    .scale = a.scale,
                                    .state_out = a.state_out,
                                    .out = a.out});
  if (!a.ssm_state_indices.present())
    RefuseExperts(plan, "ssmStateIndices is null; it has a state for each token");
  CheckExpertShape(plan, a.ssm_state_indices, {body.tokens});
  if (a.num_accepted_tokens.present()) CheckExpertShape(plan, a.num_accepted_tokens, {body.sequences});
  if (body.tokens == 0) return;
  body.slots = Indices(plan, *a.ssm_state_indices.tensor), body.slots_at = a.ssm_state_indices.binding;
  if (a.num_accepted_tokens.present())
    body.accepted = Indices(plan, *a.num_accepted_tokens.tensor),
    body.accepted_at = a.num_accepted_tokens.binding;
  plan.MayLieOn(a.state.binding, a.state_out.binding);
  plan.SetBody(body);
}

void ChunkGatedDeltaRule(Plan& plan, DType, const ChunkGatedDeltaRuleArguments& a) {
  const Operand none{nullptr, nullptr, -1, a.g.name};
  DeltaBody body = TakeDelta(plan, {.query = a.query,
                                    .key = a.key,
                                    .value = a.value,
                                    .beta = a.beta,
                                    .state = a.initial_state,
                                    .lengths = a.actual_seq_lengths,
                                    .gate = a.g,
                                    .key_gate = none,
                                    .scale = a.scale,
                                    .state_out = a.final_state,
                                    .out = a.out});
  if (a.initial_state.shape()[0] != body.sequences)
    RefuseExperts(plan, "initialState has another number of states than actualSeqLengths sequences");
  if (body.sequences == 0) return;
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
