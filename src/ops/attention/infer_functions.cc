// The functions of attention for inference.
#include <initializer_list>
#include <span>

#include "base/error.h"
#include "ops/attention/infer.h"
#include "ops/attention/infer_layout.h"
#include "ops/kernels.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

void RefuseGiven(const Plan& plan, std::initializer_list<const Operand*> operands) {
  for (const Operand* operand : operands) {
    if (!operand->present()) continue;
    Fail(
        tensor::kInvalidArgument, "infer-attention-argument",
        "{}: {} is given, but quantised queries and results, padding and prefixes are not there yet; pass null",
        plan.function(), operand->name);
  }
}

const Operand& OnlyOne(const Plan& plan, const OperandList& list) {
  if (list.size() != 1) RefuseInfer(plan, "key and value are lists of one tensor");
  return list[0];
}

}  // namespace

namespace kernels {

void FusedInferAttentionScoreV3(Plan& plan, DType, const FusedInferAttentionScoreV3Arguments& a) {
  RefuseGiven(plan, {&a.deq_scale1, &a.quant_scale1, &a.deq_scale2, &a.quant_scale2, &a.quant_offset2,
                     &a.query_padding_size, &a.kv_padding_size, &a.key_shared_prefix, &a.value_shared_prefix,
                     &a.key_rope_antiquant_scale});
  if (!a.actual_shared_prefix_len.empty()) RefuseInfer(plan, "shared prefixes are not there yet");
  PlanInferAttention(
      plan, {.query = a.query,
             .key = OnlyOne(plan, a.key),
             .value = OnlyOne(plan, a.value),
             .shift = a.pse_shift,
             .forbidden = a.atten_mask,
             .pages = a.block_table,
             .query_rope = a.query_rope,
             .key_rope = a.key_rope,
             .of_both = {&a.antiquant_scale, &a.antiquant_offset, a.antiquant_mode},
             .of_key = {&a.key_antiquant_scale, &a.key_antiquant_offset, a.key_antiquant_mode},
             .of_value = {&a.value_antiquant_scale, &a.value_antiquant_offset, a.value_antiquant_mode},
             .lengths = a.actual_seq_lengths,
             .key_lengths = a.actual_seq_lengths_kv,
             .heads = a.num_heads,
             .key_heads = a.num_key_value_heads,
             .scale = a.scale_value,
             .before = a.pre_tokens,
             .after = a.next_tokens,
             .layout = a.input_layout,
             .sparse = a.sparse_mode,
             .page_rows = a.block_size,
             .with_sums = a.softmax_lse_flag,
             .out = a.out,
             .sums = a.softmax_lse});
}

void FusedInferAttentionScoreV4(Plan& plan, DType, const FusedInferAttentionScoreV4Arguments& a) {
  RefuseGiven(plan, {&a.dequant_scale1, &a.quant_scale1, &a.dequant_scale2, &a.quant_scale_out,
                     &a.quant_offset_out, &a.query_padding_size, &a.kv_padding_size, &a.key_shared_prefix,
                     &a.value_shared_prefix, &a.dequant_scale_key_rope, &a.dequant_scale_query});
  if (!a.actual_shared_prefix_len.empty()) RefuseInfer(plan, "shared prefixes are not there yet");
  PlanInferAttention(plan, {.query = a.query,
                            .key = OnlyOne(plan, a.key),
                            .value = OnlyOne(plan, a.value),
                            .shift = a.pse_shift,
                            .forbidden = a.atten_mask,
                            .pages = a.block_table,
                            .query_rope = a.query_rope,
                            .key_rope = a.key_rope,
                            .sink = a.learnable_sink,
                            .of_both = {&a.antiquant_scale, &a.antiquant_offset, a.antiquant_mode},
                            .of_key = {&a.dequant_scale_key, &a.dequant_offset_key, a.key_quant_mode},
                            .of_value = {&a.dequant_scale_value, &a.dequant_offset_value, a.value_quant_mode},
                            .lengths = a.actual_seq_q_len,
                            .key_lengths = a.actual_seq_kv_len,
                            .heads = a.num_query_heads,
                            .key_heads = a.num_key_value_heads,
                            .scale = a.softmax_scale,
                            .before = a.pre_tokens,
                            .after = a.next_tokens,
                            .layout = a.input_layout,
                            .sparse = a.sparse_mode,
                            .page_rows = a.block_size,
                            .with_sums = a.return_softmax_lse,
                            .out = a.out,
                            .sums = a.softmax_lse});
}

void PromptFlashAttentionV3(Plan& plan, DType, const PromptFlashAttentionV3Arguments& a) {
  RefuseGiven(plan, {&a.deq_scale1, &a.quant_scale1, &a.deq_scale2, &a.quant_scale2, &a.quant_offset2});
  PlanInferAttention(plan, {.query = a.query,
                            .key = a.key,
                            .value = a.value,
                            .shift = a.pse_shift,
                            .forbidden = a.atten_mask,
                            .lengths = a.actual_seq_lengths,
                            .key_lengths = a.actual_seq_lengths_kv,
                            .heads = a.num_heads,
                            .key_heads = a.num_key_value_heads,
                            .scale = a.scale_value,
                            .before = a.pre_tokens,
                            .after = a.next_tokens,
                            .layout = a.input_layout,
                            .sparse = a.sparse_mode,
                            .out = a.out});
}

void IncreFlashAttentionV4(Plan& plan, DType, const IncreFlashAttentionV4Arguments& a) {
  RefuseGiven(plan, {&a.dequant_scale1, &a.quant_scale1, &a.dequant_scale2, &a.quant_scale2, &a.quant_offset2,
                     &a.kv_padding_size});
  PlanInferAttention(plan, {.query = a.query,
                            .key = OnlyOne(plan, a.key),
                            .value = OnlyOne(plan, a.value),
                            .shift = a.pse_shift,
                            .forbidden = a.atten_mask,
                            .pages = a.block_table,
                            .of_both = {&a.antiquant_scale, &a.antiquant_offset, 0},
                            .key_lengths = a.actual_seq_lengths,
                            .heads = a.num_heads,
                            .key_heads = a.num_key_value_heads,
                            .scale = a.scale_value,
                            .layout = a.input_layout,
                            .page_rows = a.block_size,
                            .out = a.out});
}

}  // namespace kernels
}  // namespace belay::ops
