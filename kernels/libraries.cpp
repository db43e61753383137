// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/libraries.h"

#include <Eigen/Core>

#include "tare/core/error.h"

#if TARE_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace tare::kernels {

std::vector<Library> libraries() {
  std::vector<Library> list;
  const char* eigens_share = "matrix products";
#if TARE_HAS_ONEDNN
  const dnnl_version_t* v = dnnl_version();
  list.push_back({"oneDNN", detail::concat(v->major, ".", v->minor, ".", v->patch), "f32 matrix products"});
  eigens_share = "f64 matrix products";
#endif
  list.push_back({"Eigen",
                  detail::concat(EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".", EIGEN_MINOR_VERSION),
                  eigens_share});
  return list;
}

}  // namespace tare::kernels
