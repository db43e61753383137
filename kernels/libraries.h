// SPDX-License-Identifier: Apache-2.0
// The libraries that do part of the work in this build.
#pragma once

#include <string>
#include <vector>

namespace tare::kernels {

struct Library {
  std::string name;
  std::string version;  // of the library loaded at run time where it can be asked, else of its headers
  std::string purpose;
};

std::vector<Library> libraries();

}  // namespace tare::kernels
