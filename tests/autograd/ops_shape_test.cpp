// SPDX-License-Identifier: Apache-2.0
// Views, joining and casts: values, gradients, and what they cost.
#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/autograd/ops.h"

#include "tests/support/expect_error.h"
#include "tests/support/values.h"

namespace tare::test {
namespace {

Tensor counting(const Shape& shape) {
  return Tensor::arange(0, double(shape.numel()), 1, {DType::f64, kCpu, {}}).view(shape);
}

struct ViewCase {
  const char* name;
  Var (*op)(const Var&);
};

const ViewCase kViews[] = {
    {"reshape",
     [](const Var& x) {
       return reshape(x, {4, -1});
     }},
    {"transpose", [](const Var& x) { return transpose(x, 0, 2); }},
    {"permute",
     [](const Var& x) {
       return permute(x, {2, 0, 1});
     }},
    {"permute_from_the_end",
     [](const Var& x) {
       return permute(x, {-1, 0, -2});
     }},
    {"unsqueeze", [](const Var& x) { return unsqueeze(x, 1); }},
    {"squeeze", [](const Var& x) { return squeeze(slice(x, 1, 1, 2), 1); }},
    {"contiguous", [](const Var& x) { return contiguous(transpose(x, 1, 2)); }},
    {"expand",
     [](const Var& x) {
       return expand(unsqueeze(x, 2), {2, 2, 3, 5, 4});
     }},
    {"slice", [](const Var& x) { return slice(x, 2, 1, 3); }},
    {"slice_with_step", [](const Var& x) { return slice(x, 2, 0, 4, 2); }},
    {"slice_from_the_end", [](const Var& x) { return slice(x, 1, -2, 3); }},
    {"select", [](const Var& x) { return select(x, 1, -1); }},
    {"overlapping_slices", [](const Var& x) { return slice(x, 1, 0, 2) * slice(x, 1, 1, 3); }},
    {"transpose_twice", [](const Var& x) { return transpose(transpose(x, 0, 1), 1, 2); }}};

TEST(ShapeOps, gradients_of_views_are_right_for_every_layout) {
  const Tensor x = tensor_of(normal()(2 * 3 * 4, 3), {2, 3, 4}, DType::f64);
  for (const ViewCase& c : kViews)
    for (const Layout layout : kLayouts)
      EXPECT_EQ(gradcheck(
                    [&](const Vars& v) {
                      const Var y = c.op(v[0]);
                      return y * y;  // a gradient that differs from place to place
                    },
                    {with_layout(x, layout)}),
                "")
          << c.name << " " << name_of(layout);
}

TEST(ShapeOps, views_copy_nothing) {
  const Var x(counting({2, 3, 4}));
  for (const Var& y :
       {view(x, {6, 4}), reshape(x, {24}), transpose(x, 0, 1), permute(x, {2, 1, 0}), unsqueeze(x, 0),
        slice(x, 1, 0, 2), select(x, 0, 1), expand(unsqueeze(x, 0), {5, 2, 3, 4})})
    EXPECT_TRUE(y.value().same_storage(x.value()));
  EXPECT_FALSE(reshape(transpose(x, 0, 1), {24}).value().same_storage(x.value()));
  EXPECT_ERROR(view(transpose(x, 0, 1), {24}), "without a copy");
}

TEST(ShapeOps, gradients_of_the_parts_of_a_split_meet_in_one_tensor) {
  const Var x = Var::parameter(counting({2, 6}));
  const Vars parts = split(x, 1, {1, 2, 3});
  backward(sum(parts[0]) + 2 * sum(parts[1]) + 3 * sum(parts[2]));
  EXPECT_EQ(x.grad().to_vector<double>(), (Values{1, 2, 2, 3, 3, 3, 1, 2, 2, 3, 3, 3}));
  EXPECT_ERROR(split(x, 1, {1, 2}), "split: sizes sum to 3, the axis has 6");
}

TEST(ShapeOps, gradients_of_joined_tensors_are_right) {
  const Tensor a = tensor_of(normal()(12, 1), {2, 3, 2}, DType::f64),
               b = tensor_of(normal()(4, 2), {2, 1, 2}, DType::f64),
               c = tensor_of(normal()(12, 3), {2, 3, 2}, DType::f64),
               none = Tensor::empty({2, 0, 2}, {DType::f64, kCpu, {}});
  const auto squared = [](const Var& y) { return y * y; };
  for (const Layout layout : kLayouts) {
    const auto joined = [&](const Vars& v) { return squared(cat({v[0], v[1], v[2]}, 1)); };
    EXPECT_EQ(gradcheck(joined, {with_layout(a, layout), b, none}), "") << name_of(layout);
    const auto twice = [&](const Vars& v) { return squared(cat({v[0], v[1], v[0]}, -2)); };
    EXPECT_EQ(gradcheck(twice, {a, with_layout(b, layout)}), "") << name_of(layout);
    for (const int axis : {0, 1, 3, -1}) {
      const auto stacked = [&](const Vars& v) { return squared(stack({v[0], v[1]}, axis)); };
      EXPECT_EQ(gradcheck(stacked, {with_layout(a, layout), c}), "") << axis << name_of(layout);
    }
  }
  const Var wide =
      cat({Var(Tensor::full({1, 2}, 1, {DType::bf16, kCpu, {}})), Var(Tensor::full({1, 1}, 2))}, 1);
  EXPECT_EQ(wide.dtype(), DType::f32);
  EXPECT_EQ(wide.value().to_vector<double>(), (Values{1, 1, 2}));
  EXPECT_ERROR(cat({Var(a), Var(tensor_of({1}, {1, 1, 1}, DType::f64))}, 1), "cat: an input has shape");
  EXPECT_ERROR(stack({Var(a), Var(b)}, 0), "stack: shapes (2, 3, 2) and (2, 1, 2) differ");
}

TEST(ShapeOps, casts_convert_the_gradient_back) {
  const Var x = Var::parameter(tensor_of({1, 2, 3}, {3}, DType::f32));
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16}) {
    Var(x).zero_grad();
    const Var y = to(x * 2, dtype);
    EXPECT_EQ(y.dtype(), dtype);
    backward(y, {.seed = tensor_of({1, 2, 3}, {3}, dtype)});
    EXPECT_EQ(x.grad().dtype(), DType::f32);
    EXPECT_EQ(x.grad().to_vector<double>(), (Values{2, 4, 6}));
  }
  EXPECT_ERROR(to(x, DType::i64), "to: a gradient cannot pass through i64");
  EXPECT_EQ(to(Var(x.value()), DType::i64).value().to_vector<double>(), (Values{1, 2, 3}));
}

}  // namespace
}  // namespace tare::test
