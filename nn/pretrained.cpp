// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/pretrained.h"

#include "tare/core/file_writer.h"
#include "tare/core/safetensors.h"

namespace tare::nn {

void load_weights(Module& module, const std::filesystem::path& dir, const NameRule& rule) {
  const SafetensorsModel file(dir);
  NamedTensors state;
  for (const std::string& name : file.names()) {
    const std::string mine = rule(name);
    if (!mine.empty()) state.emplace_back(mine, file.tensor(name));
  }
  try {
    module.load_state(state);
  } catch (const Error& e) {
    TARE_THROW(dir.string(), ": ", e.what());
  }
}

void save_model(Module& module, const std::filesystem::path& dir, const Json& config,
                std::string_view prefix) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  TARE_CHECK(!error, dir.string(), ": cannot make the folder: ", error.message());
  NamedTensors state;
  for (const auto& [name, tensor] : module.state()) state.emplace_back(std::string(prefix) + name, tensor);
  save_safetensors(dir / "model.safetensors", state);
  write_file(dir / "config.json", config.dump(2) + "\n");
}

std::string_view torch_name_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "float64";
    case DType::f32:
      return "float32";
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::i64:
      return "int64";
    case DType::i32:
      return "int32";
    case DType::u8:
      return "uint8";
    case DType::boolean:
      return "bool";
  }
  TARE_UNREACHABLE();
}

}  // namespace tare::nn
