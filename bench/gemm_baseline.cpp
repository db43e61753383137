// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/gemm_baseline.h"

#include <algorithm>
#include <chrono>

#include "tare/core/error.h"
#include "tare/core/signal_guard.h"

#if TARE_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace tare::bench {
namespace {

// C (m, n) = op(A) op(B), row-major.
void sgemm(char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const Tensor& a, const Tensor& b,
           Tensor& c) {
#if TARE_HAS_ONEDNN
  const int64_t lda = trans_a == 'N' ? k : m, ldb = trans_b == 'N' ? n : k;
  const SignalGuard guard;
  const dnnl_status_t status = dnnl_sgemm(trans_a, trans_b, m, n, k, 1.0f, a.data<float>(), lda,
                                          b.data<float>(), ldb, 0.0f, c.mutable_data<float>(), n);
  TARE_CHECK(status == dnnl_success, "dnnl_sgemm: status ", int(status));
#else
  (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k, (void)a, (void)b, (void)c;
  TARE_THROW("the GEMM baseline needs a build with oneDNN");
#endif
}

}  // namespace

bool GemmBaseline::available() {
#if TARE_HAS_ONEDNN
  return true;
#else
  return false;
#endif
}

GemmBaseline::GemmBaseline(std::vector<LinearShape> layers) : layers_(std::move(layers)) {
  int64_t x = 0, w = 0, y = 0;
  for (const LinearShape& l : layers_) {
    x = std::max(x, l.tokens * l.in);
    w = std::max(w, l.in * l.out);
    y = std::max(y, l.tokens * l.out);
  }
  const TensorOptions options{DType::f32, kCpu, Category::workspace};
  x_ = Tensor::full({x}, 0.01, options);
  w_ = Tensor::full({w}, 0.01, options);
  y_ = Tensor::full({y}, 0.01, options);
  dx_ = Tensor::full({x}, 0, options);
  dw_ = Tensor::full({w}, 0, options);
}

double GemmBaseline::run() {
  const auto begin = std::chrono::steady_clock::now();
  for (const LinearShape& l : layers_)
    for (int64_t i = 0; i < l.count; ++i) {
      sgemm('N', 'N', l.tokens, l.out, l.in, x_, w_, y_);   // y = x W
      sgemm('N', 'T', l.tokens, l.in, l.out, y_, w_, dx_);  // dx = dy W^T
      sgemm('T', 'N', l.in, l.out, l.tokens, x_, y_, dw_);  // dW = x^T dy
    }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double GemmBaseline::flops() const {
  double sum = 0;
  for (const LinearShape& l : layers_)
    sum += 6.0 * double(l.tokens) * double(l.in) * double(l.out) * double(l.count);
  return sum;
}

}  // namespace tare::bench
