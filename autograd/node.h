// SPDX-License-Identifier: Apache-2.0
// A node of the tape. Internal to the engine: ops use tape.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
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

}  // namespace tare::detail
