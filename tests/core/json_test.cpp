// SPDX-License-Identifier: Apache-2.0
// JSON: what is read equals what was written; what is not JSON is refused with its place.
#include "tare/core/json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tare/core/utf8.h"

#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace tare {
namespace {

TEST(Json, ValuesOfEveryTypeReadBack) {
  const Json json = Json::object({{"null", nullptr},
                                  {"yes", true},
                                  {"int", -3},
                                  {"least", std::numeric_limits<int64_t>::min()},
                                  {"beyond double", (int64_t(1) << 53) + 1},
                                  {"greatest", std::numeric_limits<uint64_t>::max()},
                                  {"double", 0.1},
                                  {"whole double", 2.0},
                                  {"tiny", 5e-324},
                                  {"huge", 1.7976931348623157e308},
                                  {"text", "a\"\\/\b\f\n\r\t\x01\x1f \xe2\x82\xac"},
                                  {"array", Json::array({1, "two", Json::array(), Json::object()})},
                                  {"object", Json::object({{"inner", 1}})}});
  for (const int indent : {0, 1, 4}) EXPECT_EQ(Json::parse(json.dump(indent)), json) << json.dump(indent);
  const Json read = Json::parse(json.dump());
  EXPECT_EQ(read.at("beyond double").as_int(), 9007199254740993);
  EXPECT_EQ(read.at("greatest").as_uint(), 18446744073709551615u);
  EXPECT_EQ(read.at("double").as_double(), 0.1);
  EXPECT_FALSE(read.at("whole double").is_int());
  EXPECT_TRUE(read.at("int").is_int());
  EXPECT_EQ(read.at("int").as_double(), -3.0);
  EXPECT_EQ(read.at("array").items().size(), 4u);
  EXPECT_EQ(read.find("absent"), nullptr);
}

TEST(Json, LayoutIsStable) {
  const Json json = Json::object({{"b", Json::array({1, 2})}, {"a", Json::object()}, {"c", 1.5}});
  EXPECT_EQ(json.dump(), R"({"b": [1, 2], "a": {}, "c": 1.5})");
  EXPECT_EQ(json.dump(2), "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": {},\n  \"c\": 1.5\n}");
}

TEST(Json, DoublesThatAreNotFiniteSurvive) {
  const double inf = std::numeric_limits<double>::infinity();
  const Json read = Json::parse(Json::array({inf, -inf, std::nan("")}).dump());
  EXPECT_EQ(read.items()[0].as_double(), inf);
  EXPECT_EQ(read.items()[1].as_double(), -inf);
  EXPECT_TRUE(std::isnan(read.items()[2].as_double()));
}

TEST(Json, MembersAreSetReplacedAndAppended) {
  Json json;
  json.set("a", 1);
  json.set("b", 2);
  json.set("a", "three");
  json.set("list", Json()).push_back(4);
  EXPECT_EQ(json.dump(), R"({"a": "three", "b": 2, "list": [4]})");
  EXPECT_ERROR(json.push_back(1), "expected an array");
}

TEST(Json, WrongTypesAreNamedWithTheirPlace) {
  const Json json =
      Json::parse(R"({"n_embd": "768", "sub": {"list": [{"x": 1.5}], "big": 18446744073709551615,
                                    "minus": -1, "odd key": null}})",
                  "config.json");
  EXPECT_ERROR(json.at("n_embd").as_int(), "config.json: n_embd: expected an integer", "\"768\"");
  EXPECT_ERROR(json.at("sub").as_string(), "config.json: sub: expected a string, got an object");
  EXPECT_ERROR(json.at("sub").at("list").items()[0].at("x").as_int(), "config.json: sub.list.x", "1.5");
  EXPECT_ERROR(json.at("sub").at("big").as_int(), "sub.big", "18446744073709551615");
  EXPECT_ERROR(json.at("sub").at("minus").as_uint(), "sub.minus", "-1");
  EXPECT_ERROR(json.at("sub").at("odd key").as_bool(), "sub.\"odd key\"", "null");
  EXPECT_ERROR(json.at("sub").at("list").at("x"), "config.json: sub.list: expected an object, got an array");
  EXPECT_ERROR(json.at("n_layer"), "config.json: has no \"n_layer\"");
  EXPECT_ERROR(json.at("sub").at("n"), "config.json: sub: has no \"n\"");
  EXPECT_ERROR(json.at("n_embd").as_double(), "n_embd", "number");
}

TEST(Json, WhatIsNotJsonIsRefused) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "{]",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{'a':1}",
                           "[1 2]",
                           "nul",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "NaN",
                           "Infinity",
                           "1e999",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"a\nb\"",
                           "\"\xff\"",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "// c\n1",
                           "1 1",
                           "[1]x",
                           "\"open"})
    EXPECT_ERROR(Json::parse(text, "here"), "here: not valid JSON at byte ");
  EXPECT_ERROR(Json::parse(std::string("{}\0 x", 5), "here"), "here: not valid JSON at byte 2");
  EXPECT_ERROR(Json::parse(R"({"a": {"k": 1, "k": 2}})", "here"), "here: a", "\"k\"", "twice");
  EXPECT_ERROR(Json::parse(std::string(1000000, '['), "here"), "here", "64 levels");
  EXPECT_NO_THROW(Json::parse(std::string(64, '[') + std::string(64, ']')));
}

TEST(Json, AFileIsReadAndNamed) {
  const test::TempDir dir;
  test::put_file(dir / "c.json", "{\"a\": 1}\n");
  EXPECT_EQ(Json::parse_file(dir / "c.json").at("a").as_int(), 1);
  test::put_file(dir / "c.json", "");
  EXPECT_ERROR(Json::parse_file(dir / "c.json"), "c.json", "not valid JSON");
  EXPECT_ERROR(Json::parse_file(dir / "d.json"), "d.json", "No such file");
}

TEST(Json, TextThatIsNotUtf8IsNotWritten) { EXPECT_ERROR(Json("\xff").dump(), "\\xff", "UTF-8"); }

TEST(Utf8, EveryCodePointAndNothingElseIsValid) {
  for (uint32_t code = 0; code <= 0x110100; ++code) {
    // The four forms of RFC 3629, each also where it is too long for the code point.
    for (int length = 1; length <= 4; ++length) {
      constexpr uint32_t kFirst[] = {0, 0x80, 0x800, 0x10000, 0x200000}, kMark[] = {0, 0, 0xc0, 0xe0, 0xf0};
      if (code >= kFirst[length]) continue;
      std::string text(1, char(kMark[length] | code >> (6 * (length - 1))));
      for (int k = length - 2; k >= 0; --k) text += char(0x80 | ((code >> (6 * k)) & 0x3f));
      const bool valid = code >= kFirst[length - 1] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
      ASSERT_EQ(is_utf8(text), valid) << std::hex << code << " in " << length << " bytes";
      ASSERT_TRUE(length == 1 || !is_utf8(text.substr(0, text.size() - 1)));
    }
  }
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("a\xf8\x88\x80\x80\x80"));
  EXPECT_FALSE(is_utf8("\xff"));
}

}  // namespace
}  // namespace tare
