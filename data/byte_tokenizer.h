// SPDX-License-Identifier: Apache-2.0
// The tokenizer of byte-level models: one token per byte, its value the id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare::data {

class ByteTokenizer {
 public:
  static constexpr int64_t kVocabSize = 256;

  std::vector<int64_t> encode(std::string_view text) const;
  // Error on an id outside [0, 256), which names its position.
  std::string decode(const std::vector<int64_t>& ids) const;
};

}  // namespace tare::data
