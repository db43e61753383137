// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/init.h"

#include "tare/core/rng.h"
#include "tare/core/scope.h"

namespace tare::nn {

void initialize(Tensor& t, const Init& init, uint64_t seed, const std::string& name) {
  const RestoredPathScope place(name);
  const RngKey key{seed, current_path_hash()};
  switch (init.kind) {
    case Init::Kind::constant:
      return fill(t, init.a);
    case Init::Kind::normal:
      return fill_normal(t, init.a, init.b, key);
    case Init::Kind::uniform:
      return fill_uniform(t, init.a, init.b, key);
  }
  TARE_UNREACHABLE();
}

}  // namespace tare::nn
