// SPDX-License-Identifier: Apache-2.0
// The vision transformer against transformers and PyTorch: logits, loss, gradients, ten updates.
#include <gtest/gtest.h>

#include "tare/nn/models/vit.h"
#include "tare/optim/adamw.h"

#include "tests/nn/golden_gpt2.h"

namespace tare::nn {
namespace {

using test::golden_path;
using test::relative_l2;
using test::relative_max;

class GoldenVit : public testing::TestWithParam<DType> {
 protected:
  bool f64() const { return GetParam() == DType::f64; }
  std::unique_ptr<Vit> model() const {
    return Vit::from_pretrained(golden_path("vit/model"), {GetParam(), kCpu});
  }
};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenVit, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// Keys of all queries moved alike change no weight of attention: this gradient is rounding alone.
bool is_without_gradient(const std::string& name) { return name.ends_with("key.bias"); }

TEST_P(GoldenVit, LogitsAreThoseOfTransformers) {
  const auto vit = model();
  const SafetensorsFile batch(golden_path("vit/batch.safetensors"));
  const Tensor logits = vit->forward(batch.tensor("images").to(GetParam())).value();
  EXPECT_EQ(logits.shape(), (Shape{3, 7}));
  EXPECT_LE(relative_max(logits, batch.tensor("logits.f64")), f64() ? 1e-13 : 1e-5);
}

TEST_P(GoldenVit, LossAndEveryGradientAreThoseOfPyTorch) {
  const auto vit = model();
  const SafetensorsFile batch(golden_path("vit/batch.safetensors"));
  const SafetensorsFile grads(golden_path("vit/grads_f64.safetensors"));
  const LossSum loss = vit->loss(batch.tensor("images").to(GetParam()), batch.tensor("labels"), 1.0 / 3);
  EXPECT_EQ(loss.count, 3);
  EXPECT_NEAR(loss.sum.value().item<double>() / batch.tensor("loss.f64").item<double>(), 1,
              f64() ? 1e-13 : 1e-6);
  backward(loss.sum);
  size_t compared = 0;
  for (const auto& [name, var] : vit->named_parameters()) {
    const Tensor got = var->grad(), want = grads.tensor(name);
    ASSERT_TRUE(got.defined()) << name;
    if (is_without_gradient(name)) {
      for (const double g : got.to_vector<double>()) EXPECT_NEAR(g, 0, f64() ? 1e-14 : 1e-6) << name;
    } else {
      EXPECT_LE(relative_l2(got, want), f64() ? 1e-12 : 2e-5) << name;
    }
    ++compared;
  }
  EXPECT_EQ(compared, grads.entries().size());
}

TEST_P(GoldenVit, TenUpdatesAgreeWithPyTorch) {
  const SafetensorsFile inputs(golden_path("vit/trace_inputs.safetensors"));
  const SafetensorsFile expected(golden_path("vit/adamw_f64.safetensors"));
  const auto losses = expected.tensor("loss").to_vector<double>(),
             norms = expected.tensor("grad_norm").to_vector<double>(),
             rates = expected.tensor("lr").to_vector<double>();
  const auto vit = model();
  std::vector<optim::ParamGroup> groups;
  for (const ParameterGroup& g : vit->parameter_groups()) groups.push_back({g.parameters, g.name == "decay"});
  optim::AdamW optimizer(groups, {.lr = 2e-3, .weight_decay = 0.05});
  optimizer.set_schedule({.shape = ScheduleShape::cosine, .peak = 2e-3, .warmup = 3, .total = 10});
  for (int64_t k = 0; k < 10; ++k) {
    const LossSum loss = vit->loss(inputs.tensor("images").select(0, k).to(GetParam()),
                                   inputs.tensor("labels").select(0, k), 1.0 / 3);
    backward(loss.sum);
    const optim::StepReport report = optimizer.step({.max_grad_norm = 1}).wait();
    optimizer.zero_grad();
    const double tolerance = f64() ? 1e-11 : 1e-4;
    EXPECT_NEAR(loss.sum.value().item<double>() / losses[size_t(k)], 1, tolerance) << "update " << k;
    EXPECT_NEAR(report.grad_norm / norms[size_t(k)], 1, tolerance) << "update " << k;
    EXPECT_NEAR(report.learning_rate / rates[size_t(k)], 1, 1e-6) << "update " << k;
  }
  size_t compared = 0;
  for (const auto& [name, var] : vit->named_parameters()) {
    ++compared;
    if (is_without_gradient(name)) continue;  // AdamW scales rounding up to full updates
    EXPECT_LE(relative_l2(var->value(), expected.tensor("param." + name)), f64() ? 1e-11 : 1e-4) << name;
  }
  EXPECT_EQ(compared, 40u);
}

}  // namespace
}  // namespace tare::nn
