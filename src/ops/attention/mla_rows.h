// The rows between the products of what latent attention does before it attends.
#pragma once

#include <cstdint>
#include <span>

#include "ops/attention/latent_cache.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/scratch.h"

namespace belay::ops {

// What the tokens are projected to, normalised, and perhaps quantised row by row.
struct MlaNormBody {
  Rows down, gamma, smooth, c, step, c_out, step_out;  // the last two are what the caller sees
  double epsilon = 0;
  float by = 1;
  bool quantised = false;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const;
};

// The row of the caches that each token has.
struct MlaSlots {
  enum class Place : uint8_t { kToken, kRow, kPage };

  Place place = Place::kToken;
  Indices index, ends;
  int index_at = -1, ends_at = -1;  // ends: running sums of the tokens of sequences; else each has `each`
  int64_t tokens = 0, each = 0;

  // Throws Error where one is not in the cache.
  void Fill(const Frame& frame, const LatentCache& cache, int64_t* slots) const;

 private:
  void FillPages(std::span<const int64_t> pages, std::span<const int64_t> sums, const LatentCache& cache,
                 int64_t* slots) const;
};

// Latent parts and turned keys, to their caches.
struct MlaCacheBody {
  Rows latent, gamma, cos, sin, latent_by, key_by;  // what they are multiplied by for bytes, if at all
  LatentCache latents, keys;
  MlaSlots slots;
  Scratch<int64_t> places;
  Scratch<float> room;
  double epsilon = 0;
  float by = 1;

  void operator()(const Frame& frame) const;
};

// The heads of queries: the part without a place, perhaps quantised, and the turned one.
struct MlaQueryBody {
  Rows query, turning, cos, sin, query_out, rope_out, step_out;
  Rows latent_by;  // of a quantised query: its turned part is brought to the scale of its products with the
                   // cache
  int64_t heads = 1;
  bool quantised = false;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const;
};

}  // namespace belay::ops
