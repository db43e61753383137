// SPDX-License-Identifier: Apache-2.0
#include "tare/bench/optimizer_table.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "tare/bench/statistics.h"
#include "tare/train/progress.h"

namespace tare::bench {
namespace {

using Lines = std::vector<std::vector<std::string>>;

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char text[128];
  std::va_list values;
  va_start(values, pattern);
  std::vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  return text;
}

std::string loss_text(const OptimizerRow& row, const std::vector<double>& losses) {
  if (row.diverged() > 0) return "diverged";
  const std::string middle = format("%.4f", mean(losses));
  return losses.size() == 1 ? middle : middle + format(" +- %.4f", standard_deviation(losses));
}

std::string accuracy_text(const OptimizerRow& row) {
  const std::vector<double> values = row.accuracies();
  if (row.diverged() > 0) return "diverged";
  if (values.size() == 1) return format("%.2f %%", 100 * values[0]);
  return format("%.2f +- %.2f %%", 100 * mean(values), 100 * standard_deviation(values));
}

std::string rows_text(const std::vector<OptimizerRow>& rows) {
  Lines lines = {{"optimizer", "state bytes", "predicted", "B/param", "peak", "update ms", "GB/s", "roof",
                  "ms/step", rows.front().first().items + "/s", "train", "held-out"}};
  const bool with_accuracy =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.accuracies().empty(); });
  if (with_accuracy) lines[0].push_back("accuracy");
  for (const OptimizerRow& r : rows) {
    lines.push_back({r.optimizer, std::to_string(r.first().state_bytes),
                     std::to_string(r.first().state_bytes_predicted), format("%.4f", r.bytes_per_param()),
                     train::format_bytes(r.largest().peak_bytes), format("%.3f", r.update_ms()),
                     format("%.1f", r.update_gbps()), format("%.0f%%", r.percent_of_roof()),
                     format("%.2f", r.step_ms()), format("%.0f", r.items_per_s()),
                     loss_text(r, r.train_losses()), loss_text(r, r.heldout_losses())});
    if (with_accuracy) lines.back().push_back(accuracy_text(r));
  }
  return aligned(lines);
}

std::string peak_text(const std::vector<OptimizerRow>& rows) {
  Lines lines(rows.size() + 1);
  lines[0].push_back("peak memory, bytes");
  for (size_t i = 0; i < rows.size(); ++i) lines[i + 1].push_back(rows[i].optimizer);
  for (size_t c = 0; c < size_t(kCategories); ++c) {
    const bool shown = std::any_of(rows.begin(), rows.end(),
                                   [c](const OptimizerRow& r) { return r.largest().peak[c] != 0; });
    if (!shown) continue;
    lines[0].emplace_back(name_of(Category(c)));
    for (size_t i = 0; i < rows.size(); ++i)
      lines[i + 1].push_back(std::to_string(rows[i].largest().peak[c]));
  }
  return aligned(lines);
}

std::string tuning_text(const OptimizerRow& row) {
  const Tuning& tuning = *row.tuning;
  std::string text =
      format("seed %llu, %lld steps; held-out loss at rate:", static_cast<unsigned long long>(tuning.seed),
             static_cast<long long>(tuning.steps));
  for (const TuningPoint& p : tuning.search.points())
    text += p.diverged_at > 0 ? format("  diverged at %.3g", p.lr)
                              : format("  %.4f at %.3g", p.heldout_loss, p.lr);
  text += format("; chosen %.3g", tuning.search.best().lr);
  if (tuning.search.is_at_edge()) text += ", at the edge of the grid: a better rate may lie beyond";
  return "tuned " + row.optimizer + ": " + text + "\n";
}

std::string notes(const std::vector<OptimizerRow>& rows) {
  std::string text;
  if (rows.front().first().data == "synthetic")
    text += "data: synthetic images, seeded; losses say nothing of real ones\n";
  for (const OptimizerRow& r : rows) {
    if (r.tuning) text += tuning_text(r);
    for (const OptimizerRun& run : r.runs)
      if (run.diverged_at > 0)
        text += r.optimizer + format(", seed %llu: diverged at step %lld\n",
                                     static_cast<unsigned long long>(run.seed),
                                     static_cast<long long>(run.diverged_at));
  }
  if (rows.front().runs.size() > 1)
    text += format("losses: mean +- standard deviation over %zu seeds; times: medians over all of them\n",
                   rows.front().runs.size());
  if (std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.percent_of_roof() > 100; }))
    text +=
        "above 100 %: small arrays were still in the caches in part, or others used memory while the roof "
        "was measured\n";
  return text;
}

// Quoted where a comma, a quote or a line end stands in it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], line[i].size());
    }
  std::string text;
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      const bool last = i + 1 == line.size();
      text += i == 0 ? line[i] + (last ? "" : space) : "  " + space + line[i];
    }
    text += "\n";
  }
  return text;
}

std::string text_table(const std::vector<OptimizerRow>& rows) {
  return rows_text(rows) + "\n" + peak_text(rows) + "\n" + notes(rows);
}

std::string csv_table(const std::vector<OptimizerRow>& rows) {
  std::string text;
  for (const OptimizerRow& row : rows) {
    std::string head, line;
    const auto add = [&](const std::string& name, const Json& value) {
      head += (head.empty() ? "" : ",") + csv_field(name);
      line += (line.empty() ? "" : ",") + csv_field(value.is_string() ? value.as_string() : value.dump());
    };
    const Json json = to_json(row);
    for (const auto& [name, value] : json.members()) {
      if (name == "peak")
        for (const auto& [category, bytes] : value.members()) add("peak_" + category, bytes);
      else if (!value.is_array() && !value.is_object())
        add(name, value);
    }
    if (text.empty()) text = head + "\r\n";
    text += line + "\r\n";
  }
  return text;
}

}  // namespace tare::bench
