// SPDX-License-Identifier: Apache-2.0
// The first run is watched: what it uses and wants a gradient becomes an input of the node, so that a
// backward pass counts those uses and calls a leaf complete only when the second run has contributed too.
#include "tare/autograd/checkpoint.h"

#include <optional>
#include <utility>

#include "tare/autograd/node.h"
#include "tare/core/random_scope.h"
#include "tare/core/scope.h"
#include "tare/kernels/profile.h"

namespace tare {
namespace {

std::optional<RandomState> copy_of_random() {
  const RandomState* state = find_random();
  return state ? std::optional(*state) : std::nullopt;
}

// The place of a Var on the tape, as an input of record().
Var place_of(const std::shared_ptr<detail::Node>& node) { return Var(node->value, node); }

}  // namespace

Var checkpoint(const CheckpointFn& fn, const Vars& inputs) {
  TARE_CHECK(fn, "checkpoint: the function is empty");
  if (!grad_enabled()) return fn(inputs);
  const OpScope op("checkpoint");
  std::optional<RandomState> random = copy_of_random();
  detail::UsedNodes used;
  Var y;
  {
    const detail::ObserveScope observe(used);
    y = fn(inputs);
  }
  TARE_CHECK(y.defined(), "checkpoint: the function gave an undefined result");
  if (y.requires_grad() || used.nodes().empty())
    return y;  // one of the Vars that it was given, or a constant

  Vars places;
  std::vector<Tensor> saved;
  std::vector<std::shared_ptr<detail::Node>> input_nodes;
  for (const Var& input : inputs) {
    saved.push_back(input.value());
    input_nodes.push_back(input.node());
  }
  for (const auto& node : used.nodes()) {
    places.push_back(place_of(node));
    if (node->leaf) saved.push_back(node->value);  // for the check of its version
  }
  Var result = record("checkpoint", y.value(), std::move(places), std::move(saved), {});
  result.node()->recompute = [fn, input_nodes, random, shape = y.shape(), dtype = y.dtype(),
                              device = y.device()](const Saved& kept) {
    for (size_t i = 0; i < kept.size(); ++i) (void)kept[i];  // unchanged
    Vars again;
    for (size_t i = 0; i < input_nodes.size(); ++i) again.emplace_back(kept[i], input_nodes[i]);
    std::optional<RandomScope> stream;
    if (random) stream.emplace(*random);
    const EnableGradGuard grad;
    const kernels::KernelScope phase("recompute", device, {});
    Var z = fn(again);
    TARE_CHECK(z.shape() == shape && z.dtype() == dtype, "checkpoint: the function gave ", shape, " of ",
               dtype, " in the forward and ", z.shape(), " of ", z.dtype(), " in the backward");
    return z;
  };
  return result;
}

}  // namespace tare
