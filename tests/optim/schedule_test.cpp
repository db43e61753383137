// SPDX-License-Identifier: Apache-2.0
// Schedules against PyTorch and transformers, and optimizers as text.
#include "tare/optim/schedule.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tare/core/error.h"
#include "tare/core/safetensors.h"
#include "tare/optim/adamw.h"
#include "tare/optim/spec.h"

namespace tare::optim {
namespace {

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Schedule, AgreesWithTransformersAndTheRecipe) {
  const SafetensorsFile file(std::string(TARE_SOURCE_DIR) +
                             "/tests/golden/data/schedules/factors.safetensors");
  int checked = 0;
  for (const SafetensorsEntry& entry : file.entries()) {
    const size_t t = entry.name.find(".T"), w = entry.name.find(".w");
    const std::string kind = entry.name.substr(0, t);
    LrSchedule s;
    s.form = kind == "recipe" ? WarmupForm::overlapping : WarmupForm::sequential;
    s.shape = schedule_shape(kind == "recipe" ? "cosine" : kind);
    s.peak = 1;
    s.total = std::stoll(entry.name.substr(t + 2, w - t - 2));
    s.warmup = std::stoll(entry.name.substr(w + 2));
    const auto factors = file.tensor(entry.name).to_vector<double>();
    for (size_t k = 0; k < factors.size(); ++k)
      EXPECT_NEAR(learning_rate_at(s, int64_t(k)), factors[k], 1e-12) << entry.name << " update " << k;
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

TEST(Schedule, DecaysToTheMinimumAndStaysThere) {
  for (const ScheduleShape shape : {ScheduleShape::linear, ScheduleShape::cosine}) {
    const LrSchedule s{shape, WarmupForm::overlapping, 2e-3, 1e-4, 10, 100};
    EXPECT_NEAR(learning_rate_at(s, 100), 1e-4, 1e-15);
    EXPECT_NEAR(learning_rate_at(s, 1000), 1e-4, 1e-15);
    EXPECT_LT(learning_rate_at(s, 0), learning_rate_at(s, 9));
    EXPECT_GT(learning_rate_at(s, 20), learning_rate_at(s, 80));
  }
}

TEST(Schedule, RisesToTheOptimizersOwnRateUnlessItNamesAnother) {
  AdamW optimizer({{{Var::parameter(Tensor::zeros({1}), "w")}}}, {.lr = 3e-4});
  optimizer.set_schedule({.shape = ScheduleShape::cosine, .total = 100});
  EXPECT_EQ(optimizer.learning_rate(), 3e-4);
  optimizer.set_schedule({.peak = 1e-2});
  EXPECT_EQ(optimizer.learning_rate(), 1e-2);
  EXPECT_NE(message_of([&] {
              optimizer.set_schedule({.shape = ScheduleShape::linear});
            }).find("linear over a total of 0 updates"),
            std::string::npos);
  EXPECT_EQ(optimizer.learning_rate(), 1e-2) << "a wrong schedule changed something";
}

TEST(Schedule, WhatIsWrongIsNamed) {
  EXPECT_NE(message_of([] { schedule_shape("cosin"); }).find("constant, linear or cosine"),
            std::string::npos);
  LrSchedule s;
  s.peak = -1;
  EXPECT_NE(message_of([&] { check(s); }).find("learning rate -1"), std::string::npos);
  s = {.peak = 1};
  s.minimum = 1e-4;
  EXPECT_NE(message_of([&] { check(s); }).find("minimum of 0.0001 does nothing"), std::string::npos);
  s = {.peak = 1};
  s.warmup = -2;
  EXPECT_NE(message_of([&] { check(s); }).find("warm-up of -2"), std::string::npos);
  s = {.peak = 1};
  s.shape = ScheduleShape::cosine;
  s.warmup = 20;
  s.total = 10;
  EXPECT_NE(message_of([&] { check(s); }).find("longer than the 10 updates"), std::string::npos);
}

TEST(Spec, ReadsNamesAndOptions) {
  const OptimizerSpec spec = parse_spec("adamw:lr=2e-3,beta2=0.95");
  EXPECT_EQ(spec.name, "adamw");
  SpecReader reader(spec);
  EXPECT_EQ(reader.number("lr", 1), 2e-3);
  EXPECT_EQ(reader.number("beta1", 0.9), 0.9);
  EXPECT_NE(message_of([&] { reader.finish(); }).find("adamw has no option beta2; it has beta1, lr"),
            std::string::npos)
      << message_of([&] { reader.finish(); });
  EXPECT_EQ(reader.number("beta2", 0), 0.95);
  reader.finish();
}

TEST(Spec, ListsBeginTheNextAtAName) {
  EXPECT_EQ(split_specs("sgd:lr=1,momentum=0.9,adamw,adamw:lr=3"),
            (std::vector<std::string>{"sgd:lr=1,momentum=0.9", "adamw", "adamw:lr=3"}));
}

TEST(Spec, MistakesAreErrorsThatShowTheText) {
  for (const char* text :
       {"", ":lr=1", "adamw:", "adamw:lr", "adamw:lr=", "adamw:=1", "adamw:lr=1,lr=2", "lr=1"})
    EXPECT_NE(message_of([&] { parse_spec(text); }).find(detail::concat("\"", text, "\"")), std::string::npos)
        << text;
  EXPECT_NE(message_of([] { split_specs("lr=1,adamw"); }).find("before any name"), std::string::npos);
  EXPECT_NE(message_of([] { split_specs("adamw,lr=1"); }).find("write adamw:lr=1"), std::string::npos);
  for (const char* value : {"x", "1x", "nan", "inf"}) {
    const OptimizerSpec spec = parse_spec(detail::concat("sgd:lr=", value));
    SpecReader reader(spec);
    EXPECT_NE(message_of([&] { reader.number("lr", 0); }).find(detail::concat("lr=", value)),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tare::optim
