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

void FusedInferAttentionScoreV3(
    Plan& plan, DType, const Operand& query, const OperandList& key, const OperandList& value,
    const Operand& pseShift, const Operand& attenMask, std::span<const int64_t> actualSeqLengths,
    std::span<const int64_t> actualSeqLengthsKv, const Operand& deqScale1, const Operand& quantScale1,
    const Operand& deqScale2, const Operand& quantScale2, const Operand& quantOffset2,
    const Operand& antiquantScale, const Operand& antiquantOffset, const Operand& blockTable,
    const Operand& queryPaddingSize, const Operand& kvPaddingSize, const Operand& keyAntiquantScale,
    const Operand& keyAntiquantOffset, const Operand& valueAntiquantScale,
    const Operand& valueAntiquantOffset, const Operand& keySharedPrefix, const Operand& valueSharedPrefix,
    std::span<const int64_t> actualSharedPrefixLen, const Operand& queryRope, const Operand& keyRope,
    const Operand& keyRopeAntiquantScale, int64_t numHeads, double scaleValue, int64_t preTokens,
    int64_t nextTokens, const char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t,
    int64_t blockSize, int64_t antiquantMode, bool softmaxLseFlag, int64_t keyAntiquantMode,
    int64_t valueAntiquantMode, const Operand& out, const Operand& softmaxLse) {
  RefuseGiven(plan, {&deqScale1, &quantScale1, &deqScale2, &quantScale2, &quantOffset2, &queryPaddingSize,
                     &kvPaddingSize, &keySharedPrefix, &valueSharedPrefix, &keyRopeAntiquantScale});
  if (!actualSharedPrefixLen.empty()) RefuseInfer(plan, "shared prefixes are not there yet");
  PlanInferAttention(plan, {.query = query,
                            .key = OnlyOne(plan, key),
                            .value = OnlyOne(plan, value),
                            .shift = pseShift,
                            .forbidden = attenMask,
                            .pages = blockTable,
                            .query_rope = queryRope,
                            .key_rope = keyRope,
                            .of_both = {&antiquantScale, &antiquantOffset, antiquantMode},
                            .of_key = {&keyAntiquantScale, &keyAntiquantOffset, keyAntiquantMode},
                            .of_value = {&valueAntiquantScale, &valueAntiquantOffset, valueAntiquantMode},
                            .lengths = actualSeqLengths,
                            .key_lengths = actualSeqLengthsKv,
                            .heads = numHeads,
                            .key_heads = numKeyValueHeads,
                            .scale = scaleValue,
                            .before = preTokens,
                            .after = nextTokens,
                            .layout = inputLayout,
                            .sparse = sparseMode,
                            .page_rows = blockSize,
                            .with_sums = softmaxLseFlag,
                            .out = out,
                            .sums = softmaxLse});
}

void FusedInferAttentionScoreV4(
    Plan& plan, DType, const Operand& query, const OperandList& key, const OperandList& value,
    const Operand& pseShift, const Operand& attenMask, std::span<const int64_t> actualSeqQLen,
    std::span<const int64_t> actualSeqKvLen, const Operand& dequantScale1, const Operand& quantScale1,
    const Operand& dequantScale2, const Operand& quantScaleOut, const Operand& quantOffsetOut,
    const Operand& antiquantScale, const Operand& antiquantOffset, const Operand& blockTable,
    const Operand& queryPaddingSize, const Operand& kvPaddingSize, const Operand& dequantScaleKey,
    const Operand& dequantOffsetKey, const Operand& dequantScaleValue, const Operand& dequantOffsetValue,
    const Operand& keySharedPrefix, const Operand& valueSharedPrefix,
    std::span<const int64_t> actualSharedPrefixLen, const Operand& queryRope, const Operand& keyRope,
    const Operand& dequantScaleKeyRope, const Operand& dequantScaleQuery, const Operand& learnableSink,
    int64_t numQueryHeads, double softmaxScale, int64_t preTokens, int64_t nextTokens,
    const char* inputLayout, int64_t numKeyValueHeads, int64_t sparseMode, int64_t, int64_t blockSize,
    int64_t antiquantMode, bool returnSoftmaxLse, int64_t keyQuantMode, int64_t valueQuantMode, int64_t,
    const Operand& out, const Operand& softmaxLse) {
  RefuseGiven(
      plan, {&dequantScale1, &quantScale1, &dequantScale2, &quantScaleOut, &quantOffsetOut, &queryPaddingSize,
             &kvPaddingSize, &keySharedPrefix, &valueSharedPrefix, &dequantScaleKeyRope, &dequantScaleQuery});
  if (!actualSharedPrefixLen.empty()) RefuseInfer(plan, "shared prefixes are not there yet");
  PlanInferAttention(plan, {.query = query,
                            .key = OnlyOne(plan, key),
                            .value = OnlyOne(plan, value),
                            .shift = pseShift,
                            .forbidden = attenMask,
                            .pages = blockTable,
                            .query_rope = queryRope,
                            .key_rope = keyRope,
                            .sink = learnableSink,
                            .of_both = {&antiquantScale, &antiquantOffset, antiquantMode},
                            .of_key = {&dequantScaleKey, &dequantOffsetKey, keyQuantMode},
                            .of_value = {&dequantScaleValue, &dequantOffsetValue, valueQuantMode},
                            .lengths = actualSeqQLen,
                            .key_lengths = actualSeqKvLen,
                            .heads = numQueryHeads,
                            .key_heads = numKeyValueHeads,
                            .scale = softmaxScale,
                            .before = preTokens,
                            .after = nextTokens,
                            .layout = inputLayout,
                            .sparse = sparseMode,
                            .page_rows = blockSize,
                            .with_sums = returnSoftmaxLse,
                            .out = out,
                            .sums = softmaxLse});
}

void PromptFlashAttentionV3(Plan& plan, DType, const Operand& query, const Operand& key, const Operand& value,
                            const Operand& pseShift, const Operand& attenMask,
                            std::span<const int64_t> actualSeqLengths,
                            std::span<const int64_t> actualSeqLengthsKv, const Operand& deqScale1,
                            const Operand& quantScale1, const Operand& deqScale2, const Operand& quantScale2,
                            const Operand& quantOffset2, int64_t numHeads, double scaleValue,
                            int64_t preTokens, int64_t nextTokens, const char* inputLayout,
                            int64_t numKeyValueHeads, int64_t sparseMode, int64_t, const Operand& out) {
  RefuseGiven(plan, {&deqScale1, &quantScale1, &deqScale2, &quantScale2, &quantOffset2});
  PlanInferAttention(plan, {.query = query,
                            .key = key,
                            .value = value,
                            .shift = pseShift,
                            .forbidden = attenMask,
                            .lengths = actualSeqLengths,
                            .key_lengths = actualSeqLengthsKv,
                            .heads = numHeads,
                            .key_heads = numKeyValueHeads,
                            .scale = scaleValue,
                            .before = preTokens,
                            .after = nextTokens,
                            .layout = inputLayout,
                            .sparse = sparseMode,
                            .out = out});
}

void IncreFlashAttentionV4(Plan& plan, DType, const Operand& query, const OperandList& key,
                           const OperandList& value, const Operand& pseShift, const Operand& attenMask,
                           std::span<const int64_t> actualSeqLengths, const Operand& dequantScale1,
                           const Operand& quantScale1, const Operand& dequantScale2,
                           const Operand& quantScale2, const Operand& quantOffset2,
                           const Operand& antiquantScale, const Operand& antiquantOffset,
                           const Operand& blockTable, const Operand& kvPaddingSize, int64_t numHeads,
                           double scaleValue, const char* inputLayout, int64_t numKeyValueHeads,
                           int64_t blockSize, int64_t, const Operand& out) {
  RefuseGiven(plan,
              {&dequantScale1, &quantScale1, &dequantScale2, &quantScale2, &quantOffset2, &kvPaddingSize});
  PlanInferAttention(plan, {.query = query,
                            .key = OnlyOne(plan, key),
                            .value = OnlyOne(plan, value),
                            .shift = pseShift,
                            .forbidden = attenMask,
                            .pages = blockTable,
                            .of_both = {&antiquantScale, &antiquantOffset, 0},
                            .key_lengths = actualSeqLengths,
                            .heads = numHeads,
                            .key_heads = numKeyValueHeads,
                            .scale = scaleValue,
                            .layout = inputLayout,
                            .page_rows = blockSize,
                            .out = out});
}

}  // namespace kernels
}  // namespace belay::ops
