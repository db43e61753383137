// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/tensor_table.h"

namespace tare {

TensorTable::TensorTable(std::vector<TensorEntry> entries, DType param, DType grad, DType state,
                         Device device)
    : host_(std::move(entries)), param_(param), grad_(grad), state_(state), device_(device) {
  for (TensorEntry& entry : host_) {
    entry.first = numel_;
    numel_ += entry.numel;
  }
  const int64_t bytes = count() * int64_t(sizeof(TensorEntry));
  entries_ = Tensor::empty({bytes}, {DType::u8, device, Category::workspace});
  if (bytes > 0) copy(Tensor::from_blob(host_.data(), {bytes}, DType::u8), entries_);
}

const TensorEntry* TensorTable::entries() const {
  return reinterpret_cast<const TensorEntry*>(entries_.data<uint8_t>());
}

}  // namespace tare
