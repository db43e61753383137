// SPDX-License-Identifier: Apache-2.0
// f32 products by oneDNN. dnnl_sgemm is in 2.x and 3.x, takes leading dimensions, keeps no state and is as
// quick as the matmul primitive: no cache of primitives is needed.
#include "tare/kernels/cpu/gemm.h"

#if defined(TARE_HAS_ONEDNN) && TARE_HAS_ONEDNN
#include <algorithm>

#include <oneapi/dnnl/dnnl.h>

#include "tare/core/error.h"
#include "tare/core/parallel.h"
#include "tare/core/signal_guard.h"

namespace tare::kernels::cpu {
namespace {

// An operand as BLAS sees it: row-major, or the transposed of a row-major matrix.
struct BlasOperand {
  char transposed = 'N';
  int64_t leading = 0;
  bool ok = false;
};

// rows x cols with the given strides. A stride along an extent of 1 means nothing.
BlasOperand blas_operand(int64_t rows, int64_t cols, int64_t row, int64_t col) {
  if (cols == 1) col = 1;
  if (col == 1 && (rows == 1 || row >= cols)) return {'N', rows == 1 ? cols : row, true};
  if (rows == 1) row = 1;
  if (row == 1 && (cols == 1 || col >= rows)) return {'T', cols == 1 ? rows : col, true};
  return {};
}

}  // namespace

bool gemm_onednn(const Gemm<float>& g) {
  const BlasOperand a = blas_operand(g.M, g.K, g.a_row, g.a_col),
                    b = blas_operand(g.K, g.N, g.b_row, g.b_col);
  if (!a.ok || !b.ok || g.K == 0 || (g.N != 1 && g.c_col != 1)) return false;
  const int64_t c_leading = g.M == 1 ? std::max(g.c_row, g.N) : g.c_row;
  const float beta = g.accum == Accum::add ? 1.0f : 0.0f;
  num_threads();            // of this process, for oneDNN's own
  const SignalGuard guard;  // its threads, started here or by parallel_for, hold signals back as well
  const dnnl_status_t status = dnnl_sgemm(a.transposed, b.transposed, g.M, g.N, g.K, 1.0f, g.a, a.leading,
                                          g.b, b.leading, beta, g.c, c_leading);
  TARE_CHECK(status == dnnl_success, "matmul: oneDNN's sgemm failed with status ", int(status), " for M ",
             g.M, ", N ", g.N, ", K ", g.K);
  return true;
}

}  // namespace tare::kernels::cpu
#else
namespace tare::kernels::cpu {

bool gemm_onednn(const Gemm<float>&) { return false; }

}  // namespace tare::kernels::cpu
#endif
