// SPDX-License-Identifier: Apache-2.0
// The references agree with PyTorch on every case of ops.json, in f64, and so do their optimizers.
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "tests/ref/adafactor.h"
#include "tests/ref/attention.h"
#include "tests/ref/conv2d.h"
#include "tests/ref/cross_entropy.h"
#include "tests/ref/elementwise.h"
#include "tests/ref/embedding.h"
#include "tests/ref/matmul.h"
#include "tests/ref/norm.h"
#include "tests/ref/optim.h"
#include "tests/ref/reduce.h"
#include "tests/ref/softmax.h"
#include "tests/support/golden.h"

namespace tare::test {
namespace {

using Results = std::map<std::string, Values>;  // role -> values
using Ref = std::function<Results(const GoldenCase&)>;
using Dims = std::vector<int64_t>;

int64_t last(const GoldenCase& c, const std::string& role) { return c.shape(role).back(); }
int64_t rows_of(const GoldenCase& c, const std::string& role) {
  return last(c, role) == 0 ? 0 : c.tensor(role).numel() / last(c, role);
}

Values times(Values a, const Values& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  return a;
}

template <class F> Values mapped(Values x, F f) {
  for (double& v : x) v = f(v);
  return x;
}

Results unary(const ref::UnaryRef& r, const GoldenCase& c) {
  return {{"y", mapped(c.values("x"), r.f)}, {"dx", times(mapped(c.values("x"), r.df), c.values("dy"))}};
}

// a and b are the names of the operands.
Results binary(const ref::BinaryRef& r, const GoldenCase& c, const std::string& a, const std::string& b) {
  const Dims sa = c.shape(a), sb = c.shape(b), shape = ref::broadcast_shape(sa, sb);
  const auto over = [&](const auto& f) { return ref::map2(c.values(a), sa, c.values(b), sb, f); };
  return {{"y", over(r.f)},
          {"d" + a, ref::sum_to(times(over(r.da), c.values("dy")), shape, sa)},
          {"d" + b, ref::sum_to(times(over(r.db), c.values("dy")), shape, sb)}};
}

Results comparison(const GoldenCase& c, const std::function<bool(double, double)>& f) {
  const auto y = ref::map2(c.values("a"), c.shape("a"), c.values("b"), c.shape("b"), f);
  return {{"y", Values(y.begin(), y.end())}};
}

Results where(const GoldenCase& c) {
  const Dims shape = c.shape("y");
  const Values mask = ref::broadcast_to(c.values("mask"), c.shape("mask"), shape);
  const Values a = ref::broadcast_to(c.values("a"), c.shape("a"), shape);
  const Values b = ref::broadcast_to(c.values("b"), c.shape("b"), shape);
  const Values not_mask = mapped(mask, [](double m) { return 1 - m; });
  Values y = b;
  for (size_t i = 0; i < y.size(); ++i) y[i] = mask[i] != 0 ? a[i] : b[i];
  return {{"y", y},
          {"da", ref::sum_to(times(mask, c.values("dy")), shape, c.shape("a"))},
          {"db", ref::sum_to(times(not_mask, c.values("dy")), shape, c.shape("b"))}};
}

Results masked_fill(const GoldenCase& c) {
  const Values mask = ref::broadcast_to(c.values("mask"), c.shape("mask"), c.shape("x"));
  Values y = c.values("x"), dx = c.values("dy");
  for (size_t i = 0; i < y.size(); ++i) {
    if (mask[i] == 0) continue;
    y[i] = c.number("value");
    dx[i] = 0;
  }
  return {{"y", y}, {"dx", dx}};
}

Results reduction(const GoldenCase& c) {
  const Values x = c.values("x"), dy = c.values("dy");
  const Dims shape = c.shape("x"), axes = c.integer_list("axes"), kept = ref::reduced_shape(shape, axes);
  if (c.op == "variance") {
    const int64_t correction = c.integer("correction");
    return {{"y", ref::variance(x, shape, axes, correction)},
            {"dx", ref::variance_grad(x, dy, shape, axes, correction)}};
  }
  if (c.op == "amax" || c.op == "amin") {
    const int sign = c.op == "amax" ? 1 : -1;
    return {{"y", ref::extremum(x, shape, axes, sign)}, {"dx", ref::extremum_grad(x, dy, shape, axes, sign)}};
  }
  Values dx = ref::broadcast_to(dy, kept, shape);
  if (c.op == "sum") return {{"y", ref::sum(x, shape, axes)}, {"dx", dx}};
  const double n = double(ref::group_size(shape, axes));
  return {{"y", ref::mean(x, shape, axes)}, {"dx", mapped(dx, [n](double v) { return v / n; })}};
}

Results log_sum_exp(const GoldenCase& c) {
  const Values x = c.values("x"), p = ref::softmax_forward(x, rows_of(c, "x"), last(c, "x"));
  Values y;
  for (int64_t r = 0; r < rows_of(c, "x"); ++r)
    y.push_back(ref::log_sum_exp(x.data() + r * last(c, "x"), last(c, "x")));
  Dims kept = c.shape("x");
  kept.back() = 1;
  return {{"y", y}, {"dx", times(p, ref::broadcast_to(c.values("dy"), kept, c.shape("x")))}};
}

// Positions, in a dense tensor of c's x, of its elements ordered row by row along `axis`.
std::vector<int64_t> rows_along(const Dims& shape, int64_t axis) {
  std::vector<size_t> order;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != ref::axis_of(shape, axis)) order.push_back(i);
  order.push_back(ref::axis_of(shape, axis));
  std::vector<int64_t> positions(size_t(ref::numel(shape)));
  std::iota(positions.begin(), positions.end(), 0);
  return ref::permute(positions, shape, order);
}

// The k largest, or smallest, along any axis, with their positions; argmax and the like for k = 1.
Results ranked(const GoldenCase& c) {
  const bool smallest = c.op == "argmin" || c.op == "min_with_index";
  const int64_t axis = c.has_attribute("axis") ? c.integer("axis") : -1;
  const int64_t k = c.has_attribute("k") ? c.integer("k") : 1,
                n = c.shape("x")[ref::axis_of(c.shape("x"), axis)];
  const std::vector<int64_t> rows = rows_along(c.shape("x"), axis);
  const Values x = ref::take(c.values("x"), rows);
  const std::vector<int64_t> best =
      ref::top_k(smallest ? mapped(x, [](double v) { return -v; }) : x, int64_t(x.size()) / n, n, k);
  Dims picked = c.shape("x");
  picked[ref::axis_of(picked, axis)] = k;
  const std::vector<int64_t> places = rows_along(picked, axis);  // of the result's elements
  std::vector<int64_t> from(best.size());
  Values index(best.size());
  for (size_t i = 0; i < best.size(); ++i) {
    from[size_t(places[i])] = rows[i / size_t(k) * size_t(n) + size_t(best[i])];
    index[size_t(places[i])] = double(best[i]);
  }
  if (c.op.starts_with("arg")) return {{"y", index}};
  return {{"y", ref::take(c.values("x"), from)},
          {"index", index},
          {"dx", ref::take_backward(c.values("dy"), from, c.tensor("x").numel())}};
}

// cat, and stack as cat of operands with one more axis.
Results join(const GoldenCase& c) {
  std::vector<Values> parts;
  std::vector<ref::Shape> shapes;
  int64_t axis = c.integer("axis");
  for (const std::string& name : c.inputs) {
    parts.push_back(c.values(name));
    shapes.push_back(c.shape(name));
    if (c.op == "stack") {
      const int64_t at = axis < 0 ? axis + int64_t(shapes.back().size()) + 1 : axis;
      shapes.back().insert(shapes.back().begin() + at, 1);
    }
  }
  Results out{{"y", ref::cat(parts, shapes, axis)}};
  // The position that each element takes, found by joining positions.
  double next = 0;
  std::vector<Values> labels;
  for (const Values& part : parts) {
    labels.emplace_back();
    for (size_t i = 0; i < part.size(); ++i) labels.back().push_back(next++);
  }
  const Values order = ref::cat(labels, shapes, axis), dy = c.values("dy");
  Values joined(dy.size());
  for (size_t i = 0; i < order.size(); ++i) joined[size_t(order[i])] = dy[i];
  auto from = joined.begin();
  for (size_t p = 0; p < parts.size(); ++p) {
    out["d" + c.inputs[p]] = Values(from, from + int64_t(parts[p].size()));
    from += int64_t(parts[p].size());
  }
  return out;
}

Results taken(const GoldenCase& c) {
  const int64_t axis = c.integer("axis");
  const std::vector<int64_t> at =
      c.op == "gather" ? ref::gather_positions(c.integers("index"), c.shape("index"), c.shape("x"), axis)
                       : ref::index_select_positions(c.integers("index"), c.shape("x"), axis);
  return {{"y", ref::take(c.values("x"), at)},
          {"dx", ref::take_backward(c.values("dy"), at, c.tensor("x").numel())}};
}

Results embedding(const GoldenCase& c) {
  const int64_t V = c.shape("weight")[0], C = last(c, "weight");
  return {{"y", ref::embedding_forward(c.integers("ids"), c.values("weight"), C)},
          {"dweight", ref::embedding_backward(c.integers("ids"), c.values("dy"), V, C)}};
}

Results matmul(const GoldenCase& c) {
  const Dims sa = c.shape("a"), sb = c.shape("b"), sy = c.shape("y");
  const auto swapped = [](Dims s) {
    std::swap(s[s.size() - 1], s[s.size() - 2]);
    return s;
  };
  const auto transposed = [](const Values& x, const Dims& s) {
    std::vector<size_t> axes(s.size());
    for (size_t i = 0; i < s.size(); ++i) axes[i] = i;
    std::swap(axes[s.size() - 1], axes[s.size() - 2]);
    return ref::permute(x, s, axes);
  };
  const Values a = c.values("a"), b = c.values("b"), dy = c.values("dy");
  const Dims bt = swapped(sb), at = swapped(sa);
  return {{"y", ref::batched_matmul(a, sa, b, sb)},
          {"da", ref::sum_to(ref::batched_matmul(dy, sy, transposed(b, sb), bt),
                             ref::batched_matmul_shape(sy, bt), sa)},
          {"db", ref::sum_to(ref::batched_matmul(transposed(a, sa), at, dy, sy),
                             ref::batched_matmul_shape(at, sy), sb)}};
}

Results linear(const GoldenCase& c) {
  const int64_t rows = rows_of(c, "x"), in = last(c, "x"), out = c.shape("weight")[0];
  const Values bias = c.has("bias") ? c.values("bias") : Values();
  Values y = ref::linear_forward(c.values("x"), c.values("weight"), bias, rows, in, out), dy = c.values("dy");
  if (c.has_attribute("activation")) {
    const ref::UnaryRef& act = ref::unary_ref(c.attributes.at("activation").as_string());
    dy = times(mapped(y, act.df), dy);
    y = mapped(y, act.f);
  }
  const auto g = ref::linear_backward(c.values("x"), c.values("weight"), dy, rows, in, out);
  Results r{{"y", y}, {"dx", g.dx}, {"dweight", g.dweight}};
  if (c.has("bias")) r["dbias"] = g.dbias;
  return r;
}

Results conv2d(const GoldenCase& c) {
  const Dims x = c.shape("x"), w = c.shape("weight");
  const auto pair = [&](const char* name) { return c.attributes.at(name).items(); };
  const ref::Conv2d p{x[0],
                      x[1],
                      x[2],
                      x[3],
                      w[0],
                      w[2],
                      w[3],
                      pair("stride")[0].as_int(),
                      pair("stride")[1].as_int(),
                      pair("padding")[0].as_int(),
                      pair("padding")[1].as_int(),
                      pair("dilation")[0].as_int(),
                      pair("dilation")[1].as_int()};
  const Values bias = c.has("bias") ? c.values("bias") : Values(), dy = c.values("dy");
  Results r{{"y", ref::conv2d_forward(p, c.values("x"), c.values("weight"), bias)},
            {"dx", ref::conv2d_backward_input(p, dy, c.values("weight"))},
            {"dweight", ref::conv2d_backward_weight(p, dy, c.values("x"))}};
  if (!bias.empty()) {
    r["dbias"] = Values(bias.size(), 0);
    for (size_t j = 0; j < dy.size(); ++j) r["dbias"][j / size_t(p.OH() * p.OW()) % bias.size()] += dy[j];
  }
  return r;
}

Results softmax(const GoldenCase& c) {
  const int64_t rows = rows_of(c, "x"), C = last(c, "x");
  if (c.op == "log_softmax") {
    const Values y = ref::log_softmax_forward(c.values("x"), rows, C);
    return {{"y", y}, {"dx", ref::log_softmax_backward(y, c.values("dy"), rows, C)}};
  }
  const Values y = ref::softmax_forward(c.values("x"), rows, C);
  return {{"y", y}, {"dx", ref::softmax_backward(y, c.values("dy"), rows, C)}};
}

Results norm(const GoldenCase& c) {
  const int64_t rows = rows_of(c, "x"), C = last(c, "x");
  const Values weight = c.has("weight") ? c.values("weight") : Values();
  const Values bias = c.has("bias") ? c.values("bias") : Values();
  const double eps = c.number("eps");
  const bool layer = c.op == "layer_norm";
  const auto f = layer ? ref::layer_norm_forward(c.values("x"), weight, bias, rows, C, eps)
                       : ref::rms_norm_forward(c.values("x"), weight, rows, C, eps);
  const auto g = layer ? ref::layer_norm_backward(c.values("x"), weight, c.values("dy"), rows, C, eps)
                       : ref::rms_norm_backward(c.values("x"), weight, c.values("dy"), rows, C, eps);
  return {{"y", f.y}, {"dx", g.dx}, {"dweight", g.dweight}, {"dbias", g.dbias}};
}

Results attention(const GoldenCase& c) {
  const Dims q = c.shape("q");
  const ref::AttentionShape s{
      q[0], q[1], q[2], c.shape("k")[2], q[3], c.attributes.at("causal").as_bool(), c.number("scale")};
  std::vector<uint8_t> mask;
  if (c.has("key_mask")) mask = c.tensor("key_mask").to_vector<uint8_t>();
  const auto f = ref::attention_forward(c.values("q"), c.values("k"), c.values("v"), s, mask);
  const auto g =
      ref::attention_backward(c.values("q"), c.values("k"), c.values("v"), c.values("dy"), s, mask);
  return {{"y", f.y}, {"lse", f.lse}, {"dq", g.dq}, {"dk", g.dk}, {"dv", g.dv}};
}

Results cross_entropy(const GoldenCase& c) {
  ref::CrossEntropyOptions o;
  if (c.has_attribute("label_smoothing")) o.label_smoothing = c.number("label_smoothing");
  const double dy = c.values("dy")[0];
  const auto scaled = [dy](const Values& g) { return mapped(g, [dy](double v) { return dy * v; }); };
  const std::vector<int64_t> labels = c.integers("labels");
  if (c.op == "cross_entropy") {
    const auto r = ref::cross_entropy(c.values("logits"), labels, last(c, "logits"), o);
    return {{"y", {r.sum}}, {"count", {double(r.count)}}, {"rows", r.loss}, {"dlogits", scaled(r.dlogits)}};
  }
  const auto r = ref::linear_cross_entropy(c.values("x"), c.values("weight"), labels, last(c, "x"),
                                           c.shape("weight")[0], o);
  return {{"y", {r.head.sum}},
          {"count", {double(r.head.count)}},
          {"rows", r.head.loss},
          {"dx", scaled(r.dx)},
          {"dweight", scaled(r.dweight)}};
}

Results pow_scalar(const GoldenCase& c) {
  const double e = c.number("exponent");
  return unary({"", [e](double x) { return std::pow(x, e); },
                [e](double x) { return e == 0 ? 0 : e * std::pow(x, e - 1); }, 0, 0},
               c);
}

Results clamp(const GoldenCase& c) {
  const double inf = std::numeric_limits<double>::infinity();
  const double low = c.has_attribute("low") ? c.number("low") : -inf;
  const double high = c.has_attribute("high") ? c.number("high") : inf;
  return unary({"", [=](double x) { return ref::clamp(x, low, high); },
                [=](double x) { return ref::clamp_grad(x, low, high); }, 0, 0},
               c);
}

std::map<std::string, Ref> references() {
  std::map<std::string, Ref> table = {
      {"pow_scalar", pow_scalar},
      {"clamp", clamp},
      {"where", where},
      {"masked_fill", masked_fill},
      {"logsumexp", log_sum_exp},
      {"cat", join},
      {"stack", join},
      {"gather", taken},
      {"index_select", taken},
      {"embedding", embedding},
      {"bmm", matmul},
      {"matmul", matmul},
      {"linear", linear},
      {"conv2d", conv2d},
      {"softmax", softmax},
      {"log_softmax", softmax},
      {"layer_norm", norm},
      {"rms_norm", norm},
      {"attention", attention},
      {"cross_entropy", cross_entropy},
      {"linear_cross_entropy", cross_entropy},
  };
  for (const char* op : {"sum", "mean", "variance", "amax", "amin"}) table[op] = reduction;
  for (const char* op : {"argmax", "argmin", "max_with_index", "min_with_index", "topk"}) table[op] = ranked;
  for (const ref::UnaryRef& r : ref::unary_refs())
    table[r.name] = [&r](const GoldenCase& c) { return unary(r, c); };
  table["erf"] = [](const GoldenCase& c) {
    return unary({"", [](double x) { return std::erf(x); },
                  [](double x) { return 2 / std::sqrt(std::acos(-1.0)) * std::exp(-x * x); }, 0, 0},
                 c);
  };
  for (const ref::BinaryRef& r : ref::binary_refs()) {
    const bool is_pow = r.name == "pow";
    table[r.name] = [&r, is_pow](const GoldenCase& c) {
      return is_pow ? binary(r, c, "input", "exponent") : binary(r, c, "a", "b");
    };
  }
  const std::map<std::string, std::function<bool(double, double)>> comparisons = {
      {"eq", std::equal_to<>()},   {"ne", std::not_equal_to<>()}, {"lt", std::less<>()},
      {"le", std::less_equal<>()}, {"gt", std::greater<>()},      {"ge", std::greater_equal<>()}};
  for (const auto& [op, f] : comparisons)
    table[op] = [f = f](const GoldenCase& c) { return comparison(c, f); };
  return table;
}

// Ops that are others in a row: what they consist of is compared on its own.
const std::set<std::string> kComposed = {"gelu_erf_linear", "gelu_tanh_linear", "layernorm_linear", "numbers",
                                         "packed_attention"};

TEST(GoldenReference, every_op_agrees_with_pytorch) {
  const auto table = references();
  int compared = 0;
  for (const auto& [op, cases] : golden_cases()) {
    if (kComposed.contains(op)) continue;
    ASSERT_TRUE(table.contains(op)) << op << " has no reference";
    for (const GoldenCase& c : cases) {
      if (c.has_attribute("layout")) continue;  // references know one layout of a weight
      const Results got = table.at(op)(c);
      std::vector<std::string> roles = c.outputs;
      roles.insert(roles.end(), c.grads.begin(), c.grads.end());
      for (const std::string& role : roles) {
        ASSERT_TRUE(got.contains(role)) << op << '.' << c.name << '.' << role;
        const DType dtype = c.tensor(role).dtype();
        const Tolerance allowed = tolerance(dtype).looser(4, "PyTorch rounds on its way, too");
        EXPECT_TRUE(is_close(got.at(role), c.values(role), dtype, allowed))
            << op << '.' << c.name << '.' << role;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 500);
}

const Tolerance kOverSteps = tolerance(DType::f64).looser(4, "rounding adds up over 100 updates");

// The three tensors of tests/golden/optim.py, updated by a reference through all 100 updates.
template <class Update>
void expect_trajectory(const std::string& name, const std::vector<std::string>& states, Update update) {
  const Golden inputs("optim/inputs"), want("optim/" + name);
  const Values rates = inputs.values("lr");
  for (int i = 0; i < 3; ++i) {
    Values p = inputs.values("p" + std::to_string(i));
    std::vector<Values> state(2, Values(p.size(), 0));
    const Values grads = inputs.values("g" + std::to_string(i));
    for (int64_t step = 1; step <= int64_t(rates.size()); ++step) {
      const auto from = grads.begin() + (step - 1) * int64_t(p.size());
      update(p, state, Values(from, from + int64_t(p.size())), step, rates[size_t(step - 1)]);
      const std::string key = "p" + std::to_string(i) + ".after" + std::to_string(step) + ".f64";
      if (!want.contains(key)) continue;
      EXPECT_TRUE(is_close(p, want.values(key), DType::f64, kOverSteps)) << name << ' ' << key;
    }
    for (size_t k = 0; k < states.size(); ++k) {
      const std::string key = states[k] + std::to_string(i) + ".after100.f64";
      EXPECT_TRUE(is_close(state[k], want.values(key), DType::f64, kOverSteps)) << name << ' ' << key;
    }
  }
}

// The cases of torch's Adafactor and of transformers', with the options' names of both.
void expect_adafactor(const std::string& name, const Json& options) {
  const auto number = [&](const char* key, double otherwise) {
    return options.find(key) ? options.at(key).as_double() : otherwise;
  };
  const auto flag = [&](const char* key, bool otherwise) {
    return options.find(key) ? options.at(key).as_bool() : otherwise;
  };
  const bool hf = name.starts_with("adafactor_hf");
  using Rate = kernels::AdafactorRate;
  kernels::AdafactorArgs args;
  args.rate = !hf                            ? Rate::capped
              : !flag("relative_step", true) ? Rate::given
              : flag("warmup_init", false)   ? Rate::warmup
                                             : Rate::relative;
  args.scale_parameter = flag("scale_parameter", true);
  args.clamp_variance = !hf;
  args.eps1 = hf ? 1e-30 : 0x1p-52;
  if (const Json* eps = options.find("eps")) {
    args.eps1 = eps->items()[0].as_double();
    args.eps2 = eps->items()[1].as_double();
  }
  args.clip_threshold = number("clip_threshold", number("d", 1));
  args.decay_rate = number("decay_rate", number("beta2_decay", -0.8));
  args.beta1 = number("beta1", 0);
  args.decay_by_step = hf;
  const bool has_lr = args.rate == Rate::given || args.rate == Rate::capped;
  ref::AdafactorTensor tensor;
  expect_trajectory(name, {}, [&](Values& p, std::vector<Values>&, const Values& g, int64_t step, double lr) {
    if (step == 1) {
      const Values zeros(p.size(), 0);
      tensor = {0, 0, p, zeros, zeros, zeros};
      if (p.size() == 45) tensor.rows = 5, tensor.cols = 9;
      if (p.size() == 72)
        tensor.rows = name.ends_with("2d") ? 2 : 4, tensor.cols = name.ends_with("2d") ? 36 : 3;
    }
    ref::adafactor(tensor, g, args, has_lr ? lr : 1, number("weight_decay", 0), double(step));
    p = tensor.p;
  });
}

TEST(GoldenReference, optimizers_follow_pytorch_through_100_updates) {
  int seen = 0;
  const Json listing = Json::parse_file(golden_path("optim/cases.json"));
  for (const Json& item : listing.at("cases").items()) {
    const std::string name = item.at("case").as_string();
    const Json& options = item.at("options");
    const auto number = [&](const char* key, double otherwise) {
      return options.find(key) ? options.at(key).as_double() : otherwise;
    };
    // A reference updates one tensor; rates and decays of groups, and the norm over all, are the optimizers'
    // part.
    if (item.find("groups")) continue;
    ++seen;
    if (name.starts_with("adafactor")) {
      expect_adafactor(name, options);
    } else if (name.starts_with("adamw")) {
      ref::AdamWOptions o{.eps = number("eps", 0), .weight_decay = number("weight_decay", 0)};
      o.beta1 = options.at("betas").items()[0].as_double();
      o.beta2 = options.at("betas").items()[1].as_double();
      expect_trajectory(name, {"exp_avg", "exp_avg_sq"},
                        [&](Values& p, std::vector<Values>& s, const Values& g, int64_t step, double lr) {
                          o.lr = lr;
                          ref::adamw(p, s[0], s[1], g, step, o);
                        });
    } else {
      ref::SgdOptions o{.momentum = number("momentum", 0), .weight_decay = number("weight_decay", 0)};
      o.nesterov = options.find("nesterov") != nullptr;
      std::vector<std::string> states;
      if (o.momentum != 0) states.push_back("momentum_buffer");
      expect_trajectory(name, states,
                        [&](Values& p, std::vector<Values>& s, const Values& g, int64_t step, double lr) {
                          o.lr = lr;
                          ref::sgd(p, s[0], g, step, o);
                        });
    }
  }
  EXPECT_EQ(seen, 16);
}

TEST(GoldenReference, clipping_agrees_with_pytorch) {
  const Golden file("optim/clipping");
  const Json listing = Json::parse_file(golden_path("optim/cases.json"));
  for (const Json& item : listing.at("clipping").items()) {
    const std::string name = item.at("case").as_string();
    std::vector<Values> grads;
    for (int i = 0; i < 3; ++i) grads.push_back(file.values(name + ".g" + std::to_string(i)));
    const double norm = ref::global_norm(grads),
                 factor = ref::clip_factor(norm, item.at("max_norm").as_double());
    EXPECT_TRUE(is_close({norm}, file.values(name + ".norm.f64"), DType::f64, tolerance(DType::f64))) << name;
    for (size_t i = 0; i < 3; ++i) {
      const Values clipped = mapped(grads[i], [factor](double g) { return factor * g; });
      EXPECT_TRUE(is_close(clipped, file.values(name + ".clipped" + std::to_string(i) + ".f64"), DType::f64,
                           tolerance(DType::f64)))
          << name;
    }
  }
}

}  // namespace
}  // namespace tare::test
