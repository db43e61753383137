// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/adafactor.h"

#include <algorithm>

#include "tare/kernels/optimizer_check.h"

namespace tare::kernels {
namespace {

constexpr int64_t kPiece = 1 << 16;  // elements, at most
constexpr int64_t kRowsSummed = 128;
constexpr int64_t kBatch = 1 << 21;  // elements, about

}  // namespace

AdafactorGeometry::AdafactorGeometry(const TensorEntry& e)
    : factored(e.rows > 0 && e.cols > 0), rows(e.numel), matrix_rows(std::max<int64_t>(e.numel, 1)) {
  piece_rows = kPiece;
  if (!factored) return;
  rows = e.numel / e.cols;
  cols = e.cols;
  matrix_rows = e.rows;
  piece_rows = std::clamp<int64_t>(kPiece / cols, 1, kRowsSummed);
}

// Two sums per piece and what the whole entry shares; for matrices a factor per row, and for columns the sums
// of pieces, their sums, and the factors.
int64_t AdafactorGeometry::scratch_doubles() const {
  const int64_t shared = 2 * pieces() + 2;
  return factored ? shared + rows + (column_slots() + 2 * matrices()) * cols : shared;
}

int64_t adafactor_batch_end(const TensorTable& table, int64_t first) {
  int64_t numel = 0;
  for (int64_t i = first; i < table.count(); ++i) {
    numel += table.host()[size_t(i)].numel;
    if (i > first && numel > kBatch) return i;
  }
  return table.count();
}

int64_t adafactor_scratch_bytes(const TensorTable& table) {
  int64_t most = 0;
  for (int64_t i = 0; i < table.count();) {
    int64_t doubles = 0;
    for (const int64_t end = adafactor_batch_end(table, i); i < end; ++i)
      doubles += AdafactorGeometry(table.host()[size_t(i)]).scratch_doubles();
    most = std::max(most, doubles);
  }
  return most * int64_t(sizeof(double));
}

void adafactor_update(const TensorTable& table, const AdafactorArgs& args, Tensor& scratch,
                      const Tensor& state) {
  const char* op = "adafactor_update";
  check_update(op, table, state, 1);
  check_same_dtype(op, "scratch", scratch, DType::u8);
  check_same_device(op, "scratch", scratch, table.device());
  TARE_CHECK(scratch.numel() >= adafactor_scratch_bytes(table), op, ": scratch has ", scratch.numel(),
             " bytes, expected ", adafactor_scratch_bytes(table));
  for (const TensorEntry& e : table.host()) {
    const auto number = &e - table.host().data();
    const bool whole = e.rows == 0 && e.cols == 0;
    TARE_CHECK(whole || (e.rows > 0 && e.cols > 0 && e.numel % (e.rows * e.cols) == 0), op, ": entry ",
               number, " of ", e.numel, " elements is not made of matrices (", e.rows, ", ", e.cols, ")");
    if (table.device().is_meta() || e.numel == 0) continue;
    TARE_CHECK((whole || e.states[1]) && (args.beta1 == 0 || e.states[whole ? 1 : 2]), op, ": entry ", number,
               " of the table lacks a pointer");
  }
  const double n = double(table.numel());
  const double of_param = args.scale_parameter ? 3 : 2;  // read twice, or once, and written
  const double bytes = 3.0 * double(size_of(table.grad_dtype())) +
                       of_param * double(size_of(table.param_dtype())) +
                       (args.beta1 != 0 ? 2.0 * double(size_of(table.state_dtype())) : 0);
  TARE_DISPATCH_CPU(table.device(), (Cost{15 * n, bytes * n}), adafactor_update(table, args, scratch, state));
}

}  // namespace tare::kernels
