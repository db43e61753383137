// SPDX-License-Identifier: Apache-2.0
// Products of matrices, attention, and the head with its loss.
#include "tare/bench/kernel_cases.h"
#include "tare/kernels/attention.h"
#include "tare/kernels/conv2d.h"
#include "tare/kernels/linear.h"
#include "tare/kernels/linear_cross_entropy.h"
#include "tare/kernels/matmul.h"

namespace tare::bench {
namespace {

using Call = std::function<void()>;

Call linear_call(int64_t in, int64_t out, kernels::Activation activation) {
  const Tensor x = Tensor::randn({kTokens, in}, 1), w = Tensor::randn({out, in}, 2),
               bias = Tensor::randn({out}, 3);
  return [=, y = Tensor::empty({kTokens, out})]() mutable {
    kernels::linear_forward(x, w, bias, activation, y);
  };
}

Call linear_input_call(int64_t in, int64_t out) {
  const Tensor dy = Tensor::randn({kTokens, out}, 1), w = Tensor::randn({out, in}, 2);
  return [=, dx = Tensor::empty({kTokens, in})]() mutable {
    kernels::linear_backward_input(dy, w, dx, Accum::set);
  };
}

Call linear_weight_call(int64_t in, int64_t out) {
  const Tensor dy = Tensor::randn({kTokens, out}, 1), x = Tensor::randn({kTokens, in}, 2);
  return [=, dw = Tensor::empty({out, in})]() mutable {
    kernels::linear_backward_weight(dy, x, dw, Accum::set);
  };
}

Call linear_bias_call(int64_t out) {
  const Tensor dy = Tensor::randn({kTokens, out}, 1);
  return [=, db = Tensor::empty({out})]() mutable { kernels::linear_backward_bias(dy, db, Accum::set); };
}

// The patches of vit-b16, of 8 images.
Call conv2d_call() {
  const Tensor x = Tensor::randn({8, 3, 224, 224}, 1), w = Tensor::randn({kWidth, 3, 16, 16}, 2),
               bias = Tensor::randn({kWidth}, 3);
  const Conv2dOptions options{.stride = 16};
  const kernels::Conv2dSizes sizes = kernels::conv2d_sizes("conv2d", x.shape(), w.shape(), options);
  Tensor scratch = scratch_of(kernels::conv2d_forward_scratch_bytes(sizes, DType::f32));
  return [=, y = Tensor::empty(sizes.y())]() mutable {
    kernels::conv2d_forward(x, w, bias, options, scratch, y);
  };
}

Call conv2d_weight_call() {
  const Tensor x = Tensor::randn({8, 3, 224, 224}, 1), dy = Tensor::randn({8, kWidth, 14, 14}, 2);
  Tensor dw = Tensor::empty({kWidth, 3, 16, 16});
  const Conv2dOptions options{.stride = 16};
  const kernels::Conv2dSizes sizes = kernels::conv2d_sizes("conv2d", x.shape(), dw.shape(), options);
  Tensor scratch = scratch_of(kernels::conv2d_backward_weight_scratch_bytes(sizes, DType::f32));
  return [=]() mutable { kernels::conv2d_backward_weight(dy, x, options, scratch, dw, Accum::set); };
}

Call scores_call() {
  const Shape heads{kBatch, kHeads, kPositions, kWidth / kHeads};
  const Tensor q = Tensor::randn(heads, 1), k = Tensor::randn(heads, 2).transpose(-2, -1);
  return [=, c = Tensor::empty({kBatch, kHeads, kPositions, kPositions})]() mutable {
    kernels::matmul(q, k, c, Accum::set);
  };
}

struct AttentionCall {
  AttentionCall() {
    const Tensor qkv = Tensor::randn({kBatch, kPositions, 3, kHeads, kWidth / kHeads}, 1);
    const auto part = [&](int64_t i) { return qkv.select(2, i).transpose(1, 2); };
    in = {part(0), part(1), part(2), {}};
    out = Tensor::empty(in.q.shape());
    lse = Tensor::empty({kBatch, kHeads, kPositions});
  }
  kernels::AttentionOperands in;
  kernels::AttentionOptions options = {.causal = true};
  Tensor out, lse;
};

Call attention_call() {
  AttentionCall a;
  return [a, scratch = scratch_of(kernels::attention_forward_scratch_bytes(a.in))]() mutable {
    kernels::attention_forward(a.in, a.options, scratch, a.out, a.lse);
  };
}

Call attention_backward_call() {
  AttentionCall a;
  Tensor first = scratch_of(kernels::attention_forward_scratch_bytes(a.in));
  kernels::attention_forward(a.in, a.options, first, a.out, a.lse);
  const Tensor dout = Tensor::randn(a.out.shape(), 2);
  const auto like = [&] { return Tensor::empty(a.out.shape()); };
  kernels::AttentionGradients grads = {.dq = like(), .dk = like(), .dv = like()};
  return [=, scratch = scratch_of(kernels::attention_backward_scratch_bytes(a.in))]() mutable {
    kernels::attention_backward(dout, a.in, a.out, a.lse, a.options, scratch, grads);
  };
}

Call head_call(bool gradients) {
  const Tensor x = Tensor::randn({kTokens, kWidth}, 1), w = Tensor::randn({kVocabulary, kWidth}, 2);
  const Tensor targets = spread_ids(kTokens, kVocabulary);
  kernels::LinearCrossEntropyResult result;
  result.loss = Tensor::empty({kTokens});
  if (gradients) {
    result.dx = Tensor::empty_like(x);
    result.dw = Tensor::empty_like(w);
  }
  const int64_t chunk = kernels::linear_cross_entropy_chunk(kTokens, kVocabulary);
  Tensor scratch =
      scratch_of(kernels::linear_cross_entropy_scratch_bytes(kTokens, kVocabulary, DType::f32, chunk));
  return [=]() mutable { kernels::linear_cross_entropy(x, w, targets, {}, scratch, result); };
}

}  // namespace

std::vector<KernelCase> matrix_cases() {
  using kernels::Activation;
  return {
      {"linear_forward/1024x768x2304", [] { return linear_call(kWidth, 3 * kWidth, Activation::none); }},
      {"linear_forward/1024x768x768", [] { return linear_call(kWidth, kWidth, Activation::none); }},
      {"linear_forward_gelu_tanh/1024x768x3072",
       [] { return linear_call(kWidth, kInner, Activation::gelu_tanh); }},
      {"linear_forward/1024x3072x768", [] { return linear_call(kInner, kWidth, Activation::none); }},
      {"linear_backward_input/1024x768x3072", [] { return linear_input_call(kWidth, kInner); }},
      {"linear_backward_weight/1024x768x3072", [] { return linear_weight_call(kWidth, kInner); }},
      {"linear_backward_bias/1024x3072", [] { return linear_bias_call(kInner); }},
      {"conv2d_forward/8x3x224x224_16x16", conv2d_call},
      {"conv2d_backward_weight/8x3x224x224_16x16", conv2d_weight_call},
      {"matmul/48x256x64x256", scores_call},
      {"attention_forward_causal/4x12x256x64", attention_call},
      {"attention_backward_causal/4x12x256x64", attention_backward_call},
      {"linear_cross_entropy/1024x768x50257", [] { return head_call(false); }},
      {"linear_cross_entropy_gradients/1024x768x50257", [] { return head_call(true); }},
  };
}

}  // namespace tare::bench
