// SPDX-License-Identifier: Apache-2.0
// GPT-2 against transformers: logits, losses, gradients, files.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "tare/nn/generation.h"

#include "tests/nn/golden_gpt2.h"
#include "tests/support/temp_dir.h"

namespace tare::nn {
namespace {

using test::golden_gpt2;
using test::golden_path;
using test::relative_l2;
using test::relative_max;

// Tolerances relative to the largest logit, and to the L2 norm of a gradient.
double logit_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-13 : 1e-5; }
double gradient_tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : 2e-5; }

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

class GoldenGpt2 : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenGpt2, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(GoldenGpt2, LogitsAreThoseOfTransformers) {
  const auto model = golden_gpt2(GetParam());
  const SafetensorsFile batch(golden_path("gpt2/batch.safetensors"));
  const EvalScope eval(*model);
  const Tensor logits = model->forward({batch.tensor("ids")}).value();
  EXPECT_EQ(logits.shape(), (Shape{3, 21, 97}));
  EXPECT_LE(relative_max(logits, batch.tensor("logits.f64")), logit_tolerance(GetParam()));
  Tensor spoiled = logits.clone();
  fill(spoiled, 0);
  EXPECT_GT(relative_max(spoiled, batch.tensor("logits.f64")), 0.5);
}

TEST_P(GoldenGpt2, HiddenStatesAreThoseOfTransformers) {
  const auto model = golden_gpt2(GetParam());
  const SafetensorsFile batch(golden_path("gpt2/batch.safetensors"));
  const EvalScope eval(*model);
  const Tensor hidden = model->hidden({batch.tensor("ids")}).value();
  EXPECT_LE(relative_max(hidden, batch.tensor("hidden.2.f64")), logit_tolerance(GetParam()));
}

TEST_P(GoldenGpt2, TheOldLayoutLoadsWithoutPrefixAndMasks) {
  const auto model = Gpt2::from_pretrained(golden_path("gpt2_hub_layout"), {GetParam(), kCpu});
  const SafetensorsFile expected(golden_path("gpt2_hub_layout/logits.safetensors"));
  const EvalScope eval(*model);
  EXPECT_LE(relative_max(model->forward({expected.tensor("ids")}).value(), expected.tensor("logits")),
            logit_tolerance(GetParam()));
}

TEST_P(GoldenGpt2, LossAndEveryGradientAreThoseOfPyTorch) {
  const auto model = golden_gpt2(GetParam());
  const SafetensorsFile batch(golden_path("gpt2/batch.safetensors"));
  const SafetensorsFile grads(golden_path("gpt2/grads_f64.safetensors"));
  const int64_t count = batch.tensor("targets").numel();
  const LossSum loss = model->loss({batch.tensor("ids")}, batch.tensor("targets"), 1.0 / double(count));
  EXPECT_EQ(loss.count, count);
  const double expected = batch.tensor("loss.f64").item<double>();
  EXPECT_NEAR(loss.sum.value().item<double>() / expected, 1, GetParam() == DType::f64 ? 1e-14 : 1e-6);
  backward(loss.sum);
  const int64_t C = model->config().n_embd;
  size_t compared = 0;
  for (const auto& [name, var] : model->named_parameters()) {
    Tensor got = var->grad(), want = grads.tensor("transformer." + name);
    ASSERT_TRUE(got.defined()) << name;
    if (name.ends_with("c_attn.bias")) {
      // The key's part is zero but for rounding: it is measured against the whole.
      EXPECT_LE(relative_max(got, want), gradient_tolerance(GetParam())) << name;
      got = got.slice(0, 2 * C, 3 * C);
      want = want.slice(0, 2 * C, 3 * C);
    }
    EXPECT_LE(relative_l2(got, want), gradient_tolerance(GetParam())) << name;
    ++compared;
  }
  EXPECT_EQ(compared, grads.entries().size());
}

TEST_P(GoldenGpt2, IgnoredTargetsCountForNothing) {
  const auto model = golden_gpt2(GetParam());
  const SafetensorsFile batch(golden_path("gpt2/batch.safetensors"));
  const LossSum loss = model->loss({batch.tensor("ids")}, batch.tensor("targets_masked"));
  EXPECT_EQ(loss.count, 3 * 21 - 6 - 4);
  const double expected = batch.tensor("loss_masked.f64").item<double>();
  const double mean = loss.sum.value().item<double>() / double(loss.count);
  EXPECT_NEAR(mean / expected, 1, GetParam() == DType::f64 ? 1e-14 : 1e-6);
  backward(loss.sum);
  double norm = 0;
  for (const auto& [name, var] : model->named_parameters())
    for (const double g : var->grad().to_vector<double>()) norm += g * g;
  norm = std::sqrt(norm) / double(loss.count);
  EXPECT_NEAR(norm / batch.tensor("grad_norm_masked.f64").item<double>(), 1,
              GetParam() == DType::f64 ? 1e-13 : 1e-5);
}

TEST_P(GoldenGpt2, GreedyGenerationFollowsTransformers) {
  const auto model = golden_gpt2(GetParam());
  const SafetensorsFile greedy(golden_path("gpt2/greedy.safetensors"));
  const auto prompt = greedy.tensor("prompt").to_vector<int64_t>();
  auto text = greedy.tensor("tokens").to_vector<int64_t>();
  const std::vector<int64_t> expected(text.begin() + int64_t(prompt.size()), text.end());
  for (const bool use_cache : {true, false})
    EXPECT_EQ(generate(*model, prompt, {int64_t(expected.size()), {.temperature = 0}, use_cache, {}}),
              expected);
}

// ---- files

TEST(Gpt2Files, SaveLoadSaveIsByteIdentical) {
  const test::TempDir dir;
  const auto model = golden_gpt2(DType::f32);
  model->save_pretrained(dir.path() / "first");
  Gpt2::from_pretrained(dir.path() / "first")->save_pretrained(dir.path() / "second");
  for (const char* file : {"config.json", "model.safetensors"})
    EXPECT_EQ(test::read_file(dir.path() / "first" / file), test::read_file(dir.path() / "second" / file))
        << file;
  EXPECT_EQ(test::read_file(dir.path() / "first/model.safetensors"),
            test::read_file(golden_path("gpt2/model/model.safetensors")));
}

TEST(Gpt2Files, APretrainedModelIsInEvalModeUntilItIsTrained) {
  const test::TempDir dir;
  Gpt2Config config = golden_gpt2(DType::f32)->config();
  config.set_dropout(0.5);
  Gpt2 made(config);
  made.initialize(1);
  EXPECT_TRUE(made.training());
  made.save_pretrained(dir.path());
  const auto model = Gpt2::from_pretrained(dir.path());
  EXPECT_EQ(model->config().embd_pdrop, 0.5);
  const Tensor ids = SafetensorsFile(golden_path("gpt2/batch.safetensors")).tensor("ids");
  made.eval();
  EXPECT_EQ(relative_max(model->forward({ids}).value(), made.forward({ids}).value()), 0);
  model->train();
  EXPECT_TRUE(model->h[1]->attn.resid_dropout.training());
}

TEST(Gpt2Files, ShardsAreReadThroughTheirIndex) {
  const test::TempDir dir;
  const SafetensorsFile whole(golden_path("gpt2/model/model.safetensors"));
  NamedTensors shards[2];
  Json weight_map = Json::object();
  for (size_t i = 0; i < whole.entries().size(); ++i) {
    const std::string& name = whole.entries()[i].name;
    shards[i % 2].emplace_back(name, whole.tensor(name));
    weight_map.set(name, i % 2 ? "model-00002-of-00002.safetensors" : "model-00001-of-00002.safetensors");
  }
  save_safetensors(dir.path() / "model-00001-of-00002.safetensors", shards[0]);
  save_safetensors(dir.path() / "model-00002-of-00002.safetensors", shards[1]);
  Json index = Json::object();
  index.set("metadata", Json::object({{"total_size", 1}}));
  index.set("weight_map", weight_map);
  std::ofstream(dir.path() / "model.safetensors.index.json") << index.dump(2);
  std::filesystem::copy(golden_path("gpt2/model/config.json"), dir.path() / "config.json");
  const auto sharded = Gpt2::from_pretrained(dir.path()), plain = golden_gpt2(DType::f32);
  EXPECT_EQ(relative_max(sharded->wpe.weight.value(), plain->wpe.weight.value()), 0);
  EXPECT_EQ(relative_max(sharded->h[1]->mlp.c_fc.weight.value(), plain->h[1]->mlp.c_fc.weight.value()), 0);
}

TEST(Gpt2Files, FilesThatDoNotFitNameEveryFault) {
  const test::TempDir dir;
  auto model = golden_gpt2(DType::f32);
  model->save_pretrained(dir.path());
  NamedTensors tensors;
  for (const auto& [name, tensor] : model->state()) tensors.emplace_back("transformer." + name, tensor);
  const auto saved_as = [&](const NamedTensors& state) {
    save_safetensors(dir.path() / "model.safetensors", state);
    return error_of([&] { (void)Gpt2::from_pretrained(dir.path()); });
  };
  NamedTensors fewer(tensors.begin() + 1, tensors.end());
  EXPECT_NE(saved_as(fewer).find("1 missing: wte.weight"), std::string::npos);
  NamedTensors more = tensors;
  more.emplace_back("transformer.h.2.ln_1.weight", Tensor::zeros({36}));
  EXPECT_NE(saved_as(more).find("1 unexpected: h.2.ln_1.weight"), std::string::npos);
  NamedTensors bent = tensors;
  bent[1].second = Tensor::zeros({36, 32});
  EXPECT_NE(saved_as(bent).find("wpe.weight ((36, 32) for (32, 36))"), std::string::npos) << saved_as(bent);
  NamedTensors untied = tensors;
  untied.emplace_back("lm_head.weight", tensors[0].second.clone());
  EXPECT_EQ(saved_as(untied), "no error");  // a copy of wte
  untied.back().second = Tensor::zeros(tensors[0].second.shape());
  EXPECT_NE(saved_as(untied).find("lm_head.weight"), std::string::npos);
  // None of the faults changes a model that is there.
  fill(model->wpe.weight.mutable_value(), 2);
  for (const NamedTensors& faulty : {fewer, more, bent, untied}) {
    save_safetensors(dir.path() / "model.safetensors", faulty);
    EXPECT_NE(error_of([&] { model->load_pretrained(dir.path()); }), "no error");
    for (const double value : model->wpe.weight.value().to_vector<double>()) ASSERT_EQ(value, 2);
  }
  EXPECT_NE(error_of([&] { (void)Gpt2::from_pretrained(dir.path() / "nowhere"); }).find("nowhere"),
            std::string::npos);
}

// Runs tests/golden/check_gpt2.py where Python has torch and transformers (TARE_GOLDEN_PYTHON names it).
TEST(Gpt2Files, TransformersLoadsWhatTareSaves) {
  const char* python = std::getenv("TARE_GOLDEN_PYTHON");
  if (!python) GTEST_SKIP() << "TARE_GOLDEN_PYTHON names no Python with torch and transformers";
  const test::TempDir dir;
  Gpt2Config config = Gpt2Config::preset("demo");
  config.n_layer = 2;
  Gpt2 model(config);
  model.initialize(5);
  model.save_pretrained(dir.path() / "model");
  const EvalScope eval(model);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 40; ++i) ids.push_back((i * 37 + 11) % 256);
  const Tensor t = Tensor::from_vector(ids, {2, 20});
  save_safetensors(dir.path() / "logits.safetensors", {{"ids", t}, {"logits", model.forward({t}).value()}});
  const std::string command =
      detail::concat(python, " ", TARE_SOURCE_DIR, "/tests/golden/check_gpt2.py ",
                     (dir.path() / "model").string(), " ", (dir.path() / "logits.safetensors").string());
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace tare::nn
