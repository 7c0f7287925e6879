// Rank tables: any bytes give ranks without gaps, or an error that names the file.
// With: base src/collective/environment.cc src/collective/rank_table.cc src/collective/root_info.cc
#include <string_view>

#include "base/error.h"
#include "collective/rank_table.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto table = belay::coll::ParseRankTable({reinterpret_cast<const char*>(data), size}, "the table");
    FUZZ_REQUIRE(!table.ranks.empty());
    FUZZ_REQUIRE(!table.servers.empty());
    for (const auto& rank : table.ranks) FUZZ_REQUIRE(rank.server < table.servers.size());
    FUZZ_REQUIRE(table.addresses.size() == table.servers.size());
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() == 1 || error.code() == 7);
    FUZZ_REQUIRE(error.sentence().find("the table") != std::string::npos);
  }
  return 0;
}
