// SPDX-License-Identifier: Apache-2.0
// A tensor between guard bytes: what a kernel writes outside of it is found afterwards, what it reads outside
// is NaN (and an error at once under ASan). Its address may be off alignment by some elements.
#pragma once

#include <vector>

#include "tare/core/tensor.h"

#include "tests/support/compare.h"

namespace tare::test {

class Guarded {
 public:
  // The values, rounded to the dtype, row-major. `misalign` counts elements past a 64-byte boundary.
  Guarded(const Values& values, const Shape& shape, DType dtype, int64_t misalign = 0);
  // All bytes 0xff: NaN in floating dtypes.
  Guarded(const Shape& shape, DType dtype, int64_t misalign = 0);
  ~Guarded();
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  Tensor& tensor() { return tensor_; }  // valid as long as this object
  ::testing::AssertionResult guards_intact() const;
  // The tensor's bytes are those it was made with.
  ::testing::AssertionResult unchanged() const;

 private:
  static constexpr int64_t kGuardBytes = 256;
  void allow_access(bool allowed) const;  // ASan's view of the guards

  std::vector<unsigned char> memory_, original_;
  unsigned char* data_ = nullptr;
  int64_t bytes_ = 0;
  Tensor tensor_;
};

}  // namespace tare::test
