// SPDX-License-Identifier: Apache-2.0
// The linear layer's kernels, in both weight layouts, against the reference.
#include "tare/kernels/linear.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/ref/elementwise.h"
#include "tests/ref/matmul.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

using kernels::Activation;

struct Sizes {
  int64_t N, in, out;
  std::string name() const {
    return std::to_string(N) + "x" + std::to_string(in) + "x" + std::to_string(out);
  }
};

Tensor out_in(const Tensor& w, bool conv1d) { return conv1d ? w.transpose(0, 1) : w; }
Values out_in(const Values& w, const Sizes& s, bool conv1d) {
  return conv1d ? Tensor::from_vector(w, {s.in, s.out}).transpose(0, 1).to_vector<double>() : w;
}
Shape stored(const Sizes& s, bool conv1d) { return conv1d ? Shape{s.in, s.out} : Shape{s.out, s.in}; }

double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::gelu_tanh:
      return ref::gelu_tanh(x);
    case Activation::gelu_erf:
      return ref::gelu_erf(x);
    case Activation::relu:
      return x > 0 ? x : 0;
  }
  return NAN;
}

OpCase forward(const Sizes& s, bool conv1d, bool bias, Activation activation) {
  OpCase row{.name = "forward_" + s.name() + (conv1d ? "_conv1d" : "") + (bias ? "_bias" : "") + "_act" +
                     std::to_string(int(activation)),
             .inputs = {{"x", {s.N, s.in}, normal()}, {"w", stored(s, conv1d), normal()}},
             .outputs = {{"y", {s.N, s.out}}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   kernels::linear_forward(in[0], out_in(in[1], conv1d), bias ? in[2] : Tensor(), activation,
                                           out[0]);
                 },
             .ref = [=](const Operands& a) -> std::vector<Values> {
               Values y = ref::linear_forward(a.in[0], out_in(a.in[1], s, conv1d), bias ? a.in[2] : Values{},
                                              s.N, s.in, s.out);
               for (double& v : y) v = activated(v, activation);
               return {y};
             },
             .flops = 2.0 * double(s.N * s.in * s.out) + (bias ? double(s.N * s.out) : 0),
             .any_threads_same_bits = false};
  if (bias) row.inputs.push_back({"bias", {s.out}, normal()});
  return row;
}

enum class Part { input, weight, bias };

OpCase backward(const Sizes& s, Part part, bool conv1d, Accum accum) {
  const bool add = accum == Accum::add;
  const char* names[] = {"input", "weight", "bias"};
  OpCase row{.name = "backward_" + std::string(names[int(part)]) + "_" + s.name() +
                     (conv1d ? "_conv1d" : "") + (add ? "_add" : "_set"),
             .inputs = {{"dy", {s.N, s.out}, normal()}},
             .outputs = {},
             .run = {},
             .ref = {},
             .flops = 2.0 * double(s.N * s.in * s.out),
             .any_threads_same_bits = part == Part::bias};
  switch (part) {
    case Part::input:
      row.inputs.push_back({"w", stored(s, conv1d), normal()});
      row.outputs.push_back({"dx", {s.N, s.in}});
      row.run = [=](Tensors& in, Tensors& out) {
        kernels::linear_backward_input(in[0], out_in(in[1], conv1d), out[0], accum);
      };
      break;
    case Part::weight:
      row.inputs.push_back({"x", {s.N, s.in}, normal()});
      row.outputs.push_back({"dw", stored(s, conv1d)});
      row.run = [=](Tensors& in, Tensors& out) {
        Tensor dw = out_in(out[0], conv1d);
        kernels::linear_backward_weight(in[0], in[1], dw, accum);
      };
      break;
    case Part::bias:
      row.outputs.push_back({"dbias", {s.out}});
      row.run = [=](Tensors& in, Tensors& out) { kernels::linear_backward_bias(in[0], out[0], accum); };
      row.flops = double(s.N * s.out);
      break;
  }
  row.ref = [=](const Operands& a) -> std::vector<Values> {
    const Values zeros(size_t(std::max(s.N, s.out) * s.in));
    const Values x = part == Part::weight ? a.in[1] : zeros;
    const Values w = part == Part::input ? out_in(a.in[1], s, conv1d) : zeros;
    const auto g = ref::linear_backward(x, w, a.in[0], s.N, s.in, s.out);
    Values y = part == Part::input ? g.dx : part == Part::bias ? g.dbias : g.dweight;
    if (part == Part::weight && conv1d)
      y = Tensor::from_vector(y, {s.out, s.in}).transpose(0, 1).to_vector<double>();
    for (size_t i = 0; i < y.size() && add; ++i) y[i] += a.before[0][i];
    return {y};
  };
  if (add) row.outputs[0].make = normal();
  return row;
}

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> rows;
  for (const Sizes& s :
       {Sizes{1, 1, 1}, Sizes{3, 5, 7}, Sizes{33, 130, 129}, Sizes{0, 3, 2}, Sizes{2, 0, 3}}) {
    for (const bool conv1d : {false, true}) {
      rows.push_back(forward(s, conv1d, false, Activation::none));
      rows.push_back(forward(s, conv1d, true, Activation::none));
      for (const Accum accum : {Accum::set, Accum::add})
        for (const Part part : {Part::input, Part::weight}) rows.push_back(backward(s, part, conv1d, accum));
    }
    for (const Accum accum : {Accum::set, Accum::add}) rows.push_back(backward(s, Part::bias, false, accum));
  }
  for (const Activation activation : {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu})
    rows.push_back(forward({19, 21, 23}, true, true, activation));
  for (const Sizes& s : {Sizes{1000, 1, 3}, Sizes{257, 1, 300}})
    rows.push_back(backward(s, Part::bias, false, Accum::set));
  return rows;
}

TARE_TEST_OP_CASES(Linear, linear_cases());

TEST(Linear, refuses_a_bias_of_another_length) {
  Tensor y = Tensor::empty({2, 4});
  EXPECT_THROW(kernels::linear_forward(Tensor::zeros({2, 3}), Tensor::zeros({4, 3}), Tensor::zeros({3}),
                                       Activation::none, y),
               Error);
}

}  // namespace
}  // namespace tare::test
