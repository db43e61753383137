// SPDX-License-Identifier: Apache-2.0
// A program outside Tare's tree that links the installed library and trains a small model on a text.
#include <iostream>

#include "tare/autograd/ops.h"
#include "tare/core/random_scope.h"
#include "tare/core/version.h"
#include "tare/data/text_loader.h"
#include "tare/nn/models/gpt2.h"
#include "tare/optim/adamw.h"

int main(int argc, char** argv) {
  std::cout << "linked with Tare " << tare::version() << "\n";
  if (argc != 2) return std::cerr << "usage: link_as_library TEXT\n", 2;

  const tare::data::TextDataset text(argv[1]);
  tare::data::TextLoader batches(text, /*batch=*/8, /*seq=*/32, /*seed=*/1);

  tare::nn::Gpt2 model(tare::nn::Gpt2Config::preset("demo"));
  model.initialize(/*seed=*/1);
  tare::optim::AdamW optimizer({{model.parameters()}}, {.lr = 1e-3});

  double first = 0, loss = 0;
  for (int step = 0; step < 30; ++step) {
    const tare::data::TextBatch batch = batches.next();
    const tare::RandomScope random({.seed = 1, .update = uint64_t(step)});  // names dropout's masks
    const tare::Var hidden = model.hidden({.ids = batch.ids});
    const auto [mean, count] = tare::linear_cross_entropy(hidden, model.head_weight(), batch.targets,
                                                          {.scale = 1.0 / double(batch.tokens)});
    tare::backward(mean);
    optimizer.step({.max_grad_norm = 1});
    optimizer.zero_grad();
    loss = mean.value().item<double>();
    if (step == 0) first = loss;
    if (step % 10 == 9) std::cout << "step " << step + 1 << ": loss " << loss << "\n";
  }
  return loss < first ? 0 : 1;
}
