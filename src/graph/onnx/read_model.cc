#include "graph/onnx/read_model.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/library.h"
#include "base/mapped_file.h"
#include "base/number.h"
#include "base/whole_file.h"
#include "graph/codes.h"
#include "graph/onnx/reader/reader.h"
#include "tensor/convert.h"

namespace belay::graph::onnx {
namespace {

struct Reader {
  decltype(&belay_read_onnx) model = nullptr;
  decltype(&belay_read_onnx_tensor) tensor = nullptr;
  std::string reason;
};

const Reader& TheReader() {
  static const Reader reader = [] {
    constexpr size_t kRoom = size_t{16} << 20;
    Reader found;
    if (void* library = LoadBeside("libbelay_onnx.so", SymbolsOf::kLibraryFirst, kRoom, &found.reason)) {
      found.model = reinterpret_cast<decltype(found.model)>(dlsym(library, "belay_read_onnx"));
      found.tensor = reinterpret_cast<decltype(found.tensor)>(dlsym(library, "belay_read_onnx_tensor"));
    }
    return found;
  }();
  if (reader.model == nullptr || reader.tensor == nullptr) {
    Fail(kUnsupported, "onnx-reader",
         "ONNX models cannot be read, because libbelay_onnx.so was not found: {}", reader.reason);
  }
  return reader;
}

uint64_t Number(const TensorData& data, const char* key, uint64_t missing) {
  auto it = data.external.find(key);
  if (it == data.external.end()) return missing;
  const auto value = NumberIn<uint64_t>(it->second);
  if (!value) {
    Fail(kFileCorrupt, "onnx-external", "tensor '{}': '{}' is no {} of external data", data.name, it->second,
         key);
  }
  return *value;
}

// No path leads out of the model's folder.
std::string SafePath(const TensorData& data, const std::string& folder) {
  auto named = data.external.find("location");
  std::filesystem::path location = named == data.external.end() ? std::string() : named->second;
  auto clean = location.lexically_normal();
  bool inside =
      !location.empty() && !location.is_absolute() && clean.begin() != clean.end() && *clean.begin() != "..";
  if (folder.empty() || !inside) {
    Fail(
        kFileCorrupt, "onnx-external-path",
        "tensor '{}' lies in the external file '{}'; only files beside a model that is read from a file are used",
        data.name, location.string());
  }
  std::error_code error;
  auto root = std::filesystem::weakly_canonical(folder, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  auto target = std::filesystem::weakly_canonical(root / clean, error);
  if (error == std::errc::not_enough_memory) throw std::bad_alloc();
  auto [end, ignored] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (error || end != root.end()) {
    Fail(
        kFileCorrupt, "onnx-external-path",
        "tensor '{}': the external file '{}' leads out of the model's folder; where it is a link, as in a cache "
        "of downloads, copy the folder with 'cp -rL'",
        data.name, location.string());
  }
  return target.string();
}

Constant External(const TensorData& data, DType dtype, const Shape& shape, const std::string& folder) {
  const std::string path = SafePath(data, folder);
  uint64_t offset = Number(data, "offset", 0);
  size_t bytes = PackedBytes(dtype, CountOf(shape));
  if (uint64_t length = Number(data, "length", bytes); length != bytes) {
    Fail(kFileCorrupt, "onnx-external", "tensor '{}' needs {} bytes, but its length in the file '{}' is {}",
         data.name, bytes, path, length);
  }
  std::error_code unreadable;
  const uint64_t size = std::filesystem::file_size(path, unreadable);
  if (!unreadable && (offset > size || size - offset < bytes)) {
    Fail(kFileCorrupt, "onnx-external", "tensor '{}' needs {} bytes at {} of a file that has {}", data.name,
         bytes, offset, size);
  }
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  std::string reason;
  if (unreadable || !ReadPart(path, offset, tensor->mutable_data(), bytes, &reason)) {
    Fail(kFileUnreadable, "onnx-external-file",
         "the file '{}', which holds tensors of the model, cannot be read: {}", path,
         unreadable ? unreadable.message() : reason);
  }
  return tensor;
}

Shape ShapeOf(const TensorData& data) {
  if (data.dims.size() > tensor::kMaxRank) {
    Fail(kShapeInvalid, "onnx-rank", "tensor '{}' has {} dimensions; eight are supported", data.name,
         data.dims.size());
  }
  for (int64_t size : data.dims) {
    if (size < 0) Fail(kFileCorrupt, "onnx-tensor", "tensor '{}' has a dimension of {}", data.name, size);
  }
  auto count = tensor::CheckedCount(data.dims);
  if (!count || *count > int64_t{1} << 40) {
    Fail(kFileCorrupt, "onnx-tensor", "tensor '{}' is too large", data.name);
  }
  return Shape::Of(data.dims.data(), static_cast<int>(data.dims.size()));
}

template <class T>
Constant FromList(const TensorData& data, DType dtype, const Shape& shape, DType from,
                  const std::vector<T>& items) {
  if (items.size() != static_cast<size_t>(CountOf(shape))) {
    Fail(kFileCorrupt, "onnx-tensor", "tensor '{}' has {} elements, but its shape is {}", data.name,
         items.size(), shape.ToString());
  }
  auto tensor = std::make_shared<HostTensor>(dtype, shape);
  // f16 and bf16 stand as bit patterns in the list of integers.
  if ((dtype == DType::kF16 || dtype == DType::kBF16) && from == DType::kI32) {
    for (size_t i = 0; i < items.size(); ++i) tensor->as<uint16_t>()[i] = static_cast<uint16_t>(items[i]);
  } else {
    tensor::Convert(dtype, tensor->mutable_data(), from, items.data(), static_cast<int64_t>(items.size()));
  }
  return tensor;
}

// `name` is what messages call the bytes.
ModelData Read(std::span<const char> bytes, const std::string& name) {
  ModelData model;
  if (!TheReader().model(bytes.data(), bytes.size(), &model)) {
    Fail(kFileCorrupt, "onnx-syntax", "{} ({} bytes) is no ONNX model, or a damaged one", name, bytes.size());
  }
  return model;
}

}  // namespace

std::string ReadFile(const std::string& path) {
  std::optional<std::string> bytes = ReadWholeFile(path);
  if (!bytes)
    Fail(kFileUnreadable, "model-file", "the file '{}' cannot be read: {}", path, std::strerror(errno));
  return std::move(*bytes);
}

ModelData ReadModel(std::span<const char> bytes) { return Read(bytes, "what was given"); }

ModelData ReadModelFile(const std::string& path) { return Read(ReadFile(path), fmt::format("'{}'", path)); }

DType TypeOf(int32_t element_type) {
  switch (element_type) {
    case kFloat:
      return DType::kF32;
    case kUint8:
      return DType::kU8;
    case kInt8:
      return DType::kI8;
    case kUint16:
      return DType::kU16;
    case kInt16:
      return DType::kI16;
    case kInt32:
      return DType::kI32;
    case kInt64:
      return DType::kI64;
    case kBool:
      return DType::kBool;
    case kFloat16:
      return DType::kF16;
    case kDouble:
      return DType::kF64;
    case kUint32:
      return DType::kU32;
    case kUint64:
      return DType::kU64;
    case kBFloat16:
      return DType::kBF16;
    default:
      return DType::kUndefined;
  }
}

Constant TensorOf(const TensorData& data, const std::shared_ptr<const void>& owner,
                  const std::string& folder) {
  DType dtype = TypeOf(data.type);
  if (dtype == DType::kUndefined) {
    Fail(kTypeInvalid, "onnx-type", "tensor '{}' has element type {}, which is not supported", data.name,
         data.type);
  }
  Shape shape = ShapeOf(data);
  if (!data.external.empty()) return External(data, dtype, shape, folder);
  if (!data.floats.empty()) return FromList(data, dtype, shape, DType::kF32, data.floats);
  if (!data.int32s.empty()) return FromList(data, dtype, shape, DType::kI32, data.int32s);
  if (!data.int64s.empty()) return FromList(data, dtype, shape, DType::kI64, data.int64s);
  if (!data.doubles.empty()) return FromList(data, dtype, shape, DType::kF64, data.doubles);
  if (!data.uint64s.empty()) return FromList(data, dtype, shape, DType::kU64, data.uint64s);
  if (data.raw.size() != PackedBytes(dtype, CountOf(shape))) {
    Fail(kFileCorrupt, "onnx-tensor", "tensor '{}' has {} bytes, but its shape is {}", data.name,
         data.raw.size(), shape.ToString());
  }
  bool aligned = reinterpret_cast<uintptr_t>(data.raw.data()) % 8 == 0;
  if (aligned && owner != nullptr) return std::make_shared<HostTensor>(dtype, shape, data.raw.data(), owner);
  auto copy = std::make_shared<HostTensor>(dtype, shape);
  if (!data.raw.empty()) std::memcpy(copy->mutable_data(), data.raw.data(), data.raw.size());
  return copy;
}

Constant ReadTensor(std::span<const char> bytes) {
  TensorData data;
  std::shared_ptr<const void> owner;
  if (!TheReader().tensor(bytes.data(), bytes.size(), &data, &owner)) {
    Fail(kFileCorrupt, "onnx-syntax", "these {} bytes are no ONNX tensor", bytes.size());
  }
  return TensorOf(data, owner, "");
}

}  // namespace belay::graph::onnx
