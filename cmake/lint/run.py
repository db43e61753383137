# SPDX-License-Identifier: Apache-2.0
"""Runs the lint checks, all of them or those named, and ends with 'lint: N passed, N failed'."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from source_tree import CPP, ROOT, files

HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build"


def script(name, *arguments):
    return [[sys.executable, str(HERE / f"check_{name}.py"), *arguments]]


def clang_build(jobs):
    """clang compiles the product and links the command."""
    folder = BUILD / "clang"
    return [
        ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-14",
         "-DCMAKE_CXX_COMPILER=clang++-14", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DTARE_CUDA=OFF",
         "-DTARE_TESTS=OFF", "-Wno-dev"],
        ["cmake", "--build", str(folder), "--parallel", jobs, "--target", "tare_cli", "--", "-k", "0"],
    ]


def checks(jobs):
    parallel = ["--build", str(BUILD), "--jobs", jobs]
    return {
        "format": [["clang-format-14", "--dry-run", "-Werror", *files(*CPP)]],
        "includes": script("includes"),
        "sizes": script("sizes"),
        "names": script("names"),
        "gcc": [["cmake", "--build", str(BUILD), "--parallel", jobs]],
        "headers": [["cmake", "--build", str(BUILD), "--parallel", jobs, "--target",
                     "all_verify_interface_header_sets"]],
        "hot_loops": script("hot_loops", *parallel),
        "snippets": script("snippets", *parallel),
        "clang": clang_build(jobs),
        "tidy": script("tidy", *parallel),
    }


def run_check(commands, log):
    """True when every command ends well. The output goes to the log."""
    for command in commands:
        if subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode != 0:
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("names", nargs="*", metavar="check")
    options = parser.parse_args()
    every = checks(options.jobs)
    unknown = [name for name in options.names if name not in every]
    if unknown:
        parser.error(f"no check {', '.join(unknown)}; there are {', '.join(every)}")

    folder = BUILD / "lint"
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    names = options.names or list(every)
    for name in names:
        start, path = time.monotonic(), folder / f"{name}.log"
        with path.open("w") as log:
            good = run_check(every[name], log)
        print(f"{'ok  ' if good else 'FAIL'} {name} ({time.monotonic() - start:.0f} s)", flush=True)
        if not good:
            failed += 1
            lines = path.read_text(errors="replace").splitlines()
            print("\n".join(lines[-60:]), flush=True)
    print(f"lint: {len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
