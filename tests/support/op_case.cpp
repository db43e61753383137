// SPDX-License-Identifier: Apache-2.0
#include "tests/support/op_case.h"

#include <memory>
#include <ostream>

#include <gtest/gtest.h>

#include "tare/autograd/gradcheck.h"
#include "tare/core/isa.h"
#include "tare/core/parallel.h"
#include "tare/kernels/profile.h"

#include "tests/support/guarded.h"

namespace tare::test {
namespace {

DType dtype_of_operand(const Operand& o, DType dtype) { return o.dtype.value_or(dtype); }

// The operands of one call in guarded memory.
struct Call {
  std::vector<std::unique_ptr<Guarded>> guarded_in, guarded_out;
  Tensors in, out;

  Call(const OpCase& row, const Operands& values, int64_t misalign) {
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      const Operand& o = row.inputs[i];
      guarded_in.push_back(
          std::make_unique<Guarded>(values.in[i], o.shape, dtype_of_operand(o, values.dtype), misalign));
      in.push_back(guarded_in.back()->tensor());
    }
    for (size_t i = 0; i < row.outputs.size(); ++i) {
      const Operand& o = row.outputs[i];
      const DType dtype = dtype_of_operand(o, values.dtype);
      guarded_out.push_back(o.make ? std::make_unique<Guarded>(values.before[i], o.shape, dtype, misalign)
                                   : std::make_unique<Guarded>(o.shape, dtype, misalign));
      out.push_back(guarded_out.back()->tensor());
    }
    row.run(in, out);
  }
};

void expect_close_and_guarded(const OpCase& row, Call& call, const std::vector<Values>& want) {
  for (size_t i = 0; i < call.in.size(); ++i) {
    EXPECT_TRUE(call.guarded_in[i]->guards_intact()) << "input " << row.inputs[i].name;
    EXPECT_TRUE(call.guarded_in[i]->unchanged()) << "input " << row.inputs[i].name;
  }
  for (size_t i = 0; i < call.out.size(); ++i) {
    EXPECT_TRUE(call.guarded_out[i]->guards_intact()) << "output " << row.outputs[i].name;
    const Tolerance allowed = tolerance(call.out[i].dtype()).looser(row.loosen, row.loosen_reason);
    EXPECT_TRUE(is_close(call.out[i], want[i], allowed)) << "output " << row.outputs[i].name;
  }
}

kernels::Cost cost_of_run(const OpCase& row, Tensors& in, Tensors& out) {
  kernels::Profiler profiler;
  profiler.start();
  row.run(in, out);
  profiler.stop();
  return profiler.total();
}

}  // namespace

std::ostream& operator<<(std::ostream& os, const OpCase& row) { return os << row.name; }

Operands draw_operands(const OpCase& row, DType dtype, uint64_t seed) {
  Operands values{{}, {}, dtype};
  uint64_t stream = seed * 1000;
  for (const Operand& o : row.inputs) {
    values.in.push_back(rounded_to(dtype_of_operand(o, dtype), o.make(o.shape.numel(), ++stream)));
  }
  for (const Operand& o : row.outputs) {
    values.before.push_back(o.make ? rounded_to(dtype_of_operand(o, dtype), o.make(o.shape.numel(), ++stream))
                                   : Values());
  }
  return values;
}

std::vector<OpCase> with_gradients(const std::vector<OpCase>& rows) {
  std::vector<OpCase> some;
  for (const OpCase& row : rows) {
    if (row.var) some.push_back(row);
  }
  return some;
}

Values plus(Values a, const Values& b) {
  for (size_t i = 0; i < b.size(); ++i) a[i] += b[i];
  return a;
}

double stated_bytes(const OpCase& row, DType dtype) {
  if (row.bytes) return row.bytes(dtype);
  double bytes = 0;
  for (const Operand& o : row.inputs) bytes += double(o.shape.numel() * size_of(dtype_of_operand(o, dtype)));
  for (const Operand& o : row.outputs) {
    bytes += double(o.shape.numel() * size_of(dtype_of_operand(o, dtype))) * (o.make ? 2 : 1);
  }
  return bytes;
}

void expect_agrees_with_reference(const OpCase& row, DType dtype) {
  const Operands values = draw_operands(row, dtype);
  const std::vector<Values> want = row.ref(values);
  ASSERT_EQ(want.size(), row.outputs.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const DType stored = dtype_of_operand(row.outputs[i], dtype);
    ASSERT_EQ(int64_t(want[i].size()), row.outputs[i].shape.numel()) << row.outputs[i].name;
    EXPECT_TRUE(notices_spoiling(want[i], stored, tolerance(stored).looser(row.loosen, row.loosen_reason)))
        << "output " << row.outputs[i].name;
  }
  const Isa used = active_isa();
  for (Isa isa : {Isa::base, Isa::v3, Isa::v4}) {
    if (isa > best_isa()) continue;
    set_active_isa(isa);
    for (int64_t misalign : row.misalign) {
      SCOPED_TRACE(std::string(name_of(isa)) + ", " + std::to_string(misalign) + " elements off alignment");
      Call call(row, values, misalign);
      expect_close_and_guarded(row, call, want);
    }
  }
  set_active_isa(used);
}

void expect_same_bits_with_any_threads(const OpCase& row, DType dtype) {
  const Operands values = draw_operands(row, dtype);
  const int used = num_threads();
  set_num_threads(1);
  Call first(row, values, 0);
  for (int threads : {1, 2, 3}) {
    if (threads > 1 && !row.any_threads_same_bits) break;
    SCOPED_TRACE(std::to_string(threads) + " threads");
    set_num_threads(threads);
    Call again(row, values, 0);
    for (size_t i = 0; i < first.out.size(); ++i) {
      EXPECT_TRUE(same_bits(first.out[i], again.out[i])) << "output " << row.outputs[i].name;
    }
  }
  set_num_threads(used);
}

void expect_stated_cost(const OpCase& row, DType dtype) {
  const Operands values = draw_operands(row, dtype);
  Call call(row, values, 0);
  const kernels::Cost cost = cost_of_run(row, call.in, call.out);
  EXPECT_DOUBLE_EQ(cost.bytes, stated_bytes(row, dtype));
  EXPECT_DOUBLE_EQ(cost.flops, row.flops.value_or(cost.flops));

  Tensors in, out;
  for (const Tensor& t : call.in) in.push_back(Tensor::empty(t.shape(), {t.dtype(), kMeta, {}}));
  for (const Tensor& t : call.out) out.push_back(Tensor::empty(t.shape(), {t.dtype(), kMeta, {}}));
  const kernels::Cost planned = cost_of_run(row, in, out);
  EXPECT_DOUBLE_EQ(planned.bytes, cost.bytes);
  EXPECT_DOUBLE_EQ(planned.flops, cost.flops);
}

void expect_gradcheck(const OpCase& row) {
  const Operands values = draw_operands(row, DType::f64);
  std::vector<Tensor> floating;
  std::vector<Tensor> all;
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    const Operand& o = row.inputs[i];
    all.push_back(tensor_of(values.in[i], o.shape, dtype_of_operand(o, DType::f64)));
    if (is_floating(all.back().dtype())) floating.push_back(all.back());
  }
  const auto f = [&](const Vars& in) {
    Vars operands;
    size_t next = 0;
    for (const Tensor& t : all) operands.push_back(is_floating(t.dtype()) ? in[next++] : Var(t));
    return row.var(operands);
  };
  EXPECT_EQ(gradcheck(f, floating), "");
}

namespace {

void in_each_dtype(const OpCase& row, const std::function<void(const OpCase&, DType)>& expect) {
  for (DType dtype : row.dtypes) {
    SCOPED_TRACE(name_of(dtype));
    expect(row, dtype);
  }
}

}  // namespace

void expect_agrees_with_reference(const OpCase& row) {
  in_each_dtype(row, [](const OpCase& r, DType dtype) { expect_agrees_with_reference(r, dtype); });
}
void expect_same_bits_with_any_threads(const OpCase& row) {
  in_each_dtype(row, [](const OpCase& r, DType dtype) { expect_same_bits_with_any_threads(r, dtype); });
}
void expect_stated_cost(const OpCase& row) {
  in_each_dtype(row, [](const OpCase& r, DType dtype) { expect_stated_cost(r, dtype); });
}

}  // namespace tare::test
