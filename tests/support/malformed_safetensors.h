// SPDX-License-Identifier: Apache-2.0
// Safetensors files that a reader must refuse, each with words that its error must hold, and one good file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare::test {

inline std::string length_prefix(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += char(length >> (8 * i));
  return bytes;
}

// A file of a header as it stands and `data_bytes` bytes of data.
inline std::string safetensors_bytes(std::string_view header, size_t data_bytes) {
  std::string bytes = length_prefix(header.size());
  bytes += header;
  for (size_t i = 0; i < data_bytes; ++i) bytes += char(i % 2);
  return bytes;
}

// Eight tensors: every dtype of Tare's but f64, an empty tensor, a scalar, metadata, and one foreign dtype.
inline std::string good_safetensors() {
  return safetensors_bytes(R"({"__metadata__":{"format":"pt","made by":"a test"},)"
                           R"("i64":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                           R"("f32":{"dtype":"F32","shape":[2,3],"data_offsets":[16,40]},)"
                           R"("i32":{"dtype":"I32","shape":[],"data_offsets":[40,44]},)"
                           R"("bf16":{"dtype":"BF16","shape":[1,2],"data_offsets":[44,48]},)"
                           R"("f16":{"dtype":"F16","shape":[2],"data_offsets":[48,52]},)"
                           R"("empty":{"dtype":"F16","shape":[0,4],"data_offsets":[52,52]},)"
                           R"("i8":{"dtype":"I8","shape":[3],"data_offsets":[52,55]},)"
                           R"("u8":{"dtype":"U8","shape":[4],"data_offsets":[55,59]},)"
                           R"("bool":{"dtype":"BOOL","shape":[3],"data_offsets":[59,62]}}  )",
                           62);
}

struct MalformedFile {
  std::string name;
  std::string bytes;
  std::vector<std::string> message;
};

inline std::vector<MalformedFile> malformed_headers() {
  const auto one = [](std::string_view entry, size_t data) {
    return safetensors_bytes("{\"w\":" + std::string(entry) + "}", data);
  };
  const std::string two = R"({"dtype":"U8","shape":[2],"data_offsets":)";
  const auto pair = [&](const std::string& a, const std::string& b, size_t data) {
    return safetensors_bytes("{\"a\":" + two + a + "},\"b\":" + two + b + "}}", data);
  };
  std::string deep = "{\"w\":";
  deep.append(100000, '[');
  return {
      {"no bytes", "", {"0 bytes"}},
      {"shorter than the length", "1234567", {"7 bytes"}},
      {"empty header", length_prefix(0), {"header is empty"}},
      {"empty header before data", length_prefix(0) + "{}", {"header is empty"}},
      {"length beyond the file", length_prefix(20) + "{}", {"20 bytes", "only 2", "cut short"}},
      {"length beyond the limit", length_prefix(100'000'001) + "{}", {"100000001", "limit"}},
      {"length of 64 ones", length_prefix(~uint64_t(0)) + "{}", {"18446744073709551615", "limit"}},
      {"not an object", safetensors_bytes("[1]", 0), {"does not begin with '{'"}},
      {"space before the object", safetensors_bytes(" {}", 0), {"does not begin with '{'"}},
      {"not JSON", safetensors_bytes("{\"w\"}", 0), {"not valid JSON"}},
      {"cut JSON", safetensors_bytes("{\"w\":{\"dtype\":\"F3", 0), {"not valid JSON"}},
      {"text after the object", safetensors_bytes("{} {}", 0), {"not valid JSON"}},
      {"zeros after the object", safetensors_bytes(std::string("{}\0\0", 4), 0), {"not valid JSON"}},
      {"comment", safetensors_bytes("{/* */}", 0), {"not valid JSON"}},
      {"invalid UTF-8 in a name", safetensors_bytes("{\"w\xff\":1}", 0), {"not valid JSON"}},
      {"invalid UTF-8 between", safetensors_bytes("{\xc3\x28}", 0), {"not valid JSON"}},
      {"lone surrogate", safetensors_bytes("{\"\\ud800\":1}", 0), {"not valid JSON"}},
      {"deep arrays", safetensors_bytes(deep, 0), {"\"w\"", "expected an object", "array"}},
      {"deep in the shape",
       one(R"({"dtype":"U8","shape":[[1]],"data_offsets":[0,1]})", 1),
       {"\"w\"", "shape"}},
      {"deep objects", one(R"({"dtype":{"a":1},"shape":[1],"data_offsets":[0,1]})", 1), {"\"w\"", "dtype"}},
      {"tensor not an object", one("3", 0), {"\"w\"", "expected an object", "3"}},
      {"tensor null", one("null", 0), {"\"w\"", "expected an object", "null"}},
      {"key twice",
       safetensors_bytes(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                         R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                         2),
       {"\"w\"", "twice"}},
      {"field twice",
       one(R"({"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]})", 1),
       {"\"w\"", "\"dtype\"", "twice"}},
      {"metadata twice",
       safetensors_bytes(R"({"__metadata__":{},"__metadata__":{}})", 0),
       {"__metadata__", "twice"}},
      {"metadata key twice",
       safetensors_bytes(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
       {"__metadata__", "twice"}},
      {"metadata a text", safetensors_bytes(R"({"__metadata__":"a"})", 0), {"__metadata__", "object"}},
      {"metadata a number",
       safetensors_bytes(R"({"__metadata__":{"a":1}})", 0),
       {"__metadata__", "\"a\"", "1"}},
      {"nested metadata",
       safetensors_bytes(R"({"__metadata__":{"a":{"b":"c"}}})", 0),
       {"__metadata__", "\"a\""}},
      {"array in metadata",
       safetensors_bytes(R"({"__metadata__":{"a":["b"]}})", 0),
       {"__metadata__", "\"a\""}},
      {"no dtype", one(R"({"shape":[1],"data_offsets":[0,1]})", 1), {"\"w\"", "no dtype"}},
      {"no shape", one(R"({"dtype":"U8","data_offsets":[0,1]})", 1), {"\"w\"", "no shape"}},
      {"no offsets", one(R"({"dtype":"U8","shape":[1]})", 1), {"\"w\"", "no data_offsets"}},
      {"unknown field",
       one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"strides":[1]})", 1),
       {"\"w\"", "strides"}},
      {"unknown dtype", one(R"({"dtype":"F31","shape":[1],"data_offsets":[0,1]})", 1), {"\"w\"", "F31"}},
      {"dtype in lower case", one(R"({"dtype":"u8","shape":[1],"data_offsets":[0,1]})", 1), {"\"w\"", "u8"}},
      {"dtype a number", one(R"({"dtype":8,"shape":[1],"data_offsets":[0,1]})", 1), {"\"w\"", "dtype", "8"}},
      {"shape a number", one(R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})", 1), {"\"w\"", "shape"}},
      {"negative extent",
       one(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", 1),
       {"\"w\"", "shape", "-1"}},
      {"fractional extent",
       one(R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", 1),
       {"\"w\"", "shape"}},
      {"extent as text", one(R"({"dtype":"U8","shape":["1"],"data_offsets":[0,1]})", 1), {"\"w\"", "shape"}},
      {"extent of 64 bits",
       one(R"({"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]})", 1),
       {"\"w\"", "9223372036854775808"}},
      {"extent beyond 64 bits",
       one(R"({"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1]})", 1),
       {"\"w\"", "shape"}},
      {"shape product overflows",
       one(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
       {"\"w\"", "overflows"}},
      {"bits overflow",
       one(R"({"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,0]})", 0),
       {"\"w\"", "overflows"}},
      {"half a byte", one(R"({"dtype":"F4","shape":[3],"data_offsets":[0,1]})", 1), {"\"w\"", "whole bytes"}},
      {"too few bytes",
       one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
       {"\"w\"", "needs 8", "hold 4"}},
      {"too many bytes",
       one(R"({"dtype":"U8","shape":[],"data_offsets":[0,2]})", 2),
       {"\"w\"", "needs 1", "hold 2"}},
      {"one offset", one(R"({"dtype":"U8","shape":[1],"data_offsets":[1]})", 1), {"\"w\"", "two numbers"}},
      {"three offsets",
       one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1,1]})", 1),
       {"\"w\"", "two numbers"}},
      {"end before begin", one(R"({"dtype":"U8","shape":[0],"data_offsets":[1,0]})", 1), {"\"w\"", "before"}},
      {"hole at the start",
       one(R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]})", 2),
       {"\"w\"", "no tensor"}},
      {"hole between", pair("[0,2]", "[3,5]", 5), {"\"b\"", "2 to 3", "no tensor"}},
      {"overlap", pair("[0,2]", "[1,3]", 3), {"\"b\"", "overlaps \"a\""}},
      {"same range", pair("[0,2]", "[0,2]", 2), {"\"b\"", "overlaps \"a\""}},
      {"data cut short", pair("[0,2]", "[2,4]", 3), {"\"b\"", "cut short"}},
      {"trailing bytes", pair("[0,2]", "[2,4]", 7), {"3 bytes at the end"}},
      {"data without tensors", safetensors_bytes("{}", 1), {"1 bytes at the end"}},
  };
}

}  // namespace tare::test
