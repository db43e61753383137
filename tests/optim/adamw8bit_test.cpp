// SPDX-License-Identifier: Apache-2.0
// AdamW in 8 bits as an optimizer: which parameters have codes, exact bytes, what is refused.
#include "tare/optim/adamw8bit.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "tare/nn/models/gpt2.h"
#include "tare/nn/models/vit.h"
#include "tare/optim/factory.h"
#include "tare/train/run.h"

#include "tests/support/expect_error.h"

namespace tare::optim {
namespace {

Var parameter(const char* name, const Shape& shape, DType dtype = DType::f32) {
  return Var::parameter(Tensor::full(shape, 1, {dtype, kCpu, {}}), name);
}

void set_gradient(Var& p, const Tensor& gradient) {
  p.zero_grad();
  backward(p, {.seed = gradient});
}

TEST(StateBytes, of_gpt2_and_vit_on_meta_are_predicted_and_charged) {
  nn::Gpt2 gpt2(nn::Gpt2Config::preset("gpt2"), {DType::f32, kMeta});
  nn::Vit vit(nn::VitConfig::preset("vit-b16"), {DType::f32, kMeta});
  const auto held = [] { return ledger(kMeta).current()[size_t(Category::optimizer_state)]; };
  const int64_t before = held();
  const auto check = [&](nn::Module& model, const char* text, int64_t bytes) {
    const auto optimizer = make_optimizer(text, train::param_groups(model));
    EXPECT_EQ(optimizer->state_bytes(), bytes) << text;
    for (Var& p : model.parameters()) set_gradient(p, Tensor::empty(p.shape(), {DType::f32, kMeta, {}}));
    optimizer->step();
    EXPECT_EQ(held() - before, bytes) << text;
    model.zero_grad();
  };
  check(gpt2, "adamw8bit", 253'492'632);
  check(gpt2, "adamw8bit:embeddings=32", 488'564'736);
  check(gpt2, "adamw8bit:32bit=wte+wpe", 488'564'736);
  check(gpt2, "adamw8bit:embeddings=32,8bit=wte+wpe", 253'492'632);
  check(vit, "adamw8bit", 176'579'960);
  check(vit, "adamw8bit:embeddings=32", 176'579'960);
  check(gpt2, "adafactor", 1'286'468);
  check(gpt2, "adafactor:factor=2d", 1'286'468);
  check(gpt2, "adafactor:beta1=0.9", 1'286'468 + 4 * 124'439'808);
  check(vit, "adafactor:preset=hf", 1'464'920);
  check(vit, "adafactor:preset=torch", 1'464'920);
  check(vit, "adafactor:factor=2d", 1'176'152);
  check(vit, "adafactor:preset=paper", 1'176'152);
}

TEST(AdamW8bit, embedding_tables_are_known_and_the_order_of_parameters_stays) {
  nn::Gpt2 gpt2(nn::Gpt2Config::preset("gpt2"), {DType::f32, kMeta});
  std::vector<std::string> embeddings, grouped, listed;
  for (const ParamGroup& group : train::param_groups(gpt2))
    for (const Var& p : group.params) {
      grouped.push_back(p.name());
      if (group.embedding) embeddings.push_back(p.name());
    }
  for (const nn::ParameterGroup& group : gpt2.parameter_groups())
    for (const Var& p : group.parameters) listed.push_back(p.name());
  EXPECT_EQ(grouped, listed);
  ASSERT_EQ(embeddings.size(), 2u);
  EXPECT_TRUE(embeddings[0].ends_with("wte.weight")) << embeddings[0];
  EXPECT_TRUE(embeddings[1].ends_with("wpe.weight")) << embeddings[1];
}

// Which of the optimizer's parameters have codes.
std::string coded(const Optimizer& optimizer) {
  std::string names;
  for (size_t i = 0; i < optimizer.params().size(); ++i)
    if (optimizer.layout(i).states[0].dtype == DType::u8) names += optimizer.params()[i].name() + " ";
  return names;
}

TEST(AdamW8bit, size_embedding_and_the_longest_path_decide_on_codes) {
  const std::vector<ParamGroup> groups{
      {.params = {parameter("a.big", {64, 64}), parameter("a.less", {4095}), parameter("ab", {64, 64})}},
      {.params = {parameter("table", {4096}), parameter("tiny", {3})}, .embedding = true},
      {.params = {parameter("wide", {5000}, DType::f64), parameter("half", {5000}, DType::bf16)}}};
  const auto of = [&](const char* text) { return coded(*make_optimizer(text, groups)); };
  EXPECT_EQ(of("adamw8bit"), "a.big ab table half ");
  EXPECT_EQ(of("adamw8bit:min_8bit_size=4095"), "a.big a.less ab table half ");
  EXPECT_EQ(of("adamw8bit:embeddings=32"), "a.big ab half ");
  EXPECT_EQ(of("adamw8bit:32bit=a"), "ab table half ");
  EXPECT_EQ(of("adamw8bit:32bit=a+half,8bit=a.less+tiny"), "a.less ab table tiny ");
  EXPECT_EQ(of("adamw8bit:32bit=wide"), of("adamw8bit"));
  EXPECT_ERROR(of("adamw8bit:32bit=a.bi"), "\"a.bi\", which is no parameter or module");
  EXPECT_ERROR(of("adamw8bit:8bit=wide"), "f64");
  EXPECT_ERROR(of("adamw8bit:8bit=a,32bit=a"), "a stands twice");
  EXPECT_ERROR(of("adamw8bit:8bit=a+"), "an empty path");
}

TEST(AdamW8bit, mistakes_are_errors_that_name_the_option) {
  const std::vector<ParamGroup> groups{{.params = {parameter("p", {8})}}};
  const auto make = [&](const std::string& options) { make_optimizer("adamw8bit:" + options, groups); };
  EXPECT_ERROR(make("block=100"), "block 100");
  EXPECT_ERROR(make("map=zero-free"), "exp_avg_sq");
  EXPECT_ERROR(make("map_v=symmetric"), "exp_avg");
  EXPECT_ERROR(make("map=ao"), "expected bnb, symmetric or zero-free");
  EXPECT_ERROR(make("embeddings=16"), "embeddings is 16, expected 8 or 32");
  EXPECT_ERROR(make("min_8bit_size=-1"), "min_8bit_size -1");
  EXPECT_ERROR(make("beta1=1"), "adamw8bit: beta1 1 must lie in [0, 1)");
  EXPECT_ERROR(make("eps=0"), "adamw8bit: eps 0");
  EXPECT_ERROR(make("bits=8"), "adamw8bit has no option bits; it has 32bit, 8bit");
  EXPECT_ERROR(AdamW8bit(groups, {.bits_of = {{"p", 16}}}), "bits_of p is 16");
  make_trial_optimizer("adamw8bit:32bit=wte");  // what is no error before there is a model
  EXPECT_ERROR(make_trial_optimizer("adamw8bit:block=1"), "block 1");
}

TEST(AdamW8bit, a_state_of_another_block_map_or_version_is_an_error_that_names_both) {
  Var p = parameter("p", {4096});
  const std::vector<ParamGroup> groups{{.params = {p}}};
  set_gradient(p, Tensor::full({4096}, 1));
  AdamW8bit from(groups);
  from.step();
  const auto load = [&](const char* text) {
    make_optimizer(text, groups)->load(from.state(), from.metadata());
  };
  load("adamw8bit");
  EXPECT_ERROR(load("adamw8bit:block=128"), "block is 256, this run has 128");
  EXPECT_ERROR(load("adamw8bit:map=symmetric"), "map is bnb, this run has symmetric");
  EXPECT_ERROR(load("adamw8bit:map_v=zero-free,eps=1e-6"), "eps is 1e-08, this run has 1e-06; map_v is bnb");
  EXPECT_ERROR(load("adamw8bit:32bit=p"), "p is none, this run has 32");
  EXPECT_ERROR(load("adamw"), "optimizer is adamw8bit, this run has adamw");
  auto old = from.metadata();
  const std::string now = "codes=1", then = "codes=0";
  old["settings"].replace(old["settings"].find(now), now.size(), then);
  EXPECT_ERROR(from.load(from.state(), old), "codes is 0, this run has 1");
}

TEST(AdamW8bit, elements_that_are_not_finite_are_counted_and_the_step_is_skipped_whole) {
  for (const OptimizerInfo& info : optimizers()) {
    Vars params{parameter("a", {5000}), parameter("b", {7}, DType::bf16), parameter("c", {9}, DType::f64)};
    const auto optimizer = make_optimizer(info.name, {{.params = params}});
    for (Var& p : params) set_gradient(p, Tensor::full(p.shape(), 1, {p.dtype(), kCpu, {}}));
    EXPECT_EQ(optimizer->step().wait().nonfinite_elements, 0);
    std::vector<double> bad(5000, 1);
    bad[3] = bad[4999] = std::numeric_limits<double>::infinity();
    bad[77] = std::numeric_limits<double>::quiet_NaN();
    set_gradient(params[0], Tensor::from_vector(bad, {5000}).to(DType::f32));
    set_gradient(params[2], Tensor::full({9}, bad[77], {DType::f64, kCpu, {}}));
    const auto values = params[0].value().to_vector<float>();
    const StepReport report = optimizer->step({.nonfinite = NonFinitePolicy::skip}).wait();
    EXPECT_FALSE(report.stepped) << info.name;
    EXPECT_EQ(report.nonfinite_elements, 3 + 9) << info.name;
    EXPECT_EQ(params[0].value().to_vector<float>(), values) << info.name;
    EXPECT_ERROR(optimizer->step().wait(), "12 elements of all gradients are not finite");
  }
}

TEST(Factory, every_listed_option_is_taken_and_no_other) {
  for (const OptimizerInfo& info : optimizers()) {
    std::string text = info.name;
    for (const OptimizerOption& option : info.options)
      if (!option.initial.empty())
        text += (text == info.name ? ":" : ",") + option.name + "=" + option.initial;
    const std::vector<ParamGroup> groups{{.params = {parameter("p", {64, 64})}}};
    EXPECT_EQ(make_optimizer(text, groups)->metadata(), make_optimizer(info.name, groups)->metadata());
    EXPECT_FALSE(info.source.empty());
    std::set<std::string> names;
    for (const OptimizerOption& option : info.options) names.insert(option.name);
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    EXPECT_ERROR(make_optimizer(info.name + ":nothing=1", groups), "it has " + list);
  }
  EXPECT_EQ(optimizers()[0].bytes_per_parameter(), 8);
  EXPECT_EQ(optimizers()[1].bytes_per_parameter(), 2 + 8.0 / 256);
}

}  // namespace
}  // namespace tare::optim
