// A graph as JSON text, with its constants in a block of bytes beside it.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "base/json.h"
#include "graph/ir.h"
#include "graph/om/om.h"

namespace belay::graph::om {

class Writer {
 public:
  Json Write(const ModelFile& file);
  struct Piece {
    Constant constant;
    size_t offset;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  size_t data_bytes() const { return data_bytes_; }

 private:
  Json GraphText(const Graph& graph);
  Json NodeText(const Node& node);
  Json AttributeText(const Attribute& attribute);
  Json ConstantText(const Constant& constant);

  std::vector<Piece> pieces_;
  std::unordered_map<const HostTensor*, size_t> offsets_;
  size_t data_bytes_ = 0;
};

class Reader {
 public:
  Reader(std::span<const std::byte> data, std::shared_ptr<const void> owner)
      : data_(data), owner_(std::move(owner)) {}
  // Throws Error or JsonError when the text is not what Writer writes.
  ModelFile Read(const Json& text);

 private:
  Graph ReadGraph(const Json& text, int depth);
  Node ReadNode(const Json& text, int depth);
  Attribute ReadAttribute(const Json& text, int depth);
  Constant ReadConstant(const Json& text);

  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;
};

}  // namespace belay::graph::om
