// SPDX-License-Identifier: Apache-2.0
#include "tests/support/values.h"

#include <cmath>
#include <cstring>

namespace tare::test {
namespace {

// splitmix64 (Steele, Lea & Flood 2014).
struct Generator {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return double(next() >> 11) * 0x1p-53; }
};

template <class F> Maker each(F draw) {
  return [draw](int64_t n, uint64_t seed) {
    Generator generator{seed * 0x632be59bd9b4e019u + 1};
    Values values;
    for (int64_t i = 0; i < n; ++i) values.push_back(draw(generator));
    return values;
  };
}

}  // namespace

Maker normal(double mean, double std) {
  return each([=](Generator& g) {
    const double r = std::sqrt(-2 * std::log(1 - g.unit()));
    return mean + std * r * std::cos(2 * 3.14159265358979323846 * g.unit());
  });
}

Maker uniform(double low, double high) {
  return each([=](Generator& g) { return low + (high - low) * g.unit(); });
}

Maker indices(int64_t high) {
  return each([=](Generator& g) { return std::floor(double(high) * g.unit()); });
}

Maker mask(double share_of_ones) {
  return each([=](Generator& g) { return g.unit() < share_of_ones ? 1.0 : 0.0; });
}

Maker constant(double value) {
  return each([=](Generator&) { return value; });
}

Maker given(Values values) {
  return [values](int64_t n, uint64_t) {
    Values out;
    for (int64_t i = 0; i < n; ++i) out.push_back(values[size_t(i) % values.size()]);
    return out;
  };
}

Maker with(Maker make, std::vector<double> special) {
  return [make, special](int64_t n, uint64_t seed) {
    Values values = make(n, seed);
    for (size_t i = 0; i < values.size() && i < special.size(); ++i) values[i] = special[i];
    return values;
  };
}

Values rounded_to(DType dtype, Values values) {
  const Shape shape{int64_t(values.size())};
  return Tensor::from_vector(values, shape).to(dtype).to_vector<double>();
}

Tensor tensor_of(const Values& values, const Shape& shape, DType dtype) {
  return Tensor::from_vector(values, shape).to(dtype);
}

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::reversed_axes:
      return "reversed_axes";
    case Layout::padded_rows:
      return "padded_rows";
    case Layout::every_second:
      return "every_second";
  }
  TARE_UNREACHABLE();
}

Tensor with_layout(const Tensor& t, Layout layout) {
  if (layout == Layout::contiguous || t.dim() == 0) return t.contiguous();
  Shape shape;
  std::vector<int> order;
  for (int i = 0; i < t.dim(); ++i) {
    shape.push_back(layout == Layout::reversed_axes ? t.size(t.dim() - 1 - i) : t.size(i));
    order.push_back(t.dim() - 1 - i);
  }
  const int last = t.dim() - 1;
  if (layout == Layout::padded_rows) shape[last] += 3;
  if (layout == Layout::every_second) shape[last] *= 2;
  Tensor base = Tensor::empty(shape, {t.dtype(), kCpu, {}});
  std::memset(base.mutable_raw(), t.dtype() == DType::boolean ? 1 : 0xff, size_t(base.nbytes()));
  Tensor view = base;
  if (layout == Layout::reversed_axes) view = base.permute(order);
  if (layout == Layout::padded_rows) view = base.slice(last, 2, t.size(last) + 2);
  if (layout == Layout::every_second) view = base.slice(last, 0, 2 * t.size(last), 2);
  copy(t, view);
  return view;
}

}  // namespace tare::test
