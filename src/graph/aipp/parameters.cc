#include "graph/aipp/parameters.h"

#include <cstddef>
#include <cstring>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"

namespace belay::graph {

constinit HandleTable<AippParameters, HandleKind::kAippParameters> g_aipp_parameters;

namespace {
[[maybe_unused]] const bool g_parameters_at_fork = UnlockInChild<g_aipp_parameters>();
}  // namespace

std::vector<std::byte> AippParameters::BytesFor(const AippInput& input) const {
  const std::vector<int64_t>& f = input.features;
  if (static_cast<int64_t>(regions.size()) != f[0]) {
    Fail(codes::kInvalidParam, "aipp-batch",
         "the parameters are for {} images (aclmdlCreateAIPP); the network takes {}", regions.size(), f[0]);
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    if (auto reason = ops::WhyNot(source, regions[i], f[1], f[2], f[3]))
      Fail(codes::kInvalidParam, "aipp-image", "image {}: {}", i, *reason);
  }
  int64_t need = f[0] * ops::ImageBytes(source.format, source.h, source.w);
  if (need > input.config.max_image_bytes) {
    Fail(codes::kInvalidParam, "aipp-image",
         "the images have {} bytes, but the model was built for {} (max_src_image_size)", need,
         input.config.max_image_bytes);
  }
  ops::ImageBatch batch{ops::kImageBatchMagic, static_cast<uint32_t>(regions.size()), source, {}};
  std::vector<std::byte> bytes(ops::ImageBatchBytes(regions.size()));
  std::memcpy(bytes.data(), &batch, sizeof batch);
  std::memcpy(bytes.data() + offsetof(ops::ImageBatch, region), regions.data(),
              regions.size() * sizeof(ops::ImageRegion));
  return bytes;
}

}  // namespace belay::graph
