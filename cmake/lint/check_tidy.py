# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy's allow-list (.clang-tidy) over the product's sources, as the clang build compiles them.

What passed is remembered by the hash of the preprocessed text, so that only what changed is looked at again.
"""

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source_tree import ROOT

FOLDERS = ("core", "kernels", "autograd", "nn", "optim", "data", "distributed", "train", "tools")


def without_launcher(entry):
    """The entry with ccache taken off the front of its command, which clang-tidy would not understand."""
    command = shlex.split(entry["command"])
    start = next(i for i, word in enumerate(command) if "clang++" in word)
    return {"directory": entry["directory"], "file": entry["file"], "command": shlex.join(command[start:])}


def fingerprint(entry):
    """Hash of the preprocessed source and of the configuration."""
    command = shlex.split(entry["command"])
    command[command.index("-o") + 1] = "-"
    command[command.index("-c")] = "-E"
    run = subprocess.run(command, cwd=entry["directory"], capture_output=True)
    if run.returncode != 0:
        return None
    config = (ROOT / ".clang-tidy").read_bytes()
    return hashlib.sha256(config + run.stdout).hexdigest()


def tidy(folder, entry):
    mark = fingerprint(entry)
    seen = folder / f"{mark}.ok"
    if mark and seen.exists():
        return None
    run = subprocess.run(["clang-tidy-14", "-p", str(folder), "--quiet", entry["file"]], capture_output=True, text=True)
    if run.returncode != 0:
        return run.stdout + re.sub(r"^\d+ warnings.*\n", "", run.stderr, flags=re.M)
    seen.touch()
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    build = options.build / "clang"
    folder = options.build / "lint" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    entries = [without_launcher(e) for e in json.loads((build / "compile_commands.json").read_text())
               if Path(e["file"]).is_relative_to(ROOT) and e["file"].endswith(".cpp")
               and str(Path(e["file"]).relative_to(ROOT)).startswith(FOLDERS)]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    with ThreadPoolExecutor(options.jobs) as pool:
        found = [fault for fault in pool.map(lambda e: tidy(folder, e), entries) if fault]
    print("\n".join(found) or f"{len(entries)} sources are clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
