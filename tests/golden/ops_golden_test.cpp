// SPDX-License-Identifier: Apache-2.0
// The ops agree with PyTorch, forward and backward, on every case of ops.json, in f64, f32 and the
// half types.
#include <functional>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "tare/autograd/ops.h"

#include "tests/support/golden.h"

namespace tare::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A case with its inputs as Vars of one dtype: floating ones are leaves that want gradients.
struct Inputs {
  const GoldenCase& golden;
  std::map<std::string, Var> vars;

  Inputs(const GoldenCase& c, DType dtype) : golden(c) {
    for (const std::string& name : c.inputs) {
      const Tensor t = c.tensor(name).clone();
      vars.emplace(name, is_floating(t.dtype()) ? Var::parameter(t.to(dtype), name) : Var(t));
    }
  }
  Var operator[](const std::string& name) const { return vars.contains(name) ? vars.at(name) : Var(); }
  Tensor tensor(const std::string& name) const { return vars.at(name).value(); }
  std::string text(const std::string& key) const {
    return golden.has_attribute(key) ? golden.attributes.at(key).as_string() : "";
  }
  int axis() const { return int(golden.integer("axis")); }
  Axes axes() const {
    const std::vector<int64_t> list = golden.integer_list("axes");
    return {list.begin(), list.end()};
  }
  bool flag(const std::string& key) const {
    return golden.has_attribute(key) && golden.attributes.at(key).as_bool();
  }
  WeightLayout layout() const {
    return text("layout") == "in_out" ? WeightLayout::in_out : WeightLayout::out_in;
  }
  Extent2d extent(const std::string& key) const {
    const std::vector<int64_t> list = golden.integer_list(key);
    return {list.at(0), list.at(1)};
  }
  double number(const std::string& key, double otherwise) const {
    return golden.has_attribute(key) ? golden.number(key) : otherwise;
  }
};

using Op = std::function<Vars(const Inputs&)>;  // one Var per output of the case, the last of which may lack

Op unary(Var (*f)(const Var&)) {
  return [f](const Inputs& in) { return Vars{f(in["x"])}; };
}

Op binary(Var (*f)(const Var&, const Var&), const char* a = "a", const char* b = "b") {
  return [=](const Inputs& in) { return Vars{f(in[a], in[b])}; };
}

Op comparison(Tensor (*f)(const Tensor&, const Tensor&)) {
  return [f](const Inputs& in) { return Vars{f(in.tensor("a"), in.tensor("b"))}; };
}

Op reduction(Var (*f)(const Var&, const Axes&, bool)) {
  return [f](const Inputs& in) { return Vars{f(in["x"], in.axes(), in.flag("keepdim"))}; };
}

std::map<std::string, Op> one_operand() {
  return {
      {"neg", [](const Inputs& in) { return Vars{-in["x"]}; }},
      {"abs", unary(abs)},
      {"exp", unary(exp)},
      {"log", unary(log)},
      {"sqrt", unary(sqrt)},
      {"rsqrt", unary(rsqrt)},
      {"reciprocal", unary(reciprocal)},
      {"square", unary(square)},
      {"tanh", unary(tanh)},
      {"erf", unary(erf)},
      {"sigmoid", unary(sigmoid)},
      {"relu", unary(relu)},
      {"silu", unary(silu)},
      {"gelu_erf", unary(gelu_erf)},
      {"gelu_tanh", unary(gelu_tanh)},
      {"pow_scalar", [](const Inputs& in) { return Vars{pow(in["x"], in.golden.number("exponent"))}; }},
      {"clamp",
       [](const Inputs& in) {
         return Vars{clamp(in["x"], in.number("low", -kInf), in.number("high", kInf))};
       }},
      {"numbers",
       [](const Inputs& in) {
         return Vars{5.0 / (1.5 + square(2.0 - (in["x"] * 3.0 - 0.5) / 4.0 + 0.25) * 0.5)};
       }},
  };
}

std::map<std::string, Op> two_operands() {
  return {
      {"add", [](const Inputs& in) { return Vars{in["a"] + in["b"]}; }},
      {"sub", [](const Inputs& in) { return Vars{in["a"] - in["b"]}; }},
      {"mul", [](const Inputs& in) { return Vars{in["a"] * in["b"]}; }},
      {"div", [](const Inputs& in) { return Vars{in["a"] / in["b"]}; }},
      {"pow", binary(pow, "input", "exponent")},
      {"maximum", binary(maximum)},
      {"minimum", binary(minimum)},
      {"eq", comparison(equal)},
      {"ne", comparison(not_equal)},
      {"lt", comparison(less)},
      {"le", comparison(less_equal)},
      {"gt", comparison(greater)},
      {"ge", comparison(greater_equal)},
      {"where", [](const Inputs& in) { return Vars{where(in.tensor("mask"), in["a"], in["b"])}; }},
      {"masked_fill",
       [](const Inputs& in) {
         return Vars{masked_fill(in["x"], in.tensor("mask"), in.golden.number("value"))};
       }},
  };
}

std::map<std::string, Op> reductions() {
  return {
      {"sum", reduction(sum)},
      {"mean", reduction(mean)},
      {"amax", reduction(max)},
      {"amin", reduction(min)},
      {"variance",
       [](const Inputs& in) {
         return Vars{variance(in["x"], in.axes(), in.golden.integer("correction") == 1, in.flag("keepdim"))};
       }},
  };
}

Op position(Tensor (*f)(const Tensor&, int, bool)) {
  return [f](const Inputs& in) { return Vars{f(in.tensor("x"), in.axis(), false)}; };
}

Vars both(const Ranked& r) { return {r.values, r.indices}; }

std::map<std::string, Op> picks() {
  return {
      {"argmax", position(argmax)},
      {"argmin", position(argmin)},
      {"max_with_index", [](const Inputs& in) { return both(max_with_index(in["x"], in.axis())); }},
      {"min_with_index", [](const Inputs& in) { return both(min_with_index(in["x"], in.axis())); }},
      {"topk",
       [](const Inputs& in) {
         const int axis = in.golden.has_attribute("axis") ? in.axis() : -1;
         return both(topk(in["x"], in.golden.integer("k"), axis));
       }},
      {"gather", [](const Inputs& in) { return Vars{gather(in["x"], in.axis(), in.tensor("index"))}; }},
      {"index_select",
       [](const Inputs& in) { return Vars{index_select(in["x"], in.axis(), in.tensor("index"))}; }},
  };
}

Vars all_inputs(const Inputs& in) {
  Vars vars;
  for (const std::string& name : in.golden.inputs) vars.push_back(in[name]);
  return vars;
}

std::map<std::string, Op> moves() {
  return {
      {"cat", [](const Inputs& in) { return Vars{cat(all_inputs(in), in.axis())}; }},
      {"stack", [](const Inputs& in) { return Vars{stack(all_inputs(in), in.axis())}; }},
      {"embedding", [](const Inputs& in) { return Vars{embedding(in.tensor("ids"), in["weight"])}; }},
  };
}

Var activated(const Var& x, const std::string& activation) {
  if (activation == "relu") return relu(x);
  if (activation == "silu") return silu(x);
  if (activation == "gelu_erf") return gelu_erf(x);
  return activation == "gelu_tanh" ? gelu_tanh(x) : x;
}

// A loss and its count of labels.
Vars sum_and_count(const LossSum& loss) {
  return {loss.sum, Tensor::full({}, double(loss.count), {DType::i64, kCpu, {}})};
}

std::map<std::string, Op> layers() {
  return {
      {"matmul", binary(matmul)},
      {"bmm", binary(bmm)},
      {"linear",
       [](const Inputs& in) {
         return Vars{
             activated(linear(in["x"], in["weight"], in["bias"], in.layout()), in.text("activation"))};
       }},
      {"conv2d",
       [](const Inputs& in) {
         return Vars{conv2d(in["x"], in["weight"], in["bias"],
                            {in.extent("stride"), in.extent("padding"), in.extent("dilation")})};
       }},
      {"softmax", unary(softmax)},
      {"layer_norm",
       [](const Inputs& in) {
         return Vars{layernorm(in["x"], in["weight"], in["bias"], in.golden.number("eps"))};
       }},
      {"rms_norm",
       [](const Inputs& in) { return Vars{rmsnorm(in["x"], in["weight"], in.golden.number("eps"))}; }},
      {"attention",
       [](const Inputs& in) {
         AttentionOptions o{.causal = in.golden.attributes.at("causal").as_bool(),
                            .scale = in.golden.number("scale")};
         if (in.golden.has("key_mask")) o.key_mask = in.tensor("key_mask");
         return Vars{attention(in["q"], in["k"], in["v"], o)};
       }},
      {"cross_entropy",
       [](const Inputs& in) {
         return sum_and_count(cross_entropy(in["logits"], in.tensor("labels"),
                                            {.label_smoothing = in.number("label_smoothing", 0)}));
       }},
      {"linear_cross_entropy",
       [](const Inputs& in) {
         return sum_and_count(linear_cross_entropy(in["x"], in["weight"], in.tensor("labels"),
                                                   {.label_smoothing = in.number("label_smoothing", 0)}));
       }},
  };
}

std::map<std::string, Op> fused_layers() {
  return {
      {"gelu_tanh_linear",
       [](const Inputs& in) {
         return Vars{gelu_tanh_linear(in["x"], in["weight"], in["bias"], in.layout())};
       }},
      {"gelu_erf_linear",
       [](const Inputs& in) {
         return Vars{gelu_erf_linear(in["x"], in["weight"], in["bias"], in.layout())};
       }},
      {"layernorm_linear",
       [](const Inputs& in) {
         return Vars{layernorm_linear(in["x"], in["gamma"], in["beta"], in.golden.number("eps"), in["weight"],
                                      in["bias"], in.layout())};
       }},
      {"packed_attention",
       [](const Inputs& in) {
         AttentionOptions o{.causal = in.flag("causal")};
         if (in.golden.has("key_mask")) o.key_mask = in.tensor("key_mask");
         return Vars{packed_attention(in["qkv"], in.golden.integer("heads"), o)};
       }},
  };
}

// Cases of the listing for which there is no op.
const std::set<std::string> kWithoutOp = {"cos", "log_softmax", "logsumexp", "sin"};
// Outputs that an op keeps to itself.
const std::set<std::string> kNotReturned = {"lse", "rows"};

const std::map<std::string, Op>& ops() {
  static const auto table = [] {
    std::map<std::string, Op> all;
    for (const auto& family :
         {one_operand(), two_operands(), reductions(), picks(), moves(), layers(), fused_layers()}) {
      all.insert(family.begin(), family.end());
    }
    return all;
  }();
  return table;
}

// Ops whose backward computes with the result of the forward.
const std::set<std::string> kFromResult = {"attention", "packed_attention", "pow",
                                           "sigmoid",   "softmax",          "tanh"};
// Cases with results or gradients above 65504.
const std::set<std::string> kBeyondF16 = {"exp.tails", "layer_norm.extreme_eps1e-12"};

Tolerance allowed(const GoldenCase& c, DType dtype) {
  const Tolerance usual = tolerance(dtype);
  if (c.op == "variance" && c.name == "shifted")
    return usual.looser(4, "the mean, 64 times the deviations, is rounded before it is subtracted");
  if (is_half(dtype) && kFromResult.contains(c.op))
    return usual.looser(3, "the result was rounded when it was saved");
  return usual;
}

// A floating result is judged by the dtype of the inputs: losses and gradients of half types may be f32.
void expect_agree(const Tensor& got, const Values& want, DType dtype, Tolerance allowed) {
  if (!is_floating(got.dtype())) return expect_close(got, want);
  EXPECT_TRUE(is_close(got.to_vector<double>(), want, dtype, allowed));
  EXPECT_TRUE(notices_spoiling(want, dtype, allowed));
}

void expect_agrees(const GoldenCase& c, const Op& op, DType dtype) {
  SCOPED_TRACE(c.op + "." + c.name + " in " + std::string(name_of(dtype)));
  Inputs in(c, dtype);
  const Vars out = op(in);
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    SCOPED_TRACE(c.outputs[i]);
    if (kNotReturned.contains(c.outputs[i])) continue;
    ASSERT_LT(i, out.size());
    EXPECT_EQ(out[i].shape(), c.tensor(c.outputs[i]).shape());
    expect_agree(out[i].value(), c.values(c.outputs[i]), dtype, tolerance(dtype));
  }
  if (c.grads.empty()) return;
  backward(out[0], {.seed = c.tensor("dy").to(out[0].dtype())});
  for (const std::string& role : c.grads) {
    SCOPED_TRACE(role);
    const Tensor grad = in[role.substr(1)].grad();
    ASSERT_TRUE(grad.defined());
    EXPECT_EQ(grad.shape(), c.tensor(role).shape());
    expect_agree(grad, c.values(role), dtype, allowed(c, dtype));
  }
}

class GoldenOps : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenOps, agree_with_pytorch) {
  const auto& cases = golden_cases();
  ASSERT_TRUE(cases.contains(GetParam()));
  for (const GoldenCase& c : cases.at(GetParam())) {
    for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
      if (dtype == DType::f16 && kBeyondF16.contains(c.op + "." + c.name)) continue;
      expect_agrees(c, ops().at(GetParam()), dtype);
    }
  }
}

TEST(GoldenOpsListing, has_an_op_for_every_case_or_says_that_there_is_none) {
  for (const auto& [op, cases] : golden_cases()) EXPECT_NE(ops().contains(op), kWithoutOp.contains(op)) << op;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : ops()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(ops, GoldenOps, ::testing::ValuesIn(op_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tare::test
