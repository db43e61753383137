# SPDX-License-Identifier: Apache-2.0
"""From what workers said to rows: medians, scatter, ratios, as a table and as JSON for `tare bench page --peers`."""

import statistics

KIND, VERSION = "tare bench peers", 1


def scatter(values):
    """(max - min) / median."""
    return (max(values) - min(values)) / statistics.median(values)


def row(name, result, key="ms"):
    """One contender's row. `key` chooses among the times that it told in each turn: "ms" is wall time of the whole,
    "kernel_ms", which only Tare tells, that of the update's kernels, which is what the roof is beside."""
    times = [turn[key] for turn in result["turns"]]
    line = {"name": name, "library": result["ready"]["library"], "ms": statistics.median(times),
            "scatter": scatter(times), "samples": times}
    roofs = [turn["roof_ms"] for turn in result["turns"] if "roof_ms" in turn]
    if roofs and key == "kernel_ms":
        line["roof_ms"] = statistics.median(roofs)
        line["roof_scatter"] = scatter(roofs)
        line["percent_of_roof"] = 100 * line["roof_ms"] / line["ms"]
    for bytes_of in ("rss_peak_bytes", "peak_bytes"):
        if bytes_of in result.get("last", {}):
            line[bytes_of] = result["last"][bytes_of]
    return line


def compare(rows, against):
    """Sets the ratio of each row's time to that of the row named `against`, which gets none. A missing one is left."""
    base = next((line for line in rows if line["name"] == against), None)
    for line in rows:
        if base is not None and line is not base:
            line["against"] = against
            line["ratio"] = line["ms"] / base["ms"]
            if "rss_peak_bytes" in line and "rss_peak_bytes" in base:
                line["rss_ratio"] = line["rss_peak_bytes"] / base["rss_peak_bytes"]
    return rows


def table(groups, failed):
    head = ["", "median ms", "scatter", "ratio", "of roof", "roof scatter", "peak RSS", "ratio"]
    lines = []
    for group in groups:
        lines.append([group["title"]] + [""] * 7)
        for line in group["rows"]:
            percent, bytes_ = line.get("percent_of_roof"), line.get("rss_peak_bytes")
            lines.append(["  " + line["name"], f"{line['ms']:.3f}", f"{100 * line['scatter']:.0f}%",
                          f"{line['ratio']:.3f}" if "ratio" in line else "",
                          f"{percent:.1f}%" if percent else "",
                          f"{100 * line['roof_scatter']:.0f}%" if percent else "",
                          f"{bytes_ / 1e6:.0f} MB" if bytes_ else "",
                          f"{line['rss_ratio']:.3f}" if "rss_ratio" in line else ""])
    widths = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
    text = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in [head] + lines]
    text.append("ratio: over the first row of its part; peak RSS: above that before the model was made; scatter: (max - min) / median")
    text += [f"not measured: {fault}" for fault in failed.values()]
    return "\n".join(text)


def report(groups, failed, machine, run, command, date):
    return {"report": KIND, "version": VERSION, "machine": machine, "command": command, "date": date, "run": run,
            "groups": groups, "failed": failed}
