// SPDX-License-Identifier: Apache-2.0
#include "tests/support/guarded.h"

#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define TARE_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TARE_TEST_ASAN 1
#endif
#endif
#ifdef TARE_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace tare::test {

Guarded::Guarded(const Shape& shape, DType dtype, int64_t misalign) : bytes_(shape.numel() * size_of(dtype)) {
  const int64_t before = kGuardBytes + misalign * size_of(dtype);
  memory_.assign(size_t(64 + before + bytes_ + kGuardBytes), 0xff);
  const auto address = reinterpret_cast<uintptr_t>(memory_.data());
  data_ = memory_.data() + (64 - address % 64) % 64 + before;
  original_.assign(data_, data_ + bytes_);
  tensor_ = Tensor::from_blob(data_, shape, dtype);
  allow_access(false);
}

Guarded::Guarded(const Values& values, const Shape& shape, DType dtype, int64_t misalign)
    : Guarded(shape, dtype, misalign) {
  const Tensor source = Tensor::from_vector(values, shape).to(dtype);
  if (bytes_ > 0) std::memcpy(data_, source.raw(), size_t(bytes_));
  original_.assign(data_, data_ + bytes_);
}

Guarded::~Guarded() { allow_access(true); }

void Guarded::allow_access([[maybe_unused]] bool allowed) const {
#ifdef TARE_TEST_ASAN
  const unsigned char* end = memory_.data() + memory_.size();
  if (allowed) {
    ASAN_UNPOISON_MEMORY_REGION(memory_.data(), memory_.size());
  } else {
    ASAN_POISON_MEMORY_REGION(memory_.data(), size_t(data_ - memory_.data()));
    ASAN_POISON_MEMORY_REGION(data_ + bytes_, size_t(end - data_ - bytes_));
  }
#endif
}

::testing::AssertionResult Guarded::guards_intact() const {
  allow_access(true);
  ptrdiff_t touched = -1;
  for (size_t i = 0; i < memory_.size() && touched < 0; ++i) {
    const ptrdiff_t at = memory_.data() + i - data_;
    if ((at < 0 || at >= bytes_) && memory_[i] != 0xff) touched = ptrdiff_t(i);
  }
  allow_access(false);
  if (touched < 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "wrote byte " << memory_.data() + touched - data_ << " of a tensor of " << bytes_ << " bytes";
}

::testing::AssertionResult Guarded::unchanged() const {
  if (bytes_ == 0 || std::memcmp(data_, original_.data(), size_t(bytes_)) == 0)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "an input " << tensor_.dtype() << tensor_.shape() << " was written";
}

}  // namespace tare::test
