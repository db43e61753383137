// SPDX-License-Identifier: Apache-2.0
#include "tare/train/vit_run.h"

namespace tare::train {
namespace {

// Of the checkpoint, if there is one.
nn::VitConfig config_of(const RunOptions& o, const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = model_folder(o, checkpoint);
  nn::VitConfig config =
      folder.empty() ? nn::VitConfig::preset(o.model) : nn::VitConfig::from_file(folder / "config.json");
  config.set_dropout(o.dropout);
  return config;
}

}  // namespace

VitRun::VitRun(const RunOptions& options, const std::filesystem::path& checkpoint)
    : VitRun(options, checkpoint, config_of(options, checkpoint)) {}

VitRun::VitRun(const RunOptions& options, const std::filesystem::path& checkpoint,
               const nn::VitConfig& config)
    : ImageRun(options, {config.num_channels, config.image_size, config.image_size}, config.num_labels),
      model_(std::make_unique<nn::Vit>(config)) {
  if (checkpoint.empty() && std::filesystem::is_directory(options_.model))
    model_->load_pretrained(options_.model);
  else if (checkpoint.empty())
    model_->initialize(options_.seed);
  start(*model_);
}

VitRun::~VitRun() = default;

void VitRun::save_model(const std::filesystem::path& folder) { model_->save_pretrained(folder); }

void VitRun::load_model(const std::filesystem::path& folder) { model_->load_pretrained(folder); }

Json VitRun::architecture() const { return model_->config().to_json(); }

Json VitRun::architecture_in(const std::filesystem::path& folder) const {
  return nn::VitConfig::from_file(folder / "config.json").to_json();
}

}  // namespace tare::train
