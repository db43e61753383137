// SPDX-License-Identifier: Apache-2.0
// Training a vision transformer on images.
#pragma once

#include <memory>

#include "tare/nn/models/vit.h"
#include "tare/train/image_run.h"

namespace tare::train {

class VitRun : public ImageRun {
 public:
  // As make_run().
  explicit VitRun(const RunOptions& options, const std::filesystem::path& checkpoint = {});
  ~VitRun() override;
  nn::Vit& model() { return *model_; }

 private:
  VitRun(const RunOptions& options, const std::filesystem::path& checkpoint, const nn::VitConfig& config);
  void save_model(const std::filesystem::path& folder) override;
  void load_model(const std::filesystem::path& folder) override;
  Json architecture() const override;
  Json architecture_in(const std::filesystem::path& folder) const override;

  std::unique_ptr<nn::Vit> model_;
};

}  // namespace tare::train
