// SPDX-License-Identifier: Apache-2.0
// Kernels that go row by row: norms, softmax, cross-entropy, embedding.
#include "tare/bench/kernel_cases.h"
#include "tare/kernels/cross_entropy.h"
#include "tare/kernels/embedding.h"
#include "tare/kernels/layernorm.h"
#include "tare/kernels/rmsnorm.h"
#include "tare/kernels/softmax.h"

namespace tare::bench {
namespace {

using Call = std::function<void()>;

constexpr double kEps = 1e-5;

Call softmax_call() {
  const Tensor x = Tensor::randn({kBatch * kHeads * kPositions, kPositions}, 1);
  return [x, y = Tensor::empty_like(x)]() mutable { kernels::softmax_forward(x, y); };
}

Call softmax_backward_call() {
  const Tensor y = Tensor::full({kBatch * kHeads * kPositions, kPositions}, 1.0 / kPositions),
               dy = Tensor::randn(y.shape(), 1);
  return [y, dy, dx = Tensor::empty_like(y)]() mutable { kernels::softmax_backward(y, dy, dx, Accum::set); };
}

struct Norm {
  Tensor x = Tensor::randn({kTokens, kWidth}, 1), gamma = Tensor::full({kWidth}, 1),
         beta = Tensor::zeros({kWidth});
  Tensor y = Tensor::empty_like(x), mean = Tensor::empty({kTokens}), rstd = Tensor::empty({kTokens});
};

Call layernorm_call() {
  return
      [n = Norm()]() mutable { kernels::layernorm_forward(n.x, n.gamma, n.beta, kEps, n.y, n.mean, n.rstd); };
}

Call layernorm_backward_call() {
  Norm n;
  kernels::layernorm_forward(n.x, n.gamma, n.beta, kEps, n.y, n.mean, n.rstd);
  const Tensor dy = Tensor::randn(n.x.shape(), 2);
  Tensor scratch = scratch_of(kernels::layernorm_backward_scratch_bytes(n.x.shape(), DType::f32));
  return [=, dx = Tensor::empty_like(n.x), dgamma = Tensor::empty_like(n.gamma),
          dbeta = Tensor::empty_like(n.beta)]() mutable {
    kernels::LayerNormGrads grads = {.dx = &dx, .dgamma = &dgamma, .dbeta = &dbeta};
    kernels::layernorm_backward(n.x, n.gamma, n.mean, n.rstd, dy, grads, scratch);
  };
}

Call rmsnorm_call() {
  return [n = Norm()]() mutable { kernels::rmsnorm_forward(n.x, n.gamma, kEps, n.y, n.rstd); };
}

Call rmsnorm_backward_call() {
  Norm n;
  kernels::rmsnorm_forward(n.x, n.gamma, kEps, n.y, n.rstd);
  const Tensor dy = Tensor::randn(n.x.shape(), 2);
  Tensor scratch = scratch_of(kernels::rmsnorm_backward_scratch_bytes(n.x.shape(), DType::f32));
  return [=, dx = Tensor::empty_like(n.x), dgamma = Tensor::empty_like(n.gamma)]() mutable {
    kernels::RmsNormGrads grads = {.dx = &dx, .dgamma = &dgamma};
    kernels::rmsnorm_backward(n.x, n.gamma, n.rstd, dy, grads, scratch);
  };
}

// A chunk of the head's logits: 256 rows.
Call cross_entropy_call(bool gradients) {
  const Tensor logits = Tensor::randn({kPositions, kVocabulary}, 1),
               targets = spread_ids(kPositions, kVocabulary);
  Tensor loss = Tensor::empty({kPositions}), lse;
  if (!gradients) return [=]() mutable { kernels::cross_entropy_forward(logits, targets, {}, loss, lse); };
  return [=, dlogits = Tensor::empty_like(logits)]() mutable {
    kernels::cross_entropy_forward_backward(logits, targets, 1.0, {}, loss, dlogits);
  };
}

Call embedding_call() {
  const Tensor ids = spread_ids(kTokens, kVocabulary), table = Tensor::randn({kVocabulary, kWidth}, 1);
  return [=, y = Tensor::empty({kTokens, kWidth})]() mutable { kernels::embedding_forward(ids, table, y); };
}

Call embedding_backward_call() {
  const Tensor ids = spread_ids(kTokens, kVocabulary), dy = Tensor::randn({kTokens, kWidth}, 1);
  return [=, dtable = Tensor::zeros({kVocabulary, kWidth})]() mutable {
    kernels::embedding_backward(ids, dy, dtable, Accum::add);
  };
}

}  // namespace

std::vector<KernelCase> row_cases() {
  return {
      {"softmax_forward/12288x256", softmax_call},
      {"softmax_backward/12288x256", softmax_backward_call},
      {"layernorm_forward/1024x768", layernorm_call},
      {"layernorm_backward/1024x768", layernorm_backward_call},
      {"rmsnorm_forward/1024x768", rmsnorm_call},
      {"rmsnorm_backward/1024x768", rmsnorm_backward_call},
      {"cross_entropy_forward/256x50257", [] { return cross_entropy_call(false); }},
      {"cross_entropy_forward_backward/256x50257", [] { return cross_entropy_call(true); }},
      {"embedding_forward/1024x768", embedding_call},
      {"embedding_backward_add/1024x768", embedding_backward_call},
  };
}

}  // namespace tare::bench
