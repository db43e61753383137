// SPDX-License-Identifier: Apache-2.0
// The memory ledger: what is counted where, at the peak and at each category's own, and that a stray byte
// shows.
#include "tare/core/ledger.h"

#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/rng.h"
#include "tare/core/scope.h"
#include "tare/core/tensor.h"

namespace tare {
namespace {

int64_t of(const CategoryBytes& bytes, Category category) { return bytes[size_t(category)]; }

Tensor bytes_of(int64_t n, Category category, Device device = kCpu) {
  return Tensor::empty({n}, {DType::u8, device, category});
}

TEST(Ledger, NamesAreTheTenCategories) {
  std::vector<std::string> names;
  for (int i = 0; i < kCategories; ++i) names.emplace_back(name_of(Category(i)));
  EXPECT_EQ(names, (std::vector<std::string>{"parameters", "compute_copies", "master_weights", "gradients",
                                             "optimizer_state", "activations", "temporaries", "workspace",
                                             "communication", "data"}));
}

TEST(Ledger, PeaksHaveTheirBreakdownAndEachCategoryItsOwn) {
  Ledger ledger;
  const auto weights = ledger.charge(100, Category::parameters);
  const auto early = ledger.charge(70, Category::temporaries);
  ledger.release(early);
  const auto saved = ledger.charge(50, Category::activations);
  const auto gradient = ledger.charge(40, Category::gradients);  // the peak: 190
  ledger.release(saved);
  const auto late = ledger.charge(30, Category::gradients);
  const LedgerReport r = ledger.report();
  EXPECT_EQ(r.total, 170);
  EXPECT_EQ(r.peak_total, 190);
  EXPECT_EQ(of(r.at_peak, Category::parameters), 100);
  EXPECT_EQ(of(r.at_peak, Category::activations), 50);
  EXPECT_EQ(of(r.at_peak, Category::gradients), 40);
  EXPECT_EQ(of(r.at_peak, Category::temporaries), 0);
  EXPECT_EQ(of(r.own_peak, Category::temporaries), 70);
  EXPECT_EQ(of(r.own_peak, Category::gradients), 70);
  EXPECT_EQ(of(r.current, Category::gradients), 70);
  ledger.reset_peaks();
  EXPECT_EQ(ledger.report().peak_total, 170);
  EXPECT_EQ(of(ledger.report().own_peak, Category::temporaries), 0);
  for (const auto& charge : {weights, gradient, late}) ledger.release(charge);
  EXPECT_EQ(ledger.total(), 0);
  EXPECT_EQ(ledger.report().peak_total, 170);
}

TEST(Ledger, WhatWasAliveAtThePeakIsListedByPathAndOp) {
  Ledger ledger;
  std::vector<Ledger::Charge> charges;
  {
    const PathScope h("h"), zero("0");
    const OpScope op("softmax");
    charges.push_back(ledger.charge(10, Category::activations));
    charges.push_back(ledger.charge(5, Category::activations));
  }
  charges.push_back(ledger.charge(40, Category::parameters));
  ledger.release(charges[0]);
  const auto after = ledger.charge(9, Category::workspace);  // 54 is no peak
  const std::vector<AliveBytes> alive = ledger.report().alive_at_peak;
  ASSERT_EQ(alive.size(), 2u);
  EXPECT_EQ(alive[0].bytes, 40);
  EXPECT_EQ(alive[0].path, "");
  EXPECT_EQ(alive[0].op, "");
  EXPECT_EQ(alive[1].bytes, 15);
  EXPECT_EQ(alive[1].path, "h.0");
  EXPECT_EQ(alive[1].op, "softmax");
  EXPECT_EQ(alive[1].category, Category::activations);
  ledger.release(after);
}

TEST(Ledger, AMoveAtThePeakMovesInThePeaksBreakdownAndALaterOneDoesNot) {
  Ledger ledger;
  auto a = ledger.charge(10, Category::temporaries);
  auto b = ledger.charge(20, Category::temporaries);
  ledger.move(a, Category::activations);
  EXPECT_EQ(of(ledger.report().at_peak, Category::activations), 10);
  EXPECT_EQ(of(ledger.report().at_peak, Category::temporaries), 20);
  EXPECT_EQ(ledger.report().peak_total, 30);
  ledger.release(a);
  ledger.move(b, Category::activations);
  const LedgerReport r = ledger.report();
  EXPECT_EQ(of(r.at_peak, Category::temporaries), 20);
  EXPECT_EQ(of(r.current, Category::activations), 20);
  EXPECT_EQ(of(r.own_peak, Category::activations), 20);
  int64_t alive = 0;
  for (const AliveBytes& row : r.alive_at_peak) alive += row.bytes;
  EXPECT_EQ(alive, 30);
  ledger.release(b);
}

TEST(Ledger, AgreesWithACountOfAllForRandomSequences) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    Ledger ledger;
    std::vector<Ledger::Charge> alive;
    CategoryBytes now{}, at_peak{}, own{};
    int64_t total = 0, peak = 0;
    for (int step = 0; step < 500; ++step) {
      const auto category = Category(random() % kCategories);
      if (alive.empty() || random() % 5 < 2) {
        const auto bytes = int64_t(random() % 100);
        alive.push_back(ledger.charge(bytes, category));
        now[size_t(category)] += bytes;
        total += bytes;
      } else if (random() % 3) {
        const size_t at = random() % alive.size();
        now[size_t(alive[at].category)] -= alive[at].bytes;
        total -= alive[at].bytes;
        ledger.release(alive[at]);
        alive.erase(alive.begin() + int64_t(at));
      } else {
        Ledger::Charge& charge = alive[random() % alive.size()];
        // A move while the total stands at its peak belongs to the peak, unless memory was released since.
        if (total == peak) continue;
        now[size_t(charge.category)] -= charge.bytes;
        now[size_t(category)] += charge.bytes;
        ledger.move(charge, category);
      }
      if (total > peak) {
        peak = total;
        at_peak = now;
      }
      for (size_t i = 0; i < own.size(); ++i) own[i] = std::max(own[i], now[i]);
      const LedgerReport r = ledger.report();
      ASSERT_EQ(r.total, total) << seed << " " << step;
      ASSERT_EQ(r.peak_total, peak) << seed << " " << step;
      ASSERT_EQ(r.current, now) << seed << " " << step;
      ASSERT_EQ(r.at_peak, at_peak) << seed << " " << step;
      ASSERT_EQ(r.own_peak, own) << seed << " " << step;
      int64_t listed = 0;
      for (const AliveBytes& row : r.alive_at_peak) listed += row.bytes;
      ASSERT_EQ(listed, peak) << seed << " " << step;
    }
  }
}

TEST(LedgerOfTensors, ViewsCountOnceAndBytesAreThoseAskedFor) {
  const int64_t before = of(ledger(kCpu).current(), Category::gradients);
  {
    const Tensor t = Tensor::empty({1000, 3}, {DType::f16, kCpu, Category::gradients});
    const std::vector<Tensor> views = {t, t.transpose(0, 1), t.slice(0, 0, 10), t.select(1, 1).unsqueeze(0)};
    EXPECT_EQ(of(ledger(kCpu).current(), Category::gradients), before + 6000);
  }
  EXPECT_EQ(of(ledger(kCpu).current(), Category::gradients), before);
}

TEST(LedgerOfTensors, OneStrayByteIsSeen) {
  const CategoryBytes before = ledger(kCpu).current();
  const Tensor state = bytes_of(995, Category::optimizer_state);
  EXPECT_EQ(of(ledger(kCpu).current(), Category::optimizer_state),
            of(before, Category::optimizer_state) + 995);
  const Tensor stray = bytes_of(1, Category::optimizer_state);
  EXPECT_EQ(of(ledger(kCpu).current(), Category::optimizer_state),
            of(before, Category::optimizer_state) + 996);
}

TEST(LedgerOfTensors, ScopesGiveTheCategoryUnlessATensorNamesOne) {
  const CategoryBytes before = ledger(kCpu).current();
  const CategoryScope outer(Category::workspace);
  const Tensor a = Tensor::empty({4});
  {
    const CategoryScope inner(Category::master_weights);
    const Tensor b = Tensor::empty({8}), c = bytes_of(3, Category::communication);
    EXPECT_EQ(of(ledger(kCpu).current(), Category::master_weights),
              of(before, Category::master_weights) + 32);
    EXPECT_EQ(of(ledger(kCpu).current(), Category::communication), of(before, Category::communication) + 3);
  }
  EXPECT_EQ(current_category(), Category::workspace);
  EXPECT_EQ(of(ledger(kCpu).current(), Category::workspace), of(before, Category::workspace) + 16);
}

TEST(LedgerOfTensors, ParametersAndDataKeepTheirCategory) {
  for (const Category category : {Category::parameters, Category::data}) {
    const Tensor t = bytes_of(10, category);
    t.storage()->set_category(Category::activations);
    EXPECT_EQ(t.storage()->category(), category);
  }
  const Tensor t = bytes_of(10, Category::temporaries);
  const int64_t before = of(ledger(kCpu).current(), Category::activations);
  t.storage()->set_category(Category::activations);
  t.storage()->set_category(Category::activations);
  EXPECT_EQ(of(ledger(kCpu).current(), Category::activations), before + 10);
}

TEST(LedgerOfTensors, CreatingAndFillingChargesTheSameOnMeta) {
  std::vector<int64_t> peaks;
  for (const Device device : {kCpu, kMeta}) {
    ledger(device).reset_peaks();
    const int64_t start = ledger(device).total();
    const auto row = [&](int64_t less) { peaks.push_back(ledger(device).peak_total() - start - less); };
    Tensor t = Tensor::full({1000}, 3, {DType::f16, device, {}});
    row(0);
    const Tensor range = Tensor::arange(0, 500, 1, {DType::i64, device, {}});
    row(0);
    const Tensor ones = Tensor::full({7, 7}, 1, {DType::boolean, device, {}});
    row(0);
    Tensor wide = Tensor::zeros({50, 50}, {DType::f32, device, {}});
    Tensor turned = wide.transpose(0, 1).slice(0, 0, 20);
    fill(turned, 2);
    row(0);
    fill_normal(turned, 0, 1, {1, 2});
    fill_uniform(wide, 0, 1, {1, 2});
    row(0);
    const Tensor copies = turned.contiguous().to(DType::f64);
    row(0);
  }
  ASSERT_EQ(peaks.size(), 12u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(peaks[i], peaks[i + 6]) << "row " << i;
}

TEST(LedgerOfTensors, ThreadsMayAllocateAtOnce) {
  const int64_t before = ledger(kCpu).total();
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([id] {
      const PathScope path("thread" + std::to_string(id));
      for (int i = 0; i < 300; ++i) {
        const Tensor t = bytes_of(1 + i % 7, Category(i % kCategories));
        t.storage()->set_category(Category::activations);
        if (i % 50 == 0) ledger(kCpu).report();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger(kCpu).total(), before);
}

}  // namespace
}  // namespace tare
