// SPDX-License-Identifier: Apache-2.0
// Whole runs: state bytes of GPT-2, saving to files in mid-run, skipped steps, dtypes side by side.
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "tare/core/safetensors.h"
#include "tare/optim/factory.h"

#include "tests/support/compare.h"
#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::optim {
namespace {

using test::same_bits;

const char* const kOptimizers[] = {"adamw:lr=0.02,weight_decay=0.1",
                                   "sgd:lr=0.02",
                                   "sgd:lr=0.02,momentum=0.9",
                                   "sgd:lr=0.02,momentum=0.9,dampening=0.5",
                                   "sgd:lr=0.02,momentum=0.9,nesterov=true,weight_decay=0.1",
                                   "adamw8bit:lr=0.02,block=32,min_8bit_size=9,32bit=half",
                                   "adafactor:weight_decay=0.1",
                                   "adafactor:lr=0.02,beta1=0.9,scale_parameter=false",
                                   "adafactor:preset=torch,weight_decay=0.1"};

void set_gradient(Var& p, const Tensor& gradient) {
  p.zero_grad();
  backward(p, {.seed = gradient});
}

// Parameters of several dtypes and odd sizes; "late" gets its first gradient in step 3, "rare" every other
// step.
struct Model {
  Vars params;

  Model() {
    const auto add = [&](const char* name, const Shape& shape, DType dtype) {
      params.push_back(Var::parameter(Tensor::randn(shape, params.size() + 1, {dtype, kCpu, {}}), name));
    };
    add("weight", {5, 13}, DType::f32);
    add("late", {7}, DType::f32);
    add("rare", {3, 3}, DType::f32);
    add("wide", {11}, DType::f64);
    add("narrow", {2, 9}, DType::bf16);
    add("half", {17}, DType::f16);
    add("empty", {0}, DType::f32);
  }
  std::vector<ParamGroup> groups() const {
    return {{{params[0], params[2], params[4]}, true}, {{params[1], params[3], params[5], params[6]}, false}};
  }
  void gradients(int step) {
    for (size_t i = 0; i < params.size(); ++i) {
      params[i].zero_grad();
      if ((params[i].name() == "late" && step < 3) || (params[i].name() == "rare" && step % 2 == 1)) continue;
      const uint64_t seed = 100 * uint64_t(step + 1) + i;
      set_gradient(params[i], Tensor::randn(params[i].shape(), seed, {params[i].dtype(), kCpu, {}}));
    }
  }
  void copy_from(const Model& other) {
    for (size_t i = 0; i < params.size(); ++i) copy(other.params[i].value(), params[i].mutable_value());
  }
};

void expect_same_bits(const Model& a, const Model& b, const std::string& what) {
  for (size_t i = 0; i < a.params.size(); ++i)
    EXPECT_TRUE(same_bits(a.params[i].value(), b.params[i].value())) << what << " " << a.params[i].name();
}

const LrSchedule kSchedule{ScheduleShape::cosine, WarmupForm::overlapping, 0.02, 0, 3, 10};

// The shapes of GPT-2 with the head tied to the token embeddings: 148 tensors.
Vars gpt2_on_meta() {
  Vars params;
  const auto add = [&](const std::string& name, const Shape& shape) {
    params.push_back(Var::parameter(Tensor::empty(shape, {DType::f32, kMeta, {}}), name));
  };
  add("wte", {50257, 768});
  add("wpe", {1024, 768});
  for (int layer = 0; layer < 12; ++layer) {
    const std::string h = "h." + std::to_string(layer) + ".";
    for (const char* norm : {"ln_1", "ln_2"}) {
      add(h + norm + ".weight", {768});
      add(h + norm + ".bias", {768});
    }
    for (auto [name, in, out] : {std::tuple<const char*, int64_t, int64_t>{"attn.c_attn", 768, 2304},
                                 {"attn.c_proj", 768, 768},
                                 {"mlp.c_fc", 768, 3072},
                                 {"mlp.c_proj", 3072, 768}}) {
      add(h + name + ".weight", {in, out});
      add(h + name + ".bias", {out});
    }
  }
  add("ln_f.weight", {768});
  add("ln_f.bias", {768});
  return params;
}

TEST(StateBytes, of_gpt2_are_predicted_and_charged_to_the_byte) {
  Vars params = gpt2_on_meta();
  EXPECT_EQ(params.size(), 148u);
  const auto held = [] { return ledger(kMeta).current()[size_t(Category::optimizer_state)]; };
  const int64_t before = held();
  for (auto [text, bytes] : {std::pair<const char*, int64_t>{"adamw", 995'518'464},
                             {"sgd:momentum=0.9", 497'759'232},
                             {"sgd", 0}}) {
    const auto optimizer = make_optimizer(text, {{params, true}});
    EXPECT_EQ(optimizer->state_bytes(), bytes) << text;
    EXPECT_EQ(held() - before, 0) << text;
    for (int step = 0; step < 2; ++step) {
      for (Var& p : params) set_gradient(p, Tensor::empty(p.shape(), {DType::f32, kMeta, {}}));
      optimizer->step();
      EXPECT_EQ(held() - before, bytes) << text;
    }
  }
  EXPECT_EQ(held(), before);
}

TEST(Run, saved_to_a_file_in_mid_run_it_goes_on_bit_for_bit) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tare_run_test_" + std::to_string(getpid()) + ".safetensors");
  for (const char* text : kOptimizers)
    for (int cut : {1, 2, 4}) {
      Model straight, first, resumed;
      const auto a = make_optimizer(text, straight.groups()), b = make_optimizer(text, first.groups()),
                 c = make_optimizer(text, resumed.groups());
      for (Optimizer* o : {a.get(), b.get(), c.get()}) o->set_schedule(kSchedule);
      for (int step = 0; step < 8; ++step) {
        straight.gradients(step);
        const StepReport want = a->step({.max_grad_norm = 1}).wait();
        if (step == cut) {
          save_safetensors(path, b->state(), b->metadata());
          const SafetensorsFile file(path);
          NamedTensors state;
          for (const SafetensorsEntry& e : file.entries()) state.emplace_back(e.name, file.tensor(e.name));
          c->load(state, file.metadata());
          resumed.copy_from(first);
        }
        Model& model = step < cut ? first : resumed;
        model.gradients(step);
        const StepReport got = (step < cut ? b : c)->step({.max_grad_norm = 1}).wait();
        EXPECT_EQ(got.update, want.update);
        EXPECT_EQ(got.learning_rate, want.learning_rate);
        EXPECT_EQ(got.grad_norm, want.grad_norm);
      }
      expect_same_bits(straight, resumed, std::string(text) + " cut at " + std::to_string(cut));
      const auto left = a->state(), right = c->state();
      ASSERT_EQ(left.size(), right.size());
      for (size_t i = 0; i < left.size(); ++i)
        EXPECT_TRUE(same_bits(left[i].second, right[i].second)) << left[i].first;
      EXPECT_EQ(a->metadata(), c->metadata());
    }
  std::filesystem::remove(path);
}

TEST(Run, a_skipped_step_leaves_no_trace) {
  for (const char* text : kOptimizers) {
    Model plain, interrupted;
    std::vector<StepHandle> handles;
    const auto a = make_optimizer(text, plain.groups()), b = make_optimizer(text, interrupted.groups());
    for (Optimizer* o : {a.get(), b.get()}) o->set_schedule(kSchedule);
    for (int step = 0; step < 6; ++step) {
      if (step == 0 || step == 4) {  // before the states exist, and after
        interrupted.gradients(step);
        Var& victim = interrupted.params[4];
        set_gradient(victim, Tensor::full(victim.shape(), std::numeric_limits<double>::quiet_NaN(),
                                          {victim.dtype(), kCpu, {}}));
        const StepHandle handle = b->step({.max_grad_norm = 1, .nonfinite = NonFinitePolicy::skip});
        if (step == 4) handles.push_back(handle);  // waited for later, the other one never
      }
      plain.gradients(step);
      interrupted.gradients(step);
      a->step({.max_grad_norm = 1});
      b->step({.max_grad_norm = 1});
    }
    expect_same_bits(plain, interrupted, text);
    EXPECT_EQ(a->metadata(), b->metadata()) << text;
    const StepReport report = handles.at(0).wait();
    EXPECT_FALSE(report.stepped);
    EXPECT_EQ(report.nonfinite, "narrow");
    EXPECT_EQ(report.update, 4);
  }
}

TEST(Run, a_gradient_that_is_not_finite_is_named_in_every_dtype) {
  for (const char* text : kOptimizers) {
    Model model;
    const auto optimizer = make_optimizer(text, model.groups());
    for (Var& victim : model.params) {
      if (victim.numel() == 0) continue;
      model.gradients(4);  // all of them
      std::vector<double> values(size_t(victim.numel()), 1);
      values.back() = -std::numeric_limits<double>::infinity();
      set_gradient(victim, Tensor::from_vector(values, victim.shape()).to(victim.dtype()));
      EXPECT_EQ(optimizer->step({.nonfinite = NonFinitePolicy::skip}).wait().nonfinite, victim.name())
          << text;
      EXPECT_ERROR(optimizer->step().wait(), "the gradient of " + victim.name() + " is not finite");
      EXPECT_EQ(optimizer->updates(), 0);
    }
  }
}

// Only the device knows whether a step was made, so that the host counts a write either way.
TEST(Run, a_step_bumps_the_versions_of_what_it_had_gradients_for) {
  Model model;
  const auto optimizer = make_optimizer("adamw", model.groups());
  model.gradients(0);
  uint32_t version = model.params[0].value().version(), late = model.params[1].value().version();
  optimizer->step();
  EXPECT_GT(model.params[0].value().version(), version);
  EXPECT_EQ(model.params[1].value().version(), late);
}

TEST(Run, half_parameters_have_states_in_f32_and_gradients_may_be_kept) {
  Model model;
  const auto optimizer = make_optimizer("adamw", model.groups());
  for (int step = 0; step < 4; ++step) {
    model.gradients(step);
    optimizer->step();
    optimizer->zero_grad(/*keep_memory=*/true);
  }
  int64_t bytes = 0;
  for (const auto& [name, tensor] : optimizer->state()) {
    EXPECT_EQ(tensor.dtype(), name.starts_with("wide") ? DType::f64 : DType::f32) << name;
    bytes += tensor.nbytes();
  }
  EXPECT_EQ(bytes, optimizer->state_bytes());
}

TEST(Run, no_gradient_at_all_is_an_error) {
  Model model;
  const auto optimizer = make_optimizer("adamw", model.groups());
  EXPECT_THROW(optimizer->step(), Error);
}

}  // namespace
}  // namespace tare::optim
