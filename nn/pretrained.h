// SPDX-License-Identifier: Apache-2.0
// Model folders as transformers reads and writes them: config.json and safetensors.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "tare/core/json.h"
#include "tare/nn/module.h"

namespace tare::nn {

// The module's name for a tensor of the file; "" for one to be ignored.
using NameRule = std::function<std::string(std::string_view name)>;

// Fills every parameter from the folder's model.safetensors, or its shards, converting dtypes. Error that
// lists all names and shapes that differ, before anything is changed.
void load_weights(Module& module, const std::filesystem::path& dir, const NameRule& rule);

// Writes config.json and model.safetensors, the names with `prefix` before them. The folder is made if need
// be; each file appears whole or not at all.
void save_model(Module& module, const std::filesystem::path& dir, const Json& config,
                std::string_view prefix);

// "float32" for f32: what config.json calls a dtype.
std::string_view torch_name_of(DType dtype);

}  // namespace tare::nn
