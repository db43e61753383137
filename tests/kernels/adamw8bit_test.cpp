// SPDX-License-Identifier: Apache-2.0
// AdamW with 8-bit moments: bit for bit and code for code against its reference.
#include "tare/kernels/adamw8bit.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/step.h"

#include "tests/ref/adamw8bit.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

using kernels::AdamW8bitArgs;
using kernels::QuantMap;

constexpr double kDecay = 0.1, kRate = 0.01;

std::vector<float> values_of(QuantMap map, bool is_signed) {
  const auto& values = kernels::code_map(map, is_signed).values;
  return {values.begin(), values.end()};
}

// One tensor with its states as the optimizer makes them: zeros.
struct Coded8 {
  Tensor param, grad, m, m_absmax, v, v_absmax, count;
  AdamW8bitArgs args;

  Coded8(int64_t n, const AdamW8bitArgs& a, DType dtype = DType::f32, uint64_t seed = 1)
      : param(tensor_of(normal()(n, seed), {n}, dtype)),
        grad(Tensor::zeros({n})),
        m(Tensor::zeros({n}, {DType::u8, kCpu, {}})),
        m_absmax(Tensor::zeros({kernels::code_blocks(n, a.block)})),
        v(m.clone()),
        v_absmax(m_absmax.clone()),
        count(Tensor::zeros({1}, {DType::i64, kCpu, {}})),
        args(a) {}

  TensorEntry entry() const {
    const auto address = [](const Tensor& t) { return const_cast<void*>(t.raw()); };
    TensorEntry e;
    e.param = address(param);
    e.grad = address(grad);
    const Tensor* states[] = {&m, &m_absmax, &v, &v_absmax};
    for (size_t k = 0; k < 4; ++k) e.states[k] = address(*states[k]);
    e.updates = static_cast<int64_t*>(address(count));
    e.numel = param.numel();
    e.weight_decay = kDecay;
    return e;
  }
  TensorTable table() const { return TensorTable({entry()}, param.dtype(), DType::f32, DType::u8, kCpu); }
  void step(const StepState& state) {
    const Tensor s = kernels::make_step_state(kCpu, state);
    kernels::adamw8bit_update(table(), args, s);
    kernels::count_update(table(), s);
  }
  std::vector<const Tensor*> all() const { return {&param, &m, &m_absmax, &v, &v_absmax, &count}; }
};

void expect_same_bits(const Coded8& a, const Coded8& b, const std::string& what) {
  for (size_t k = 0; k < a.all().size(); ++k)
    EXPECT_TRUE(same_bits(*a.all()[k], *b.all()[k])) << what << " " << k;
}

StepState plain_state() {
  StepState s;
  s.learning_rate = kRate;
  return s;
}

// Of every size, with outliers, zeros and a column that is never touched.
void set_gradient(Tensor& grad, int step) {
  const int64_t n = grad.numel();
  Values values = normal()(n, uint64_t(100 + step));
  for (int64_t i = 0; i < n; ++i) {
    if (i % 97 == 0) values[size_t(i)] *= 1000;
    if (i % 13 == step % 13) values[size_t(i)] = 0;
    if (i % 5 == 0) values[size_t(i)] *= 1e-4;
    if (i % 1000 == 7) values[size_t(i)] = 0;
  }
  copy(tensor_of(values, {n}, DType::f32), grad);
}

void on_each_isa(const std::function<void(Isa)>& f) {
  const Isa before = active_isa();
  for (Isa isa : {Isa::base, Isa::v3, Isa::v4})
    if (isa <= best_isa()) {
      set_active_isa(isa);
      f(isa);
    }
  set_active_isa(before);
}

const AdamW8bitArgs kVariants[] = {
    {.beta2 = 0.99},
    {.beta2 = 0.99, .block = 128},
    {.beta2 = 0.99, .map = QuantMap::symmetric, .map_sq = QuantMap::zero_free}};

TEST(AdamW8bitUpdate, fifty_steps_equal_the_reference_code_for_code_and_bit_for_bit) {
  for (const AdamW8bitArgs& args : kVariants)
    for (int64_t n : {4095, 4096, 4097}) {
      Coded8 start(n, args);
      std::vector<float> p = start.param.to_vector<float>();
      ref::CodedMoment m{std::vector<uint8_t>(size_t(n)),
                         std::vector<float>(start.m_absmax.to_vector<float>())};
      ref::CodedMoment v = m;
      const ref::Coded coded{values_of(args.map, true), values_of(args.map_sq, false), size_t(args.block)};
      std::vector<Coded8> on_isa;
      on_each_isa([&](Isa) { on_isa.emplace_back(n, args); });
      for (int step = 0; step < 50; ++step) {
        set_gradient(start.grad, step);
        ref::adamw8bit<float>(p, m, v, start.grad.to_vector<float>(), step + 1,
                              {kRate, args.beta1, args.beta2, args.eps, kDecay}, coded);
        on_each_isa([&](Isa isa) {
          Coded8& got = on_isa[size_t(isa)];
          copy(start.grad, got.grad);
          got.step(plain_state());
          const std::string what = detail::concat(name_of(isa), " n ", n, " step ", step);
          ASSERT_EQ(got.m.to_vector<uint8_t>(), m.codes) << what;
          ASSERT_EQ(got.v.to_vector<uint8_t>(), v.codes) << what;
          ASSERT_EQ(got.m_absmax.to_vector<float>(), m.absmax) << what;
          ASSERT_EQ(got.v_absmax.to_vector<float>(), v.absmax) << what;
          ASSERT_EQ(got.param.to_vector<float>(), p) << what;
        });
      }
    }
}

// The nearest threshold to a scaled number, as a share of it.
double distance_to_threshold(const kernels::CodeMap& map, double x) {
  double best = 1;
  for (int n = 1; n < map.levels; ++n) {
    const double t = map.thresholds[size_t(n)];
    best = std::min(best, std::fabs(std::fabs(x) - t) / t);
  }
  return best;
}

TEST(AdamW8bitUpdate, each_step_has_the_codes_of_f64_but_within_rounding_of_a_threshold) {
  const AdamW8bitArgs args = kVariants[0];
  const auto &m_map = kernels::code_map(args.map, true), &v_map = kernels::code_map(args.map_sq, false);
  const ref::Coded coded{values_of(args.map, true), values_of(args.map_sq, false), size_t(args.block)};
  Coded8 got(4097, args);
  int64_t codes = 0, differ = 0;
  for (int step = 0; step < 50; ++step) {
    set_gradient(got.grad, step);
    const auto before = got.param.to_vector<float>();
    std::vector<double> p(before.begin(), before.end());
    ref::CodedMoment m{got.m.to_vector<uint8_t>(), got.m_absmax.to_vector<float>()},
        v{got.v.to_vector<uint8_t>(), got.v_absmax.to_vector<float>()};
    ref::adamw8bit<double>(p, m, v, got.grad.to_vector<float>(), step + 1,
                           {kRate, args.beta1, args.beta2, args.eps, kDecay}, coded);
    got.step(plain_state());
    for (size_t i = 0; i < p.size(); ++i) {
      codes += 2;
      if (got.m.data<uint8_t>()[i] != m.codes[i]) {
        EXPECT_LE(distance_to_threshold(m_map, m.scaled[i]), 1e-5) << step << " " << i, ++differ;
      }
      if (got.v.data<uint8_t>()[i] != v.codes[i]) {
        EXPECT_LE(distance_to_threshold(v_map, v.scaled[i]), 1e-6) << step << " " << i, ++differ;
      }
      const double scale = std::max({1.0, std::fabs(p[i]), std::fabs(double(before[i]))});
      EXPECT_NEAR(got.param.data<float>()[i], p[i], 1e-5 * scale);
    }
  }
  EXPECT_LE(differ * 10000, codes);
}

TEST(AdamW8bitUpdate, half_parameters_are_rounded_once_and_have_the_states_of_f32_ones) {
  for (DType dtype : {DType::bf16, DType::f16}) {
    Coded8 half(1000, {}, dtype), full(1000, {});
    for (int step = 0; step < 5; ++step) {
      set_gradient(half.grad, step);
      copy(half.grad, full.grad);
      copy(half.param.to(DType::f32), full.param);
      half.step(plain_state());
      full.step(plain_state());
      EXPECT_TRUE(same_bits(half.param, full.param.to(dtype))) << dtype;
      EXPECT_TRUE(same_bits(half.m, full.m));
      EXPECT_TRUE(same_bits(half.v_absmax, full.v_absmax));
    }
  }
}

TEST(AdamW8bitUpdate, neither_threads_nor_company_change_bits) {
  const int before = num_threads();
  for (const AdamW8bitArgs& args : {AdamW8bitArgs{}, AdamW8bitArgs{.block = 4096}}) {
    std::vector<Coded8> alone, together[3];
    const auto fill = [&](std::vector<Coded8>& list) {
      for (int64_t n : {1, 20011, 3, 65, 40001, 4096, 100, 16384}) {
        list.emplace_back(n, args, DType::f32, uint64_t(n));
        set_gradient(list.back().grad, int(n));
      }
    };
    set_num_threads(1);
    fill(alone);
    for (Coded8& one : alone)
      for (int step = 0; step < 3; ++step) one.step(plain_state());
    for (int threads = 1; threads <= 3; ++threads) {
      set_num_threads(threads);
      auto& list = together[threads - 1];
      fill(list);
      std::vector<TensorEntry> entries;
      for (const Coded8& one : list) entries.push_back(one.entry());
      const TensorTable table(entries, DType::f32, DType::f32, DType::u8, kCpu);
      const Tensor s = kernels::make_step_state(kCpu, plain_state());
      for (int step = 0; step < 3; ++step) {
        kernels::adamw8bit_update(table, args, s);
        kernels::count_update(table, s);
      }
      for (size_t i = 0; i < list.size(); ++i)
        expect_same_bits(list[i], alone[i],
                         std::to_string(threads) + " threads, tensor " + std::to_string(i));
    }
  }
  set_num_threads(before);
}

TEST(AdamW8bitUpdate, found_inf_changes_nothing) {
  Coded8 touched(5000, {}), untouched(5000, {});
  for (Coded8* one : {&touched, &untouched}) {
    set_gradient(one->grad, 0);
    one->step(plain_state());
  }
  StepState s = plain_state();
  s.found_inf = 1;
  touched.step(s);
  expect_same_bits(touched, untouched, "");
}

TEST(AdamW8bitUpdate, clip_and_loss_scale_of_powers_of_two_leave_no_trace) {
  Coded8 plain(5000, {}), scaled(5000, {});
  set_gradient(plain.grad, 0);
  copy(plain.grad, scaled.grad);
  auto* g = scaled.grad.mutable_data<float>();
  for (int64_t i = 0; i < 5000; ++i) g[i] *= 16;
  plain.step(plain_state());
  StepState s = plain_state();
  s.clip_coefficient = 0.5;
  s.loss_scale = 8;
  scaled.step(s);
  expect_same_bits(plain, scaled, "");
}

TEST(AdamW8bitUpdate, blocks_without_gradient_stay_zero_and_move_nothing) {
  for (const AdamW8bitArgs& args : kVariants)
    on_each_isa([&](Isa) {
      Coded8 one(1024, args);
      const Tensor before = one.param.clone();
      auto* g = one.grad.mutable_data<float>();
      g[0] = 1;
      for (int64_t i = 512; i < 1024; ++i) g[i] = 1e-30f;  // its square is a denormal or 0
      StepState s = plain_state();
      TensorEntry e = one.entry();
      e.weight_decay = 0;
      const TensorTable table({e}, DType::f32, DType::f32, DType::u8, kCpu);
      for (int step = 0; step < 3; ++step)
        kernels::adamw8bit_update(table, args, kernels::make_step_state(kCpu, s));
      for (int64_t i = 0; i < 512; ++i) {
        EXPECT_EQ(one.param.data<float>()[i] == before.data<float>()[i], i != 0) << i;
        if (i > 0) {
          EXPECT_EQ(one.m.data<uint8_t>()[i], 127) << i;
        }
      }
      for (float absmax : one.v_absmax.to_vector<float>())
        EXPECT_TRUE(absmax == 0 || absmax >= 0x1p-126f) << absmax;
      for (float p : one.param.to_vector<float>()) EXPECT_TRUE(std::isfinite(p));
    });
}

TEST(AdamW8bitUpdate, a_square_that_overflows_stays_finite) {
  on_each_isa([&](Isa) {
    Coded8 one(512, {});
    auto* g = one.grad.mutable_data<float>();
    for (int64_t i = 0; i < 512; ++i) g[i] = i == 3 ? -3e38f : i == 5 ? 1e30f : 1;
    for (int step = 0; step < 3; ++step) {
      one.step(plain_state());
      for (float p : one.param.to_vector<float>()) ASSERT_TRUE(std::isfinite(p));
      for (const Tensor* absmax : {&one.m_absmax, &one.v_absmax})
        for (float x : absmax->to_vector<float>()) ASSERT_TRUE(std::isfinite(x));
    }
    EXPECT_EQ(one.v.data<uint8_t>()[3], 255);
    EXPECT_EQ(one.v.data<uint8_t>()[5], 255);
  });
}

TEST(AdamW8bitUpdate, what_cannot_be_is_an_error) {
  const Coded8 one(64, {});
  const Tensor s = kernels::make_step_state(kCpu);
  const auto update = [&](const AdamW8bitArgs& args) { kernels::adamw8bit_update(one.table(), args, s); };
  EXPECT_ERROR(update({.block = 100}), "block 100");
  EXPECT_ERROR(update({.map = QuantMap::zero_free}), "exp_avg_sq");
  EXPECT_ERROR(update({.map_sq = QuantMap::symmetric}), "exp_avg");
  const auto with = [&](DType param, DType grad, DType state) {
    kernels::adamw8bit_update(TensorTable({one.entry()}, param, grad, state, kCpu), {}, s);
  };
  EXPECT_ERROR(with(DType::f64, DType::f64, DType::u8), "f64");
  EXPECT_ERROR(with(DType::f32, DType::f32, DType::f32), "states are f32, expected u8");
  EXPECT_ERROR(with(DType::f32, DType::bf16, DType::u8), "gradients are bf16");
  TensorEntry e = one.entry();
  e.states[3] = nullptr;
  EXPECT_ERROR(kernels::adamw8bit_update(TensorTable({e}, DType::f32, DType::f32, DType::u8, kCpu), {}, s),
               "lacks a pointer");
}

}  // namespace
}  // namespace tare::test
