// SPDX-License-Identifier: Apache-2.0
// The readers of files from outside, given any bytes, and bytes to start from. ./dev fuzz runs them under
// libFuzzer, core/fuzz_seeds_test.cpp on the seeds and on small changes of them.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tare::test {

// What a reader let through and must not have.
struct ReaderFault : std::logic_error {
  using logic_error::logic_error;
};

struct FuzzedReader {
  std::string name;
  std::function<void(const std::string& bytes)> run;  // throws ReaderFault, and nothing else
  std::vector<std::string> seeds;
};

// JSON: an Error that says why, or a value that is written and read back as the same.
FuzzedReader fuzzed_json();
// Safetensors: an Error that says why, or tensors that tile the data exactly and read back byte for byte.
FuzzedReader fuzzed_safetensors();
// IDX, plain or gzip: an Error that says why, or an array that, plain, is the file's bytes.
FuzzedReader fuzzed_idx();

}  // namespace tare::test
