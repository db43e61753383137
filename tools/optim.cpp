// SPDX-License-Identifier: Apache-2.0
// tare optim: which optimizers there are, and checkpoints of one turned into those of another.
#include <cstdio>
#include <iostream>
#include <memory>

#include "tare/core/checkpoint_dir.h"
#include "tare/core/safetensors.h"
#include "tare/optim/convert.h"
#include "tare/optim/factory.h"
#include "tare/tools/commands.h"
#include "tare/train/run.h"

namespace tare::tools {
namespace {

// ---- list

Json describe(const optim::OptimizerInfo& info) {
  Json options = Json::array();
  for (const optim::OptimizerOption& o : info.options)
    options.push_back(Json::object({{"name", o.name}, {"default", o.initial}, {"meaning", o.meaning}}));
  return Json::object({{"name", info.name},
                       {"summary", info.summary},
                       {"bytes_per_parameter", info.bytes_per_parameter()},
                       {"source", info.source},
                       {"options", options}});
}

void list_optimizers(const std::string& json) {
  Json rows = Json::array();
  for (const optim::OptimizerInfo& info : optim::optimizers()) {
    rows.push_back(describe(info));
    if (json == "-") continue;
    std::printf("%s: %s\n  %.4g bytes of state per parameter of a large f32 matrix\n  %s\n",
                info.name.c_str(), info.summary.c_str(), info.bytes_per_parameter(), info.source.c_str());
    for (const optim::OptimizerOption& o : info.options)
      std::printf("    %-14s %-8s %s\n", o.name.c_str(), o.initial.empty() ? "-" : o.initial.c_str(),
                  o.meaning.c_str());
  }
  write_json(json, Json::object({{"optimizers", rows}}));
}

void add_list(CLI::App& optim) {
  auto json = std::make_shared<std::string>();
  CLI::App* list =
      optim.add_subcommand("list", "Each optimizer: options with defaults, bytes per parameter, source");
  list->add_option("--json", *json, "Also write everything as JSON to this file (- is stdout)");
  list->callback([json] { list_optimizers(*json); });
}

// ---- convert

struct ConvertOptions {
  std::string checkpoint, optimizer, save, bitsandbytes, weights;
  bool overwrite = false;
};

optim::NamedTensors read_dump(const std::string& path) {
  const SafetensorsFile file(path);
  optim::NamedTensors dump;
  for (const SafetensorsEntry& entry : file.entries()) dump.emplace_back(entry.name, file.tensor(entry.name));
  return dump;
}

void convert(const ConvertOptions& o) {
  check_checkpoint_target(o.save);
  TARE_CHECK(o.overwrite || !is_checkpoint(o.save), o.save, " is a checkpoint; --overwrite replaces it");
  const std::string was = train::Run::options_of(o.checkpoint).optimizer;
  const std::string is = o.optimizer.empty() ? was : optim::with_options_of(was, o.optimizer);
  const train::Converted done =
      train::convert_checkpoint({.from = o.checkpoint,
                                 .to = o.save,
                                 .optimizer = is,
                                 .weights = o.weights,
                                 .states = [&](const optim::SavedStates& saved, const optim::Optimizer& to) {
                                   return o.bitsandbytes.empty()
                                              ? optim::convert_states(saved, to)
                                              : optim::import_bitsandbytes(read_dump(o.bitsandbytes), to);
                                 }});
  std::printf("%s: optimizer %s, after %lld of %lld updates, with states of %s: %lld bytes\n", o.save.c_str(),
              is.c_str(), static_cast<long long>(done.updates), static_cast<long long>(done.steps),
              o.bitsandbytes.empty() ? was.c_str() : o.bitsandbytes.c_str(),
              static_cast<long long>(done.state_bytes));
}

void add_convert(CLI::App& optim) {
  auto o = std::make_shared<ConvertOptions>();
  CLI::App* command = optim.add_subcommand(
      "convert",
      "A checkpoint of a run with its states in the layout of another optimizer: adamw or adamw8bit");
  command->add_option("checkpoint", o->checkpoint, "Folder that `tare train --save` wrote")->required();
  command->add_option("--optimizer", o->optimizer,
                      "The run's from here on (default: as it was); lr, beta1, beta2, eps and "
                      "weight_decay are the checkpoint's unless given");
  command->add_option("--save", o->save, "Folder to write, for `tare train --resume`")->required();
  command->add_option(
      "--from-bitsandbytes", o->bitsandbytes,
      "Take the states from this safetensors dump: P.state1, P.absmax1, P.state2, P.absmax2 and "
      "P.step for each parameter P; the run goes on after the dump's count of updates");
  command
      ->add_option("--weights", o->weights, "Take the weights from this model's folder, as those of the dump")
      ->needs("--from-bitsandbytes");
  command->add_flag("--overwrite", o->overwrite, "Replace a checkpoint that stands at --save");
  command->callback([o] { convert(*o); });
}

}  // namespace

void add_optim(CLI::App& app) {
  CLI::App* optim = app.add_subcommand("optim", "Optimizers: what there is, and turning states into others");
  optim->require_subcommand(1);
  add_list(*optim);
  add_convert(*optim);
}

}  // namespace tare::tools
