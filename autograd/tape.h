// SPDX-License-Identifier: Apache-2.0
// The tape, as ops see it: record() after the forward kernel, GradOut and Saved inside the backward.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tare/autograd/var.h"
#include "tare/kernels/accum.h"

namespace tare {

// Tensors that a backward needs. Each access checks that the tensor was not changed in place since it was
// saved.
class Saved {
 public:
  Saved() = default;
  Saved(const char* op, std::vector<Tensor> tensors);
  const Tensor& operator[](size_t i) const;
  size_t size() const { return tensors_.size(); }
  // Gives a saved tensor away for good, so that a backward can reuse its storage. Not with retain_graph.
  Tensor take(size_t i);
  void clear();

 private:
  const char* op_ = "";
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> versions_;
};

// Where a backward writes the gradient of one input.
struct GradSlot {
  Tensor& tensor;
  Accum accum;
};

namespace detail {
class BackwardPass;
}

// Handed to a backward: one slot per input of record(). Inputs that want no gradient have needs(i) == false
// and must not be asked for.
class GradOut {
 public:
  GradOut(detail::BackwardPass& pass, detail::Node& node);
  ~GradOut();
  GradOut(const GradOut&) = delete;
  GradOut& operator=(const GradOut&) = delete;

  bool needs(size_t i) const;
  const Shape& shape(size_t i) const;  // of input i
  // The tensor to write for input i, contiguous, of the input's shape and gradient dtype; overwrite it or add
  // to it as accum says.
  GradSlot operator()(size_t i);
  // The same for an input that was broadcast to `shape`: where shapes differ, a temporary that is summed back
  // into the input's gradient after the backward.
  GradSlot operator()(size_t i, const Shape& shape);
  // The same for a kernel that writes the input's own dtype: where the gradient's differs (a leaf of half
  // type), a temporary that is converted into it after the backward.
  GradSlot in_input_dtype(size_t i);
  // Hands over a finished gradient, which may be a view of dy or a saved tensor, of the input's shape or one
  // that it broadcasts to. Costs nothing where it is the first contribution.
  void give(size_t i, Tensor gradient);
  // True while the pass keeps its graph for another one: saved tensors must not be taken.
  bool retains_graph() const;
  // Sums the temporaries of broadcast inputs back; the engine calls it after the backward.
  void finish();

 private:
  struct Broadcast {
    size_t input;
    Tensor tensor;
  };
  detail::BackwardPass& pass_;
  detail::Node& node_;
  std::vector<std::unique_ptr<Broadcast>> broadcasts_;
};

using BackwardFn = std::function<void(GradOut& out, Saved& saved, const Tensor& dy)>;

// Puts an op on the tape and returns its result. Inputs that need no gradient cost nothing; when none needs
// one, or under NoGradGuard, y is returned as a constant. `saved` temporaries become activations in the
// ledger; `backward` captures scalars only, so that memory stays countable. `op` must be a string literal.
Var record(const char* op, Tensor y, std::vector<Var> inputs, std::vector<Tensor> saved, BackwardFn backward);

// True when an op over these inputs will be recorded: save what backward needs only then.
bool will_record(std::initializer_list<const Var*> inputs);

}  // namespace tare
