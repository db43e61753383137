// SPDX-License-Identifier: Apache-2.0
// Views and reshapes against a model that copies: a list of values in row-major order and a shape.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/tensor.h"

#include "tests/support/expect_error.h"
#include "tests/support/test_data.h"

namespace tare {
namespace {

using Index = std::vector<int64_t>;

// A tensor without strides: every operation makes the list of values anew.
struct Naive {
  Index shape;
  std::vector<int64_t> values;

  int64_t numel() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  }

  // The tensor of `target` whose element at index i is this one's at from(i).
  template <class From> Naive gather(Index target, From from) const {
    Naive out{std::move(target), {}};
    Index index(out.shape.size(), 0);
    for (int64_t n = 0; n < out.numel(); ++n) {
      const Index source = from(index);
      int64_t at = 0;
      for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + source[i];
      out.values.push_back(values[size_t(at)]);
      for (size_t i = index.size(); i-- > 0 && ++index[i] == out.shape[i];) index[i] = 0;
    }
    return out;
  }
  Naive permuted(const std::vector<int>& order) const {
    Index target;
    for (const int axis : order) target.push_back(shape[size_t(axis)]);
    return gather(target, [&](const Index& i) {
      Index source(shape.size());
      for (size_t k = 0; k < order.size(); ++k) source[size_t(order[k])] = i[k];
      return source;
    });
  }
  Naive sliced(size_t axis, int64_t begin, int64_t end, int64_t step) const {
    Index target = shape;
    target[axis] = 0;
    for (int64_t at = begin; at < end; at += step) ++target[axis];
    return gather(target, [&](const Index& i) {
      Index source = i;
      source[axis] = begin + i[axis] * step;
      return source;
    });
  }
  Naive expanded(const Index& target) const {
    const size_t lead = target.size() - shape.size();
    return gather(target, [&](const Index& i) {
      Index source;
      for (size_t k = 0; k < shape.size(); ++k) source.push_back(shape[k] == 1 ? 0 : i[lead + k]);
      return source;
    });
  }
  Naive reshaped(const Index& target) const { return {target, values}; }
};

Shape shape_of(const Index& extents) { return Shape{std::span<const int64_t>(extents)}; }

void expect_same(const Tensor& t, const Naive& n, const std::string& steps) {
  ASSERT_EQ(t.shape(), shape_of(n.shape)) << steps;
  ASSERT_EQ(t.numel(), n.numel()) << steps;
  ASSERT_EQ(t.to_vector<int64_t>(), n.values) << steps;
}

// A factorisation of n into up to four extents, in random order, some of them 1.
Index random_shape(int64_t n, std::mt19937_64& random) {
  Index shape;
  while (n > 1 && shape.size() < 3) {
    int64_t factor = int64_t(random() % uint64_t(n)) + 1;
    while (n % factor != 0) --factor;
    shape.push_back(factor);
    n /= factor;
  }
  if (n != 1 || random() % 2) shape.push_back(n);
  std::shuffle(shape.begin(), shape.end(), random);
  return shape;
}

TEST(View, RandomChainsOfViewsAgreeWithCopies) {
  const int chains = test::all_cases() ? 20000 : 1500;
  for (int chain = 0; chain < chains; ++chain) {
    std::mt19937_64 random{uint64_t(chain)};
    const Index start = random_shape(std::vector<int64_t>{0, 1, 6, 24, 60, 64}[random() % 6], random);
    Naive naive{start, {}};
    naive.values.resize(size_t(naive.numel()));
    std::iota(naive.values.begin(), naive.values.end(), 0);
    Tensor t = Tensor::arange(0, double(naive.numel()), 1, {DType::i32, kCpu, {}}).view(shape_of(start));
    std::string steps = "chain " + std::to_string(chain) + ": " + t.shape().str();
    for (int step = 0; step < 6; ++step) {
      const int rank = t.dim();
      const int axis = rank ? int(random() % uint64_t(rank)) : 0;
      const uint64_t kind = random() % 6;
      if (kind == 0 && rank) {
        std::vector<int> order(static_cast<size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        t = t.permute(order);
        naive = naive.permuted(order);
        steps += " permute";
      } else if (kind == 1 && rank) {
        const int64_t n = t.size(axis), begin = int64_t(random() % uint64_t(n + 1));
        const int64_t end = begin + int64_t(random() % uint64_t(n - begin + 1)),
                      stride = 1 + int64_t(random() % 3);
        t = t.slice(axis, begin, end, stride);
        naive = naive.sliced(size_t(axis), begin, end, stride);
        steps += " slice";
      } else if (kind == 2 && rank && t.size(axis) > 0) {
        const int64_t at = int64_t(random() % uint64_t(t.size(axis)));
        t = t.select(axis, at - (random() % 2 ? t.size(axis) : 0));
        naive = naive.sliced(size_t(axis), at, at + 1, 1);
        naive.shape.erase(naive.shape.begin() + axis);
        steps += " select";
      } else if (kind == 3 && rank < 5) {
        const int place = int(random() % uint64_t(rank + 1));
        t = t.unsqueeze(place);
        naive.shape.insert(naive.shape.begin() + place, 1);
        steps += " unsqueeze";
      } else if (kind == 4 && rank < 5 && t.numel() < 500) {
        Index target = naive.shape;
        for (int64_t& extent : target)
          if (extent == 1) extent = int64_t(random() % 3);
        if (random() % 2) target.insert(target.begin(), 2);
        t = t.expand(shape_of(target));
        naive = naive.expanded(target);
        steps += " expand";
      } else if (kind == 5) {
        const Index target = random_shape(t.numel(), random);
        t = t.reshape(shape_of(target));
        naive = naive.reshaped(target);
        steps += " reshape";
      }
      steps += t.shape().str();
      expect_same(t, naive, steps);
      if (testing::Test::HasFatalFailure()) return;
      const Tensor dense = t.contiguous();
      ASSERT_TRUE(dense.is_contiguous()) << steps;
      const int32_t* p = dense.data<int32_t>();
      ASSERT_TRUE(std::equal(naive.values.begin(), naive.values.end(), p, p + dense.numel())) << steps;
    }
  }
}

TEST(View, ReshapeCopiesOnlyWhereStridesForceIt) {
  const Tensor t = Tensor::arange(0, 24).view({2, 3, 4});
  const auto shares = [](const Tensor& base, const Tensor& view, const Shape& shape) {
    return view.reshape(shape).same_storage(base);
  };
  EXPECT_TRUE(shares(t, t, {24}));
  EXPECT_TRUE(shares(t, t, {4, 1, 6}));
  EXPECT_TRUE(shares(t, t.slice(0, 1, 2), {12}));
  EXPECT_TRUE(shares(t, t.slice(2, 0, 2), {6, 2}));     // rows of two, four apart
  EXPECT_TRUE(shares(t, t.slice(2, 0, 4, 2), {6, 2}));  // every second element
  EXPECT_TRUE(shares(t, t.slice(2, 0, 4, 2), {12}));    // evenly two apart
  EXPECT_FALSE(shares(t, t.slice(2, 0, 2), {12}));
  EXPECT_FALSE(shares(t, t.transpose(0, 1), {6, 4}));
  EXPECT_TRUE(shares(t, t.transpose(0, 1), {3, 2, 2, 2}));  // splits the dense axis only
  EXPECT_FALSE(shares(t, t.transpose(1, 2), {2, 12}));
  EXPECT_TRUE(shares(t, t.transpose(1, 2), {2, 2, 2, 3}));
  EXPECT_TRUE(shares(t, t.select(2, 0).unsqueeze(0).expand({5, 2, 3}), {5, 6}));
  EXPECT_FALSE(shares(t, t.select(2, 0).unsqueeze(0).expand({5, 2, 3}), {10, 3}));
  EXPECT_TRUE(shares(t, t.slice(0, 0, 1).expand({1, 3, 4}), {1, 1, 12, 1}));
  EXPECT_ERROR(t.transpose(0, 1).view({24}), "view", "(3, 2, 4)", "(24)", "without a copy");
}

TEST(View, OneExtentMayBeLeftOpen) {
  const Tensor t = Tensor::arange(0, 24);
  EXPECT_EQ(t.view({2, -1, 4}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(t.slice(0, 0, 0).view({-1, 3}).shape(), (Shape{0, 3}));
  EXPECT_ERROR(t.view({-1, -1}), "more than one -1");
  EXPECT_ERROR(t.view({-1, 5}), "(24)", "(-1, 5)");
  EXPECT_ERROR(t.view({-2, 12}), "(-2, 12)");
  EXPECT_ERROR(t.view({-1, 0}), "(-1, 0)");
  EXPECT_ERROR(t.view({23}), "(24)", "(23)");
  EXPECT_ERROR(t.view({int64_t(1) << 32, int64_t(1) << 32, 3}), "view");
}

TEST(View, SlicesClampAsInPython) {
  const Tensor t = Tensor::arange(0, 10);
  const auto values = [&](int64_t begin, int64_t end, int64_t step) {
    return t.slice(0, begin, end, step).to_vector<int64_t>();
  };
  EXPECT_EQ(values(-3, 10, 1), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(values(0, -8, 1), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(values(-100, 100, 4), (std::vector<int64_t>{0, 4, 8}));
  EXPECT_EQ(values(5, 2, 1), std::vector<int64_t>{});
  EXPECT_EQ(values(INT64_MIN, INT64_MAX, INT64_MAX), std::vector<int64_t>{0});
  EXPECT_EQ(values(1, INT64_MAX, int64_t(1) << 62), std::vector<int64_t>{1});
  EXPECT_ERROR(t.slice(0, 0, 1, 0), "step 0");
  EXPECT_ERROR(t.slice(1, 0, 1), "slice", "axis 1", "1 dimensions");
  EXPECT_ERROR(t.select(0, 10), "index 10");
  EXPECT_ERROR(t.select(0, -11), "index -11");
}

TEST(View, WrongAxesAndShapesAreNamed) {
  const Tensor t = Tensor::zeros({2, 3});
  EXPECT_ERROR(t.transpose(0, 2), "transpose", "axis 2");
  EXPECT_ERROR(t.permute({0}), "permute", "1 axes");
  EXPECT_ERROR(t.permute({0, -2}), "axis 0", "twice");
  EXPECT_ERROR(t.squeeze(0), "squeeze", "(2, 3)");
  EXPECT_ERROR(t.expand({2}), "expand", "(2, 3)");
  EXPECT_ERROR(t.expand({4, 3}), "(2, 3)", "(4, 3)");
  EXPECT_ERROR(t.unsqueeze(3), "unsqueeze", "axis 3");
  EXPECT_ERROR(t.as_strided({2, 3}, {3, 1}, 1), "as_strided", "6 elements");
  EXPECT_ERROR(t.as_strided({2}, {-1}, 0), "as_strided");
  EXPECT_ERROR(t.as_strided({3}, {INT64_MAX}, 0), "as_strided");
  EXPECT_ERROR(t.as_strided({2}, {1, 1}, 0), "differ in length");
  EXPECT_EQ(t.as_strided({3}, {-2}, 5).shape(), Shape{3});
  EXPECT_NO_THROW(t.as_strided({0}, {INT64_MAX}, 0));
}

TEST(Shape, NumelRefusesOverflowAndNegativeExtents) {
  EXPECT_EQ((Shape{}).numel(), 1);
  EXPECT_EQ((Shape{0, int64_t(1) << 62, int64_t(1) << 62}).numel(), 0);
  EXPECT_EQ((Shape{int64_t(1) << 62, 1}).numel(), int64_t(1) << 62);
  EXPECT_ERROR((Shape{int64_t(1) << 62, 2}).numel(), "number of elements");
  EXPECT_ERROR((Shape{0, -3}).numel(), "(0, -3)");
  EXPECT_ERROR((Shape{-1}).numel(), "(-1)");
  EXPECT_ERROR((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), "at most 8");
  const Tensor huge_but_empty = Tensor::empty({0, int64_t(1) << 62, int64_t(1) << 62});
  EXPECT_TRUE(huge_but_empty.is_contiguous());
  EXPECT_ERROR(Tensor::empty({int64_t(1) << 61, 2}), "empty");
}

TEST(Shape, BroadcastFollowsNumPy) {
  EXPECT_EQ(broadcast_shapes({2, 1, 3}, {4, 1}, "op"), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast_shapes({}, {3}, "op"), Shape{3});
  EXPECT_EQ(broadcast_shapes({0, 1}, {1, 5}, "op"), (Shape{0, 5}));
  EXPECT_ERROR(broadcast_shapes({2}, {3}, "some_op"), "some_op", "(2)", "(3)");
  EXPECT_ERROR(broadcast_shapes({0}, {2}, "some_op"), "some_op");
}

}  // namespace
}  // namespace tare
