// SPDX-License-Identifier: Apache-2.0
// States handed from one layout to another.
#include "tare/optim/convert.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tare/kernels/codes8.h"
#include "tare/optim/factory.h"

#include "tests/support/compare.h"
#include "tests/support/expect_error.h"

namespace tare::optim {
namespace {

using test::same_bits;

// A large and a small parameter, and one that never had a gradient.
struct Model {
  Vars params;
  Model() {
    for (auto [name, n] : {std::pair<const char*, int64_t>{"big", 5000}, {"small", 100}, {"never", 4096}})
      params.push_back(Var::parameter(Tensor::randn({n}, 1), name));
  }
  std::unique_ptr<Optimizer> make(const char* text) const {
    return make_optimizer(text, {{.params = params}});
  }
  // All but the first parameter without decay.
  std::unique_ptr<Optimizer> make_in_groups(const char* text) const {
    return make_optimizer(text,
                          {{.params = {params[0]}}, {.params = {params[1], params[2]}, .decay = false}});
  }
  void steps(Optimizer& optimizer, int count) {
    for (int step = 0; step < count; ++step) {
      for (size_t i = 0; i < 2; ++i) {
        params[i].zero_grad();
        backward(params[i], {.seed = Tensor::randn(params[i].shape(), uint64_t(10 * step) + i)});
      }
      optimizer.step();
    }
  }
};

SavedStates saved(const Optimizer& o) { return {o.state(), o.metadata()}; }

void load(Optimizer& o, const SavedStates& s) { o.load(s.state, s.metadata); }

Tensor state_of(const Optimizer& o, const std::string& name) {
  for (const auto& [key, tensor] : o.state())
    if (key == name) return tensor;
  ADD_FAILURE() << name;
  return {};
}

TEST(Convert, to_8_bits_and_back_keeps_counts_and_the_nearest_codes) {
  Model model;
  const auto wide = model.make("adamw"), coded = model.make("adamw8bit"), back = model.make("adamw");
  model.steps(*wide, 3);
  load(*coded, convert_states(saved(*wide), *coded));
  EXPECT_EQ(coded->updates(), 3);
  EXPECT_EQ(coded->metadata().at("step.big"), "3");
  EXPECT_EQ(coded->metadata().at("step.never"), "0");
  EXPECT_TRUE(same_bits(state_of(*coded, "small.exp_avg"), state_of(*wide, "small.exp_avg")));
  EXPECT_EQ(state_of(*coded, "big.exp_avg").dtype(), DType::u8);
  load(*back, convert_states(saved(*coded), *back));
  for (const char* name : {"big.exp_avg", "big.exp_avg_sq"}) {
    const auto x = state_of(*wide, name).to_vector<float>(), y = state_of(*back, name).to_vector<float>();
    const auto absmax = state_of(*coded, std::string(name) + "_absmax").to_vector<float>();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 0.01 * absmax[i / 256]) << name << " " << i;
  }
  model.steps(*back, 1);
  EXPECT_EQ(back->updates(), 4);
}

TEST(Convert, to_the_same_codes_changes_nothing_and_to_another_block_codes_anew) {
  Model model;
  const auto from = model.make("adamw8bit"), same = model.make("adamw8bit:beta2=0.99,32bit=never"),
             other = model.make("adamw8bit:block=128,map=symmetric");
  model.steps(*from, 2);
  load(*same, convert_states(saved(*from), *same));
  for (const auto& [name, tensor] : from->state())
    EXPECT_TRUE(same_bits(tensor, state_of(*same, name))) << name;
  load(*other, convert_states(saved(*from), *other));
  EXPECT_EQ(state_of(*other, "big.exp_avg_absmax").numel(), 40);
  EXPECT_EQ(other->updates(), 2);
}

TEST(Convert, groups_are_those_of_the_optimizer_that_takes_the_states) {
  Model model;
  for (auto [from_text, to_text] : {std::pair<const char*, const char*>{"adamw:weight_decay=0", "adamw8bit"},
                                    {"adamw8bit", "adamw:weight_decay=0"},
                                    {"adamw", "adamw8bit:weight_decay=0"}}) {
    const auto from = model.make_in_groups(from_text), to = model.make_in_groups(to_text);
    model.steps(*from, 2);
    EXPECT_NE(from->metadata().contains("group.small"), to->metadata().contains("group.small"));
    const auto fresh = to->metadata();
    load(*to, convert_states(saved(*from), *to));
    EXPECT_EQ(to->updates(), 2) << from_text;
    EXPECT_EQ(to->metadata().contains("group.small"), fresh.contains("group.small")) << from_text;
  }
}

TEST(Convert, what_both_optimizers_have_and_the_text_does_not_give_is_kept) {
  const char* const was = "adamw:lr=2e-3,beta2=0.95,weight_decay=0.1";
  EXPECT_EQ(with_options_of(was, "adamw8bit"), "adamw8bit:lr=2e-3,beta2=0.95,weight_decay=0.1");
  EXPECT_EQ(with_options_of(was, "adamw8bit:block=128,beta2=0.99"),
            "adamw8bit:block=128,beta2=0.99,lr=2e-3,weight_decay=0.1");
  EXPECT_EQ(with_options_of("adamw8bit:eps=1e-6,beta1=0.8,block=128", "adamw"), "adamw:beta1=0.8,eps=1e-6");
  EXPECT_EQ(with_options_of("adamw", "adamw8bit:lr=1"), "adamw8bit:lr=1");
  EXPECT_EQ(with_options_of("sgd:lr=0.5", "adamw8bit"), "adamw8bit");
  EXPECT_EQ(with_options_of("adafactor:lr=0.02", "adamw"), "adamw");
}

// The states with element `i` of one of them replaced.
NamedTensors spoiled(const NamedTensors& states, const std::string& name, size_t i, float value) {
  NamedTensors result = states;
  for (auto& [key, tensor] : result) {
    if (key != name) continue;
    auto values = tensor.to_vector<float>();
    values.at(i) = value;
    tensor = Tensor::from_vector(values, tensor.shape());
  }
  return result;
}

TEST(Convert, a_moment_that_is_not_finite_is_an_error_that_names_it) {
  Model model;
  const auto wide = model.make("adamw"), coded = model.make("adamw8bit");
  model.steps(*wide, 1);
  model.steps(*coded, 1);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (float bad : {kNan, kInf, -kInf}) {
    SavedStates states = saved(*wide);
    states.state = spoiled(states.state, "big.exp_avg_sq", 4999, bad);
    EXPECT_ERROR(convert_states(states, *coded), "\"big.exp_avg_sq\"", "at 4999", "finite");
    states = saved(*coded);
    states.state = spoiled(states.state, "big.exp_avg_absmax", 3, bad);
    EXPECT_ERROR(convert_states(states, *wide), "\"big.exp_avg_absmax\"", "at 3", "finite");
  }
}

TEST(Convert, what_does_not_fit_is_an_error) {
  Model model;
  const auto from = model.make("adamw8bit"), to = model.make("adamw"), sgd = model.make("sgd");
  model.steps(*from, 1);
  EXPECT_ERROR(convert_states(saved(*from), *sgd), "states of sgd");
  SavedStates cut = saved(*from);
  std::erase_if(cut.state, [](const auto& s) { return s.first == "big.exp_avg_sq"; });
  EXPECT_ERROR(convert_states(cut, *to), "big.exp_avg_sq");
  SavedStates more = saved(*from);
  more.state.emplace_back("other.exp_avg", Tensor::zeros({3}));
  EXPECT_ERROR(convert_states(more, *to), "\"other.exp_avg\" belongs to no parameter");
  SavedStates later = saved(*from);
  auto& settings = later.metadata["settings"];
  settings.replace(settings.find("codes=1"), 7, "codes=2");
  EXPECT_ERROR(convert_states(later, *to), "codes of version 2, this Tare reads 1");
}

// What bitsandbytes would hold after the steps of `from`.
NamedTensors dump_of(const Optimizer& from, int64_t step, bool with_maps) {
  NamedTensors dump;
  for (const char* p : {"big", "small"}) {
    const std::string name = std::string(p) + ".";
    dump.emplace_back(name + "step", Tensor::full({}, double(step)));
    for (auto [number, moment] : {std::pair<int, std::string>{1, "exp_avg"}, {2, "exp_avg_sq"}}) {
      dump.emplace_back(detail::concat(name, "state", number), state_of(from, name + moment));
      if (name != "big.") continue;
      dump.emplace_back(detail::concat(name, "absmax", number), state_of(from, name + moment + "_absmax"));
      if (!with_maps) continue;
      const auto& values = kernels::code_map(kernels::QuantMap::bnb, number == 1).values;
      dump.emplace_back(detail::concat(name, "qmap", number),
                        Tensor::from_vector(std::vector<float>(values.begin(), values.end()), {256}));
    }
  }
  return dump;
}

TEST(Convert, a_dump_of_bitsandbytes_is_taken_code_for_code) {
  Model model;
  const auto from = model.make("adamw8bit");
  model.steps(*from, 2);
  for (bool with_maps : {false, true}) {
    const auto to = model.make("adamw8bit"), wide = model.make("adamw");
    load(*to, import_bitsandbytes(dump_of(*from, 2, with_maps), *to));
    EXPECT_EQ(to->metadata(), from->metadata());
    for (const auto& [name, tensor] : from->state())
      EXPECT_TRUE(same_bits(tensor, state_of(*to, name))) << name;
    load(*wide, import_bitsandbytes(dump_of(*from, 2, with_maps), *wide));
    const SavedStates want = convert_states(saved(*from), *wide);
    for (const auto& [name, tensor] : want.state)
      EXPECT_TRUE(same_bits(tensor, state_of(*wide, name))) << name;
  }
}

TEST(Convert, a_dump_with_blocks_of_2048_is_coded_anew_and_others_are_errors) {
  Model model;
  const auto from = model.make("adamw8bit:block=2048"), to = model.make("adamw8bit");
  model.steps(*from, 1);
  NamedTensors dump = dump_of(*from, 1, false);
  load(*to, import_bitsandbytes(dump, *to));
  EXPECT_EQ(state_of(*to, "big.exp_avg_absmax").numel(), 20);
  for (auto& [name, tensor] : dump)
    if (name == "big.absmax1") tensor = Tensor::zeros({7});
  EXPECT_ERROR(import_bitsandbytes(dump, *to),
               "has 7 blocks for 5000 elements, expected 20 of 256 or 3 of 2048");
  dump = dump_of(*from, 1, false);
  std::erase_if(dump, [](const auto& t) { return t.first == "small.step"; });
  EXPECT_ERROR(import_bitsandbytes(dump, *to), "small.step");
  dump = dump_of(*from, 1, false);
  EXPECT_ERROR(import_bitsandbytes(spoiled(dump, "big.absmax2", 1, INFINITY), *to), "\"big.absmax2\"",
               "finite");
  EXPECT_ERROR(import_bitsandbytes(spoiled(dump, "small.state1", 7, NAN), *to), "\"small.state1\"", "at 7");
  dump = dump_of(*from, 1, true);
  EXPECT_ERROR(import_bitsandbytes(spoiled(dump, "big.qmap2", 9, NAN), *to), "big.qmap2");
  for (auto& [name, tensor] : dump)
    if (name == "big.qmap1") tensor = Tensor::zeros({256});
  EXPECT_ERROR(import_bitsandbytes(dump, *to), "big.qmap1");
}

}  // namespace
}  // namespace tare::optim
