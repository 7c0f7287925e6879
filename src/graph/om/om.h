// The `.om` container of Belay (docs/om.md): a graph as text and its constants as one block of aligned
// bytes, which is used where it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "graph/ir.h"

namespace belay::graph {

// Input sizes that a model was built for, chosen from when it runs.
struct Gears {
  enum Kind : uint8_t { kNone, kBatch, kImage, kDims } kind = kNone;
  std::vector<std::vector<int64_t>> values;  // one number, height and width, or one for each unknown size
};

struct ModelFile {
  Graph graph;
  Gears gears;
  std::map<std::string, std::string> options;  // with which it was built
  std::shared_ptr<const FileBytes> mapped =
      nullptr;  // the file in which the constants lie; null: they lie in memory
};

struct ModelBytes {
  std::shared_ptr<std::byte> data;
  size_t size = 0;
};

ModelBytes WriteModel(const ModelFile& file);

// These read what WriteModel wrote and throw Error for anything else, whatever the bytes are.
// Copies the file, or maps one that is larger than the setting model_copy.
ModelFile ReadModelFile(const std::string& path);
// Copies the bytes, so that the caller may free them.
ModelFile ReadModelCopy(const void* data, size_t size);

// Several models one behind the other, each at a multiple of 64: at least one.
ModelBytes WriteBundle(const std::vector<ModelFile>& models);
std::vector<ModelFile> ReadBundleFile(const std::string& path);
std::vector<ModelFile> ReadBundleCopy(const void* data, size_t size);

// In one piece: who has loaded the file goes on with the old one.
void SaveModel(const std::string& path, const void* data, size_t size);

}  // namespace belay::graph
