// SPDX-License-Identifier: Apache-2.0
#include "tare/autograd/gradcheck.h"

#include <cmath>
#include <sstream>

namespace tare {
namespace {

double dot(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// <f(inputs), dy> without a tape.
double objective(const std::function<Var(const Vars&)>& f, const std::vector<Tensor>& inputs,
                 const Tensor& dy) {
  const NoGradGuard no_grad;
  return dot(f(Vars(inputs.begin(), inputs.end())).value(), dy);
}

Tensor numeric_gradient(const std::function<Var(const Vars&)>& f, std::vector<Tensor> inputs, size_t which,
                        const Tensor& dy, double epsilon) {
  Tensor moved = inputs[which].clone();
  std::vector<double> values = moved.to_vector<double>(), gradient(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double sides[2];
    for (int side = 0; side < 2; ++side) {
      moved.mutable_data<double>()[i] = values[i] + (side == 0 ? epsilon : -epsilon);
      inputs[which] = moved;
      sides[side] = objective(f, inputs, dy);
    }
    moved.mutable_data<double>()[i] = values[i];
    gradient[i] = (sides[0] - sides[1]) / (2 * epsilon);
  }
  return Tensor::from_vector(gradient, moved.shape());
}

double rms(const std::vector<double>& values) {
  double squares = 0;
  for (const double v : values) squares += v * v;
  return values.empty() ? 0 : std::sqrt(squares / double(values.size()));
}

// Rounding errors of <y, dy>, a few units in the last place of each term, as they show in a difference.
double noise_of(const Tensor& y, const Tensor& dy, double epsilon) {
  const auto a = y.to_vector<double>(), b = dy.to_vector<double>();
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] * b[i]);
  return 16 * 0x1p-52 * sum / epsilon;
}

struct Allowed {
  double tolerance, noise;
};

std::string compare(const char* what, size_t input, const Tensor& analytic, const Tensor& numeric,
                    double factor, const Allowed& allowed) {
  const auto a = analytic.to_vector<double>(), n = numeric.to_vector<double>();
  const double typical = rms(n);
  double worst = 0;  // as a multiple of what is allowed
  size_t at = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double scale = factor * std::max(typical, std::abs(n[i]));
    const double difference = std::abs(a[i] - factor * n[i]);
    const double error =
        difference == 0 ? 0 : difference / (allowed.tolerance * scale + factor * allowed.noise);
    if (error <= worst && error == error) continue;
    worst = error == error ? error : INFINITY;
    at = i;
  }
  if (worst <= 1) return {};
  std::ostringstream os;
  os.precision(10);
  os << "gradcheck: " << what << " of input " << input << ", element " << at << ": analytic " << a[at]
     << ", numeric " << factor * n[at] << ", an error of " << worst << " times the tolerance";
  return os.str();
}

}  // namespace

std::string gradcheck(const std::function<Var(const Vars&)>& f, const std::vector<Tensor>& inputs,
                      const GradcheckOptions& options) {
  Vars vars;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TARE_CHECK(inputs[i].dtype() == DType::f64, "gradcheck: input ", i, " is ", inputs[i].dtype(),
               ", expected f64");
    const bool wanted = options.wanted.empty() || options.wanted.at(i);
    // A leaf with the input's own layout: the op under test must cope with strides.
    Var v(inputs[i]);
    v.set_requires_grad(wanted);
    vars.push_back(v);
  }
  const Var y = f(vars);
  const Tensor dy = Tensor::randn(y.shape(), options.seed + 1, {DType::f64, kCpu, {}});
  backward(y, {.seed = dy, .retain_graph = true});
  std::vector<Tensor> numeric(inputs.size());
  for (int pass = 1; pass <= 2; ++pass) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!vars[i].requires_grad()) continue;
      if (!numeric[i].defined()) numeric[i] = numeric_gradient(f, inputs, i, dy, options.epsilon);
      if (!vars[i].grad().defined()) return detail::concat("gradcheck: input ", i, " got no gradient");
      const char* what = pass == 1 ? "gradient" : "gradient accumulated over two passes";
      std::string fault = compare(what, i, vars[i].grad(), numeric[i], pass,
                                  {options.tolerance, noise_of(y.value(), dy, options.epsilon)});
      if (!fault.empty()) return fault;
    }
    if (pass == 1) backward(y, {.seed = dy});
  }
  return {};
}

}  // namespace tare
