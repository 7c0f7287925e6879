// aclmdlAIPP: the parameters of dynamic AIPP for the images of a batch.
#pragma once

#include <vector>

#include "base/handle_table.h"
#include "graph/aipp/insert.h"

namespace belay::graph {

struct AippParameters {
  ops::ImageSource source;
  std::vector<ops::ImageRegion> regions;  // one for each image

  // What the network's extra input takes. Throws Error when the images do not become what the network takes.
  std::vector<std::byte> BytesFor(const AippInput& input) const;
};

extern HandleTable<AippParameters, HandleKind::kAippParameters> g_aipp_parameters;

}  // namespace belay::graph
