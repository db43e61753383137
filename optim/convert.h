// SPDX-License-Identifier: Apache-2.0
// The states of one optimizer in the layout of another: AdamW's moments in 32 bits or in 8, and those of
// bitsandbytes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tare/optim/optimizer.h"

namespace tare::optim {

// What Optimizer::state() and metadata() give, and load() takes.
struct SavedStates {
  NamedTensors state;
  std::map<std::string, std::string> metadata;
};

// The moments of adamw or adamw8bit for `to`, which is one of the two with the same parameters; counts of
// updates are kept, settings and groups are those of `to`. A moment whose codes have the block and map of
// `to` is handed over as it is; others are decoded, and coded anew where `to` has codes. Error that names
// another optimizer or a state that is missing, does not fit its parameter or is not finite.
SavedStates convert_states(const SavedStates& from, const Optimizer& to);

// The state of bitsandbytes' AdamW8bit (or its 32-bit AdamW) for `to`, from a dump with these tensors per
// parameter: P.state1 and P.state2, u8 codes with P.absmax1 and P.absmax2 (f32, one per block, which is 256
// or, before release 0.44, 2048) or f32 moments; P.step, one number; optionally P.qmap1 and P.qmap2, the 256
// values of the codes (without them, those of Tare's bnb map, which differ by less than 1e-6 of each). A
// parameter without tensors had no update; the count of updates is the greatest P.step. Error that names what
// is missing, left over, of another size or not finite, and the number of blocks where it is that of no block
// size.
SavedStates import_bitsandbytes(const NamedTensors& dump, const Optimizer& to);

// `text`, an optimizer's, with those of lr, beta1, beta2, eps and weight_decay that it lacks and `was`, the
// text of the optimizer before, gives; as it is where either of the two lacks one of them altogether, since
// a learning rate of sgd is none of adamw.
std::string with_options_of(std::string_view was, std::string_view text);

}  // namespace tare::optim
