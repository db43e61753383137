// SPDX-License-Identifier: Apache-2.0
// Safetensors files: views of what is there, refusals of what is malformed, and files equal to the reference
// implementation's.
#include "tare/core/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tare/core/json.h"

#include "tests/support/expect_error.h"
#include "tests/support/malformed_safetensors.h"
#include "tests/support/temp_dir.h"

namespace tare {
namespace {

using test::put_file;
using test::read_file;
using test::safetensors_bytes;
using test::TempDir;

SafetensorsHeader parse(const std::string& bytes) {
  return parse_safetensors_header(std::as_bytes(std::span(bytes)), "some.safetensors");
}

TEST(SafetensorsReader, EveryMalformedHeaderIsAnErrorThatNamesFileTensorAndFault) {
  std::set<std::string> messages;
  for (const test::MalformedFile& file : test::malformed_headers()) {
    SCOPED_TRACE(file.name);
    std::vector<std::string> parts = file.message;
    parts.push_back("some.safetensors");
    test::expect_error([&] { parse(file.bytes); }, parts, __FILE__, __LINE__);
  }
}

TEST(SafetensorsReader, AGoodFileIsReadInPlace) {
  const TempDir dir;
  put_file(dir / "good.safetensors", test::good_safetensors());
  const SafetensorsFile file(dir / "good.safetensors");
  EXPECT_EQ(file.entries().size(), 9u);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}, {"made by", "a test"}}));
  EXPECT_EQ(file.tensor("f32").shape(), (Shape{2, 3}));
  EXPECT_EQ(file.tensor("i32").shape(), Shape{});
  EXPECT_EQ(file.tensor("i32").item<int64_t>(), 0x01000100);
  EXPECT_EQ(file.tensor("empty").shape(), (Shape{0, 4}));
  EXPECT_EQ(file.tensor("u8").to_vector<uint8_t>(), (std::vector<uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(file.tensor("bool").to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(file.tensor("bf16").dtype(), DType::bf16);
  EXPECT_EQ(file.tensor("f32").raw(), file.tensor("f32").raw()) << "a copy was made";
}

TEST(SafetensorsReader, AForeignDtypeIsListedButNotRead) {
  const TempDir dir;
  put_file(dir / "good.safetensors", test::good_safetensors());
  const SafetensorsFile file(dir / "good.safetensors");
  EXPECT_EQ(file.entry("i8").dtype, "I8");
  EXPECT_EQ(file.entry("i8").shape, std::vector<int64_t>{3});
  EXPECT_ERROR(file.tensor("i8"), "good.safetensors", "\"i8\"", "I8");
  EXPECT_ERROR(file.tensor("none"), "good.safetensors", "no tensor", "\"none\"");
}

TEST(SafetensorsReader, EveryDtypeOfTheFormatIsListed) {
  for (const auto& [name, bits] : std::vector<std::pair<std::string, int>>{
           {"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
           {"I8", 8},          {"F8_E5M2", 8},     {"I16", 16},    {"F8_E4M3", 8}, {"F8_E8M0", 8},
           {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"U16", 16},    {"F16", 16},    {"BF16", 16},
           {"I32", 32},        {"U32", 32},        {"F32", 32},    {"C64", 64},    {"F64", 64},
           {"I64", 64},        {"U64", 64}}) {
    const SafetensorsHeader header =
        parse(safetensors_bytes("{\"w\":{\"dtype\":\"" + name + "\",\"shape\":[4,2],\"data_offsets\":[0," +
                                    std::to_string(bits) + "]}}",
                                size_t(bits)));
    EXPECT_EQ(header.entries.at(0).dtype, name);
  }
}

TEST(SafetensorsReader, TensorsKeepTheMappingAlive) {
  const TempDir dir;
  put_file(dir / "good.safetensors", test::good_safetensors());
  const Tensor u8 = SafetensorsFile(dir / "good.safetensors").tensor("u8");
  std::filesystem::remove(dir / "good.safetensors");
  EXPECT_EQ(u8.slice(0, 1, 4).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 1, 0}));
}

TEST(SafetensorsReader, WritingToATensorLeavesTheFileAlone) {
  const TempDir dir;
  put_file(dir / "good.safetensors", test::good_safetensors());
  Tensor u8 = SafetensorsFile(dir / "good.safetensors").tensor("u8");
  fill(u8, 9);
  EXPECT_EQ(u8.to_vector<int64_t>(), (std::vector<int64_t>{9, 9, 9, 9}));
  EXPECT_EQ(read_file(dir / "good.safetensors"), test::good_safetensors());
}

TEST(SafetensorsReader, DataThatIsNotAlignedIsCopied) {
  const TempDir dir;
  put_file(dir / "odd.safetensors",
           safetensors_bytes(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("w":{"dtype":"I32","shape":[1],"data_offsets":[1,5]}})",
                             5));
  EXPECT_EQ(SafetensorsFile(dir / "odd.safetensors").tensor("w").item<int64_t>(), 0x00010001);
}

TEST(SafetensorsReader, ABoolThatIsNeither0Nor1IsRefused) {
  const TempDir dir;
  std::string bytes = safetensors_bytes(R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  bytes.back() = 2;
  put_file(dir / "m.safetensors", bytes);
  EXPECT_ERROR(SafetensorsFile(dir / "m.safetensors").tensor("m"), "\"m\"", "BOOL");
}

TEST(SafetensorsReader, MoreDimensionsThanATensorHasAreRefusedOnReading) {
  const TempDir dir;
  put_file(dir / "m.safetensors",
           safetensors_bytes(R"({"m":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1));
  EXPECT_ERROR(SafetensorsFile(dir / "m.safetensors").tensor("m"), "\"m\"", "9 dimensions");
}

TEST(SafetensorsReader, WhatIsNoFileIsNamed) {
  const TempDir dir;
  EXPECT_ERROR(SafetensorsFile(dir / "none"), (dir / "none").string(), "No such file");
  EXPECT_ERROR(SafetensorsFile(dir.path()), dir.path().string(), "folder");
}

TEST(SafetensorsWriter, AModelIsWrittenByteForByteAsTheReferenceDoes) {
  const auto path = std::filesystem::path(TARE_SOURCE_DIR) / "tests/golden/data/gpt2/model/model.safetensors";
  const SafetensorsFile file(path);
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : file.entries())
    tensors.emplace_back(entry.name, file.tensor(entry.name));
  std::reverse(tensors.begin(), tensors.end());
  const TempDir dir;
  save_safetensors(dir / "model.safetensors", tensors, file.metadata());
  EXPECT_EQ(read_file(dir / "model.safetensors"), read_file(path));
}

TEST(SafetensorsWriter, EveryDtypeAndLayoutReadsBackAsItWas) {
  const TempDir dir;
  NamedTensors tensors;
  for (const DType dtype :
       {DType::boolean, DType::f64, DType::u8, DType::f16, DType::i64, DType::bf16, DType::f32, DType::i32}) {
    const Tensor t = Tensor::arange(0, 24, 1, {dtype, kCpu, {}}).view({2, 3, 4});
    const std::string name(name_of(dtype));
    tensors.emplace_back(name, t);
    tensors.emplace_back(name + ".transposed", t.transpose(0, 2));
    tensors.emplace_back(name + ".sliced", t.slice(1, 1, 3).slice(2, 0, 4, 3));
    tensors.emplace_back(name + ".expanded", t.select(0, 1).unsqueeze(0).expand({2, 3, 4}));
    tensors.emplace_back(name + ".empty", t.slice(0, 2, 2));
    tensors.emplace_back(name + ".scalar", t.select(0, 1).select(0, 0).select(0, 0));
  }
  save_safetensors(dir / "all.safetensors", tensors);
  const SafetensorsFile file(dir / "all.safetensors");
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}}));
  EXPECT_EQ(file.entries().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor read = file.tensor(name);
    EXPECT_EQ(read.shape(), tensor.shape()) << name;
    EXPECT_EQ(read.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.to_vector<double>(), tensor.to_vector<double>()) << name;
  }
}

TEST(SafetensorsWriter, OrderIsDtypeThenNameAndTheHeaderFillsEightBytes) {
  const TempDir dir;
  for (const std::string name : {"n", "nn", "nnn", "nnnn", "nnnnn", "nnnnnn", "nnnnnnn", "nnnnnnnn"}) {
    save_safetensors(dir / "f", {{"b", Tensor::zeros({1})},
                                 {"a", Tensor::zeros({1}, {DType::u8, kCpu, {}})},
                                 {name, Tensor::zeros({1}, {DType::i64, kCpu, {}})},
                                 {"a2", Tensor::zeros({1})}});
    std::vector<std::string> names;
    const SafetensorsFile file(dir / "f");
    for (const SafetensorsEntry& entry : file.entries()) names.push_back(entry.name);
    EXPECT_EQ(names, (std::vector<std::string>{name, "a2", "b", "a"}));
    EXPECT_EQ(uint8_t(read_file(dir / "f")[0]) % 8, 0);
  }
}

TEST(SafetensorsWriter, NamesAndMetadataOfAnyTextReadBack) {
  const TempDir dir;
  const std::string odd = "a \"b\"\\\n\t\x01 \xe2\x82\xac \xf0\x9f\xa4\x97/";
  save_safetensors(dir / "f", {{odd, Tensor::full({1}, 3)}, {"", Tensor::full({1}, 4)}},
                   {{"format", "tare"}, {odd, odd}, {"", ""}});
  const SafetensorsFile file(dir / "f");
  EXPECT_EQ(file.tensor(odd).item<double>(), 3);
  EXPECT_EQ(file.tensor("").item<double>(), 4);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "tare"}, {odd, odd}, {"", ""}}));
}

TEST(SafetensorsWriter, WhatCannotBeWrittenIsNamedAndNoFileIsLeft) {
  const TempDir dir;
  const Tensor t = Tensor::zeros({1});
  EXPECT_ERROR(save_safetensors(dir / "f", {{"w", t}, {"w", t}}), "\"w\"", "two tensors");
  EXPECT_ERROR(save_safetensors(dir / "f", {{"__metadata__", t}}), "__metadata__");
  EXPECT_ERROR(save_safetensors(dir / "f", {{"w", Tensor()}}), "\"w\"", "no data");
  EXPECT_ERROR(save_safetensors(dir / "f", {{"w", Tensor::zeros({1}, {DType::f32, kMeta, {}})}}), "\"w\"",
               "no data");
  EXPECT_ERROR(save_safetensors(dir / "f", {{"w\xff", t}}), "UTF-8");
  EXPECT_ERROR(save_safetensors(dir / "none" / "f", {{"w", t}}), "none", "No such file");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

class Sharded : public testing::Test {
 protected:
  Sharded() {
    save_safetensors(dir_ / "model-00001-of-00002.safetensors",
                     {{"a", Tensor::full({2}, 1)}, {"b", Tensor::full({2}, 2)}});
    save_safetensors(dir_ / "model-00002-of-00002.safetensors", {{"c", Tensor::full({2}, 3)}});
    map_ = Json::object({{"a", "model-00001-of-00002.safetensors"},
                         {"b", "model-00001-of-00002.safetensors"},
                         {"c", "model-00002-of-00002.safetensors"}});
  }
  void put_index() {
    put_file(dir_ / "model.safetensors.index.json",
             Json::object({{"metadata", Json::object({{"total_size", 24}})}, {"weight_map", map_}}).dump(2));
  }

  TempDir dir_;
  Json map_;
};

TEST_F(Sharded, AllTensorsAreFoundThroughTheIndex) {
  put_index();
  for (const auto& path : {dir_.path(), dir_ / "model.safetensors.index.json"}) {
    const SafetensorsModel model(path);
    EXPECT_EQ(model.names(), (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(model.tensor("b").to_vector<float>(), (std::vector<float>{2, 2}));
    EXPECT_EQ(model.tensor("c").to_vector<float>(), (std::vector<float>{3, 3}));
    EXPECT_EQ(model.files().size(), 2u);
    EXPECT_FALSE(model.contains("d"));
    EXPECT_ERROR(model.tensor("d"), "no tensor", "\"d\"");
  }
}

TEST_F(Sharded, AnIndexThatDisagreesWithItsFilesIsRefused) {
  map_.set("d", "model-00002-of-00002.safetensors");
  put_index();
  EXPECT_ERROR(SafetensorsModel(dir_.path()), "index.json", "\"d\"", "model-00002");
  map_ = Json::object({{"a", "model-00001-of-00002.safetensors"}, {"c", "model-00002-of-00002.safetensors"}});
  put_index();
  EXPECT_ERROR(SafetensorsModel(dir_.path()), "\"b\"", "model-00001", "weight_map");
  map_.set("b", "model-00002-of-00002.safetensors");
  put_index();
  EXPECT_ERROR(SafetensorsModel(dir_.path()), "\"b\"", "model-00002");
  map_.set("b", "gone.safetensors");
  put_index();
  EXPECT_ERROR(SafetensorsModel(dir_.path()), "gone.safetensors", "No such file");
}

TEST_F(Sharded, AnIndexReachesNoFileOutsideItsFolder) {
  for (const char* file : {"../model.safetensors", "/etc/passwd", "..", ".", "", "a/b"}) {
    map_.set("b", file);
    put_index();
    EXPECT_ERROR(SafetensorsModel(dir_.path()), "\"b\"", "beside the index");
  }
}

TEST_F(Sharded, OneFileComesBeforeAnIndexAndAFolderWithoutEitherIsAnError) {
  EXPECT_ERROR(SafetensorsModel(dir_.path()), dir_.path().string(), "model.safetensors.index.json");
  put_index();
  save_safetensors(dir_ / "model.safetensors", {{"whole", Tensor::zeros({1})}});
  EXPECT_EQ(SafetensorsModel(dir_.path()).names(), std::vector<std::string>{"whole"});
  EXPECT_EQ(SafetensorsModel(dir_ / "model-00002-of-00002.safetensors").names(),
            std::vector<std::string>{"c"});
}

}  // namespace
}  // namespace tare
