// SPDX-License-Identifier: Apache-2.0
// The kernels of AdamW and SGD against their references, over tables of one and of many tensors.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/core/error.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/adamw.h"
#include "tare/kernels/sgd.h"
#include "tare/kernels/step.h"

#include "tests/ref/optim.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

DType state_dtype_of(DType param) { return param == DType::f64 ? DType::f64 : DType::f32; }

void* address(const Tensor& t) { return t.device().is_meta() ? nullptr : const_cast<void*>(t.raw()); }

TensorEntry entry_of(const Tensor& param, const Tensor& grad, const Tensor& state1, const Tensor& state2,
                     double weight_decay, const Tensor& updates) {
  TensorEntry e;
  e.param = address(param);
  e.grad = address(grad);
  if (state1.defined()) e.states[0] = address(state1);
  if (state2.defined()) e.states[1] = address(state2);
  e.updates = static_cast<int64_t*>(address(updates));
  e.numel = param.numel();
  e.weight_decay = weight_decay;
  return e;
}

TensorTable table_of(std::vector<TensorEntry> entries, const Tensor& param) {
  const DType state = state_dtype_of(param.dtype());
  return TensorTable(std::move(entries), param.dtype(), state, state, param.device());
}

constexpr double kDecay = 0.1, kRate = 0.01, kClip = 0.7;
const kernels::AdamWArgs kAdam{0.9, 0.99, 1e-6};

Tensor count_of(int64_t updates, Device device = kCpu) {
  return Tensor::full({1}, double(updates), {DType::i64, device, {}});
}

// A state in the middle of a run, with a clip coefficient and a loss scale. f64 must not see them in f32.
StepState mid_run(int64_t update) {
  StepState s;
  s.update = update;
  s.learning_rate = kRate;
  s.clip_coefficient = kClip;
  s.loss_scale = 8;
  return s;
}

OpCase adamw_row(int64_t n, DType dtype, int64_t update) {
  const DType state = state_dtype_of(dtype);
  return {.name = "adamw_" + std::to_string(n) + "_" + std::string(name_of(dtype)) + "_update" +
                  std::to_string(update),
          .inputs = {{"grad", {n}, normal(0, 4), state}},
          .outputs = {{"param", {n}, normal()},
                      {"exp_avg", {n}, normal(0, 0.5), state},
                      {"exp_avg_sq", {n}, uniform(0, 2), state}},
          .run =
              [=](Tensors& in, Tensors& out) {
                const Tensor count = count_of(update, in[0].device());
                const auto table = table_of({entry_of(out[0], in[0], out[1], out[2], kDecay, count)}, out[0]);
                const Tensor step = kernels::make_step_state(in[0].device(), mid_run(update));
                kernels::adamw_update(table, kAdam, step);
              },
          .ref = [=](const Operands& a) -> std::vector<Values> {
            Values p = a.before[0], m = a.before[1], v = a.before[2], g = a.in[0];
            for (double& x : g) x *= kClip / 8;
            ref::adamw(p, m, v, g, update + 1, {kRate, kAdam.beta1, kAdam.beta2, kAdam.eps, kDecay});
            return {p, m, v};
          },
          .dtypes = {dtype},
          .flops = 15.0 * double(n)};
}

OpCase sgd_row(int64_t n, DType dtype, int64_t update, const kernels::SgdArgs& args) {
  const DType state = state_dtype_of(dtype);
  const bool momentum = args.momentum != 0;
  OpCase row{
      .name = "sgd_" + std::to_string(n) + "_" + std::string(name_of(dtype)) + "_update" +
              std::to_string(update) +
              (args.nesterov         ? "_nesterov"
               : args.dampening != 0 ? "_dampened"
               : momentum            ? "_momentum"
                                     : ""),
      .inputs = {{"grad", {n}, normal(0, 4), state}},
      .outputs = {{"param", {n}, normal()}},
      .run =
          [=](Tensors& in, Tensors& out) {
            const Tensor count = count_of(update, in[0].device());
            const auto table =
                table_of({entry_of(out[0], in[0], momentum ? out[1] : Tensor(), {}, kDecay, count)}, out[0]);
            const Tensor step = kernels::make_step_state(in[0].device(), mid_run(update));
            kernels::sgd_update(table, args, step);
          },
      .ref = [=](const Operands& a) -> std::vector<Values> {
        Values p = a.before[0], buffer = momentum ? a.before[1] : Values(p.size()), g = a.in[0];
        for (double& x : g) x *= kClip / 8;
        ref::sgd(p, buffer, g, update + 1, {kRate, args.momentum, args.dampening, kDecay, args.nesterov});
        return momentum ? std::vector<Values>{p, buffer} : std::vector<Values>{p};
      },
      .dtypes = {dtype},
      .flops = (momentum ? 8.0 : 5.0) * double(n)};
  if (momentum) row.outputs.push_back({"momentum_buffer", {n}, normal(), state});
  return row;
}

std::vector<OpCase> update_cases() {
  std::vector<OpCase> rows;
  const kernels::SgdArgs plain, momentum{0.9}, dampened{0.9, 0.5}, nesterov{0.9, 0, true};
  for (DType dtype : kFloating) {
    for (int64_t n : {0, 1, 7, 16, 33, 130}) rows.push_back(adamw_row(n, dtype, 4));
    rows.push_back(adamw_row(50003, dtype, 0));
    for (const auto& args : {plain, momentum, dampened, nesterov})
      for (auto [n, update] : {std::pair<int64_t, int64_t>{0, 3}, {33, 0}, {33, 3}, {50003, 3}})
        rows.push_back(sgd_row(n, dtype, update, args));
  }
  return rows;
}

TARE_TEST_OP_CASES(Update, update_cases());

// Tensors of odd sizes, some empty, each with its own weight decay and count of updates.
struct ManyTensors {
  std::vector<Tensor> params, grads, exp_avgs, exp_avg_sqs, counts;
  std::vector<TensorEntry> entries;

  explicit ManyTensors(DType dtype = DType::f32) {
    uint64_t seed = 1;
    for (int64_t n : {0, 1, 20011, 0, 3, 65, 40001, 2, 77, 0}) {
      const DType state = state_dtype_of(dtype);
      params.push_back(tensor_of(normal()(n, seed++), {n}, dtype));
      grads.push_back(tensor_of(normal()(n, seed++), {n}, state));
      exp_avgs.push_back(tensor_of(normal()(n, seed++), {n}, state));
      exp_avg_sqs.push_back(tensor_of(uniform(0, 1)(n, seed++), {n}, state));
      const size_t i = entries.size();
      counts.push_back(count_of(5 - int64_t(i % 3)));
      entries.push_back(
          entry_of(params[i], grads[i], exp_avgs[i], exp_avg_sqs[i], 0.01 * double(i), counts[i]));
      entries[i].lr_factor = 1 + 0.5 * double(i % 2);
    }
  }
  TensorTable table() const { return table_of(entries, params[0]); }
};

void expect_same_bits(const ManyTensors& a, const ManyTensors& b) {
  for (size_t i = 0; i < a.params.size(); ++i) {
    EXPECT_TRUE(same_bits(a.params[i], b.params[i])) << i;
    EXPECT_TRUE(same_bits(a.exp_avgs[i], b.exp_avgs[i])) << i;
    EXPECT_TRUE(same_bits(a.exp_avg_sqs[i], b.exp_avg_sqs[i])) << i;
    EXPECT_TRUE(same_bits(a.counts[i], b.counts[i])) << i;
  }
}

TEST(AdamWUpdate, a_table_of_many_tensors_gives_what_each_alone_gives) {
  const ManyTensors together, apart;
  const Tensor step = kernels::make_step_state(kCpu, mid_run(5));
  kernels::adamw_update(together.table(), kAdam, step);
  for (size_t i = 0; i < apart.entries.size(); ++i)
    kernels::adamw_update(table_of({apart.entries[i]}, apart.params[i]), kAdam, step);
  expect_same_bits(together, apart);
}

TEST(AdamWUpdate, threads_do_not_change_bits) {
  const int before = num_threads();
  const Tensor step = kernels::make_step_state(kCpu, mid_run(5));
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    set_num_threads(1);
    const ManyTensors one(dtype);
    kernels::adamw_update(one.table(), kAdam, step);
    for (int threads : {2, 3}) {
      set_num_threads(threads);
      const ManyTensors many(dtype);
      kernels::adamw_update(many.table(), kAdam, step);
      expect_same_bits(one, many);
    }
  }
  set_num_threads(before);
}

TEST(AdamWUpdate, found_inf_changes_nothing) {
  StepState s = mid_run(5);
  for (int32_t found : {1, 2, -1}) {  // a sum over ranks may be more than 1
    s.found_inf = found;
    const ManyTensors touched, untouched;
    Tensor step = kernels::make_step_state(kCpu, s);
    kernels::adamw_update(touched.table(), kAdam, step);
    kernels::sgd_update(touched.table(), {0.9}, step);
    kernels::count_update(touched.table(), step);
    expect_same_bits(touched, untouched);
    kernels::end_step(step);
    EXPECT_EQ(kernels::read_step_state(step).update, 5);
  }
}

TEST(AdamWUpdate, an_update_is_counted_for_the_tensors_of_the_table_alone) {
  const ManyTensors many;
  Tensor step = kernels::make_step_state(kCpu, mid_run(5));
  kernels::count_update(table_of({many.entries[2], many.entries[0]}, many.params[0]), step);
  for (size_t i = 0; i < many.counts.size(); ++i)
    EXPECT_EQ(many.counts[i].item<int64_t>(), 5 - int64_t(i % 3) + (i == 0 || i == 2 ? 1 : 0)) << i;
  EXPECT_EQ(kernels::read_step_state(step).update, 5);
  kernels::end_step(step);
  EXPECT_EQ(kernels::read_step_state(step).update, 6);
}

TEST(AdamWUpdate, a_loss_scale_of_a_power_of_two_leaves_no_trace) {
  StepState s = mid_run(0);
  s.clip_coefficient = 1;
  s.loss_scale = 1;
  const ManyTensors plain, scaled;
  kernels::adamw_update(plain.table(), kAdam, kernels::make_step_state(kCpu, s));
  s.loss_scale = 1024;
  for (const Tensor& grad : scaled.grads) {
    auto* g = const_cast<float*>(grad.data<float>());
    for (int64_t i = 0; i < grad.numel(); ++i) g[i] *= 1024;
  }
  kernels::adamw_update(scaled.table(), kAdam, kernels::make_step_state(kCpu, s));
  expect_same_bits(plain, scaled);
}

TEST(AdamWUpdate, decay_acts_on_the_old_parameter) {
  Tensor p = Tensor::full({1}, 2, {DType::f64, kCpu, {}}), m = Tensor::zeros({1}, {DType::f64, kCpu, {}});
  Tensor v = m.clone();
  const Tensor g = Tensor::full({1}, 3, {DType::f64, kCpu, {}}), count = count_of(0);
  StepState s;
  s.learning_rate = 0.5;
  kernels::adamw_update(table_of({entry_of(p, g, m, v, 0.25, count)}, p), {0.9, 0.99, 0},
                        kernels::make_step_state(kCpu, s));
  EXPECT_NEAR(p.item<double>(), 2 * (1 - 0.5 * 0.25) - 0.5, 1e-12);  // first step: m_hat / sqrt(v_hat) = 1
}

TEST(AdamWUpdate, a_zero_gradient_from_zero_states_moves_nothing) {
  Tensor p = Tensor::full({37}, 2), m = Tensor::zeros({37}), v = Tensor::zeros({37});
  const Tensor g = Tensor::zeros({37}), count = count_of(0);
  kernels::adamw_update(table_of({entry_of(p, g, m, v, 0, count)}, p), {},
                        kernels::make_step_state(kCpu, mid_run(0)));
  EXPECT_TRUE(same_bits(p, Tensor::full({37}, 2)));
}

TEST(UpdateKernels, wrong_dtypes_and_missing_pointers_are_errors) {
  const Tensor p = Tensor::zeros({2}, {DType::bf16, kCpu, {}}),
               g = Tensor::zeros({2}, {DType::bf16, kCpu, {}});
  const Tensor m = Tensor::zeros({2}), count = count_of(0);
  const Tensor step = kernels::make_step_state(kCpu);
  const TensorTable half({entry_of(p, g, m, m, 0, count)}, DType::bf16, DType::bf16, DType::f32, kCpu);
  EXPECT_THROW(kernels::adamw_update(half, {}, step), Error);
  const Tensor q = Tensor::zeros({2});
  const TensorTable no_state = table_of({entry_of(q, m, {}, {}, 0, count)}, q);
  kernels::sgd_update(no_state, {}, step);
  EXPECT_THROW(kernels::adamw_update(table_of({entry_of(q, m, m, {}, 0, count)}, q), {}, step), Error);
  EXPECT_THROW(kernels::sgd_update(no_state, {0.9}, step), Error);
  EXPECT_THROW(kernels::sgd_update(no_state, {0, 0, true}, step), Error);
  TensorEntry uncounted = entry_of(q, m, {}, {}, 0, count);
  uncounted.updates = nullptr;
  EXPECT_THROW(kernels::sgd_update(table_of({uncounted}, q), {}, step), Error);
}

}  // namespace
}  // namespace tare::test
