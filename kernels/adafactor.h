// SPDX-License-Identifier: Apache-2.0
// Adafactor (Shazeer and Stern, "Adafactor: Adaptive learning rates with sublinear memory cost", 2018,
// algorithms 4 and 5) over all parameters of one dtype in one call.
#pragma once

#include <cstdint>

#include "tare/kernels/dispatch.h"
#include "tare/kernels/step_state.h"
#include "tare/kernels/tensor_table.h"

namespace tare::kernels {

// How the rate rho of a step follows from its learning rate lr and the parameter's own step t, from 1.
enum class AdafactorRate : uint8_t {
  given,     // lr
  relative,  // lr min(1e-2, 1 / sqrt(t)): lr is a factor, usually 1
  warmup,    // lr min(1e-6 t, 1 / sqrt(t))
  capped,    // min(lr, 1 / sqrt(t)), as torch
};

struct AdafactorArgs {
  AdafactorRate rate = AdafactorRate::relative;
  bool scale_parameter = true;  // the step is alpha = rho max(eps2, RMS(p)), else rho
  // false: eps1 is added to the squared gradients (the paper, Hugging Face). true: a mean of rows is at least
  // eps1 and an estimated variance at least eps1^2 (torch).
  bool clamp_variance = false;
  double eps1 = 1e-30, eps2 = 1e-3;
  double clip_threshold = 1;  // d: greatest RMS of an update
  double decay_rate = -0.8;   // beta2 of step t is 1 - t^decay_rate
  double beta1 = 0;           // of the mean of steps, which then is the step (Hugging Face); 0: there is none
  bool decay_by_step = true;  // weight decay is times alpha (Hugging Face), else times lr (torch)
};

// One update of every entry. A parameter whose entry has rows and cols is numel / (rows cols) matrices and
// has states[0] = means of rows (numel / cols) and states[1] = means of columns (numel / rows) of the squared
// gradients; one without has states[0] = the mean squares themselves. With beta1, the next state is the mean
// of steps. States and arithmetic are f32, f64 for f64 parameters; sums over more than a row, and over
// columns, are f64. The gradients are read three times in their order, the parameters twice. When found_inf
// is not 0 nothing changes. `scratch`: adafactor_scratch_bytes(table) u8. Bits do not depend on the threads.
void adafactor_update(const TensorTable& table, const AdafactorArgs& args, Tensor& scratch,
                      const Tensor& state);
int64_t adafactor_scratch_bytes(const TensorTable& table);

TARE_DECLARE_TWINS(adafactor_update, const TensorTable& table, const AdafactorArgs& args, Tensor& scratch,
                   const Tensor& state)

// How an entry is cut for threads: into pieces of whole rows, numbered through all its matrices.
struct AdafactorGeometry {
  bool factored = false;
  int64_t rows = 0, cols = 1;  // of all matrices on each other; an entry that is not factored is one column
  int64_t matrix_rows = 1;     // of one matrix
  int64_t piece_rows = 1;      // at most 128 where columns are summed, in the type of the states

  explicit AdafactorGeometry(const TensorEntry& entry);
  int64_t matrices() const { return rows / matrix_rows; }
  int64_t pieces() const { return (rows + piece_rows - 1) / piece_rows; }
  // Sums of columns over the rows that piece k and matrix m share lie at column_slot(k, m). Going through the
  // rows, each step into the next piece or matrix raises it.
  static int64_t column_slot(int64_t piece, int64_t matrix) { return piece + matrix; }
  int64_t column_slots() const { return pieces() + matrices(); }
  int64_t scratch_doubles() const;
};

// Entries [first, the result) go through all passes together: few enough elements to stay in a cache between
// the passes, enough for the threads. Their scratch lies one after the other and is that of the next ones
// too.
int64_t adafactor_batch_end(const TensorTable& table, int64_t first);

}  // namespace tare::kernels
