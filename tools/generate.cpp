// SPDX-License-Identifier: Apache-2.0
// tare generate: text from a trained model.
#include <chrono>
#include <cstdio>
#include <memory>

#include "tare/core/checkpoint_dir.h"
#include "tare/data/byte_tokenizer.h"
#include "tare/nn/generation.h"
#include "tare/nn/models/gpt2.h"
#include "tare/tools/commands.h"

namespace tare::tools {
namespace {

struct GenerateCommand {
  std::string model, prompt, json;
  nn::GenerationOptions generation;
  int threads = 0;
};

void run(GenerateCommand& options) {
  apply_threads(options.threads);
  const auto model = nn::Gpt2::from_pretrained(resolve_checkpoint(options.model));
  const data::ByteTokenizer tokenizer;
  TARE_CHECK(model->vocab_size() >= data::ByteTokenizer::kVocabSize, "--model ", options.model,
             " has a vocabulary of ", model->vocab_size(), " tokens; bytes need ",
             data::ByteTokenizer::kVocabSize);
  options.generation.sampling.vocabulary = data::ByteTokenizer::kVocabSize;  // the rest was never trained
  nn::check(options.generation.sampling);
  TARE_CHECK(options.generation.tokens >= 0 && options.generation.tokens <= 1 << 30, "--tokens ",
             options.generation.tokens, ": expected 0 to ", 1 << 30);
  const bool quiet = options.json == "-";
  if (!quiet) {
    std::fputs(options.prompt.c_str(), stdout);
    options.generation.on_token = [](int64_t token) {
      std::fputc(int(token), stdout);
      TARE_CHECK(std::fflush(stdout) == 0, "the output could not be written");
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto tokens = nn::generate(*model, tokenizer.encode(options.prompt), options.generation);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!quiet) std::fputs("\n", stdout);
  Json ids = Json::array();
  for (const int64_t token : tokens) ids.push_back(token);
  write_json(options.json, Json::object({{"model", options.model},
                                         {"prompt_tokens", int64_t(options.prompt.size())},
                                         {"tokens", ids},
                                         {"tokens_per_s", double(tokens.size()) / seconds}}));
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = app.add_subcommand("generate", "Continue a text with a trained model");
  command->add_option("--model", options->model, "Folder of a model or checkpoint")->required();
  command->add_option("--prompt", options->prompt, "Text to continue")->required();
  command->add_option("--tokens", options->generation.tokens, "Tokens to generate")->capture_default_str();
  command
      ->add_option("--temperature", options->generation.sampling.temperature,
                   "0 always takes the likeliest token")
      ->capture_default_str();
  command->add_option("--top-k", options->generation.sampling.top_k, "Only the k likeliest tokens; 0 is all")
      ->capture_default_str();
  command->add_option("--seed", options->generation.sampling.seed, "Of the random choices")
      ->capture_default_str();
  command->add_option("--json", options->json, "Also write the token ids as JSON to this file (- is stdout)");
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  command->callback([options] { run(*options); });
}

}  // namespace tare::tools
