// SPDX-License-Identifier: Apache-2.0
// Which CUDA devices this process can use. A build without CUDA links the twin in memory_none.cpp.
#pragma once

#include <string>

namespace tare::cuda {

struct Devices {
  int count = 0;
  std::string why_none;  // when count is 0: "this build of Tare has no CUDA", "CUDA driver version is ..."
};

// Asked once. Any answer of the driver but success counts as no device: a machine without a driver or without
// a GPU runs everything else.
const Devices& devices();

// Error that names the device and says why it is missing.
void require_device(int device);

}  // namespace tare::cuda
