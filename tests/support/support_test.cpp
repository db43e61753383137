// SPDX-License-Identifier: Apache-2.0
// The test support tested: it must find the faults that it is there for.
#include <cmath>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/support/guarded.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

const DType kAllFloating[] = {DType::f64, DType::f32, DType::f16, DType::bf16};

TEST(Compare, accepts_one_rounding_and_refuses_spoiled_results) {
  for (DType dtype : kAllFloating) {
    const Values want = normal()(1000, 5);
    EXPECT_TRUE(is_close(rounded_to(dtype, want), want, dtype, tolerance(dtype))) << dtype;
    EXPECT_TRUE(notices_spoiling(want, dtype, tolerance(dtype))) << dtype;
    Values spoiled = want;
    spoiled[17] += rms(want);
    EXPECT_FALSE(is_close(spoiled, want, dtype, tolerance(dtype))) << dtype;
    for (double& v : spoiled = want) v *= 1 + noticed_scaling(dtype);
    EXPECT_FALSE(is_close(spoiled, want, dtype, tolerance(dtype))) << dtype;
  }
}

TEST(Compare, says_when_a_tolerance_is_too_loose_to_notice_anything) {
  const Tolerance loose = tolerance(DType::f32).looser(1e7, "to see it refused");
  EXPECT_FALSE(notices_spoiling(normal()(100, 1), DType::f32, loose));
  EXPECT_FALSE(notices_spoiling({0, 0, 0}, DType::f32, {1e60, 1e60}));
  EXPECT_TRUE(notices_spoiling({}, DType::f32, tolerance(DType::f32)));
}

TEST(Compare, nan_and_infinity_must_stand_at_the_same_places) {
  const Tolerance allowed = tolerance(DType::f32);
  EXPECT_TRUE(is_close({NAN, INFINITY, 1}, {NAN, INFINITY, 1}, DType::f32, allowed));
  EXPECT_FALSE(is_close({0, INFINITY, 1}, {NAN, INFINITY, 1}, DType::f32, allowed));
  EXPECT_FALSE(is_close({NAN, INFINITY, NAN}, {NAN, INFINITY, 1}, DType::f32, allowed));
  EXPECT_FALSE(is_close({NAN, -INFINITY, 1}, {NAN, INFINITY, 1}, DType::f32, allowed));
  EXPECT_TRUE(is_close({INFINITY}, {70000}, DType::f16, tolerance(DType::f16)));
  EXPECT_FALSE(is_close({65504}, {70000}, DType::f16, tolerance(DType::f16)));
}

TEST(Compare, integers_must_be_equal) {
  EXPECT_TRUE(is_close({1, 2}, {1, 2}, DType::i64, tolerance(DType::i64)));
  EXPECT_FALSE(is_close({1, 3}, {1, 2}, DType::i64, tolerance(DType::i64)));
  EXPECT_TRUE(notices_spoiling({0, 0}, DType::boolean, tolerance(DType::boolean)));
}

TEST(Guarded, is_aligned_or_misaligned_as_asked) {
  for (int64_t off : {0, 1, 3}) {
    Guarded g({1, 2, 3}, {3}, DType::f32, off);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(g.tensor().raw()) % 64, uintptr_t(4 * off));
    EXPECT_EQ(g.tensor().to_vector<double>(), Values({1, 2, 3}));
    EXPECT_TRUE(g.guards_intact());
    EXPECT_TRUE(g.unchanged());
  }
}

TEST(Guarded, finds_a_changed_input) {
  Guarded g({1, 2, 3}, {3}, DType::f32);
  g.tensor().mutable_data<float>()[2] = 4;
  EXPECT_TRUE(g.guards_intact());
  EXPECT_FALSE(g.unchanged());
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(Guarded, finds_writes_on_either_side) {
  for (int at : {-1, 3}) {
    Guarded g({1, 2, 3}, {3}, DType::f32);
    float* p = g.tensor().mutable_data<float>();
    asm volatile("" : "+r"(p));  // so that the compiler does not know how long the array is
    p[at] = 0;
    EXPECT_FALSE(g.guards_intact()) << at;
  }
}
#endif

TEST(Layouts, show_the_same_values_with_other_strides) {
  const Tensor t = tensor_of(normal()(24, 2), {2, 3, 4}, DType::f32);
  for (Layout layout : kLayouts) {
    const Tensor view = with_layout(t, layout);
    EXPECT_EQ(view.is_contiguous(), layout == Layout::contiguous) << name_of(layout);
    EXPECT_TRUE(same_bits(view, t)) << name_of(layout);
  }
}

OpCase doubling(std::function<void(const float*, float*, int64_t)> loop) {
  return {.name = "doubling",
          .inputs = {{"x", {33}, normal()}},
          .outputs = {{"y", {33}}},
          .run = [loop](Tensors& in,
                        Tensors& out) { loop(in[0].data<float>(), out[0].mutable_data<float>(), 33); },
          .ref = [](const Operands& a) -> std::vector<Values> {
            Values y = a.in[0];
            for (double& v : y) v *= 2;
            return {y};
          },
          .dtypes = {DType::f32}};
}

// How many expectations fail for this kernel.
int failures_of(const OpCase& row) {
  testing::TestPartResultArray failures;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
  expect_agrees_with_reference(row);
  return failures.size();
}

TEST(OpCase, accepts_a_right_kernel) {
  const OpCase right = doubling([](const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  });
  EXPECT_EQ(failures_of(right), 0);
}

TEST(OpCase, finds_a_kernel_that_forgets_its_last_element_and_one_that_writes_its_input) {
  const OpCase forgets = doubling([](const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i + 1 < n; ++i) y[i] = 2 * x[i];
  });
  EXPECT_GT(failures_of(forgets), 0);
  const OpCase writes = doubling([](const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
    const_cast<float*>(x)[4] += 1;
  });
  EXPECT_GT(failures_of(writes), 0);
}

TEST(OpCase, finds_a_tolerance_that_notices_nothing) {
  OpCase right = doubling([](const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  });
  right.loosen = 1e7;
  EXPECT_GT(failures_of(right), 0);
}

}  // namespace
}  // namespace tare::test
