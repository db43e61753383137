// SPDX-License-Identifier: Apache-2.0
#include "tare/data/byte_tokenizer.h"

#include "tare/core/error.h"

namespace tare::data {

std::vector<int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size());
  for (unsigned char byte : text) ids.push_back(byte);
  return ids;
}

std::string ByteTokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  text.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    TARE_CHECK(ids[i] >= 0 && ids[i] < kVocabSize, "ByteTokenizer: token ", i, " is ", ids[i],
               ", expected 0 to 255");
    text.push_back(char(static_cast<unsigned char>(ids[i])));
  }
  return text;
}

}  // namespace tare::data
