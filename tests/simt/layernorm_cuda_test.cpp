// SPDX-License-Identifier: Apache-2.0
// LayerNorm's CUDA twins on the rows of tests/kernels.
#include <gtest/gtest.h>

#include "tests/kernels/layernorm_cases.h"
#include "tests/simt/cuda_cases.h"

namespace tare::test {
namespace {

TARE_TEST_CUDA_CASES(LayerNorm, layernorm_cases());

TEST(LayerNormCuda, dx_may_overwrite_dy_and_each_gradient_may_be_left_out) {
  const int64_t rows = 70, C = 24;
  const Tensor x = Tensor::randn({rows, C}, 1), dy = Tensor::randn({rows, C}, 2),
               gamma = Tensor::randn({C}, 3);
  const auto want = ref::layer_norm_backward(x.to_vector<double>(), gamma.to_vector<double>(),
                                             dy.to_vector<double>(), rows, C, kEps);
  const Tensor device_x = on_cuda(x), device_gamma = on_cuda(gamma);
  Tensor y = empty_on_cuda({rows, C}, DType::f32), mean = empty_on_cuda({rows}, DType::f32);
  Tensor rstd = empty_on_cuda({rows}, DType::f32),
         scratch = scratch_for(kernels::layernorm_backward_scratch_bytes(x.shape(), x.dtype()), device_x);
  kernels::layernorm_forward(device_x, device_gamma, device_gamma, kEps, y, mean, rstd);
  for (const bool with_dgamma : {false, true})
    for (const bool with_dbeta : {false, true}) {
      Tensor dx = on_cuda(dy), dgamma = empty_on_cuda({C}, DType::f32),
             dbeta = empty_on_cuda({C}, DType::f32);
      kernels::LayerNormGrads grads{.dx = &dx};
      if (with_dgamma) grads.dgamma = &dgamma;
      if (with_dbeta) grads.dbeta = &dbeta;
      kernels::layernorm_backward(device_x, device_gamma, mean, rstd, dx, grads, scratch);
      expect_close(dx.to(kCpu), want.dx);
      if (with_dgamma) expect_close(dgamma.to(kCpu), want.dweight);
      if (with_dbeta) expect_close(dbeta.to(kCpu), want.dbias);
    }
}

}  // namespace
}  // namespace tare::test
