// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/cross_entropy.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

DType loss_dtype(DType logits) { return logits == DType::f64 ? DType::f64 : DType::f32; }

void check_inputs(const char* op, const Tensor& logits, const Tensor& targets,
                  const CrossEntropyOptions& options) {
  check_floating(op, "logits", logits);
  TARE_CHECK(logits.dim() == 2, op, ": logits have shape ", logits.shape(), ", expected (N, V)");
  check_contiguous(op, "logits", logits);
  check_same_shape(op, "targets", targets, {logits.size(0)});
  check_same_dtype(op, "targets", targets, DType::i64);
  check_same_device(op, "targets", targets, logits.device());
  check_contiguous(op, "targets", targets);
  TARE_CHECK(options.label_smoothing >= 0 && options.label_smoothing <= 1, op, ": label_smoothing is ",
             options.label_smoothing, ", expected a number in [0, 1]");
}

void check_per_row(const char* op, const char* what, const Tensor& t, const Tensor& logits) {
  check_same_shape(op, what, t, {logits.size(0)});
  check_same_dtype(op, what, t, loss_dtype(logits.dtype()));
  check_same_device(op, what, t, logits.device());
  check_contiguous(op, what, t);
}

void check_gradient(const char* op, const Tensor& dlogits, const Tensor& logits) {
  check_floating(op, "dlogits", dlogits);
  check_same_shape(op, "dlogits", dlogits, logits.shape());
  check_same_device(op, "dlogits", dlogits, logits.device());
  check_contiguous(op, "dlogits", dlogits);
}

}  // namespace

int64_t count_targets(const Tensor& targets, int64_t V, const CrossEntropyOptions& options) {
  check_same_dtype("cross_entropy", "targets", targets, DType::i64);
  check_contiguous("cross_entropy", "targets", targets);
  if (targets.device().is_meta()) return targets.numel();
  TARE_CHECK(targets.device().is_cpu(), "cross_entropy: targets are on ", targets.device());
  const int64_t* label = targets.data<int64_t>();
  int64_t count = 0;
  for (int64_t row = 0; row < targets.numel(); ++row) {
    if (label[row] == options.ignore_index) continue;
    TARE_CHECK(label[row] >= 0 && label[row] < V, "cross_entropy: row ", row, " has label ", label[row],
               ", expected one in [0, ", V, ") or ", options.ignore_index, " to ignore it");
    ++count;
  }
  return count;
}

void cross_entropy_forward(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options,
                           Tensor& loss, Tensor& lse) {
  const char* op = "cross_entropy_forward";
  check_inputs(op, logits, targets, options);
  check_per_row(op, "loss", loss, logits);
  if (lse.defined()) check_per_row(op, "lse", lse, logits);
  const double bytes =
      double(logits.nbytes() + targets.nbytes() + loss.nbytes()) + (lse.defined() ? double(lse.nbytes()) : 0);
  TARE_DISPATCH_CPU(logits.device(), (Cost{4 * double(logits.numel()), bytes}),
                    cross_entropy_forward(logits, targets, options, loss, lse));
}

void cross_entropy_backward(const Tensor& logits, const Tensor& targets, const Tensor& lse,
                            const Tensor& dsum, const CrossEntropyOptions& options, Tensor& dlogits,
                            Accum accum) {
  const char* op = "cross_entropy_backward";
  check_inputs(op, logits, targets, options);
  check_per_row(op, "lse", lse, logits);
  TARE_CHECK(dsum.numel() == 1, op, ": dsum has shape ", dsum.shape(), ", expected one element");
  check_same_dtype(op, "dsum", dsum, lse.dtype());
  check_same_device(op, "dsum", dsum, logits.device());
  check_gradient(op, dlogits, logits);
  check_same_dtype(op, "dlogits", dlogits, logits.dtype());
  const double bytes = double(logits.nbytes() + targets.nbytes() + lse.nbytes() + dsum.nbytes()) +
                       double(dlogits.nbytes()) * (accum == Accum::add ? 2 : 1);
  TARE_DISPATCH_CPU(logits.device(), (Cost{4 * double(logits.numel()), bytes}),
                    cross_entropy_backward(logits, targets, lse, dsum, options, dlogits, accum));
}

void cross_entropy_forward_backward(const Tensor& logits, const Tensor& targets, double scale,
                                    const CrossEntropyOptions& options, Tensor& loss, Tensor& dlogits) {
  const char* op = "cross_entropy_forward_backward";
  check_inputs(op, logits, targets, options);
  check_per_row(op, "loss", loss, logits);
  check_gradient(op, dlogits, logits);
  const double bytes = double(logits.nbytes() + targets.nbytes() + loss.nbytes() + dlogits.nbytes());
  TARE_DISPATCH_CPU(logits.device(), (Cost{8 * double(logits.numel()), bytes}),
                    cross_entropy_forward_backward(logits, targets, scale, options, loss, dlogits));
}

}  // namespace tare::kernels
