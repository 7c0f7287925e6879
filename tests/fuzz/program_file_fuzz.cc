// The program that `belay run` is to start: any bytes have a kind.
// With: tools/belay/elf_file.cc tools/belay/program_file.cc
#include "belay/program_file.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::MemoryFile file(data, size);
  belay::tool::ProgramFile program = belay::tool::FindProgram(file.path());
  FUZZ_REQUIRE(program.kind != belay::tool::ProgramKind::kMissing);
  return 0;
}
