// SPDX-License-Identifier: Apache-2.0
// A node of the tape. Internal to the engine: ops use tape.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tare/autograd/tape.h"

namespace tare::detail {

struct Leaf {
  std::string name;
  bool wanted = true;  // false while it is frozen
  DType grad_dtype = DType::f32;
  Tensor grad;            // allocated or not
  bool has_grad = false;  // grad holds contributions since zero_grad()
  std::vector<std::function<void(Var&)>> hooks;
};

struct Node : std::enable_shared_from_this<Node> {
  const char* op = "";
  uint64_t sequence = 0;  // order of recording
  std::string path;       // module path of the forward
  Shape shape;            // of the op's result or the leaf
  DType dtype = DType::f32;
  Device device;
  std::vector<std::shared_ptr<Node>> inputs;  // null where no gradient was wanted
  std::vector<Shape> input_shapes;
  Saved saved;
  BackwardFn backward;
  // Of a checkpoint, instead of backward: makes the op's result once more, with all that leads to it.
  std::function<Var(const Saved& saved)> recompute;
  bool released = false;       // saved tensors were freed by a pass
  std::unique_ptr<Leaf> leaf;  // set for leaves only
  Tensor value;                // of a leaf, for its hooks

  Node() = default;
  ~Node();  // iterative: a chain of any length is freed without recursion
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
};

// Whether the place of an input on the tape wants a gradient now: a leaf may have been frozen since.
inline bool wants_grad(const Node* node) { return node && (!node->leaf || node->leaf->wanted); }

uint64_t next_sequence();

// Nodes that ops would have had as inputs, had they been recorded: each once, in the order of first use.
class UsedNodes {
 public:
  void add(const std::shared_ptr<Node>& node) {
    if (known_.insert(node.get()).second) nodes_.push_back(node);
  }
  const std::vector<std::shared_ptr<Node>>& nodes() const { return nodes_; }

 private:
  std::vector<std::shared_ptr<Node>> nodes_;
  std::unordered_set<const Node*> known_;
};

// While it lives, ops of the calling thread record nothing and tell `used` what they would have used. Guards
// inside work as ever.
class ObserveScope {
 public:
  explicit ObserveScope(UsedNodes& used);
  ~ObserveScope();
  ObserveScope(const ObserveScope&) = delete;
  ObserveScope& operator=(const ObserveScope&) = delete;

 private:
  GradModeGuard mode_;
  UsedNodes* outer_;
};

// Those of the innermost scope; null when nothing is observed.
UsedNodes* observer();

}  // namespace tare::detail
