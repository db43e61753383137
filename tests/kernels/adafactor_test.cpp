// SPDX-License-Identifier: Apache-2.0
// Adafactor of many tensors in one call against its reference: matrices and stacks of them that reach over
// pieces, vectors, rows and columns alone.
#include "tare/kernels/adafactor.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/step.h"

#include "tests/ref/adafactor.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

using kernels::AdafactorArgs;
using kernels::AdafactorRate;

constexpr double kRate = 0.02, kDecay = 0.1, kClip = 0.5, kScale = 8;

struct Size {
  int64_t matrices, rows, cols;  // rows 0: cols elements that are not factored
  int64_t numel() const { return rows == 0 ? cols : matrices * rows * cols; }
};

// Pieces have at most 2^16 elements: the first and the last three have several.
const Size kSizes[] = {{1, 900, 513}, {1, 0, 1},     {1, 5, 9},     {6, 4, 3},      {1, 1, 1},
                       {1, 1, 40},    {1, 70, 1},    {1, 0, 7},     {1, 0, 0},      {2, 3, 0},
                       {1, 2, 1500},  {700, 16, 48}, {3, 300, 701}, {1, 0, 300'000}};

const AdafactorArgs kVariants[] = {
    {},
    {.rate = AdafactorRate::warmup, .scale_parameter = false, .clip_threshold = 0.4, .decay_rate = -0.6},
    {.rate = AdafactorRate::given, .eps1 = 1e-4, .eps2 = 3, .beta1 = 0.9},
    {.rate = AdafactorRate::capped, .clamp_variance = true, .eps1 = 1e-3, .decay_by_step = false}};

struct Factored {
  DType dtype, wide;
  AdafactorArgs args;
  std::vector<Tensor> params, grads, rows, cols, moments;
  Tensor counts = Tensor::zeros({std::ssize(kSizes)}, {DType::i64, kCpu, {}});

  Factored(const AdafactorArgs& a, DType type)
      : dtype(type), wide(type == DType::f64 ? type : DType::f32), args(a) {
    const auto zeros = [&](int64_t n) { return Tensor::zeros({n}, {wide, kCpu, {}}); };
    for (const Size& s : kSizes) {
      const int64_t n = s.numel();
      params.push_back(tensor_of(normal(0, 0.1)(n, uint64_t(params.size())), {n}, dtype));
      grads.push_back(zeros(n));
      rows.push_back(zeros(s.rows == 0 ? n : s.matrices * s.rows));
      cols.push_back(zeros(s.matrices * s.cols));
      moments.push_back(zeros(n));
    }
  }

  // Sizes of rows and columns that differ by orders of magnitude, some never touched, as the reference's.
  void set_gradients(int step) {
    for (size_t k = 0; k < grads.size(); ++k) {
      const Size& s = kSizes[k];
      Values values = normal(0.3)(s.numel(), uint64_t(100 * step) + k);
      for (int64_t i = 0; i < s.numel(); ++i) {
        const int64_t row = s.rows == 0 ? i : i / s.cols, col = s.rows == 0 ? 0 : i % s.cols;
        values[size_t(i)] *= row % 5 == 3 ? 0 : std::pow(10.0, double(row % 4 - 2 + col % 3));
      }
      copy(tensor_of(values, {s.numel()}, wide), grads[k]);
    }
  }

  TensorTable table() const {
    const auto address = [](const Tensor& t) { return const_cast<void*>(t.raw()); };
    std::vector<TensorEntry> entries;
    for (size_t k = 0; k < params.size(); ++k) {
      const bool whole = kSizes[k].rows == 0;
      TensorEntry e;
      e.param = address(params[k]);
      e.grad = address(grads[k]);
      e.states[0] = address(rows[k]);
      if (!whole) e.states[1] = address(cols[k]);
      if (args.beta1 != 0) e.states[whole ? 1 : 2] = address(moments[k]);
      e.updates = static_cast<int64_t*>(address(counts)) + k;
      e.numel = kSizes[k].numel();
      if (e.numel > 0 && !whole) e.rows = kSizes[k].rows, e.cols = kSizes[k].cols;
      e.lr_factor = k % 2 == 0 ? 1 : 0.5;
      e.weight_decay = k % 3 == 0 ? kDecay : 0;
      entries.push_back(e);
    }
    return TensorTable(entries, dtype, wide, wide, kCpu);
  }

  void step(bool found_inf = false, double clip_coefficient = kClip) {
    StepState s;
    s.learning_rate = kRate;
    s.clip_coefficient = clip_coefficient;
    s.loss_scale = kScale;
    s.found_inf = found_inf;
    const Tensor state = kernels::make_step_state(kCpu, s);
    const TensorTable entries = table();
    Tensor scratch = Tensor::full({kernels::adafactor_scratch_bytes(entries)}, 0xff, {DType::u8, kCpu, {}});
    kernels::adafactor_update(entries, args, scratch, state);
    kernels::count_update(entries, state);
  }

  std::vector<Tensor> all() const {
    std::vector<Tensor> list = params;
    for (const auto* part : {&rows, &cols, &moments}) list.insert(list.end(), part->begin(), part->end());
    return list;
  }
};

void expect_same_bits(const Factored& a, const Factored& b, const std::string& what) {
  for (size_t k = 0; k < a.all().size(); ++k)
    EXPECT_TRUE(same_bits(a.all()[k], b.all()[k])) << what << " " << k;
}

// The reference beside the kernel for a few steps.
void expect_reference(Factored& got, int steps, double tolerance, const std::string& what) {
  std::vector<ref::AdafactorTensor> want;
  for (size_t k = 0; k < got.params.size(); ++k)
    want.push_back({size_t(kSizes[k].rows), size_t(kSizes[k].cols), got.params[k].to_vector<double>(),
                    got.rows[k].to_vector<double>(), got.cols[k].to_vector<double>(),
                    got.moments[k].to_vector<double>()});
  for (int t = 1; t <= steps; ++t) {
    got.set_gradients(t);
    got.step();
    for (size_t k = 0; k < want.size(); ++k) {
      if (want[k].p.empty()) continue;
      Values g = got.grads[k].to_vector<double>();
      for (double& x : g) x *= kClip / kScale;
      ref::adafactor(want[k], g, got.args, kRate * (k % 2 == 0 ? 1 : 0.5), k % 3 == 0 ? kDecay : 0, t);
      const std::string at = detail::concat(what, " tensor ", k, " step ", t);
      EXPECT_LE(relative_l2(got.params[k].to_vector<double>(), want[k].p), tolerance) << at;
      EXPECT_LE(relative_l2(got.rows[k].to_vector<double>(), want[k].row), tolerance) << at;
      EXPECT_LE(relative_l2(got.cols[k].to_vector<double>(), want[k].col), tolerance) << at;
      EXPECT_LE(relative_l2(got.moments[k].to_vector<double>(), want[k].moment), tolerance) << at;
    }
  }
}

TEST(AdafactorUpdate, follows_the_reference_in_every_variant) {
  for (const AdafactorArgs& args : kVariants) {
    const std::string variant = detail::concat("variant ", &args - kVariants);
    Factored wide(args, DType::f64);
    expect_reference(wide, 3, 1e-12, variant + " f64");
  }
}

TEST(AdafactorUpdate, each_instruction_set_follows_the_reference) {
  const Isa before = active_isa();
  for (Isa isa : {Isa::base, Isa::v3, Isa::v4}) {
    if (isa > best_isa()) continue;
    set_active_isa(isa);
    for (const AdafactorArgs& args : kVariants) {
      Factored single(args, DType::f32);
      expect_reference(single, 2, 1e-6, detail::concat(name_of(isa), " variant ", &args - kVariants));
    }
  }
  set_active_isa(before);
}

TEST(AdafactorUpdate, half_parameters_are_rounded_once_and_have_the_states_of_f32_ones) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Factored half(kVariants[3], dtype), full(kVariants[3], DType::f32);
    for (size_t k = 0; k < half.params.size(); ++k) copy(half.params[k].to(DType::f32), full.params[k]);
    half.set_gradients(1);
    full.set_gradients(1);
    half.step();
    full.step();
    for (size_t k = 0; k < half.params.size(); ++k) {
      EXPECT_TRUE(same_bits(half.rows[k], full.rows[k])) << dtype << k;
      // RMS(p) is summed in another order: a rounding may fall to the other side.
      EXPECT_LE(relative_l2(half.params[k], full.params[k].to(dtype)), 1e-4) << dtype << k;
    }
  }
}

// Squares of the gradients as they are would overflow f32; those of the clipped ones do not.
TEST(AdafactorUpdate, gradients_that_clipping_makes_small_are_squared_after_it) {
  for (const AdafactorArgs& args : {kVariants[0], kVariants[3]}) {
    Factored small(args, DType::f32), large(args, DType::f32);
    small.set_gradients(1);
    large.set_gradients(1);
    for (Tensor& g : large.grads) {
      Values values = g.to_vector<double>();
      for (double& x : values) x *= 0x1p80;
      copy(tensor_of(values, g.shape(), DType::f32), g);
    }
    small.step();
    large.step(/*found_inf=*/false, /*clip_coefficient=*/kClip * 0x1p-80);
    expect_same_bits(small, large, "scaled by 2^80, tensor");
  }
}

TEST(AdafactorUpdate, threads_do_not_change_bits) {
  const int before = num_threads();
  Factored one(kVariants[2], DType::f32), several(kVariants[2], DType::f32);
  for (int t = 1; t <= 2; ++t) {
    one.set_gradients(t);
    several.set_gradients(t);
    set_num_threads(1);
    one.step();
    set_num_threads(5);
    several.step();
  }
  set_num_threads(before);
  expect_same_bits(one, several, "1 and 5 threads, tensor");
}

TEST(AdafactorUpdate, a_skipped_step_changes_nothing) {
  Factored a(kVariants[2], DType::f32), b(kVariants[2], DType::f32);
  a.set_gradients(1);
  a.step(/*found_inf=*/true);
  expect_same_bits(a, b, "tensor");
}

TEST(AdafactorUpdate, what_does_not_fit_is_an_error_that_names_it) {
  const Factored f({}, DType::f32);
  const Tensor state = kernels::make_step_state(kCpu, {});
  Tensor small = Tensor::zeros({8}, {DType::u8, kCpu, {}});
  EXPECT_ERROR(kernels::adafactor_update(f.table(), {}, small, state), "scratch has 8 bytes, expected ");
  std::vector<TensorEntry> entries = f.table().host();
  const auto run = [&](const AdafactorArgs& args) {
    const TensorTable table(entries, DType::f32, DType::f32, DType::f32, kCpu);
    Tensor scratch = Tensor::zeros({kernels::adafactor_scratch_bytes(table)}, {DType::u8, kCpu, {}});
    kernels::adafactor_update(table, args, scratch, state);
  };
  EXPECT_ERROR(run({.beta1 = 0.9}), "entry 0 of the table lacks a pointer");
  entries[2].rows = 4;
  EXPECT_ERROR(run({}), "entry 2 of 45 elements is not made of matrices (4, 9)");
  entries[2].rows = 0;
  EXPECT_ERROR(run({}), "entry 2 of 45 elements is not made of matrices (0, 9)");
}

}  // namespace
}  // namespace tare::test
