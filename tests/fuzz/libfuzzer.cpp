// SPDX-License-Identifier: Apache-2.0
// A libFuzzer program of the reader that TARE_FUZZED names. With --write-seeds DIR it only writes the seeds.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/fuzz/readers.h"

namespace {

const tare::test::FuzzedReader& reader() {
  static const tare::test::FuzzedReader it = tare::test::TARE_FUZZED();
  return it;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc != 3 || std::string((*argv)[1]) != "--write-seeds") return 0;
  int number = 0;
  for (const std::string& seed : reader().seeds) {
    const std::string path = std::string((*argv)[2]) + "/seed" + std::to_string(number++);
    if (!(std::ofstream(path, std::ios::binary) << seed << std::flush)) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      std::exit(1);
    }
  }
  std::exit(0);
}

// What the reader throws ends the process, which libFuzzer reports as a crash with its input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reader().run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
