// SPDX-License-Identifier: Apache-2.0
// How GPT-2 trains: first values, micro-batches with dropout, the bytes that a step holds, planned and real.
#include <cmath>

#include <gtest/gtest.h>

#include "tare/core/allocator.h"
#include "tare/core/random_scope.h"

#include "tests/nn/golden_gpt2.h"

namespace tare::nn {
namespace {

Gpt2Config tiny_config() {
  Gpt2Config c = Gpt2Config::preset("demo");
  c.vocab_size = 61;
  c.n_positions = 24;
  c.n_embd = 32;
  c.n_layer = 2;
  c.n_head = 4;
  return c;
}

double std_of(const Var& v) {
  double sum = 0, squares = 0;
  for (const double x : v.value().to_vector<double>()) {
    sum += x;
    squares += x * x;
  }
  const double n = double(v.numel());
  return std::sqrt(squares / n - sum * sum / (n * n));
}

TEST(Gpt2, StartsFromItsPublishedInitialisation) {
  Gpt2Config config = Gpt2Config::preset("small");
  Gpt2 model(config);
  model.initialize(1);
  const double residual = 0.02 / std::sqrt(2.0 * 4);
  EXPECT_NEAR(std_of(model.wte.weight), 0.02, 3e-4);
  EXPECT_NEAR(std_of(model.wpe.weight), 0.02, 3e-4);
  EXPECT_NEAR(std_of(model.h[1]->attn.c_attn.weight), 0.02, 3e-4);
  EXPECT_NEAR(std_of(model.h[2]->mlp.c_fc.weight), 0.02, 3e-4);
  EXPECT_NEAR(std_of(model.h[0]->attn.c_proj.weight), residual, 1e-4);
  EXPECT_NEAR(std_of(model.h[3]->mlp.c_proj.weight), residual, 1e-4);
  for (const auto& [name, var] : model.named_parameters()) {
    if (var->dim() == 1) {
      const double value = name.ends_with("weight") ? 1 : 0;
      EXPECT_EQ(var->value().to_vector<double>(), std::vector<double>(size_t(var->numel()), value)) << name;
    }
  }
}

TEST(Gpt2, NamesAreThoseOfHuggingFace) {
  Gpt2 model(tiny_config(), {DType::f32, kMeta});
  std::vector<std::string> names;
  for (const auto& p : model.named_parameters()) names.push_back(p.name);
  EXPECT_EQ(names.size(), 2u + 2 * 12 + 2);
  EXPECT_EQ(names[0], "wte.weight");
  EXPECT_EQ(names[4], "h.0.attn.c_attn.weight");
  EXPECT_EQ(model.h[1]->mlp.c_proj.path(), "h.1.mlp.c_proj");
  EXPECT_EQ(names.back(), "ln_f.bias");
}

TEST(Gpt2, TextsThatDoNotFitAreErrors) {
  Gpt2 model(tiny_config());
  model.initialize(1);
  model.eval();
  const auto ids = [](int64_t n, int64_t id) {
    return Tensor::full({1, n}, double(id), {DType::i64, kCpu, {}});
  };
  EXPECT_NO_THROW(model.forward({ids(24, 0)}));
  EXPECT_THROW(model.forward({ids(25, 0)}), Error);
  EXPECT_THROW(model.forward({ids(3, 61)}), Error);
  EXPECT_THROW(model.forward({ids(3, -1)}), Error);
  EXPECT_THROW(model.forward({ids(3, 0).select(0, 0)}), Error);
  EXPECT_THROW(model.loss({ids(3, 0)}, ids(4, 0)), Error);
}

// ---- micro-batches

constexpr int64_t kSamples = 12, kLongest = 19;

struct RaggedBatch {
  Tensor ids, targets, mask;  // (kSamples, kLongest)
  std::vector<int64_t> lengths;
  int64_t count = 0;
};

RaggedBatch ragged_batch(int64_t vocabulary) {
  RaggedBatch batch;
  std::vector<int64_t> ids, targets;
  std::vector<uint8_t> mask;
  for (int64_t b = 0; b < kSamples; ++b) {
    const int64_t length = b == 4 ? kLongest : 3 + (b * 7) % 14;
    batch.lengths.push_back(length);
    batch.count += length;
    for (int64_t t = 0; t < kLongest; ++t) {
      ids.push_back(t < length ? (b * 31 + t * t * 5 + 3) % vocabulary : 0);
      targets.push_back(t < length ? (b * 17 + t * 11 + 1) % vocabulary : -100);
      mask.push_back(t < length);
    }
  }
  batch.ids = Tensor::from_vector(ids, {kSamples, kLongest});
  batch.targets = Tensor::from_vector(targets, {kSamples, kLongest});
  batch.mask = Tensor::from_vector(mask, {kSamples, kLongest}).to(DType::boolean);
  return batch;
}

// The gradient of the mean over the batch, all parameters in a row, from `parts` micro-batches that are each
// cut to their own longest text.
std::vector<double> gradient(Gpt2& model, const RaggedBatch& batch, int64_t parts, bool numbered = true) {
  model.zero_grad();
  const int64_t size = kSamples / parts;
  for (int64_t begin = 0; begin < kSamples; begin += size) {
    const RandomScope random(
        {.seed = 11, .update = 3, .first_sample = numbered ? begin : 0, .sample_stride = 1});
    const int64_t longest =
        *std::max_element(batch.lengths.begin() + begin, batch.lengths.begin() + begin + size);
    const auto part = [&](const Tensor& t) { return t.slice(0, begin, begin + size).slice(1, 0, longest); };
    const LossSum loss =
        model.loss({part(batch.ids), part(batch.mask)}, part(batch.targets), 1.0 / double(batch.count));
    backward(loss.sum);
  }
  std::vector<double> all;
  for (const auto& [name, var] : model.named_parameters()) {
    const auto g = var->grad().to_vector<double>();
    all.insert(all.end(), g.begin(), g.end());
  }
  return all;
}

TEST(Gpt2, AnyCutIntoMicroBatchesGivesTheSameGradientWithDropout) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Gpt2Config config = tiny_config();
    config.set_dropout(0.2);
    Gpt2 model(config, {dtype, kCpu});
    model.initialize(1);
    const RaggedBatch batch = ragged_batch(config.vocab_size);
    const auto whole = gradient(model, batch, 1);
    for (const int64_t parts : {2, 3, 12})
      EXPECT_LE(test::relative_l2(gradient(model, batch, parts), whole), dtype == DType::f64 ? 1e-12 : 1e-5)
          << parts;
    // Dropout that forgot which sample it sees is noticed, and so is none at all.
    EXPECT_GT(test::relative_l2(gradient(model, batch, 3, false), whole), 1e-2);
    model.eval();
    EXPECT_GT(test::relative_l2(gradient(model, batch, 1), whole), 1e-2);
  }
}

TEST(Gpt2, TrainingWithDropoutNeedsARandomScope) {
  Gpt2 model(tiny_config());
  model.initialize(1);
  const Tensor ids = Tensor::full({2, 5}, 7, {DType::i64, kCpu, {}});
  EXPECT_THROW(model.loss({ids}, ids), Error);
  EXPECT_NO_THROW([&] {
    const RandomScope random({.seed = 1, .update = 0});
    model.loss({ids}, ids);
  }());
  model.eval();
  EXPECT_NO_THROW(model.loss({ids}, ids));
}

// ---- bytes

struct StepBytes {
  CategoryBytes peak{};     // each category's own greatest
  CategoryBytes at_peak{};  // when the total was greatest
  int64_t total = 0;
};

// Peaks of two forward and backward passes, above what stood before.
StepBytes bytes_of_steps(const Gpt2Config& config, Device device, int64_t B, int64_t T) {
  Ledger& book = ledger(device);
  const CategoryBytes before = book.current();
  const int64_t before_total = book.total();
  book.reset_peaks();
  {
    Gpt2 model(config, {DType::f32, device});
    model.initialize(1);
    const TensorOptions options{DType::i64, device, Category::data};
    const Tensor ids = Tensor::full({B, T}, 5, options), targets = Tensor::full({B, T}, 7, options);
    for (int step = 0; step < 2; ++step) {
      const RandomScope random({.seed = 1, .update = uint64_t(step)});
      backward(model.loss({ids}, targets).sum);
      model.zero_grad();
    }
  }
  const LedgerReport report = book.report();
  StepBytes bytes;
  for (size_t c = 0; c < size_t(kCategories); ++c) {
    bytes.peak[c] = report.own_peak[c] - before[c];
    bytes.at_peak[c] = report.at_peak[c] - before[c];
  }
  bytes.total = report.peak_total - before_total;
  return bytes;
}

TEST(Gpt2, AStepOnMetaHoldsExactlyTheBytesOfARealOne) {
  Gpt2Config config = tiny_config();
  config.set_dropout(0.1);
  const StepBytes real = bytes_of_steps(config, kCpu, 3, 17), planned = bytes_of_steps(config, kMeta, 3, 17);
  EXPECT_EQ(planned.total, real.total);
  for (int c = 0; c < kCategories; ++c) {
    EXPECT_EQ(planned.peak[size_t(c)], real.peak[size_t(c)]) << name_of(Category(c));
    EXPECT_EQ(planned.at_peak[size_t(c)], real.at_peak[size_t(c)]) << name_of(Category(c));
  }
  EXPECT_GT(real.peak[size_t(Category::activations)], 0);
}

TEST(Gpt2, ActivationsOfAStepOfGpt2AreThoseThatBackwardNeeds) {
  Gpt2Config config = Gpt2Config::preset("gpt2");
  config.set_dropout(0);
  const int64_t cpu_before = ledger(kCpu).total();
  const StepBytes planned = bytes_of_steps(config, kMeta, 4, 256);
  EXPECT_EQ(ledger(kCpu).total(), cpu_before);
  // Per token and layer: the block's input, queries, keys and values, attention's output, the MLP's input,
  // its inner layer before the activation; and statistics of the norms and of attention.
  const int64_t tokens = 4 * 256, C = 768, L = 12;
  const int64_t floats = L * (C + 3 * C + C + C + 4 * C + 12 + 4) + C + 2;
  const int64_t activations = planned.peak[size_t(Category::activations)];
  EXPECT_NEAR(double(activations) / double(4 * tokens * floats), 1, 0.01) << activations;
}

TEST(Gpt2, AStepOfGpt2HoldsLittleMoreThanWhatIsAliveAtItsPeak) {
  CachingAllocator& heap = allocator(kMeta);
  Ledger& book = ledger(kMeta);
  heap.release_cache();
  ASSERT_EQ(book.total(), 0) << "something of an earlier test is still alive";
  heap.reset_peaks();
  book.reset_peaks();
  Gpt2Config config = Gpt2Config::preset("gpt2");
  config.set_dropout(0);
  Gpt2 model(config, {DType::f32, kMeta});
  const Tensor ids = Tensor::full({4, 256}, 5, {DType::i64, kMeta, Category::data});
  std::vector<Tensor> states;  // two per parameter, from the first update on
  for (int step = 0; step < 3; ++step) {
    backward(model.loss({ids}, ids).sum);
    for (const Var& p : model.parameters())
      for (int i = 0; i < 2 && step == 0; ++i)
        states.push_back(Tensor::empty(p.shape(), {DType::f32, kMeta, Category::optimizer_state}));
    model.zero_grad();
  }
  EXPECT_LT(double(heap.stats().peak_held), 1.03 * double(book.peak_total()));
}

}  // namespace
}  // namespace tare::nn
