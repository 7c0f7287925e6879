#include "ops/attention/mla_rows.h"

#include <algorithm>

#include "base/error.h"
#include "ops/experts/experts.h"

namespace belay::ops {
namespace {

// A row times one number, or each of its own, as bytes.
void ScaleToBytes(const Frame& frame, const Rows& factors, float* values, int64_t n, float* buffer) {
  const float* by = factors.Load(frame, 0, buffer);
  const int64_t step = factors.width() == 1 ? 0 : 1;
  for (int64_t i = 0; i < n; ++i) values[i] *= by[i * step];
  RoundToBytes(values, n);
}

[[noreturn]] void FailSums(int64_t end, int64_t tokens) {
  Fail(kIndexFault, "op-length-range",
       "a sequence ends at {}, but the sequences of {} tokens end at these one by one", end, tokens);
}

}  // namespace

void MlaNormBody::operator()(const Frame& frame) const {
  const int64_t n = down.width();
  room.For(frame, [&](int64_t begin, int64_t end, float* values) {
    float *row = values + n, *factors = row + n;
    for (int64_t i = begin; i < end; ++i) {
      NormaliseLatent(down.Load(frame, i, row), gamma.Load(frame, 0, factors), n, epsilon, values);
      for (int64_t j = 0; j < n; ++j) values[j] *= by;
      if (quantised) {
        if (smooth.present()) {
          const float* more = smooth.Load(frame, 0, factors);
          for (int64_t j = 0; j < n; ++j) values[j] *= more[j];
        }
        const float each = DivideByLargest(values, n);
        RoundToBytes(values, n);
        step.Set(frame, i, 0, each);
        if (step_out.present()) step_out.Set(frame, i, 0, each);
      }
      c.Store(frame, i, values);
      if (c_out.present()) c_out.Store(frame, i, values);
    }
  });
}

void MlaSlots::Fill(const Frame& frame, const LatentCache& cache, int64_t* slots) const {
  if (place == Place::kToken) {
    for (int64_t i = 0; i < tokens; ++i) slots[i] = i;
    return;
  }
  const std::span<const int64_t> given = index.Read(frame, index_at);
  if (place == Place::kPage) {
    const auto sums = ends_at < 0 ? std::span<const int64_t>() : ends.Read(frame, ends_at);
    return FillPages(given, sums, cache, slots);
  }
  for (int64_t i = 0; i < tokens; ++i) {
    slots[i] = given[static_cast<size_t>(i)];
    if (slots[i] < 0 || slots[i] >= cache.slots()) FailSlot(slots[i], cache.slots());
  }
}

void MlaSlots::FillPages(std::span<const int64_t> pages, std::span<const int64_t> sums,
                         const LatentCache& cache, int64_t* slots) const {
  const int64_t rows = cache.rows(), page_count = cache.slots() / rows;
  const auto sequences = ends_at < 0 ? tokens / each : static_cast<int64_t>(sums.size());
  int64_t token = 0, first = 0;  // of the sequence, and its pages
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t end = ends_at < 0 ? token + each : sums[static_cast<size_t>(s)];
    if (end < token || end > tokens) FailSums(end, tokens);
    for (int64_t i = 0; i < end - token; ++i) {
      const int64_t at = first + i / rows;
      if (at >= static_cast<int64_t>(pages.size())) FailSlot(at, static_cast<int64_t>(pages.size()));
      const int64_t page = pages[static_cast<size_t>(at)];
      if (page < 0 || page >= page_count) FailSlot(page, page_count);
      slots[token + i] = page * rows + i % rows;
    }
    first += (end - token + rows - 1) / rows;
    token = end;
  }
  if (token < tokens) FailSums(token, tokens);  // some are of no sequence
}

void MlaCacheBody::operator()(const Frame& frame) const {
  const int64_t n = latents.width(), r = keys.width();
  int64_t* slot = places.At(frame);
  slots.Fill(frame, latents, slot);
  float *row = room.At(frame), *values = row + n + r, *key = values + n, *factors = key + r;
  // A slot that is named twice keeps the last, as if one core did all.
  for (int64_t i = 0; i < latent.count(); ++i) {
    const float* x = latent.Load(frame, i, row);
    NormaliseLatent(x, gamma.Load(frame, 0, factors), n, epsilon, values);
    for (int64_t j = 0; j < n; ++j) values[j] *= by;
    const float* cosines = cos.Load(frame, i, factors);
    TurnApart(x + n, cosines, sin.Load(frame, i, factors + r), r, key);
    if (latent_by.present()) ScaleToBytes(frame, latent_by, values, n, factors);
    if (key_by.present()) ScaleToBytes(frame, key_by, key, r, factors);
    latents.Store(frame, slot[i], values);
    keys.Store(frame, slot[i], key);
  }
}

void MlaQueryBody::operator()(const Frame& frame) const {
  const int64_t n = query.width(), r = rope_out.width();
  room.For(frame, [&](int64_t begin, int64_t end, float* values) {
    float *sines = values + n, *row = sines + 2 * r, *turned = row + r;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t token = i / heads;
      const float* x = query.Load(frame, i, values);
      float each = 1;
      if (quantised) {
        if (x != values) std::copy_n(x, n, values);
        each = DivideByLargest(values, n);
        RoundToBytes(values, n);
        step_out.Set(frame, i, 0, each);
        x = values;
      }
      query_out.Store(frame, i, x);
      const float* cosines = cos.Load(frame, token, sines);
      TurnApart(turning.Load(frame, i, row), cosines, sin.Load(frame, token, sines + r), r, turned);
      rope_out.Store(frame, i, turned);
      if (!quantised) continue;
      x = rope_out.Load(frame, i, row);  // as it was stored
      const float more = latent_by.At(frame, 0, 0);
      for (int64_t j = 0; j < r; ++j) turned[j] = x[j] == 0 ? 0 : x[j] * more / each;
      rope_out.Store(frame, i, turned);
    }
  });
}

}  // namespace belay::ops
