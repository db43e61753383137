// SPDX-License-Identifier: Apache-2.0
// Training a language model on a text.
#pragma once

#include <memory>

#include "tare/data/text_loader.h"
#include "tare/nn/models/gpt2.h"
#include "tare/train/run.h"

namespace tare::train {

class TextRun : public Run {
 public:
  // As make_run().
  explicit TextRun(const RunOptions& options, const std::filesystem::path& checkpoint = {});
  ~TextRun() override;

  Evaluation evaluate(int64_t windows, const GoOn& go_on = {}) override;
  const data::TextDataset& text() const { return *text_; }
  nn::Gpt2& model() { return *model_; }
  const TaskWords& words() const override;
  int64_t items_per_step() const override { return options_.batch * options_.seq; }

 private:
  void next_batch() override;
  Forward forward() override;
  void seek(int64_t step) override;
  Json describe_data() const override;
  std::vector<const char*> fixed_fields() const override { return {"text_hash", "seq"}; }
  void make_paths_absolute(Json& run) const override;
  void save_model(const std::filesystem::path& folder) override { model_->save_pretrained(folder); }
  void load_model(const std::filesystem::path& folder) override { model_->load_pretrained(folder); }
  Json architecture() const override;
  Json architecture_in(const std::filesystem::path& folder) const override;

  std::unique_ptr<data::TextDataset> text_;
  std::string text_hash_;
  std::unique_ptr<nn::Gpt2> model_;
  std::unique_ptr<data::TextLoader> loader_;
  data::TextBatch batch_;
};

}  // namespace tare::train
