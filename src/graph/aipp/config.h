// The configuration of AIPP: what `--insert_op_conf` names. A file holds blocks `aipp_op { key: value ... }`,
// in the text form of protobuf, one for each input that is preprocessed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/image/aipp.h"

namespace belay::graph {

struct AippConfig {
  bool dynamic = false;
  int32_t related_input = 0;    // which input of the network
  std::string related_name;     // or which by name
  int32_t max_image_bytes = 0;  // of a dynamic one: of all images of a batch together
  ops::ImageSource source;
  ops::ImageRegion region;
  bool resize = false, single_line = false;  // read, to be refused with a sentence
};

// `what` names the text in messages. Throws Error that says line and key.
std::vector<AippConfig> ParseAipp(std::string_view text, const std::string& what);
std::vector<AippConfig> ReadAippFile(const std::string& path);

// One block that is read as the same again.
std::string AippText(const AippConfig& config);

}  // namespace belay::graph
