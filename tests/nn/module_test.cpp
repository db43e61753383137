// SPDX-License-Identifier: Apache-2.0
// The module tree: names, groups, modes, values, printing.
#include "tare/nn/module.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tare/autograd/ops.h"
#include "tare/autograd/tape.h"
#include "tare/optim/sgd.h"

namespace tare::nn {
namespace {

struct Leafy : Module {
  Var weight, bias;
  explicit Leafy(int64_t n, ModuleOptions options = {}) {
    register_parameter("weight", weight, {n, n}, Init::normal(1), options);
    register_parameter("bias", bias, {n}, Init::uniform(-1, 1), options);
  }
  std::string describe() const override { return detail::concat("Leafy(", weight.size(0), ")"); }
  std::string forward() const {
    const ForwardScope scope(*this);
    return current_path();
  }
};

struct Tree : Module {
  Var scale, tied;
  Leafy a, b, odd;
  explicit Tree(ModuleOptions options = {}) : a(3, options), b(3, options), odd(2, options) {
    register_parameter("scale", scale, {4}, Init::ones(), options);
    register_module("h.0", a);
    register_module("h.1", b);
    register_module("odd", odd);
    register_tied("head", a.weight);
  }
  std::string describe() const override { return "Tree"; }
  std::string forward() const {
    const ForwardScope scope(*this);
    return a.forward() + " " + odd.forward();
  }
};

struct Outer : Module {
  Tree tree;
  Outer() { register_module("tree", tree); }
  std::string describe() const override { return "Outer"; }
};

std::vector<std::string> names(Module& m) {
  std::vector<std::string> all;
  for (const NamedParameter& p : m.named_parameters()) all.push_back(p.name);
  return all;
}

template <class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Module, ParametersAreNamedByTheirPlaceAndTiedOnesListedOnce) {
  Tree t;
  EXPECT_EQ(names(t), (std::vector<std::string>{"scale", "head", "h.0.bias", "h.1.weight", "h.1.bias",
                                                "odd.weight", "odd.bias"}));
  EXPECT_EQ(t.num_parameters(), 4 + 9 + 3 + 9 + 3 + 4 + 2);
  EXPECT_EQ(&t.parameter("h.0.weight"), &t.a.weight);
  EXPECT_NE(error_of([&] { t.parameter("h.2.weight"); }).find("h.2.weight"), std::string::npos);
}

TEST(Module, LeavesCarryTheFullNameWhicheverModuleIsAsked) {
  Outer outer;
  EXPECT_EQ(names(outer.tree.b), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_EQ(outer.tree.b.weight.name(), "tree.h.1.weight");
}

TEST(Module, ForwardsRunUnderTheModulesPath) {
  Tree t;
  t.initialize(1);
  EXPECT_EQ(t.forward(), "h.0 odd");
  EXPECT_EQ(current_path(), "");
}

TEST(Module, AForwardWithoutValuesIsAnErrorThatNamesTheParameter) {
  Tree t;
  const std::string message = error_of([&] { t.forward(); });
  EXPECT_NE(message.find("scale"), std::string::npos) << message;
  t.initialize(1);
  EXPECT_NO_THROW(t.forward());
  Tree planned({DType::f32, kMeta});
  EXPECT_NO_THROW(planned.forward());
}

TEST(Module, RegistrationFaultsAreErrors) {
  struct Twice : Module {
    Leafy a{1};
    Twice() {
      register_module("a", a);
      register_module("a2", a);
    }
    std::string describe() const override { return "Twice"; }
  };
  EXPECT_NE(error_of([] { Twice t; }).find("already has a parent"), std::string::npos);
  struct Same : Module {
    Leafy a{1}, b{1};
    Same() {
      register_module("a", a);
      register_module("a", b);
    }
    std::string describe() const override { return "Same"; }
  };
  EXPECT_NE(error_of([] { Same s; }).find("registered twice"), std::string::npos);
  struct Unnamed : Module {
    Var w;
    Unnamed() { register_parameter("", w, {1}, Init::zeros(), {}); }
    std::string describe() const override { return "Unnamed"; }
  };
  EXPECT_NE(error_of([] { Unnamed u; }).find("is no name"), std::string::npos);
}

TEST(Module, GroupsSplitMatricesFromVectorsAndLeaveFrozenOnesOut) {
  Tree t;
  t.odd.set_requires_grad(false);
  const auto groups = t.parameter_groups();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].name, "no_decay");  // "scale" comes first
  EXPECT_EQ(groups[0].parameters.size(), 3u);
  EXPECT_EQ(groups[1].name, "decay");
  EXPECT_EQ(groups[1].parameters.size(), 2u);
  const auto by_name = t.parameter_groups([](const std::string& name, const Var&) {
    return std::string(name.rfind("h.", 0) == 0 ? "blocks" : "");
  });
  ASSERT_EQ(by_name.size(), 1u);
  EXPECT_EQ(by_name[0].parameters.size(), 3u);
}

TEST(Module, FreezingKeepsTiesAndNames) {
  struct Copied : Module {
    Leafy a{2};
    Var head;
    Copied() {
      register_module("a", a);
      head = a.weight;
      register_tied("head", head);
    }
    std::string describe() const override { return "Copied"; }
  };
  Copied m;
  EXPECT_EQ(m.num_parameters(), 6);
  EXPECT_EQ(names(m), (std::vector<std::string>{"head", "a.bias"}));
  m.set_requires_grad(false);
  EXPECT_FALSE(m.head.requires_grad());
  EXPECT_FALSE(m.a.weight.requires_grad());
  m.set_requires_grad(true);
  EXPECT_EQ(m.head.node(), m.a.weight.node());
  EXPECT_EQ(m.head.name(), "head");
}

TEST(Module, AFrozenParameterMovesAgainOnceItIsUnfrozen) {
  Tree t;
  t.initialize(1);
  std::vector<optim::ParamGroup> groups;
  for (const ParameterGroup& g : t.parameter_groups()) groups.push_back({g.parameters, false});
  optim::Sgd optimizer(groups, {.lr = 0.1});
  const auto moved = [&](const Var& v) {
    const auto before = v.value().to_vector<float>();
    optimizer.zero_grad();
    backward(sum(t.a.bias) + sum(t.odd.bias));
    optimizer.step();
    return v.value().to_vector<float>() != before;
  };
  EXPECT_TRUE(moved(t.a.bias));
  t.a.set_requires_grad(false);
  EXPECT_FALSE(moved(t.a.bias));
  EXPECT_TRUE(moved(t.odd.bias));
  EXPECT_EQ(t.a.bias.name(), "h.0.bias");
  t.a.set_requires_grad(true);
  EXPECT_TRUE(moved(t.a.bias));
}

TEST(Module, EvalScopeRestoresEveryModulesOwnMode) {
  Tree t;
  t.odd.eval();
  {
    const EvalScope scope(t);
    EXPECT_FALSE(t.training());
    EXPECT_FALSE(t.a.training());
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(t.training());
  EXPECT_TRUE(t.a.training());
  EXPECT_FALSE(t.odd.training());
  EXPECT_TRUE(grad_enabled());
}

TEST(Module, FirstValuesDependOnSeedAndNameAlone) {
  Tree t, other;
  t.initialize(7);
  other.odd.initialize(7);  // another order
  other.initialize(7);
  EXPECT_EQ(t.odd.weight.value().to_vector<float>(), other.odd.weight.value().to_vector<float>());
  EXPECT_NE(t.a.bias.value().to_vector<float>(), t.b.bias.value().to_vector<float>());
  other.initialize(8);
  EXPECT_NE(t.odd.weight.value().to_vector<float>(), other.odd.weight.value().to_vector<float>());
  EXPECT_EQ(t.scale.value().to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  Tree wide({DType::f64, kCpu});
  wide.initialize(7);
  const auto narrow = t.b.weight.value().to_vector<float>();
  const auto exact = wide.b.weight.value().to_vector<double>();
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(float(exact[i]), narrow[i]);
}

TEST(Module, MetaParametersHaveShapesButNoBytes) {
  const int64_t before = ledger(kCpu).total(), before_meta = ledger(kMeta).total();
  Tree t({DType::f32, kMeta});
  t.initialize(1);
  EXPECT_EQ(t.num_parameters(), 34);
  EXPECT_EQ(ledger(kCpu).total(), before);
  EXPECT_EQ(ledger(kMeta).total() - before_meta, 34 * 4);
}

TEST(Module, StateLoadsByNameIntoTheExistingStorage) {
  Tree from({DType::f64, kCpu}), to;
  from.initialize(3);
  const Var copy_of_weight = to.b.weight;
  const LoadReport report = to.load_state(from.state());
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(copy_of_weight.value().to_vector<float>(), from.b.weight.value().to_vector<float>());
}

TEST(Module, AStrictLoadNamesEveryFaultAndChangesNothing) {
  Tree from, to;
  from.initialize(3);
  to.initialize(4);
  NamedTensors state = from.state();
  state.erase(state.begin());  // scale
  state.emplace_back("extra", Tensor::zeros({1}));
  state[1].second = Tensor::zeros({5});  // h.0.bias
  const auto before = to.b.weight.value().to_vector<float>();
  const std::string message = error_of([&] { to.load_state(state); });
  for (const char* part : {"1 missing: scale", "1 unexpected: extra", "h.0.bias ((5) for (3))"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(to.b.weight.value().to_vector<float>(), before);
  EXPECT_NE(error_of([&] { to.load_state(state, false); }), "no error");  // a shape is never overlooked
  state.erase(state.begin() + 1);
  const LoadReport report = to.load_state(state, false);
  EXPECT_EQ(report.missing, (std::vector<std::string>{"scale", "h.0.bias"}));
  EXPECT_EQ(report.unexpected, (std::vector<std::string>{"extra"}));
  EXPECT_EQ(to.b.weight.value().to_vector<float>(), from.b.weight.value().to_vector<float>());
}

TEST(Module, TheTreePrintsCountsBytesAndJoinsEqualSiblings) {
  Tree t({DType::f32, kMeta});
  std::ostringstream os;
  t.print_tree(os);
  EXPECT_EQ(os.str(),
            "Tree                       34 parameters             136 bytes\n"
            "  h.0: Leafy(3)            12 parameters              48 bytes\n"
            "  h.1: Leafy(3)            12 parameters              48 bytes\n"
            "  odd: Leafy(2)             6 parameters              24 bytes\n");
  const Footprint f = t.footprint();
  EXPECT_EQ(f.parameter_bytes, 136);
  EXPECT_EQ(f.gradient_bytes, 136);

  struct Row : Module {
    Outer a, b, c;
    Row() {
      register_module("0", a);
      register_module("1", b);
      register_module("2", c);
    }
    std::string describe() const override { return "Row"; }
  };
  std::ostringstream joined;
  Row().print_tree(joined);
  const std::string text = joined.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6) << text;
  EXPECT_NE(text.find("0 to 2: 3 x Outer"), std::string::npos) << text;
}

}  // namespace
}  // namespace tare::nn
