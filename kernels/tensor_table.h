// SPDX-License-Identifier: Apache-2.0
// The table of descriptors that a multi-tensor call runs over: all parameters of one dtype in one call.
#pragma once

#include <vector>

#include "tare/core/tensor.h"

namespace tare {

// One parameter with its gradient and states; pointers into its device's memory.
struct TensorEntry {
  static constexpr int kStates = 4;

  void* param = nullptr;
  const void* grad = nullptr;
  void* states[kStates] = {};  // in the order that the optimizer's kernel names; null where there is none
  int64_t* updates = nullptr;  // how many this parameter has had, in its device's memory; count_update() adds
  int64_t numel = 0;
  int64_t rows = 0, cols = 0;  // of the matrices that an optimizer factors it into; else 0
  int64_t first = 0;           // elements of the table before this one
  double lr_factor = 1;        // on the learning rate of the step
  double weight_decay = 0;

  bool operator==(const TensorEntry&) const = default;
};

// Entries as they lie in device memory, with what fronts need to know of them. The tensors behind the
// pointers must outlive the table.
class TensorTable {
 public:
  TensorTable() = default;
  // Types of the parameters, gradients and states of every entry. `first` is filled in here.
  TensorTable(std::vector<TensorEntry> entries, DType param, DType grad, DType state, Device device);

  int64_t count() const { return int64_t(host_.size()); }
  int64_t numel() const { return numel_; }
  DType param_dtype() const { return param_; }
  DType grad_dtype() const { return grad_; }
  DType state_dtype() const { return state_; }
  Device device() const { return device_; }
  const TensorEntry* entries() const;  // in device memory
  const std::vector<TensorEntry>& host() const { return host_; }

 private:
  std::vector<TensorEntry> host_;
  Tensor entries_;  // u8, workspace
  int64_t numel_ = 0;
  DType param_ = DType::f32, grad_ = DType::f32, state_ = DType::f32;
  Device device_;
};

}  // namespace tare
