// SPDX-License-Identifier: Apache-2.0
// tare train: trains a model on a text or on images.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tare/core/checkpoint_dir.h"
#include "tare/optim/spec.h"
#include "tare/tools/run_options.h"
#include "tare/tools/train_loop.h"

namespace tare::tools {
namespace {

struct TrainCommand {
  LoopOptions loop;
  std::optional<double> lr, weight_decay;
  int threads = 0;
  std::string eval_windows = "64";
  bool overwrite = false;
};

// --lr and --weight-decay become options of the optimizer's text, where they may stand only once.
void add_optimizer_option(std::string& text, const char* key, const char* flag,
                          const std::optional<double>& value) {
  if (!value) return;
  TARE_CHECK(!optim::parse_spec(text).options.contains(key), flag, ": --optimizer ", text, " already has ",
             key);
  text = optim::with_option(text, key, Json(*value).dump());
}

// The options of the checkpoint stand in for those that the command line does not give.
void fill_from_checkpoint(const CLI::App& command, LoopOptions& options) {
  using train::RunOptions;
  const RunOptions given = options.run;
  options.run = train::Run::options_of(resolve_checkpoint(options.resume));
  const auto keep = [&](const char* flag, auto member) {
    if (command.count(flag) > 0) options.run.*member = given.*member;
  };
  keep("--task", &RunOptions::task);
  keep("--model", &RunOptions::model);
  keep("--optimizer", &RunOptions::optimizer);
  keep("--schedule", &RunOptions::schedule);
  if (command.count("--steps") > 0) options.run.epochs = 0;
  keep("--steps", &RunOptions::steps);
  keep("--batch", &RunOptions::batch);
  keep("--warmup", &RunOptions::warmup);
  keep("--clip", &RunOptions::clip);
  keep("--dropout", &RunOptions::dropout);
  keep("--seed", &RunOptions::seed);
  keep("--text", &RunOptions::text);
  keep("--seq", &RunOptions::seq);
  keep("--data", &RunOptions::data);
  keep("--epochs", &RunOptions::epochs);
  keep("--augment", &RunOptions::augment);
}

namespace fs = std::filesystem;

bool is_within(const fs::path& path, const fs::path& folder) {
  const fs::path inner = fs::weakly_canonical(path), outer = fs::weakly_canonical(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// No output goes over or into the data, or over another output.
void check_outputs(const LoopOptions& o, bool overwrite) {
  const bool from_files = !is_of_images(o.run) || has_image_folder(o.run);
  const std::string what = is_of_images(o.run) ? "data" : "text";
  const std::string& data = is_of_images(o.run) ? o.run.data : o.run.text;
  std::vector<std::pair<std::string, fs::path>> outputs;
  if (!o.save.empty()) outputs.emplace_back("--save", o.save);
  if (!o.log.empty()) outputs.emplace_back("--log", o.log);
  if (!o.json.empty() && o.json != "-") outputs.emplace_back("--json", o.json);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [flag, path] = outputs[i];
    if (fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path)) continue;  // a device
    TARE_CHECK(!from_files || !is_within(path, data), flag, " ", path.string(), " lies in the ", what, " ",
               data, ", which it would change");
    for (size_t j = 0; j < i; ++j)
      TARE_CHECK(!is_within(path, outputs[j].second) && !is_within(outputs[j].second, path), flag, " and ",
                 outputs[j].first, " overlap: ", path.string());
  }
  const bool goes_on = !o.resume.empty() && fs::weakly_canonical(o.save) == fs::weakly_canonical(o.resume);
  TARE_CHECK(o.save.empty() || goes_on || overwrite || !is_checkpoint(o.save), "--save ", o.save,
             " holds the checkpoint of another run: --resume it, or let it be replaced with --overwrite");
}

int run(const CLI::App& command, TrainCommand& options) {
  LoopOptions& loop = options.loop;
  apply_threads(options.threads);
  TARE_CHECK(loop.eval_every >= 0, "--eval-every ", loop.eval_every, ": expected 0 (never) or more");
  TARE_CHECK(loop.save_every >= 0, "--save-every ", loop.save_every, ": expected 0 (at the end) or more");
  if (loop.save.empty()) loop.save = loop.resume;
  TARE_CHECK(loop.save_every == 0 || !loop.save.empty(), "--save-every: needs --save DIR");
  parse_windows(options.eval_windows);
  TARE_CHECK(loop.eval_every > 0 || command.count("--eval-windows") == 0,
             "--eval-windows: needs --eval-every N; the evaluation at the end takes all windows");
  if (!loop.resume.empty()) {
    fill_from_checkpoint(command, loop);
    TARE_CHECK(command.count("--optimizer") > 0 || (!options.lr && !options.weight_decay),
               "--resume takes learning rate and weight decay from the checkpoint");
    if (command.count("--model") == 0) loop.architecture_from = resolve_checkpoint(loop.resume);
  }
  resolve_data(command, loop.run, loop.architecture_from);
  const bool all_at_once = is_of_images(loop.run) && command.count("--eval-windows") == 0;
  loop.eval_samples = all_at_once ? 0 : parse_windows(options.eval_windows);
  add_optimizer_option(loop.run.optimizer, "lr", "--lr", options.lr);
  add_optimizer_option(loop.run.optimizer, "weight_decay", "--weight-decay", options.weight_decay);
  check_outputs(loop, options.overwrite);
  return run_training(loop);
}

}  // namespace

void add_train(CLI::App& app, int& status) {
  auto options = std::make_shared<TrainCommand>();
  CLI::App* command = app.add_subcommand("train", "Train a model on a text or on images");
  add_run_options(*command, options->loop.run);
  command
      ->add_option("--optimizer", options->loop.run.optimizer,
                   "Optimizer with options, as in adamw:lr=1e-3,beta2=0.95")
      ->capture_default_str();
  command->add_option("--lr", options->lr, "Learning rate after warm-up (default: the optimizer's)");
  command->add_option("--weight-decay", options->weight_decay,
                      "Weight decay of matrices (default: the optimizer's)");
  command->add_option("--threads", options->threads, "Threads to use (default: all cores)");
  command->add_option("--eval-every", options->loop.eval_every,
                      "Evaluate every so many steps, besides the end");
  command
      ->add_option("--eval-windows", options->eval_windows,
                   "Held-out windows for --eval-every, or all (of images: all unless given)")
      ->capture_default_str();
  command->add_option(
      "--save", options->loop.save,
      "Folder for the checkpoint, written at the end and on Ctrl-C or SIGTERM (default: that of --resume)");
  command->add_flag("--overwrite", options->overwrite, "Let --save replace the checkpoint of another run");
  command->add_option("--save-every", options->loop.save_every, "Also save every so many steps");
  command->add_option("--resume", options->loop.resume,
                      "Go on from this checkpoint, with its data, model, optimizer, steps and seed; how to "
                      "save, evaluate and log is given anew");
  command->add_option("--log", options->loop.log, "Write every step as a line of JSON to this file");
  command->add_option("--json", options->loop.json,
                      "Also write the summary as JSON to this file (- is stdout)");
  command->callback([command, options, &status] { status = run(*command, *options); });
}

}  // namespace tare::tools
