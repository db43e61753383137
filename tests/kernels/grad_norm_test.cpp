// SPDX-License-Identifier: Apache-2.0
// The global gradient norm: value, pieces, elements that are not finite, loss scale.
#include "tare/kernels/grad_norm.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/step.h"

#include "tests/ref/optim.h"
#include "tests/support/guarded.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TensorTable table_of(const std::vector<Tensor>& grads) {
  std::vector<TensorEntry> entries;
  for (const Tensor& g : grads) {
    TensorEntry e;
    e.grad = g.raw();
    e.numel = g.numel();
    entries.push_back(e);
  }
  return TensorTable(entries, DType::f32, grads[0].dtype(), DType::f32, kCpu);
}

void add_norm(const std::vector<Tensor>& grads, int64_t first_index, Tensor& step) {
  const TensorTable table = table_of(grads);
  Tensor scratch = Tensor::empty({kernels::grad_norm_scratch_bytes(table)}, {DType::u8, kCpu, {}});
  kernels::grad_norm(table, first_index, scratch, step);
}

StepState norm_of(const std::vector<Tensor>& grads, double max_norm = 0, const StepState& initial = {}) {
  Tensor step = kernels::make_step_state(kCpu, initial);
  add_norm(grads, 0, step);
  kernels::finish_grad_norm(max_norm, step);
  return kernels::read_step_state(step);
}

TEST(GradNorm, agrees_with_the_reference_in_every_dtype_and_instruction_set) {
  const Isa before = active_isa();
  for (Isa isa : {Isa::base, Isa::v3, Isa::v4}) {
    if (isa > best_isa()) continue;
    set_active_isa(isa);
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      std::vector<Tensor> grads;
      std::vector<Values> values;
      uint64_t seed = 3;
      for (int64_t n : {0, 1, 7, 63, 64, 1023, 1024, 1025, 4099, 65536, 65537, 140001}) {
        values.push_back(rounded_to(dtype, normal(0.1, 1)(n, seed++)));
        grads.push_back(tensor_of(values.back(), {n}, dtype));
        const double one = norm_of({grads.back()}).grad_norm;
        EXPECT_NEAR(one, ref::global_norm<double>({values.back()}), 1e-6 * one) << n << " of " << dtype;
      }
      const StepState s = norm_of(grads);
      const double want = ref::global_norm(values);
      EXPECT_NEAR(std::sqrt(s.grad_norm_sq), want, want * (dtype == DType::f64 ? 1e-13 : 3e-7)) << dtype;
      EXPECT_EQ(s.found_inf, 0);
      EXPECT_EQ(s.first_nonfinite, -1);
    }
  }
  set_active_isa(before);
}

TEST(GradNorm, threads_do_not_change_bits) {
  const int before = num_threads();
  std::vector<Tensor> grads;
  for (int64_t n : {200003, 5, 70000}) grads.push_back(tensor_of(normal()(n, uint64_t(n)), {n}, DType::f32));
  set_num_threads(1);
  const double one = norm_of(grads).grad_norm_sq;
  for (int threads : {2, 3}) {
    set_num_threads(threads);
    EXPECT_EQ(norm_of(grads).grad_norm_sq, one) << threads;
  }
  set_num_threads(before);
}

TEST(GradNorm, reads_nothing_beyond_the_gradients) {
  for (int64_t n : {1, 17, 1025}) {
    Guarded g(normal()(n, 5), {n}, DType::f32, 1);  // NaN on both sides
    EXPECT_TRUE(std::isfinite(norm_of({g.tensor()}).grad_norm)) << n;
    EXPECT_TRUE(g.unchanged());
  }
}

TEST(GradNorm, one_element_that_is_not_finite_is_found_wherever_it_stands) {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (double bad : {kInf, -kInf, std::nan("")})
      for (int64_t at : {0, 1023, 1024, 65536, 70000}) {
        Values values = normal()(70001, 1);
        values[size_t(at)] = bad;
        const Tensor good = tensor_of(normal()(100, 2), {100}, dtype);
        const StepState s = norm_of({good, tensor_of(values, {70001}, dtype), good});
        EXPECT_NE(s.found_inf, 0) << dtype << " " << bad << " at " << at;
        EXPECT_EQ(s.first_nonfinite, 1) << dtype << " " << bad << " at " << at;
      }
}

TEST(GradNorm, the_first_of_several_bad_tensors_is_named_over_several_tables) {
  const Tensor good = Tensor::full({3}, 1), bad = Tensor::full({3}, kInf);
  Tensor step = kernels::make_step_state(kCpu);
  add_norm({good, good}, 0, step);
  add_norm({good, bad, bad}, 2, step);
  add_norm({bad}, 5, step);
  const StepState s = kernels::read_step_state(step);
  EXPECT_NE(s.found_inf, 0);
  EXPECT_EQ(s.first_nonfinite, 3);
}

TEST(GradNorm, tables_add_up) {
  const Tensor a = Tensor::full({4}, 2), b = Tensor::full({5}, 3, {DType::f64, kCpu, {}});
  Tensor step = kernels::make_step_state(kCpu);
  add_norm({a}, 0, step);
  add_norm({b}, 1, step);
  kernels::finish_grad_norm(0, step);
  EXPECT_EQ(kernels::read_step_state(step).grad_norm_sq, 16 + 45);
}

TEST(GradNorm, large_values_are_finite) {
  for (double large : {1e19, 1e30, 3e38}) {
    const StepState s = norm_of({Tensor::full({2000}, large)});
    EXPECT_EQ(s.found_inf, 0) << large;
    EXPECT_NEAR(std::sqrt(s.grad_norm_sq) / (large * std::sqrt(2000.0)), 1, 1e-6) << large;
  }
}

// No element is infinite and no piece overflows, but the sum of all does: without a norm there is no update.
TEST(GradNorm, a_sum_of_squares_beyond_f64_is_found) {
  const Tensor small = Tensor::full({3}, 1, {DType::f64, kCpu, {}}),
               large = Tensor::full({4 * kernels::kNormPiece}, 3e151, {DType::f64, kCpu, {}});
  EXPECT_EQ(norm_of({small, large.slice(0, 0, kernels::kNormPiece)}).found_inf, 0);
  const StepState s = norm_of({small, large, small});
  EXPECT_NE(s.found_inf, 0);
  EXPECT_EQ(s.first_nonfinite, 1);
}

TEST(GradNorm, is_that_of_the_unscaled_gradients) {
  StepState initial;
  initial.loss_scale = 1024;
  const StepState s = norm_of({Tensor::full({16}, 1024 * 3)}, 6, initial);
  EXPECT_EQ(s.grad_norm, 12);
  EXPECT_EQ(s.clip_coefficient, 6 / (12 + 1e-6));
}

TEST(GradNorm, clips_above_the_limit_only) {
  const Tensor g = Tensor::from_vector<float>({3, 4}, {2});
  EXPECT_EQ(norm_of({g}, 0).clip_coefficient, 1);
  EXPECT_EQ(norm_of({g}, 5.5).clip_coefficient, 1);
  EXPECT_EQ(norm_of({g}, 1).clip_coefficient, 1 / (5 + 1e-6));
  EXPECT_EQ(norm_of({Tensor::zeros({2})}, 1).clip_coefficient, 1);
}

}  // namespace
}  // namespace tare::test
