// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/linear_cross_entropy.h"

#include <algorithm>

#include "tare/kernels/check.h"
#include "tare/kernels/linear.h"
#include "tare/kernels/matmul.h"

namespace tare::kernels {
namespace {

constexpr int64_t kChunkBytes = int64_t(64) << 20;
constexpr int64_t kRowMultiple = 16;

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

DType logits_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

int64_t chunk_rows(int64_t N, int64_t V, int64_t chunk) {
  TARE_CHECK(chunk >= 0, "linear_cross_entropy: a chunk of ", chunk, " rows");
  return std::min(N, chunk > 0 ? chunk : linear_cross_entropy_chunk(N, V));
}

int64_t logits_bytes(int64_t rows, int64_t V, DType dtype) {
  return round_up(rows * V * size_of(logits_dtype(dtype)), 64);
}

}  // namespace

int64_t linear_cross_entropy_chunk(int64_t N, int64_t V) {
  const int64_t most =
      std::max<int64_t>(1, kChunkBytes / (4 * std::max<int64_t>(V, 1)) / kRowMultiple) * kRowMultiple;
  const int64_t chunks = std::max<int64_t>(1, (N + most - 1) / most);
  return std::min(round_up((N + chunks - 1) / chunks, kRowMultiple), std::max<int64_t>(N, 1));
}

int64_t linear_cross_entropy_scratch_bytes(int64_t N, int64_t V, DType dtype, int64_t chunk) {
  const int64_t rows = chunk_rows(N, V, chunk);
  return logits_bytes(rows, V, dtype) + (is_half(dtype) ? rows * V * size_of(dtype) : 0);
}

// Composed of fronts, each of which states its own cost.
void linear_cross_entropy(const Tensor& x, const Tensor& w, const Tensor& targets,
                          const LinearCrossEntropyOptions& options, Tensor& scratch,
                          LinearCrossEntropyResult& result) {
  const char* op = "linear_cross_entropy";
  check_floating(op, "x", x);
  TARE_CHECK(x.dim() == 2 && w.dim() == 2 && x.size(1) == w.size(1), op, ": x has shape ", x.shape(),
             ", w has shape ", w.shape(), ", expected (N, C) and (V, C)");
  const int64_t N = x.size(0), V = w.size(0), rows = chunk_rows(N, V, options.chunk);
  const int64_t needed = linear_cross_entropy_scratch_bytes(N, V, x.dtype(), options.chunk);
  TARE_CHECK(scratch.storage()->bytes() >= needed, op, ": scratch has ", scratch.storage()->bytes(),
             " bytes, expected ", needed);
  scratch.bump_version();
  if (N == 0 && result.dw.defined()) fill(result.dw, 0);
  const bool backward = result.dx.defined() || result.dw.defined();
  for (int64_t begin = 0; begin < N; begin += rows) {
    const int64_t end = std::min(N, begin + rows);
    const Tensor chunk = x.slice(0, begin, end), labels = targets.slice(0, begin, end);
    Tensor logits = Tensor::from_storage(scratch.storage(), 0, {end - begin, V}, logits_dtype(x.dtype()));
    Tensor loss = result.loss.slice(0, begin, end), no_lse;
    matmul(chunk, w.transpose(0, 1), logits, Accum::set);
    if (!backward) {
      cross_entropy_forward(logits, labels, options.loss, loss, no_lse);
      continue;
    }
    Tensor dlogits = logits;
    if (is_half(x.dtype()))
      dlogits = Tensor::from_storage(scratch.storage(), logits_bytes(rows, V, x.dtype()), {end - begin, V},
                                     x.dtype());
    cross_entropy_forward_backward(logits, labels, options.scale, options.loss, loss, dlogits);
    if (result.dx.defined()) {
      Tensor dx = result.dx.slice(0, begin, end);
      linear_backward_input(dlogits, w, dx, Accum::set);
    }
    if (result.dw.defined())
      linear_backward_weight(dlogits, chunk, result.dw, begin == 0 ? Accum::set : Accum::add);
  }
}

}  // namespace tare::kernels
