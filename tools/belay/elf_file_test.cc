#include "belay/elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <vector>

namespace belay::tool {
namespace {

std::string OwnBytes() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Has(const ElfFile& elf, const std::string& symbol, bool defined) {
  for (const ElfSymbol& s : elf.symbols) {
    if (s.name == symbol && s.defined == defined) return true;
  }
  return false;
}

TEST(ElfFile, TellsWhatTheLoaderReads) {
  std::optional<ElfFile> elf = ReadElf("/proc/self/exe");
  ASSERT_TRUE(elf.has_value());
  EXPECT_EQ(elf->machine, OwnMachine());
  EXPECT_FALSE(elf->is_library);
  EXPECT_THAT(elf->interpreter, testing::HasSubstr("/ld-linux"));
  EXPECT_THAT(elf->needed, testing::Contains("libc.so.6"));
  EXPECT_TRUE(Has(*elf, "open", false) || Has(*elf, "open64", false));
  ASSERT_EQ(elf->needed_versions.count("libc.so.6"), 1u);
  EXPECT_THAT(elf->needed_versions["libc.so.6"], testing::Contains(testing::StartsWith("GLIBC_2.")));
}

TEST(ElfFile, IsNothingForOtherFiles) {
  EXPECT_FALSE(ParseElf("").has_value());
  EXPECT_FALSE(ParseElf("#!/bin/sh\n").has_value());
  EXPECT_FALSE(ParseElf("\177ELF").has_value());
  EXPECT_FALSE(ReadElf("/").has_value());
  EXPECT_THROW(ReadElf("/no/such/file"), std::runtime_error);
}

TEST(ElfFile, ForAnotherProcessorOnlySaysSo) {
  std::string bytes = OwnBytes();
  bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_RISCV);
  std::optional<ElfFile> elf = ParseElf(bytes);
  ASSERT_TRUE(elf.has_value());
  EXPECT_EQ(elf->machine, EM_RISCV);
  EXPECT_TRUE(elf->needed.empty());
  EXPECT_EQ(MachineName(elf->machine), "RISC-V");
}

// Whatever the bytes are: an answer or an error, and nothing outside of them is read
// (AddressSanitizer would tell).
void ParseAnyhow(const std::string& bytes) {
  try {
    ParseElf(std::string_view(std::vector<char>(bytes.begin(), bytes.end()).data(), bytes.size()));
  } catch (const std::runtime_error&) {
  }
}

TEST(ElfFile, CutOffFilesAreErrors) {
  std::string bytes = OwnBytes();
  EXPECT_THROW(ParseElf(std::string_view(bytes).substr(0, 1000)), std::runtime_error);
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 200)
    ParseAnyhow(bytes.substr(0, size));
}

TEST(ElfFile, DamagedFilesAreAnswersOrErrors) {
  const std::string bytes = OwnBytes();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = bytes;
    // Where the tables are, since the rest is not read.
    size_t sections = header.e_shoff + random() % (sizeof(Elf64_Shdr) * header.e_shnum);
    for (size_t at : {sections, size_t{random() % 4096}, size_t{random() % 4096}})
      damaged[at] = static_cast<char>(random());
    ParseAnyhow(damaged);
  }
}

}  // namespace
}  // namespace belay::tool
