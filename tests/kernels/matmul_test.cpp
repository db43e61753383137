// SPDX-License-Identifier: Apache-2.0
// Matrix products: plain, strided, batched with broadcasting, against the reference.
#include "tare/kernels/matmul.h"

#include <atomic>
#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/time.h>

#include "tare/core/parallel.h"

#include "tests/ref/matmul.h"
#include "tests/support/op_case.h"

namespace tare::test {
namespace {

std::vector<int64_t> dims(const Shape& s) { return {s.begin(), s.end()}; }

// In f32 oneDNN sums in an order of its own.
constexpr const char* kOrder = "the GEMM library decides the order of sums";

// a and b may be stored transposed in their last two axes; c as well.
OpCase product(const std::string& name, const Shape& a, const Shape& b, bool ta, bool tb, bool tc,
               Accum accum) {
  const auto stored = [](Shape s, bool transposed) {
    if (transposed) std::swap(s[s.dim() - 1], s[s.dim() - 2]);
    return s;
  };
  const auto seen = [](const Tensor& t, bool transposed) { return transposed ? t.transpose(-2, -1) : t; };
  const ref::Shape shape = ref::batched_matmul_shape(dims(a), dims(b));
  const Shape c{std::span(shape)};
  OpCase row{.name = name + (ta ? "_ta" : "") + (tb ? "_tb" : "") + (tc ? "_tc" : "") +
                     (accum == Accum::add ? "_add" : ""),
             .inputs = {{"a", stored(a, ta), normal()}, {"b", stored(b, tb), normal()}},
             .outputs = {{"c", stored(c, tc)}},
             .run =
                 [=](Tensors& in, Tensors& out) {
                   Tensor view = seen(out[0], tc);
                   kernels::matmul(seen(in[0], ta), seen(in[1], tb), view, accum);
                 },
             .ref = [=](const Operands& v) -> std::vector<Values> {
               const Tensor ma = seen(Tensor::from_vector(v.in[0], stored(a, ta)), ta);
               const Tensor mb = seen(Tensor::from_vector(v.in[1], stored(b, tb)), tb);
               const Values sum =
                   ref::batched_matmul(ma.to_vector<double>(), dims(a), mb.to_vector<double>(), dims(b));
               Values y = seen(Tensor::from_vector(sum, c), tc).to_vector<double>();
               for (size_t i = 0; i < y.size() && accum == Accum::add; ++i) y[i] += v.before[0][i];
               return {y};
             },
             .flops = 2.0 * double(c.numel()) * double(a[a.dim() - 1]),
             .any_threads_same_bits = false};
  if (accum == Accum::add) row.outputs[0].make = normal();
  return row;
}

std::vector<OpCase> matmul_cases() {
  std::vector<OpCase> rows;
  const std::vector<std::array<int64_t, 3>> sizes = {{1, 1, 1}, {1, 5, 3},   {5, 1, 2},
                                                     {2, 3, 1}, {7, 17, 33}, {64, 32, 16}};
  for (const auto& [M, N, K] : sizes) {
    const std::string name = std::to_string(M) + "x" + std::to_string(N) + "x" + std::to_string(K);
    for (int bits = 0; bits < 8; ++bits)
      for (const Accum accum : {Accum::set, Accum::add})
        rows.push_back(product(name, {M, K}, {K, N}, bits & 1, bits & 2, bits & 4, accum));
  }
  // Across the edges of the blocks of 96 x 96 x 128.
  rows.push_back(product("97x101x131", {97, 131}, {131, 101}, false, false, false, Accum::add));
  rows.push_back(product("97x101x131", {97, 131}, {131, 101}, true, false, true, Accum::set));
  rows.push_back(product("13x200x300", {13, 300}, {300, 200}, false, true, false, Accum::add));
  rows.push_back(product("batched", {3, 5, 4}, {3, 4, 6}, false, false, false, Accum::set));
  rows.push_back(product("batched", {3, 5, 4}, {3, 4, 6}, true, true, false, Accum::add));
  rows.push_back(product("broadcast", {2, 1, 5, 4}, {3, 4, 6}, false, true, false, Accum::set));
  rows.push_back(product("shared_b", {2, 3, 5, 4}, {4, 6}, false, false, false, Accum::set));
  rows.push_back(product("no_rows", {0, 4}, {4, 3}, false, false, false, Accum::set));
  rows.push_back(product("no_terms", {3, 0}, {0, 4}, false, false, false, Accum::set));
  rows.push_back(product("no_terms", {3, 0}, {0, 4}, false, false, false, Accum::add));
  rows.push_back(product("no_batch", {0, 2, 3}, {0, 3, 4}, false, false, false, Accum::set));
  return rows;
}

TARE_TEST_OP_CASES(Matmul, matmul_cases());

TEST(Matmul, the_gradient_of_a_half_weight_may_be_f32) {
  const Values a = rounded_to(DType::bf16, normal()(6 * 5, 1)),
               b = rounded_to(DType::bf16, normal()(5 * 7, 2));
  Tensor c = Tensor::empty({6, 7});
  kernels::matmul(tensor_of(a, {6, 5}, DType::bf16), tensor_of(b, {5, 7}, DType::bf16), c, Accum::set);
  expect_close(c, ref::matmul(a, b, 6, 7, 5));
}

TEST(Matmul, own_tiles_give_the_same_bits_with_any_threads) {
  const int threads = num_threads();
  const Tensor a = Tensor::randn({200, 300}, 1, {DType::f64, kCpu, {}}),
               b = Tensor::randn({300, 210}, 2, {DType::f64, kCpu, {}});
  Tensor one = Tensor::empty({200, 210}, {DType::f64, kCpu, {}}), two = Tensor::empty_like(one);
  set_num_threads(1);
  kernels::matmul(a, b, one, Accum::set);
  set_num_threads(2);
  kernels::matmul(a, b, two, Accum::set);
  set_num_threads(threads);
  EXPECT_TRUE(same_bits(one, two));
}

// A handler with a frame of some KiB, called every 200 us.
class Alarms {
 public:
  Alarms() {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      volatile char frame[3000];
      for (size_t i = 0; i < sizeof frame; ++i) frame[i] = 0x5a;
      if (frame[7] == 0x5a) arrived.fetch_add(1, std::memory_order_relaxed);
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    set_interval(200);
  }
  ~Alarms() {
    set_interval(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  static inline std::atomic<int> arrived = 0;  // a worker may get the signal before it blocks it

 private:
  static void set_interval(int us) {
    const itimerval timer = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_;
};

// oneDNN's generated code for such a shape moves its stack pointer into the heap, where a handler would
// write.
TEST(Matmul, a_signal_in_its_midst_harms_nothing) {
  constexpr int64_t M = 32, N = 384, K = 256;
  const Tensor a = Tensor::full({M, K}, 1.0), b = Tensor::full({K, N}, 1.0);
  Tensor c = Tensor::empty({M, N});
  const Alarms alarms;
  for (int round = 0; round < 1000; ++round) {
    kernels::matmul(a, b, c, Accum::set);
    const std::vector<float> sums = c.to_vector<float>();
    for (const float sum : sums) ASSERT_EQ(sum, float(K)) << "round " << round;
  }
  EXPECT_GT(Alarms::arrived, 20);
}

TEST(Matmul, refuses_what_does_not_fit_and_says_what) {
  const auto message = [](const Shape& a, const Shape& b, const Shape& c) -> std::string {
    Tensor y = Tensor::empty(c);
    try {
      kernels::matmul(Tensor::zeros(a), Tensor::zeros(b), y, Accum::set);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message({2, 3}, {4, 5}, {2, 5}).find("shapes (2, 3) and (4, 5) do not fit"), std::string::npos);
  EXPECT_NE(message({2, 3}, {3, 5}, {2, 4}).find("c has shape (2, 4), expected (2, 5)"), std::string::npos);
  EXPECT_NE(message({3}, {3, 5}, {5}).find("a has shape (3), expected at least two axes"), std::string::npos);
  Tensor c = Tensor::zeros({2, 2});
  const Tensor wide = Tensor::zeros({2, 3, 2}).select(2, 0);
  EXPECT_THROW(kernels::matmul(wide, Tensor::zeros({3, 2}), c, Accum::set), Error);
}

}  // namespace
}  // namespace tare::test
