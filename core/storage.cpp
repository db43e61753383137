// SPDX-License-Identifier: Apache-2.0
#include "tare/core/storage.h"

#include <atomic>
#include <utility>

#include "tare/core/error.h"

namespace tare {
namespace {

Lifetime lifetime_of(Category category) {
  switch (category) {
    case Category::parameters:
    case Category::master_weights:
    case Category::optimizer_state:
      return Lifetime::lasting;
    case Category::compute_copies:
    case Category::gradients:
    case Category::activations:
    case Category::temporaries:
    case Category::workspace:
    case Category::communication:
    case Category::data:
      return Lifetime::passing;
  }
  TARE_UNREACHABLE();
}

}  // namespace

std::shared_ptr<Storage> Storage::allocate(int64_t bytes, Device device, Category category) {
  std::shared_ptr<Storage> s(new Storage);
  s->bytes_ = bytes;
  s->device_ = device;
  s->block_ = allocator(device).allocate(bytes, lifetime_of(category));
  s->data_ = device.is_meta() ? nullptr : s->block_->data;
  s->charge_ = ledger(device).charge(bytes, category);
  return s;
}

std::shared_ptr<Storage> Storage::wrap(void* data, int64_t bytes, Device device,
                                       std::function<void()> deleter) {
  std::shared_ptr<Storage> s(new Storage);
  s->data_ = data;
  s->bytes_ = bytes;
  s->device_ = device;
  s->deleter_ = std::move(deleter);
  s->charge_.category = Category::data;
  return s;
}

Storage::~Storage() {
  if (block_) {
    ledger(device_).release(charge_);
    allocator(device_).free(block_);
  }
  if (deleter_) deleter_();
}

void Storage::set_category(Category category) {
  // Tapes of two threads may save one tensor; the ledger's lock orders their moves.
  const Category now = std::atomic_ref(charge_.category).load(std::memory_order_relaxed);
  if (now == Category::parameters || now == Category::data) return;
  ledger(device_).move(charge_, category);
}

}  // namespace tare
