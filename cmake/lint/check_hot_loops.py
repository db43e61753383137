# SPDX-License-Identifier: Apache-2.0
"""Reads gcc's report and requires that every `omp simd` loop of the functions in hot_loops.txt is vectorised.

A line of hot_loops.txt: SOURCE FUNCTION BYTES [FILE]. The `omp simd` loops in FUNCTION (in FILE, when it is a header,
else in SOURCE) must be vectorised with at least BYTES when SOURCE is compiled as the build compiles it.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_sizes import functions
from source_tree import ROOT, code_only, text

LIST = Path(__file__).with_name("hot_loops.txt")
SIMD = re.compile(r"#\s*pragma\s+omp\s.*\bsimd\b|_Pragma\s*\(\s*\"omp simd|\bTARE_SIMD\w*")
REPORT = re.compile(r"^(.+?):(\d+):\d+: optimized:\s+loop vectorized using (\d+) byte vectors", re.M)


def wanted():
    for line in LIST.read_text().splitlines():
        line = line.split("#", 1)[0].split()
        if line:
            source, function, width = line[:3]
            yield source, function, int(width), line[3] if len(line) > 3 else source


def simd_loops(name, function):
    """Line numbers of the `for` that follows each simd pragma inside the function."""
    source = text(name)
    ranges = [(a, b) for n, a, b, _ in functions(code_only(source)) if n.split("::")[-1] == function]
    lines, loops, waiting = source.split("\n"), [], False
    for first, last in ranges:
        for number in range(first, last + 1):
            line = lines[number - 1]
            if SIMD.search(line):
                waiting = True
            elif waiting and re.search(r"\bfor\s*\(", line):
                loops.append(number)
                waiting = False
    return loops


def compile_report(build, source):
    """{(file, line): widest vector in bytes} as gcc reports it for one source."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]).resolve() == ROOT / source:
            break
    else:
        raise LookupError(f"{source} is not part of the build")
    command = shlex.split(entry["command"])
    start = next(i for i, word in enumerate(command) if re.search(r"(g\+\+|c\+\+)[-\d.]*$", word))
    command = command[start:]
    command[command.index("-o") + 1] = "/dev/null"
    run = subprocess.run(command + ["-fopt-info-vec-optimized"], cwd=entry["directory"], capture_output=True, text=True)
    if run.returncode != 0:
        raise LookupError(f"{source} does not compile:\n{run.stderr}")
    widths = {}
    for file, line, width in REPORT.findall(run.stderr):
        path = (Path(entry["directory"]) / file).resolve()
        key = (str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path), int(line))
        widths[key] = max(widths.get(key, 0), int(width))
    return widths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    entries = list(wanted())
    sources = sorted({source for source, *_ in entries})
    with ThreadPoolExecutor(options.jobs) as pool:
        def report(source):
            try:
                return compile_report(options.build, source)
            except LookupError as error:
                return str(error)
        reports = dict(zip(sources, pool.map(report, sources)))

    found, checked = [], 0
    for source, function, width, file in entries:
        if isinstance(reports[source], str):
            found.append(reports[source])
            continue
        loops = simd_loops(file, function)
        if not loops:
            found.append(f"{file}: no omp simd loop in a function {function}")
        for line in loops:
            checked += 1
            got = reports[source].get((file, line), 0)
            if got < width:
                found.append(f"{file}:{line}: the hot loop in {function} is vectorised with {got} bytes, not {width}")
    print("\n".join(dict.fromkeys(found)) or f"{checked} loops are vectorised")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
