# SPDX-License-Identifier: Apache-2.0
"""Tare by turns with PyTorch, transformers and bitsandbytes: training steps and updates alone, one table."""

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import results
import turns

WORKER = str(Path(__file__).with_name("torch_worker.py"))


def tare_update(options, optimizer, clip=0.0):
    return [options.tare, "bench", "update", "--model", options.model, "--optimizers", optimizer, "--clip", str(clip),
            "--threads", str(options.threads), "--turns"]


def torch_update(options, optimizer, clip=0.0):
    return [sys.executable, WORKER, "update", "--model", options.model, "--optimizer", optimizer, "--clip", str(clip),
            "--threads", str(options.threads)]


def step_contenders(options):
    shape = ["--model", options.model, "--batch", str(options.batch), "--seq", str(options.seq), "--text", options.text,
             "--threads", str(options.threads)]
    torch = [sys.executable, WORKER, "step", *shape]
    list_ = [("Tare", [options.tare, "bench", "step", *shape, "--optimizer", "adamw:lr=1e-4", "--turns"]),
             ("PyTorch, eager", torch)]
    if not options.no_compile:
        list_.append(("PyTorch, compiled", [*torch, "--compile"]))
    return list_


def update_groups(options):
    """(title, contenders, the one the others are compared with); few at once, as each holds all parameters."""
    adamw = ("Tare adamw", tare_update(options, "adamw:lr=1e-4"))
    return [
        ("SGD with momentum, the update alone",
         [("Tare sgd", tare_update(options, "sgd:lr=1e-4,momentum=0.9")), ("torch SGD, fused", torch_update(options, "sgd"))]),
        ("AdamW, the update alone",
         [adamw, ("torch AdamW, fused", torch_update(options, "adamw-fused")),
          ("torch AdamW, foreach", torch_update(options, "adamw-foreach"))]),
        ("AdamW with clipping by the global norm",
         [("Tare norm + adamw", tare_update(options, "adamw:lr=1e-4", 1.0)), adamw,
          ("torch clip_grad_norm_ + AdamW, fused", torch_update(options, "adamw-fused", 1.0))]),
        ("Adafactor, the update alone",
         [("Tare adafactor", tare_update(options, options.adafactor)), adamw,
          ("torch Adafactor", torch_update(options, "adafactor")),
          ("transformers Adafactor", torch_update(options, "hf-adafactor"))]),
        ("AdamW with 8-bit states, the update alone",
         [("Tare adamw8bit", tare_update(options, options.adamw8bit)), adamw,
          ("bitsandbytes AdamW8bit", torch_update(options, "bnb-adamw8bit"))]),
    ]


def check_sizes(found):
    """What is wrong unless all contenders of a part have the same number of parameters."""
    counts = {name: result["ready"].get("parameters", result["ready"].get("run", {}).get("parameters"))
              for name, result in found.items()}
    return f"models of different sizes: {counts}" if len(set(counts.values())) > 1 else ""


def measure(title, contenders, rounds, failed):
    print(f"== {title}: {', '.join(name for name, _ in contenders)}", file=sys.stderr, flush=True)

    def on_round(done):
        print(f"   round {done} of {rounds}", file=sys.stderr, flush=True)

    found, faults = turns.take_turns(contenders, rounds, on_round)
    if wrong := check_sizes(found):
        failed[title] = wrong
        found = {}
    failed.update({f"{title}: {name}": fault for name, fault in faults.items()})
    rows = []
    for name, _ in contenders:
        if name in found:
            rows.append(results.row(name, found[name]))
            if "kernel_ms" in found[name]["turns"][0]:
                rows.append(results.row(f"{name}, without the norm", found[name], "kernel_ms"))
    return {"title": title, "rows": results.compare(rows, contenders[0][0])}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/peers/run", description=__doc__)
    parser.add_argument("--model", default="gpt2", choices=["gpt2", "gpt2-medium", "small", "demo"])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--text", default="", help="file or folder (default: Tare's own sources and docs)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7, help="turns of each program")
    parser.add_argument("--only", default="", help="parts whose titles contain this text: step, AdamW, Adafactor, ...")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--adafactor", default="adafactor", help="Tare's optimizer for the part of Adafactor")
    parser.add_argument("--adamw8bit", default="adamw8bit:lr=1e-4",
                        help="Tare's optimizer for the part of 8-bit states")
    parser.add_argument("--json", default="", help="write everything to this file, as tare bench page --peers reads it")
    parser.add_argument("--tare", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads: expected at least 1")
    if options.text and not Path(options.text).exists():
        parser.error(f"--text {options.text}: no such file or folder")
    return options


def main():
    options = parse(sys.argv[1:])
    for thread_count in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[thread_count] = str(options.threads)
    machine = json.loads(subprocess.run([options.tare, "info", "--json", "-"], check=True, text=True,
                                        stdout=subprocess.PIPE).stdout)
    options.text = options.text or str(Path(options.tare).parent.parent / "share/tare/default_text.txt")
    parts = [("A training step", step_contenders(options)), *update_groups(options)]
    parts = [part for part in parts if options.only.lower() in part[0].lower()]
    if not parts:
        raise SystemExit(f"bench/peers/run: --only {options.only}: no part has such a title")
    failed, groups = {}, []
    for title, contenders in parts:
        group = measure(title, contenders, options.rounds, failed)
        if group["rows"]:
            groups.append(group)
    print(results.table(groups, failed))
    if options.json:
        run = {key: getattr(options, key) for key in ("model", "batch", "seq", "text", "threads", "rounds")}
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        command = " ".join(["bench/peers/run", *(word for word in sys.argv[1:] if word not in ("--tare", options.tare))])
        report = results.report(groups, failed, machine, run, command, date)
        Path(options.json).write_text(json.dumps(report, indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
