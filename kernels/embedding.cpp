// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/embedding.h"

#include "tare/kernels/check.h"

namespace tare::kernels {
namespace {

// ids, a table-like (V, C) and a row-like (..., C) tensor fit together.
void check_embedding(const char* op, const Tensor& ids, const char* table_name, const Tensor& table,
                     const char* rows_name, const Tensor& rows) {
  TARE_CHECK(ids.defined(), op, ": ids is undefined");
  TARE_CHECK(ids.dtype() == DType::i64 || ids.dtype() == DType::i32 || ids.dtype() == DType::u8, op,
             ": ids is ", ids.dtype(), ", expected i64, i32 or u8");
  check_floating(op, table_name, table);
  check_floating(op, rows_name, rows);
  TARE_CHECK(table.dim() == 2, op, ": ", table_name, " has shape ", table.shape(), ", expected (V, C)");
  TARE_CHECK(ids.dim() < kMaxDims, op, ": ids has ", ids.dim(), " axes, at most ", kMaxDims - 1, " fit");
  Shape expected = ids.shape();
  expected.push_back(table.size(1));
  check_same_shape(op, rows_name, rows, expected);
  check_same_device(op, table_name, table, ids.device());
  check_same_device(op, rows_name, rows, ids.device());
  check_contiguous(op, "ids", ids);
  check_contiguous(op, table_name, table);
  check_contiguous(op, rows_name, rows);
}

}  // namespace

void embedding_forward(const Tensor& ids, const Tensor& table, Tensor& y) {
  check_embedding("embedding_forward", ids, "table", table, "y", y);
  check_same_dtype("embedding_forward", "y", y, table.dtype());
  TARE_DISPATCH_CPU(ids.device(), (Cost{0, double(ids.nbytes()) + 2 * double(y.nbytes())}),
                    embedding_forward(ids, table, y));
}

void embedding_backward(const Tensor& ids, const Tensor& dy, Tensor& dtable, Accum accum) {
  check_embedding("embedding_backward", ids, "dtable", dtable, "dy", dy);
  TARE_CHECK(dtable.dtype() == dy.dtype() || (is_half(dy.dtype()) && dtable.dtype() == DType::f32),
             "embedding_backward: dtable is ", dtable.dtype(), ", expected ", dy.dtype(),
             is_half(dy.dtype()) ? " or f32" : "");
  const double rows = 2 * double(dy.numel() * size_of(dtable.dtype()));
  const double zeroed = accum == Accum::set ? double(dtable.nbytes()) : 0;
  TARE_DISPATCH_CPU(ids.device(),
                    (Cost{double(dy.numel()), double(ids.nbytes() + dy.nbytes()) + rows + zeroed}),
                    embedding_backward(ids, dy, dtable, accum));
}

}  // namespace tare::kernels
