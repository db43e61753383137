// SPDX-License-Identifier: Apache-2.0
// The step from a front to its twin: a plain switch on the device, made once per call.
//
//   void softmax_forward(const Tensor& x, Tensor& y) {
//     ... checks ...
//     TARE_DISPATCH(x.device(), Cost{...}, softmax_forward(x, y));   // cpu:: or cuda::softmax_forward(x, y)
//   }
//
// On meta no twin is called; the cost is accounted all the same.
#pragma once

#include "tare/core/error.h"
#include "tare/kernels/accum.h"
#include "tare/kernels/profile.h"

// For a front whose CUDA twin exists. A build without CUDA throws.
#if defined(TARE_HAS_CUDA) && TARE_HAS_CUDA
#define TARE_CALL_CUDA_TWIN_(call) cuda::call
#else
#define TARE_CALL_CUDA_TWIN_(call) TARE_THROW(__func__, ": this build of Tare has no CUDA")
#endif

#define TARE_DISPATCH_(name_, device_, cost_, call, cuda_call)                \
  do {                                                                        \
    const ::tare::Device tare_device = (device_);                             \
    const ::tare::kernels::KernelScope tare_scope(name_, tare_device, cost_); \
    switch (tare_device.type) {                                               \
      case ::tare::DeviceType::cpu:                                           \
        cpu::call;                                                            \
        break;                                                                \
      case ::tare::DeviceType::cuda:                                          \
        cuda_call;                                                            \
        break;                                                                \
      case ::tare::DeviceType::meta:                                          \
        break;                                                                \
    }                                                                         \
  } while (0)

#define TARE_DISPATCH(device, cost, call) \
  TARE_DISPATCH_(__func__, device, (cost), call, TARE_CALL_CUDA_TWIN_(call))
// For a front that has a CPU twin only.
#define TARE_DISPATCH_CPU(device, cost, call) TARE_DISPATCH_CPU_AS(__func__, device, cost, call)
// The same for a front template, whose name in profiles is that of its functor.
#define TARE_DISPATCH_CPU_AS(name, device, cost, call) \
  TARE_DISPATCH_(name, device, (cost), call, TARE_THROW(name, ": has no CUDA twin; move the tensors to cpu"))

// Declares both twins of a front, of one signature.
#define TARE_DECLARE_TWINS(name, ...) \
  namespace cpu {                     \
  void name(__VA_ARGS__);             \
  }                                   \
  namespace cuda {                    \
  void name(__VA_ARGS__);             \
  }
