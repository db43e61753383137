// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels and reductions.
#include "tare/bench/kernel_cases.h"
#include "tare/kernels/accumulate.h"
#include "tare/kernels/dropout.h"
#include "tare/kernels/elementwise.h"
#include "tare/kernels/reduce.h"

namespace tare::bench {
namespace {

using Call = std::function<void()>;

const Shape kHidden{kTokens, kWidth}, kInside{kTokens, kInner};

template <class F> Call unary_call() {
  const Tensor x = Tensor::randn(kInside, 1);
  return [x, y = Tensor::empty_like(x)]() mutable { kernels::unary_forward<F>(x, y); };
}

template <class F> Call unary_backward_call() {
  const Tensor x = Tensor::randn(kInside, 1), y = Tensor::randn(kInside, 2), dy = Tensor::randn(kInside, 3);
  return [=, dx = Tensor::empty_like(x)]() mutable { kernels::unary_backward<F>(x, y, dy, dx, Accum::set); };
}

Call add_call() {
  const Tensor a = Tensor::randn(kHidden, 1), b = Tensor::randn(kHidden, 2);
  return [=, y = Tensor::empty_like(a)]() mutable { kernels::binary_forward<math::Add>(a, b, y); };
}

Call add_bias_call() {
  const Tensor a = Tensor::randn(kInside, 1), b = Tensor::randn({kInner}, 2);
  return [=, y = Tensor::empty_like(a)]() mutable { kernels::binary_forward<math::Add>(a, b, y); };
}

Call dropout_call() {
  const Tensor x = Tensor::randn({kBatch, kPositions, kWidth}, 1);
  return
      [x, y = Tensor::empty_like(x)]() mutable { kernels::dropout(x, {.p = 0.1, .key = 7}, y, Accum::set); };
}

Call accumulate_call() {
  const Tensor x = Tensor::randn(kInside, 1);
  return [x, y = Tensor::zeros(kInside)]() mutable { kernels::accumulate(x, y, Accum::add); };
}

Call sum_call(const Shape& result) {
  const Tensor x = Tensor::randn(kInside, 1);
  return [x, y = Tensor::empty(result)]() mutable { kernels::sum_to(x, y, Accum::set); };
}

Call variance_call() {
  const Tensor x = Tensor::randn(kInside, 1);
  return [x, mean = Tensor::empty({kTokens, 1}), y = Tensor::empty({kTokens, 1})]() mutable {
    kernels::variance_forward(x, 1, mean, y);
  };
}

Call maximum_call() {
  const Tensor x = Tensor::randn(kInside, 1);
  return [x, y = Tensor::empty({kTokens, 1})]() mutable {
    kernels::extremum_forward(kernels::Extremum::max, x, y);
  };
}

}  // namespace

std::vector<KernelCase> element_cases() {
  return {
      {"exp_forward/1024x3072", unary_call<math::Exp>},
      {"tanh_forward/1024x3072", unary_call<math::Tanh>},
      {"silu_forward/1024x3072", unary_call<math::Silu>},
      {"gelu_tanh_forward/1024x3072", unary_call<math::GeluTanh>},
      {"gelu_tanh_backward/1024x3072", unary_backward_call<math::GeluTanh>},
      {"gelu_erf_forward/1024x3072", unary_call<math::GeluErf>},
      {"gelu_erf_backward/1024x3072", unary_backward_call<math::GeluErf>},
      {"add_forward/1024x768", add_call},
      {"add_forward_row/1024x3072", add_bias_call},
      {"dropout/1024x768", dropout_call},
      {"accumulate_add/1024x3072", accumulate_call},
      {"sum_to_rows/1024x3072",
       [] {
         return sum_call({kTokens, 1});
       }},
      {"sum_to_columns/1024x3072",
       [] {
         return sum_call({1, kInner});
       }},
      {"variance_forward/1024x3072", variance_call},
      {"max_forward/1024x3072", maximum_call},
  };
}

}  // namespace tare::bench
