// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/attention.h"

#include <algorithm>

#include "tare/kernels/attention_slots.h"
#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

DType sum_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

void check_heads(const char* op, const char* what, const Tensor& t, const Shape& shape, const Tensor& q) {
  check_same_shape(op, what, t, shape);
  check_same_dtype(op, what, t, q.dtype());
  check_same_device(op, what, t, q.device());
  TARE_CHECK(t.numel() == 0 || t.size(3) == 1 || t.stride(3) == 1, op, ": ", what, " of shape ", t.shape(),
             " has strides ", t.strides(), "; its rows must be dense");
}

void check_operands(const char* op, const AttentionOperands& in, const AttentionOptions& options) {
  check_floating(op, "q", in.q);
  TARE_CHECK(in.q.dim() == 4 && in.k.defined() && in.k.dim() == 4, op, ": q has shape ", in.q.shape(),
             ", expected (B, H, T, D) beside k of (B, H, S, D)");
  const Shape keys{in.q.size(0), in.q.size(1), in.k.size(2), in.q.size(3)};
  check_heads(op, "q", in.q, in.q.shape(), in.q);
  check_heads(op, "k", in.k, keys, in.q);
  check_heads(op, "v", in.v, keys, in.q);
  if (in.key_mask.defined()) {
    check_same_shape(op, "key_mask", in.key_mask, {in.q.size(0), in.k.size(2)});
    check_same_device(op, "key_mask", in.key_mask, in.q.device());
    check_contiguous(op, "key_mask", in.key_mask);
    TARE_CHECK(in.key_mask.dtype() == DType::boolean || in.key_mask.dtype() == DType::u8, op,
               ": key_mask is ", in.key_mask.dtype(), ", expected bool or u8");
  }
  TARE_CHECK(options.dropout.p >= 0 && options.dropout.p < 1, op, ": dropout is ", options.dropout.p,
             ", expected 0 <= p < 1");
  // What fits the random numbers' counter.
  TARE_CHECK(options.dropout.p == 0 ||
                 (in.q.size(1) < (1 << 16) && in.q.size(2) < (1 << 26) && in.k.size(2) < (1 << 24)),
             op, ": dropout for q ", in.q.shape(), " and k ", in.k.shape(), " needs fewer heads or tokens");
}

void check_lse(const char* op, const Tensor& lse, const Tensor& q) {
  check_same_shape(op, "lse", lse, {q.size(0), q.size(1), q.size(2)});
  check_same_dtype(op, "lse", lse, sum_dtype(q.dtype()));
  check_same_device(op, "lse", lse, q.device());
  check_contiguous(op, "lse", lse);
}

void check_scratch(const char* op, const Tensor& scratch, int64_t bytes, const Tensor& q) {
  check_same_device(op, "scratch", scratch, q.device());
  TARE_CHECK(scratch.dtype() == DType::u8 && scratch.is_contiguous() && scratch.numel() >= bytes, op,
             ": scratch has ", scratch.nbytes(), " bytes, expected ", bytes);
}

// Pairs of a query and a key that it sees, without the key mask.
double visible_pairs(int64_t T, int64_t S, bool causal) {
  if (!causal) return double(T) * double(S);
  double pairs = 0;
  for (int64_t t = 0; t < T; ++t) pairs += double(std::clamp<int64_t>(t + S - T + 1, 0, S));
  return pairs;
}

// Of `products` multiplications of tiles; a multiply-add is two.
double flops_of(const AttentionOperands& in, const AttentionOptions& options, int products) {
  return 2.0 * products * double(in.q.size(0) * in.q.size(1) * in.q.size(3)) *
         visible_pairs(in.q.size(2), in.k.size(2), options.causal);
}

double bytes_of(const AttentionOperands& in) {
  return double(in.q.nbytes() + in.k.nbytes() + in.v.nbytes()) +
         (in.key_mask.defined() ? double(in.key_mask.nbytes()) : 0);
}

int64_t scratch_bytes(const cpu::AttentionSlots& s, DType dtype) {
  return s.slots * s.elements * size_of(sum_dtype(dtype));
}

}  // namespace

int64_t attention_forward_scratch_bytes(const AttentionOperands& in) {
  const Tensor& q = in.q;
  return scratch_bytes(cpu::attention_forward_slots(q.size(0) * q.size(1), q.size(2), q.size(3),
                                                    size_of(sum_dtype(q.dtype()))),
                       q.dtype());
}

int64_t attention_backward_scratch_bytes(const AttentionOperands& in) {
  const Tensor& q = in.q;
  return scratch_bytes(cpu::attention_backward_slots(q.size(0) * q.size(1), in.k.size(2), q.size(3),
                                                     size_of(sum_dtype(q.dtype()))),
                       q.dtype());
}

void attention_forward(const AttentionOperands& in, const AttentionOptions& options, Tensor& scratch,
                       Tensor& out, Tensor& lse) {
  const char* op = "attention_forward";
  check_operands(op, in, options);
  check_scratch(op, scratch, attention_forward_scratch_bytes(in), in.q);
  check_heads(op, "out", out, in.q.shape(), in.q);
  check_lse(op, lse, in.q);
  const double bytes = bytes_of(in) + double(out.nbytes() + lse.nbytes());
  TARE_DISPATCH_CPU(in.q.device(), (Cost{flops_of(in, options, 2), bytes}),
                    attention_forward(in, options, scratch, out, lse));
}

void attention_backward(const Tensor& dout, const AttentionOperands& in, const Tensor& out, const Tensor& lse,
                        const AttentionOptions& options, Tensor& scratch, AttentionGradients& gradients) {
  const char* op = "attention_backward";
  check_operands(op, in, options);
  check_scratch(op, scratch, attention_backward_scratch_bytes(in), in.q);
  check_heads(op, "dout", dout, in.q.shape(), in.q);
  check_heads(op, "out", out, in.q.shape(), in.q);
  check_lse(op, lse, in.q);
  double bytes = bytes_of(in) + double(dout.nbytes() + out.nbytes() + lse.nbytes());
  const auto check_gradient = [&](const char* what, const Tensor& d, const Tensor& of, Accum accum) {
    if (!d.defined()) return;
    check_heads(op, what, d, of.shape(), in.q);
    bytes += double(d.nbytes()) * (accum == Accum::add ? 2 : 1);
  };
  check_gradient("dq", gradients.dq, in.q, gradients.accum_q);
  check_gradient("dk", gradients.dk, in.k, gradients.accum_k);
  check_gradient("dv", gradients.dv, in.v, gradients.accum_v);
  TARE_DISPATCH_CPU(in.q.device(), (Cost{flops_of(in, options, 5), bytes}),
                    attention_backward(dout, in, out, lse, options, scratch, gradients));
}

}  // namespace tare::kernels
