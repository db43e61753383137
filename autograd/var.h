// SPDX-License-Identifier: Apache-2.0
// Var: a Tensor with a place on the tape. Models are written on Vars; kernels, optimizers and data see
// Tensors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tare/autograd/grad_mode.h"
#include "tare/core/tensor.h"

namespace tare {

namespace detail {
struct Node;
}

class Var {
 public:
  Var() = default;
  Var(Tensor value) : value_(std::move(value)) {}  // a constant; implicit, so that ops take Tensors too
  // A leaf that wants a gradient. Its storage is charged to parameters. The gradient has the value's shape
  // and `grad_dtype` (default: f32 for half types, else the value's).
  static Var parameter(Tensor value, std::string name = {}, std::optional<DType> grad_dtype = std::nullopt);

  bool defined() const { return value_.defined(); }
  const Tensor& value() const { return value_; }
  // For in-place changes (optimizers, loading): shares the storage of every copy of this Var.
  Tensor& mutable_value() { return value_; }
  const Shape& shape() const { return value_.shape(); }
  int64_t size(int axis) const { return value_.size(axis); }
  int dim() const { return value_.dim(); }
  int64_t numel() const { return value_.numel(); }
  DType dtype() const { return value_.dtype(); }
  Device device() const { return value_.device(); }

  bool requires_grad() const;  // wants a gradient, as a leaf or as the result of a recorded op
  bool is_leaf() const;
  void set_requires_grad(bool wanted);  // leaves only, with all their copies; false frees the gradient
  const std::string& name() const;      // of a leaf, "" otherwise
  void set_name(std::string name);

  // The accumulated gradient of a leaf; undefined when none came since zero_grad().
  Tensor grad() const;
  // Forgets the gradient. `keep_memory` leaves its tensor allocated for the next backward to overwrite.
  void zero_grad(bool keep_memory = false);
  // Called with the leaf's gradient when a backward pass has made its last contribution to it, once per pass.
  void on_grad_complete(std::function<void(Var&)> hook);

  Var detach() const { return Var(value_); }

  const std::shared_ptr<detail::Node>& node() const { return node_; }
  Var(Tensor value, std::shared_ptr<detail::Node> node) : value_(std::move(value)), node_(std::move(node)) {}

 private:
  Tensor value_;
  std::shared_ptr<detail::Node> node_;
};

using Vars = std::vector<Var>;

struct BackwardOptions {
  // d(objective)/d(root), of root's shape and dtype; by default 1 for a one-element root.
  Tensor seed = {};
  bool retain_graph = false;  // keep saved tensors for another pass
};

// Adds d(root)/d(leaf) to the gradient of each leaf that wants one. Iterative; ops run in reverse order of
// recording, each under the module path where its forward ran.
void backward(const Var& root, const BackwardOptions& options = {});

}  // namespace tare
