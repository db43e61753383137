// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/index.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tare/core/isa.h"
#include "tare/core/parallel.h"

namespace tare::kernels::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements per thread at least

// For i in [0, extent), neither i nor extent - 1 - i is negative.
template <class I>
TARE_INLINE void find_outside_body(const I* index, int64_t n, int64_t extent, bool* found) {
  uint64_t signs = 0;
#pragma omp simd reduction(| : signs)
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t at = uint64_t(int64_t(index[i]));
    signs |= at | (uint64_t(extent) - 1 - at);
  }
  *found = signs >> 63;
}

Shape unravel(int64_t position, const Shape& shape) {
  Shape at = shape;
  for (int i = shape.dim() - 1; i >= 0; --i) {
    at[i] = position % shape[i];
    position /= shape[i];
  }
  return at;
}

template <class I> void check_positions(const char* op, const Tensor& index, int64_t extent) {
  const I* p = index.data<I>();
  std::atomic<bool> outside = false;
  parallel_for(index.numel(), kGrain, [&](int64_t begin, int64_t end) {
    bool found = false;
    isa_call<find_outside_body<I>>(p + begin, end - begin, extent, &found);
    if (found) outside = true;
  });
  if (!outside) return;
  int64_t i = 0;
  while (int64_t(p[i]) >= 0 && int64_t(p[i]) < extent) ++i;
  TARE_THROW(op, ": index ", int64_t(p[i]), " at position ", unravel(i, index.shape()), " is outside [0, ",
             extent, "), the extent of the axis");
}

// Positions of a shape in row-major order, and the offset that strides give each.
class Walk {
 public:
  Walk(const Shape& shape, const Strides& strides, int64_t start)
      : shape_(shape), strides_(strides), at_(unravel(start, shape)) {
    for (int i = 0; i < shape.dim(); ++i) offset_ += at_[i] * strides[i];
  }
  int64_t offset() const { return offset_; }
  void next() {
    for (int i = shape_.dim() - 1; i >= 0; --i) {
      offset_ += strides_[i];
      if (++at_[i] < shape_[i]) return;
      offset_ -= shape_[i] * strides_[i];
      at_[i] = 0;
    }
  }

 private:
  const Shape shape_;
  const Strides strides_;
  Shape at_;
  int64_t offset_ = 0;
};

// Strides of x with nothing along the axis: there the index says where.
Strides strides_beside(const Tensor& x, int axis) {
  Strides strides = x.strides();
  strides[axis] = 0;
  return strides;
}

template <class I, class T> void gather_typed(const Tensor& x, int axis, const Tensor& index, Tensor& y) {
  const I* pindex = index.data<I>();
  const T* px = x.data<T>();
  T* py = y.mutable_data<T>();
  const int last = index.dim() - 1;
  const Strides beside = strides_beside(x, axis);
  const int64_t n = index.shape()[last], along = x.strides()[axis], step = beside[last];
  Shape rows = index.shape();
  rows[last] = 1;
  parallel_for(index.numel(), kGrain, [&](int64_t begin, int64_t end) {
    Walk row(rows, beside, begin / n);
    for (int64_t i = begin; i < end; row.next()) {
      const int64_t first = i % n, run = std::min(n - first, end - i);
      const T* from = px + row.offset() + first * step;
      for (int64_t j = 0; j < run; ++j) py[i + j] = from[int64_t(pindex[i + j]) * along + j * step];
      i += run;
    }
  });
}

// Every line along the axis is summed by one thread, in the order of the index. A thread takes runs of
// neighbouring lines, which it follows in the order of the memory.
template <class I, class T, class G>
void gather_backward_typed(int axis, const Tensor& index, const Tensor& dy, Tensor& dx) {
  using A = acc_t<G>;
  const I* pindex = index.data<I>();
  const T* pdy = dy.data<T>();
  G* pdx = dx.mutable_data<G>();
  const int last = index.dim() - 1;
  const Strides beside = strides_beside(dx, axis), of_index = contiguous_strides(index.shape());
  const int64_t lines = axis == last ? 1 : index.shape()[last];  // that lie side by side
  const int64_t n = index.shape()[axis], along = dx.strides()[axis], step = beside[last];
  Shape groups = index.shape();
  groups[axis] = groups[last] = 1;
  parallel_for(groups.numel() * lines, kGrain / n + 1, [&](int64_t begin, int64_t end) {
    Walk in(groups, of_index, begin / lines), out(groups, beside, begin / lines);
    for (int64_t i = begin; i < end; in.next(), out.next()) {
      const int64_t first = i % lines, run = std::min(lines - first, end - i);
      G* to = pdx + out.offset() + first * step;
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = in.offset() + j * of_index[axis] + first;
        for (int64_t c = 0; c < run; ++c) {
          G& d = to[int64_t(pindex[from + c]) * along + c * step];
          d = G(A(d) + A(acc_t<T>(pdy[from + c])));
        }
      }
      i += run;
    }
  });
}

// The extents before and after an axis.
struct Sides {
  int64_t outer = 1, inner = 1;
  Sides(const Shape& shape, int axis) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (int i = axis + 1; i < shape.dim(); ++i) inner *= shape[i];
  }
};

// Slices along the last axis are single elements.
template <class I, class T> void select_elements(const Tensor& x, const Tensor& index, Tensor& y) {
  const I* pindex = index.data<I>();
  const T* px = x.data<T>();
  T* py = y.mutable_data<T>();
  const int64_t n = index.numel(), extent = x.size(-1);
  parallel_for(y.numel() / n, kGrain / n + 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t j = 0; j < n; ++j) py[row * n + j] = px[row * extent + int64_t(pindex[j])];
  });
}

template <class I> void select_slices(const Tensor& x, const Sides& sides, const Tensor& index, Tensor& y) {
  const I* pindex = index.data<I>();
  const int64_t n = index.numel(), bytes = sides.inner * size_of(x.dtype());
  const int64_t extent = x.numel() / (sides.outer * sides.inner);
  const char* px = static_cast<const char*>(x.raw());
  char* py = static_cast<char*>(y.mutable_raw());
  parallel_for(sides.outer * n, kGrain / sides.inner + 1, [&](int64_t begin, int64_t end) {
    for (int64_t slice = begin; slice < end; ++slice) {
      const int64_t from = slice / n * extent + int64_t(pindex[slice % n]);
      std::memcpy(py + slice * bytes, px + from * bytes, size_t(bytes));
    }
  });
}

// Some columns of all n slices, in the order of the index.
template <class I, class T, class G>
TARE_INLINE void add_slices_body(const I* index, const T* dy, G* dx, int64_t n, int64_t inner,
                                 int64_t columns) {
  for (int64_t j = 0; j < n; ++j) {
    const T* from = dy + j * inner;
    G* to = dx + int64_t(index[j]) * inner;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) to[c] = G(acc_t<G>(to[c]) + acc_t<G>(acc_t<T>(from[c])));
  }
}

template <class I, class T, class G>
void index_select_backward_typed(int axis, const Tensor& index, const Tensor& dy, Tensor& dx) {
  const Sides sides(dx.shape(), axis);
  const int64_t n = index.numel(), extent = dx.shape()[axis], inner = sides.inner;
  const I* pindex = index.data<I>();
  const T* pdy = dy.data<T>();
  G* pdx = dx.mutable_data<G>();
  // Threads share the columns: each element is summed by one thread.
  parallel_for(sides.outer * inner, kGrain / n + 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t outer = begin / inner, first = begin % inner;
      const int64_t columns = std::min(inner - first, end - begin);
      isa_call<add_slices_body<I, T, G>>(pindex, pdy + outer * n * inner + first,
                                         pdx + outer * extent * inner + first, n, inner, columns);
      begin += columns;
    }
  });
}

// f.template operator()<I, T, G>() for the types of the index, of dy and of dx, which is dy's or f32.
template <class F>
void visit_gradient(const char* op, const Tensor& index, const Tensor& dy, const Tensor& dx, F&& f) {
  visit_index(index.dtype(), op, [&]<class I>() {
    visit_floating(dy.dtype(), op, [&]<class T>() {
      if (dx.dtype() == dy.dtype())
        f.template operator()<I, T, T>();
      else
        f.template operator()<I, T, acc_t<T>>();
    });
  });
}

}  // namespace

void gather_forward(const Tensor& x, int axis, const Tensor& index, Tensor& y) {
  if (index.numel() == 0) return;
  visit_index(index.dtype(), "gather_forward", [&]<class I>() {
    check_positions<I>("gather_forward", index, x.shape()[axis]);
    visit_all(x.dtype(), [&]<class T>() { gather_typed<I, T>(x, axis, index, y); });
  });
}

void gather_backward(int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum) {
  visit_gradient("gather_backward", index, dy, dx, [&]<class I, class T, class G>() {
    check_positions<I>("gather_backward", index, dx.shape()[axis]);
    if (accum == Accum::set) fill(dx, 0);
    if (dy.numel() > 0) gather_backward_typed<I, T, G>(axis, index, dy, dx);
  });
}

void index_select_forward(const Tensor& x, int axis, const Tensor& index, Tensor& y) {
  const Sides sides(x.shape(), axis);
  visit_index(index.dtype(), "index_select_forward", [&]<class I>() {
    check_positions<I>("index_select_forward", index, x.shape()[axis]);
    if (y.numel() == 0) return;
    if (sides.inner == 1 && axis == x.dim() - 1)
      visit_all(x.dtype(), [&]<class T>() { select_elements<I, T>(x, index, y); });
    else
      select_slices<I>(x, sides, index, y);
  });
}

void index_select_backward(int axis, const Tensor& index, const Tensor& dy, Tensor& dx, Accum accum) {
  visit_gradient("index_select_backward", index, dy, dx, [&]<class I, class T, class G>() {
    check_positions<I>("index_select_backward", index, dx.shape()[axis]);
    if (accum == Accum::set) fill(dx, 0);
    if (dy.numel() > 0) index_select_backward_typed<I, T, G>(axis, index, dy, dx);
  });
}

}  // namespace tare::kernels::cpu
