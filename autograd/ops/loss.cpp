// SPDX-License-Identifier: Apache-2.0
// Losses over class labels, as (sum, count) pairs.
#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"
#include "tare/kernels/cross_entropy.h"
#include "tare/kernels/linear_cross_entropy.h"

namespace tare {
namespace {

DType loss_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// (..., C) as (rows, C), contiguous.
Tensor as_rows(const Tensor& t) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < t.dim(); ++i) rows *= t.shape()[i];
  return t.contiguous().view({rows, t.size(-1)});
}

Tensor labels_of(const Tensor& targets, const Var& x, const char* op) {
  const Shape expected(std::span(x.shape().begin(), size_t(std::max(x.dim() - 1, 0))));
  TARE_CHECK(x.dim() >= 1 && targets.shape() == expected, op, ": targets have shape ", targets.shape(),
             ", expected ", x.shape(), " without the last axis");
  return targets.contiguous().view({targets.numel()});
}

// The sum of (N) losses, in f64 inside, times scale.
Tensor sum_of(const Tensor& loss, double scale) {
  Tensor sum = Tensor::empty({}, {loss.dtype(), loss.device(), {}});
  kernels::sum_to(loss, sum, Accum::set);
  if (scale == 1) return sum;
  const Tensor factor = Tensor::full({}, scale, {loss.dtype(), loss.device(), {}});
  Tensor scaled = Tensor::empty_like(sum);
  kernels::accumulate_scaled(sum, factor, scaled, Accum::set);
  return scaled;
}

// Whether a gradient formed in the forward must still be multiplied by dy.
bool is_one(const Tensor& dy) { return dy.device().is_meta() || dy.item<double>() == 1; }

}  // namespace

// sum = sum_r loss_r;  dlogits = dsum * (softmax(logits) - target)
LossSum cross_entropy(const Var& logits, const Tensor& targets, const CrossEntropyLoss& loss) {
  const OpScope op("cross_entropy");
  const Tensor labels = labels_of(targets, logits, "cross_entropy"), x = as_rows(logits.value());
  const kernels::CrossEntropyOptions options{loss.ignore_index, loss.label_smoothing};
  const int64_t count = kernels::count_targets(labels, x.size(1), options);
  Tensor rows = Tensor::empty({x.size(0)}, {loss_dtype(x.dtype()), x.device(), {}});
  Tensor lse = will_record({&logits}) ? Tensor::empty_like(rows) : Tensor();
  kernels::cross_entropy_forward(x, labels, options, rows, lse);
  Var sum =
      record("cross_entropy", sum_of(rows, 1), {logits}, {x, labels, lse},
             [options](GradOut& out, Saved& saved, const Tensor& dsum) {
               auto [dx, accum] = out.in_input_dtype(0);
               Tensor dx_rows = dx.view(saved[0].shape());
               kernels::cross_entropy_backward(saved[0], saved[1], saved[2], dsum, options, dx_rows, accum);
             });
  return {sum, count};
}

// sum = scale * sum_r loss_r(x w^T);  dx and dw are formed here, backward only multiplies them by dsum.
LossSum linear_cross_entropy(const Var& x, const Var& w, const Tensor& targets,
                             const LinearCrossEntropyLoss& loss) {
  const OpScope op("linear_cross_entropy");
  const Tensor labels = labels_of(targets, x, "linear_cross_entropy"), rows = as_rows(x.value());
  const Tensor weight = w.value().contiguous();
  TARE_CHECK(weight.dim() == 2, "linear_cross_entropy: w has shape ", weight.shape(), ", expected (V, C)");
  const kernels::LinearCrossEntropyOptions options{
      {loss.ignore_index, loss.label_smoothing}, loss.scale, loss.chunk};
  const int64_t count = kernels::count_targets(labels, weight.size(0), options.loss);
  kernels::LinearCrossEntropyResult result;
  result.loss = Tensor::empty({rows.size(0)}, {loss_dtype(rows.dtype()), rows.device(), {}});
  if (will_record({&x}))
    result.dx = Tensor::empty(rows.shape(), {rows.dtype(), rows.device(), Category::gradients});
  if (will_record({&w}))
    result.dw = Tensor::empty(weight.shape(), {loss_dtype(rows.dtype()), rows.device(), Category::gradients});
  {
    const int64_t bytes =
        kernels::linear_cross_entropy_scratch_bytes(rows.size(0), weight.size(0), rows.dtype(), loss.chunk);
    Tensor scratch = Tensor::empty({bytes}, {DType::u8, rows.device(), Category::workspace});
    kernels::linear_cross_entropy(rows, weight, labels, options, scratch, result);
  }
  if (result.dx.defined()) result.dx = result.dx.view(x.shape());
  Var sum = record("linear_cross_entropy", sum_of(result.loss, loss.scale), {x, w}, {result.dx, result.dw},
                   [](GradOut& out, Saved& saved, const Tensor& dsum) {
                     for (size_t i = 0; i < 2; ++i) {
                       if (!out.needs(i)) continue;
                       if (out.retains_graph()) {
                         auto [d, accum] = out(i);
                         kernels::accumulate_scaled(saved[i], dsum, d, accum);
                         continue;
                       }
                       Tensor d = saved.take(i);
                       if (!is_one(dsum)) kernels::accumulate_scaled(d, dsum, d, Accum::set);
                       out.give(i, std::move(d));
                     }
                   });
  return {sum, count};
}

}  // namespace tare
