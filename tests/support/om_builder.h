// Writes `.om` files as docs/om.md describes them, without the library.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace om_builder {

inline uint64_t Checksum(const std::string& bytes) {
  uint64_t sum = 0xcbf29ce484222325 ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    sum ^= sum >> 29;
  }
  for (; i < bytes.size(); ++i) sum = (sum ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  return sum;
}

// A file with this text and these constants.
inline std::string File(const std::string& text, const std::string& data = "") {
  uint64_t data_offset = (128 + text.size() + 63) / 64 * 64;
  uint64_t numbers[] = {
      data_offset + data.size(), 128, text.size(), Checksum(text), data_offset, data.size(), Checksum(data)};
  std::string header = "BELAY-OM";
  uint32_t version = 1, header_bytes = 128;
  header.append(reinterpret_cast<char*>(&version), 4).append(reinterpret_cast<char*>(&header_bytes), 4);
  header.append(reinterpret_cast<char*>(numbers), sizeof numbers);
  uint64_t sum = Checksum(header);
  header.append(reinterpret_cast<char*>(&sum), 8);
  header.resize(128);
  std::string file = header + text;
  file.resize(data_offset);
  return file + data;
}

// A single operator of two f32 tensors of that shape, "[2,3]", and a result of the same.
inline std::string BinaryOp(const std::string& type, const std::string& shape) {
  std::string f32 = R"({"dtype":"f32","format":2,"shape":)" + shape + "}";
  auto input = [&](const char* name) {
    return std::string(R"({"name":")") + name + R"(","type":"Data","outputs":1,"types":[)" + f32 + "]},";
  };
  return File(R"({"graph":{"name":"op","nodes":[)" + input("x1") + input("x2") + R"({"name":"op","type":")" +
              type + R"(","outputs":1,"inputs":[[0,0],[1,0]],"types":[)" + f32 +
              R"(]}],"inputs":[0,1],"outputs":[{"name":"y","port":[2,0],"type":)" + f32 +
              R"(}]},"options":{"single_op":")" + type + "\"}}");
}

}  // namespace om_builder
