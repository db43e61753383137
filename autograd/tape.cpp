// SPDX-License-Identifier: Apache-2.0
#include "tare/autograd/tape.h"

#include <utility>

#include "tare/autograd/node.h"
#include "tare/core/scope.h"

namespace tare {

Saved::Saved(const char* op, std::vector<Tensor> tensors) : op_(op), tensors_(std::move(tensors)) {
  versions_.reserve(tensors_.size());
  for (const Tensor& t : tensors_) versions_.push_back(t.defined() ? t.version() : 0);
}

const Tensor& Saved::operator[](size_t i) const {
  TARE_ASSERT(i < tensors_.size());
  const Tensor& t = tensors_[i];
  TARE_CHECK(!t.defined() || t.version() == versions_[i], "backward of ", op_, ": saved tensor ", i,
             " of shape ", t.shape(), " was changed in place after the forward (version ", t.version(),
             ", saved at ", versions_[i], ")");
  return t;
}

Tensor Saved::take(size_t i) {
  (void)(*this)[i];
  return std::exchange(tensors_[i], Tensor());
}

void Saved::clear() {
  tensors_.clear();
  versions_.clear();
}

bool will_record(std::initializer_list<const Var*> inputs) {
  if (!grad_enabled()) return false;
  for (const Var* input : inputs)
    if (input->requires_grad()) return true;
  return false;
}

Var record(const char* op, Tensor y, std::vector<Var> inputs, std::vector<Tensor> saved,
           BackwardFn backward) {
  bool wanted = false;
  for (const Var& input : inputs) wanted = wanted || input.requires_grad();
  if (detail::UsedNodes* used = detail::observer())
    for (const Var& input : inputs)
      if (input.requires_grad()) used->add(input.node());
  if (!wanted || !grad_enabled()) return Var(std::move(y));

  auto node = std::make_shared<detail::Node>();
  node->op = op;
  node->sequence = detail::next_sequence();
  node->path = current_path();
  node->shape = y.shape();
  node->dtype = y.dtype();
  node->device = y.device();
  for (const Var& input : inputs) {
    node->inputs.push_back(input.requires_grad() ? input.node() : nullptr);
    node->input_shapes.push_back(input.defined() ? input.shape() : Shape{});
  }
  for (Tensor& t : saved)
    if (t.defined() && t.storage()->category() == Category::temporaries)
      t.storage()->set_category(Category::activations);
  node->saved = Saved(op, std::move(saved));
  node->backward = std::move(backward);
  return Var(std::move(y), std::move(node));
}

}  // namespace tare
