#include "graph/om/om.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/codes.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/whole_file.h"
#include "graph/codes.h"
#include "graph/om/format.h"
#include "graph/om/text.h"
#include "runtime/memory.h"
#include "runtime/settings.h"

namespace belay::graph {
namespace {

using om::Header;

const char kInMemory[] = "what was given";  // as messages call it
std::string Quoted(const std::string& path) { return fmt::format("'{}'", path); }

size_t Rounded(size_t bytes) { return (bytes + om::kAlignment - 1) / om::kAlignment * om::kAlignment; }

std::shared_ptr<std::byte> Aligned(size_t bytes) {
  void* memory = std::aligned_alloc(om::kAlignment, Rounded(bytes) + om::kAlignment);
  if (memory == nullptr)
    Fail(kMemoryExhausted, "graph-memory", "a model of {} bytes does not fit in memory", bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

std::span<const std::byte> BytesOf(const void* data, size_t size) {
  return {static_cast<const std::byte*>(data), size};
}

// The header, when these bytes begin with one that holds together. `name` is what messages call them.
Header HeaderOf(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "IMOD", 4) == 0) {
    Fail(
        kModelLoad, "om-vendor",
        "this model was compiled by the vendor's atc for a card, and only a card can run it; compile the ONNX file "
        "again with Belay's atc");
  }
  Header header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), om::kMagic, sizeof om::kMagic) != 0) {
    Fail(kModelLoad, "om-magic",
         "{} ({} bytes) is no model that Belay's atc has written; give it the ONNX file to compile", name,
         bytes.size());
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version < om::kOldestVersion || header.version > om::kVersion) {
    Fail(kModelLoad, "om-version",
         "the model has version {} of the format; this Belay reads versions {} to {}. Compile it again",
         header.version, om::kOldestVersion, om::kVersion);
  }
  auto inside = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  bool whole = header.header_sum == om::Checksum(bytes.first(offsetof(Header, header_sum))) &&
               header.file_bytes <= bytes.size() && inside(header.text_offset, header.text_bytes) &&
               inside(header.data_offset, header.data_bytes) && header.data_offset % om::kAlignment == 0;
  if (!whole) {
    Fail(kModelLoad, "om-damaged", "the model is damaged or cut off: {} bytes are there, {} were written",
         bytes.size(), header.file_bytes);
  }
  return header;
}

std::shared_ptr<const FileBytes> Opened(const std::string& path) {
  std::string reason;
  auto file = ReadFileBytes(path, rt::CurrentSettings().model_copy, &reason);
  if (file == nullptr)
    Fail(codes::kGeExecModelPathInvalid, "om-file", "the model '{}' cannot be read: {}", path, reason);
  return file;
}

// The bytes lie in memory that is alive, and begin with a header that holds together.
std::shared_ptr<std::byte> Copied(const void* data, size_t size) {
  if (size != 0) rt::CheckRange(data, size, "model");
  HeaderOf(BytesOf(data, size), kInMemory);
  std::shared_ptr<std::byte> copy = Aligned(size);
  std::memcpy(copy.get(), data, size);
  return copy;
}

// Constants of the model are views of the bytes, which `owner` keeps alive and which lie at a multiple of 64.
ModelFile ReadOne(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                  const std::string& name) {
  Header header = HeaderOf(bytes, name);
  auto text = bytes.subspan(header.text_offset, header.text_bytes);
  if (om::Checksum(text) != header.text_sum) {
    Fail(kModelLoad, "om-damaged", "the model is damaged: the checksum of its description is wrong");
  }
  const char* begin = reinterpret_cast<const char*>(text.data());
  try {
    om::Reader reader(bytes.subspan(header.data_offset, header.data_bytes), std::move(owner));
    return reader.Read(Json::Parse({begin, text.size()}));
  } catch (const JsonError& error) {
    Fail(kModelLoad, "om-text", "the model is damaged: {}", error.what());
  }
}

// The same of a file. A copy may have been made while somebody wrote: its constants are checked as well.
ModelFile ReadOneOf(const std::shared_ptr<const FileBytes>& file, std::span<const std::byte> bytes,
                    const std::string& name) {
  const Header header = HeaderOf(bytes, name);
  if (!file->mapped() &&
      om::Checksum(bytes.subspan(header.data_offset, header.data_bytes)) != header.data_sum) {
    Fail(kModelLoad, "om-damaged", "the model is damaged: the checksum of its constants is wrong");
  }
  ModelFile model = ReadOne(bytes, file, name);
  if (file->mapped()) model.mapped = file;
  return model;
}

template <class ReadModel>
std::vector<ModelFile> ReadBundle(std::span<const std::byte> bytes, const std::string& name,
                                  const ReadModel& read) {
  std::vector<ModelFile> models;
  while (models.empty() || !bytes.empty()) {
    size_t size = std::min(Rounded(HeaderOf(bytes, name).file_bytes), bytes.size());
    if (size < sizeof(Header)) Fail(kModelLoad, "om-damaged", "a model of the bundle claims {} bytes", size);
    models.push_back(read(bytes.first(size)));
    bytes = bytes.subspan(size);
  }
  return models;
}

}  // namespace

ModelBytes WriteModel(const ModelFile& file) {
  om::Writer writer;
  std::string text = writer.Write(file).Dump();
  Header header{};
  std::memcpy(header.magic, om::kMagic, sizeof header.magic);
  header.version = om::kVersion;
  header.header_bytes = sizeof header;
  header.text_offset = sizeof header;
  header.text_bytes = text.size();
  header.data_offset = Rounded(sizeof header + text.size());
  header.data_bytes = writer.data_bytes();
  header.file_bytes = header.data_offset + header.data_bytes;
  ModelBytes bytes{Aligned(header.file_bytes), header.file_bytes};
  std::byte* at = bytes.data.get();
  std::memset(at, 0, header.file_bytes);
  std::memcpy(at + header.text_offset, text.data(), text.size());
  for (const auto& piece : writer.pieces()) {
    std::memcpy(at + header.data_offset + piece.offset, piece.constant->data(), piece.constant->bytes());
  }
  header.text_sum = om::Checksum({at + header.text_offset, header.text_bytes});
  header.data_sum = om::Checksum({at + header.data_offset, header.data_bytes});
  header.header_sum = om::Checksum(BytesOf(&header, offsetof(Header, header_sum)));
  std::memcpy(at, &header, sizeof header);
  return bytes;
}

ModelBytes WriteBundle(const std::vector<ModelFile>& models) {
  std::vector<ModelBytes> parts;
  size_t size = 0;
  for (const ModelFile& model : models) size += Rounded(parts.emplace_back(WriteModel(model)).size);
  ModelBytes bundle{Aligned(size), size};
  std::memset(bundle.data.get(), 0, size);
  std::byte* at = bundle.data.get();
  for (const ModelBytes& part : parts) {
    std::memcpy(at, part.data.get(), part.size);
    at += Rounded(part.size);
  }
  return bundle;
}

ModelFile ReadModelFile(const std::string& path) {
  auto file = Opened(path);
  return ReadOneOf(file, file->bytes(), Quoted(path));
}

ModelFile ReadModelCopy(const void* data, size_t size) {
  std::shared_ptr<std::byte> copy = Copied(data, size);
  return ReadOne(BytesOf(copy.get(), size), copy, kInMemory);
}

std::vector<ModelFile> ReadBundleFile(const std::string& path) {
  auto file = Opened(path);
  const std::string name = Quoted(path);
  return ReadBundle(file->bytes(), name,
                    [&](std::span<const std::byte> bytes) { return ReadOneOf(file, bytes, name); });
}

std::vector<ModelFile> ReadBundleCopy(const void* data, size_t size) {
  std::shared_ptr<std::byte> copy = Copied(data, size);
  return ReadBundle(BytesOf(copy.get(), size), kInMemory,
                    [&](std::span<const std::byte> bytes) { return ReadOne(bytes, copy, kInMemory); });
}

void SaveModel(const std::string& path, const void* data, size_t size) {
  auto failure = WriteWholeFile(path, {static_cast<const char*>(data), size}, 0640);
  if (failure)
    Fail(kFileUnwritable, "om-write", "the model cannot be written to '{}': {}", path, failure->reason);
}

}  // namespace belay::graph
