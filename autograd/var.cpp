// SPDX-License-Identifier: Apache-2.0
#include "tare/autograd/var.h"

#include <atomic>
#include <utility>

#include "tare/autograd/node.h"
#include "tare/core/scope.h"

namespace tare {
namespace {

thread_local detail::GradMode grad_mode = detail::GradMode::on;
thread_local detail::UsedNodes* used_nodes = nullptr;
const std::string kNoName;

detail::Leaf& leaf_of(const Var& v, const char* what) {
  TARE_CHECK(v.node() && v.node()->leaf, what, ": needs a leaf (a parameter), not the result of an op");
  return *v.node()->leaf;
}

}  // namespace

bool grad_enabled() { return grad_mode == detail::GradMode::on; }

namespace detail {

GradModeGuard::GradModeGuard(GradMode mode) : old_(std::exchange(grad_mode, mode)) {}
GradModeGuard::~GradModeGuard() { grad_mode = old_; }

ObserveScope::ObserveScope(UsedNodes& used)
    : mode_(GradMode::observed), outer_(std::exchange(used_nodes, &used)) {}
ObserveScope::~ObserveScope() { used_nodes = outer_; }
UsedNodes* observer() { return grad_mode == GradMode::observed ? used_nodes : nullptr; }

uint64_t next_sequence() {
  static std::atomic<uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

Node::~Node() {
  // A checkpoint's function holds what it uses: before the inputs go, which hold the same.
  recompute = nullptr;
  std::vector<std::shared_ptr<Node>> doomed = std::move(inputs);
  while (!doomed.empty()) {
    std::shared_ptr<Node> node = std::move(doomed.back());
    doomed.pop_back();
    if (node.use_count() != 1) continue;
    node->recompute = nullptr;
    for (auto& input : node->inputs)
      if (input) doomed.push_back(std::move(input));
    node->inputs.clear();
  }
}

}  // namespace detail

Var Var::parameter(Tensor value, std::string name, std::optional<DType> grad_dtype) {
  TARE_CHECK(value.defined(), "parameter \"", name, "\": the tensor is undefined");
  TARE_CHECK(is_floating(value.dtype()), "parameter \"", name, "\": needs a floating dtype, got ",
             value.dtype());
  TARE_CHECK(value.is_contiguous(), "parameter \"", name, "\": must be contiguous");
  // What every backward kernel can write.
  const bool half = is_half(value.dtype());
  TARE_CHECK(!grad_dtype || *grad_dtype == value.dtype() || (half && *grad_dtype == DType::f32),
             "parameter \"", name, "\": the gradient of ", value.dtype(), " is ", value.dtype(),
             half ? " or f32" : "", ", not ", *grad_dtype);
  value.storage()->set_category(Category::parameters);
  Var v(std::move(value));
  v.set_requires_grad(true);
  v.node_->leaf->name = std::move(name);
  v.node_->leaf->grad_dtype = grad_dtype.value_or(is_half(v.dtype()) ? DType::f32 : v.dtype());
  return v;
}

bool Var::requires_grad() const { return detail::wants_grad(node_.get()); }
bool Var::is_leaf() const { return !node_ || node_->leaf; }

void Var::set_requires_grad(bool wanted) {
  TARE_CHECK(is_leaf(), "set_requires_grad: needs a leaf, not the result of an op");
  // The copies of this Var share its leaf: it stays, with its name, hooks and dtype.
  if (node_) {
    node_->leaf->wanted = wanted;
    if (!wanted) zero_grad();
    return;
  }
  if (!wanted) return;
  TARE_CHECK(defined() && is_floating(dtype()), "set_requires_grad: needs a floating dtype, got ",
             defined() ? name_of(dtype()) : "an undefined tensor");
  node_ = std::make_shared<detail::Node>();
  node_->op = "leaf";
  node_->sequence = detail::next_sequence();
  node_->shape = shape();
  node_->dtype = dtype();
  node_->device = device();
  node_->value = value_;
  node_->leaf = std::make_unique<detail::Leaf>();
  node_->leaf->grad_dtype = is_half(dtype()) ? DType::f32 : dtype();
}

const std::string& Var::name() const { return node_ && node_->leaf ? node_->leaf->name : kNoName; }
void Var::set_name(std::string name) { leaf_of(*this, "set_name").name = std::move(name); }

Tensor Var::grad() const {
  if (!node_ || !node_->leaf || !node_->leaf->has_grad) return {};
  return node_->leaf->grad;
}

void Var::zero_grad(bool keep_memory) {
  if (!node_ || !node_->leaf) return;
  node_->leaf->has_grad = false;
  if (!keep_memory) node_->leaf->grad = {};
}

void Var::on_grad_complete(std::function<void(Var&)> hook) {
  TARE_CHECK(hook, "on_grad_complete: the hook is empty");
  leaf_of(*this, "on_grad_complete").hooks.push_back(std::move(hook));
}

}  // namespace tare
