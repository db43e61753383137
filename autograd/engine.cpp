// SPDX-License-Identifier: Apache-2.0
// The backward pass: counts how often each node is used, then runs nodes in reverse order of recording.
#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "tare/autograd/node.h"
#include "tare/core/scope.h"
#include "tare/kernels/accumulate.h"

namespace tare {
namespace detail {

// The gradient that flows into one node during a pass. Kept here and not in the node, so that passes may
// nest.
struct Flow {
  int64_t pending = 0;   // uses whose backward has not yet run
  Tensor grad;           // of an op's result; a leaf's stands in the leaf
  bool touched = false;  // a leaf got a contribution in this pass
};

class BackwardPass {
 public:
  BackwardPass(const std::shared_ptr<Node>& root, const BackwardOptions& options)
      : options_(options), begin_(next_sequence()) {
    count_uses(root);
  }

  void run(const std::shared_ptr<Node>& root, Tensor seed) {
    contribute(*root, std::move(seed));
    is_ready(*root);
    while (!ready_.empty()) {
      Node& node = *ready_.top();
      ready_.pop();
      run_node(node);
    }
  }

  // The slot of a node's gradient for a kernel to write.
  GradSlot slot(Node& node) {
    Tensor& grad = node.leaf ? node.leaf->grad : flows_[&node].grad;
    const bool has_grad = node.leaf ? node.leaf->has_grad : grad.defined();
    const Accum accum = has_grad ? Accum::add : Accum::set;
    if (!grad.defined()) grad = allocate(node);
    // A gradient that was handed over may be shared with another slot or a view's base: copy before writing.
    else if (!grad.is_sole_owner() || !grad.is_contiguous())
      grad = has_grad ? copied(grad, node) : allocate(node);
    mark(node);
    return {grad, accum};
  }

  // Adds a finished gradient: adopted when it is the first, added otherwise.
  void contribute(Node& node, Tensor gradient) {
    if (!(gradient.shape() == node.shape)) {
      GradSlot s = slot(node);
      return kernels::sum_to(gradient, s.tensor, s.accum);
    }
    if (node.leaf ? can_adopt(*node.leaf, gradient) : !flows_[&node].grad.defined()) {
      if (node.leaf) {
        gradient.storage()->set_category(Category::gradients);
        node.leaf->grad = std::move(gradient);
      } else {
        flows_[&node].grad = std::move(gradient);
      }
      return mark(node);
    }
    GradSlot s = slot(node);
    kernels::accumulate(gradient, s.tensor, s.accum);
  }

  bool retains_graph() const { return options_.retain_graph; }

 private:
  struct LaterFirst {
    bool operator()(const Node* a, const Node* b) const { return a->sequence < b->sequence; }
  };

  // Of all that leads to the root and is not in this pass yet. False when the root was.
  bool count_uses(const std::shared_ptr<Node>& root) {
    if (!flows_.try_emplace(root.get()).second) return false;
    std::vector<Node*> stack{root.get()};
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      TARE_CHECK(!node->released, "backward: the saved tensors of ", node->op, " (", node->path,
                 ") were freed by an earlier pass; run that one with retain_graph");
      for (const auto& input : node->inputs) {
        if (!input) continue;
        const auto [it, first] = flows_.try_emplace(input.get());
        ++it->second.pending;
        if (first) stack.push_back(input.get());
      }
    }
    return true;
  }

  void run_node(Node& node) {
    Tensor dy = std::move(flows_[&node].grad);
    if (dy.defined() && std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [](const auto& input) { return wants_grad(input.get()); })) {
      if (node.recompute)
        run_again(node, std::move(dy));
      else
        run_backward(node, dy);
    }
    dy = {};
    if (!options_.retain_graph || is_of_this_pass(node)) {
      node.saved.clear();
      node.backward = nullptr;
      node.recompute = nullptr;
      node.released = true;
    }
    for (const auto& input : node.inputs)
      if (input && --flows_[input.get()].pending == 0) is_ready(*input);
  }

  // Puts what a checkpoint records into this pass. Its nodes are the latest, so that they run next, in the
  // order in which those of a plain forward would have run in the checkpoint's place.
  void run_again(Node& node, Tensor dy) {
    std::shared_ptr<Node> root;
    {
      const RestoredPathScope path(node.path);
      const OpScope op(node.op);
      const CategoryScope category(Category::temporaries);
      const Var y = node.recompute(node.saved);
      if (!y.requires_grad()) return;
      root = y.node();
    }
    const bool first = count_uses(root);
    contribute(*root, std::move(dy));
    if (first) is_ready(*root);
    recomputed_.push_back(std::move(root));
  }

  bool is_of_this_pass(const Node& node) const { return node.sequence > begin_; }

  void run_backward(Node& node, Tensor& dy) {
    const RestoredPathScope path(node.path);
    const OpScope op(node.op);
    // Gradients are charged as temporaries wherever the caller stands.
    const CategoryScope category(Category::temporaries);
    const NoGradGuard no_grad;
    first_.clear();
    try {
      if (!dy.is_contiguous()) dy = dy.contiguous();
      GradOut out(*this, node);
      node.backward(out, node.saved, dy);
      out.finish();
    } catch (...) {
      // What the op was to write first may hold anything.
      for (Leaf* leaf : first_) leaf->has_grad = false;
      throw;
    }
  }

  // A leaf is complete at once, so that its hooks can overlap with the rest of the pass.
  void is_ready(Node& node) {
    if (node.leaf)
      complete_leaf(node);
    else
      ready_.push(&node);
  }

  void complete_leaf(Node& node) {
    if (!flows_[&node].touched || node.leaf->hooks.empty()) return;
    Var v(node.value, node.shared_from_this());
    for (const auto& hook : node.leaf->hooks) hook(v);
  }

  static bool can_adopt(const Leaf& leaf, const Tensor& gradient) {
    return !leaf.has_grad && !leaf.grad.defined() && gradient.dtype() == leaf.grad_dtype &&
           gradient.is_contiguous() && gradient.is_sole_owner() &&
           gradient.nbytes() == gradient.storage()->bytes() && gradient.storage()->is_charged();
  }

  static Tensor allocate(const Node& node) {
    if (node.leaf)
      return Tensor::empty(node.shape, {node.leaf->grad_dtype, node.device, Category::gradients});
    return Tensor::empty(node.shape, {node.dtype, node.device, Category::temporaries});
  }

  static Tensor copied(const Tensor& grad, const Node& node) {
    Tensor own = allocate(node);
    copy(grad, own);
    return own;
  }

  void mark(Node& node) {
    if (!node.leaf) return;
    if (!node.leaf->has_grad) first_.push_back(node.leaf.get());
    node.leaf->has_grad = true;
    flows_[&node].touched = true;
  }

  const BackwardOptions& options_;
  uint64_t begin_;                                 // nodes with a later number are recomputed ones
  std::vector<std::shared_ptr<Node>> recomputed_;  // they live as long as flows_ refers to them
  std::unordered_map<Node*, Flow> flows_;
  std::vector<Leaf*> first_;  // leaves whose gradient the op being run is the first to write
  std::priority_queue<Node*, std::vector<Node*>, LaterFirst> ready_;
};

}  // namespace detail

GradOut::GradOut(detail::BackwardPass& pass, detail::Node& node) : pass_(pass), node_(node) {}
GradOut::~GradOut() = default;

bool GradOut::needs(size_t i) const { return detail::wants_grad(node_.inputs.at(i).get()); }
const Shape& GradOut::shape(size_t i) const { return node_.input_shapes.at(i); }
bool GradOut::retains_graph() const { return pass_.retains_graph(); }

GradSlot GradOut::operator()(size_t i) {
  TARE_ASSERT(needs(i));
  return pass_.slot(*node_.inputs[i]);
}

GradSlot GradOut::operator()(size_t i, const Shape& shape) {
  if (shape == this->shape(i)) return (*this)(i);
  TARE_ASSERT(needs(i));
  const detail::Node& input = *node_.inputs[i];
  broadcasts_.push_back(
      std::make_unique<Broadcast>(Broadcast{i, Tensor::empty(shape, {input.dtype, input.device, {}})}));
  return {broadcasts_.back()->tensor, Accum::set};
}

GradSlot GradOut::in_input_dtype(size_t i) {
  TARE_ASSERT(needs(i));
  const detail::Node& input = *node_.inputs[i];
  if (!input.leaf || input.leaf->grad_dtype == input.dtype) return (*this)(i);
  broadcasts_.push_back(
      std::make_unique<Broadcast>(Broadcast{i, Tensor::empty(input.shape, {input.dtype, input.device, {}})}));
  return {broadcasts_.back()->tensor, Accum::set};
}

void GradOut::give(size_t i, Tensor gradient) {
  TARE_ASSERT(needs(i));
  pass_.contribute(*node_.inputs[i], std::move(gradient));
}

void GradOut::finish() {
  for (auto& b : broadcasts_) pass_.contribute(*node_.inputs[b->input], std::move(b->tensor));
  broadcasts_.clear();
}

void backward(const Var& root, const BackwardOptions& options) {
  TARE_CHECK(root.requires_grad(), "backward: the root does not depend on anything that wants a gradient");
  Tensor seed = options.seed;
  if (seed.defined()) {
    TARE_CHECK(seed.shape() == root.shape() && seed.dtype() == root.dtype() && seed.device() == root.device(),
               "backward: seed ", seed.shape(), " of ", seed.dtype(), " on ", seed.device(),
               " does not match the root ", root.shape(), " of ", root.dtype(), " on ", root.device());
  } else {
    TARE_CHECK(root.numel() == 1, "backward: a root of shape ", root.shape(), " needs a seed");
    seed = Tensor::full(root.shape(), 1, {root.dtype(), root.device(), {}});
  }
  detail::BackwardPass(root.node(), options).run(root.node(), std::move(seed));
}

}  // namespace tare
