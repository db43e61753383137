// SPDX-License-Identifier: Apache-2.0
#include "tare/kernels/libraries.h"

#include "tare/core/error.h"

#if TARE_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace tare::kernels {

std::vector<Library> libraries() {
  std::vector<Library> list;
#if TARE_HAS_ONEDNN
  const dnnl_version_t* v = dnnl_version();
  list.push_back({"oneDNN", detail::concat(v->major, ".", v->minor, ".", v->patch), "f32 matrix products"});
#endif
  return list;
}

}  // namespace tare::kernels
