# SPDX-License-Identifier: Apache-2.0
"""Reads gcc's report and requires that the loops of hot_loops.txt are vectorised for AVX2 and AVX-512.

A line of hot_loops.txt is: SOURCE BODY TYPES [INNER@FILE]. BODY is what `isa_call<BODY<...>>` is given in SOURCE. Each
of its instances over element types among TYPES (f32,bf16,... or * for all) must have every `omp simd` loop of BODY, or
of the function INNER of FILE that it calls, vectorised with 32 bytes or more.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check_sizes import closing, functions
from source_tree import ROOT, code_only, text

LIST = Path(__file__).with_name("hot_loops.txt")
BYTES = 32
SIMD = re.compile(r"#\s*pragma\s+omp\s.*\bsimd\b|_Pragma\s*\(\s*\"omp simd|\bTARE_SIMD\w*")
FUNCTION = re.compile(r"^;; Function (.*) \((\S+), funcdef_no=")
REPORT = re.compile(r"^(.+?):(\d+):\d+: optimized:\s+loop vectorized using (\d+) byte vectors")
ELEMENTS = {"float": "f32", "double": "f64", "tare::f16": "f16", "tare::bf16": "bf16", "long int": "i64", "int": "i32",
            "unsigned char": "u8", "bool": "bool"}
ELEMENT = re.compile(r"\b(tare::f16|tare::bf16|float|double|long int|int|unsigned char|bool)\b")


def wanted():
    """(source, body, element types or None, inner function, file of the inner function) of each line."""
    for line in LIST.read_text().splitlines():
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        source, body, types = words[:3]
        inner, _, file = words[3].partition("@") if len(words) > 3 else (body, "", "")
        yield source, body, None if types == "*" else set(types.split(",")), inner, file or source


def simd_loops(name, function):
    """(first line, last line) of each simd pragma with its loop inside the function."""
    source = text(name)
    code = code_only(source)
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    loops = []
    for found, first, last, _ in functions(code):
        if found.split("::")[-1] != function:
            continue
        for number in range(first, last + 1):
            if not SIMD.search(source[starts[number - 1]:starts[number]]):
                continue
            loop = re.compile(r"\bfor\s*\(").search(code, starts[number - 1])
            if loop:
                end = end_of_statement(code, closing(code, loop.end() - 1) + 1)
                loops.append((number, code.count("\n", 0, end) + 1))
    return loops


def end_of_statement(code, start):
    """Index of the last character of the statement, a block or up to a semicolon, that begins at `start`."""
    opening = re.compile(r"\S").search(code, start).start()
    return closing(code, opening) if code[opening] == "{" else code.index(";", opening)


def template_arguments(name, body):
    """The text between the angle brackets that follow `body` in a function's full name; None without body."""
    match = re.search(rf"\b{re.escape(body)}\b(<)?", name)
    if not match:
        return None
    if not match.group(1):
        return ""
    depth, start = 0, match.end() - 1
    for i in range(start, len(name)):
        depth += {"<": 1, ">": -1}.get(name[i], 0)
        if depth == 0:
            return name[start + 1:i]
    return name[start + 1:]


def full_name(name, symbol):
    """gcc drops the template arguments of a copy it specialised (.isra, .constprop): the symbol has them."""
    if "run_v" not in name or "<" in name:
        return name
    plain = re.sub(r"\.(isra|constprop|part)\.\d+", "", symbol)
    demangled = subprocess.run(["c++filt", plain], capture_output=True, text=True, check=True).stdout.strip()
    return re.sub(r"\blong\b(?! int)", "long int", demangled)


def read_dump(lines, directory):
    """{function's full name: {(file, line): widest vector in bytes}} for the functions that isa_call runs."""
    report, current = {}, None
    for line in lines:
        function = FUNCTION.match(line)
        if function:
            name = full_name(*function.groups())
            isa = re.search(r"\brun_v[34]<", name)
            current = report.setdefault(name, {}) if isa else None
            continue
        vectorised = REPORT.match(line) if current is not None else None
        if vectorised:
            path = (Path(directory) / vectorised.group(1)).resolve()
            key = (str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path), int(vectorised.group(2)))
            current[key] = max(current.get(key, 0), int(vectorised.group(3)))
    return report


def compile_report(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if Path(entry["file"]).resolve() == ROOT / source:
            break
    else:
        raise LookupError(f"{source} is not part of the build")
    command = shlex.split(entry["command"])
    start = next(i for i, word in enumerate(command) if re.search(r"(g\+\+|c\+\+)[-\d.]*$", word))
    command = command[start:]
    command[command.index("-o") + 1] = "/dev/null"
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "vect"
        run = subprocess.run([*command, f"-fdump-tree-vect-optimized={dump}"], cwd=entry["directory"],
                             capture_output=True, text=True)
        if run.returncode != 0:
            raise LookupError(f"{source} does not compile:\n{run.stderr}")
        with dump.open(errors="replace") as lines:
            return read_dump(lines, entry["directory"])


def faults(report, entry):
    """Faults of one line of the list, and how many loops were looked at."""
    source, body, types, inner, file = entry
    loops = simd_loops(file, inner)
    if not loops:
        return [f"{file}: no omp simd loop in a function {inner}"], 0
    found, seen, looked_at = [], set(), 0
    for name, widths in report.items():
        arguments = template_arguments(name, body)
        if arguments is None:
            continue
        elements = {ELEMENTS[e] for e in ELEMENT.findall(arguments)}
        if types is not None and not elements <= types:
            continue
        isa = re.search(r"\brun_(v[34])<", name).group(1)
        seen.add(isa)
        for line, last in loops:
            looked_at += 1
            got = max((widths.get((file, i), 0) for i in range(line, last + 1)), default=0)
            if got < BYTES:
                shown = f"{body}<{arguments}>" if arguments else body
                found.append(f"{file}:{line}: in {shown} for {isa} the loop has vectors of {got} bytes, not {BYTES}")
    for isa in sorted({"v3", "v4"} - seen):
        found.append(f"{source}: no instance of {body} runs on {isa}")
    return found, looked_at


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    entries = list(wanted())
    sources = sorted({entry[0] for entry in entries})

    def report_of(source):
        try:
            return compile_report(options.build, source)
        except LookupError as error:
            return str(error)

    with ThreadPoolExecutor(options.jobs) as pool:
        reports = dict(zip(sources, pool.map(report_of, sources)))
    found, total = [], 0
    for entry in entries:
        report = reports[entry[0]]
        these, looked_at = ([report], 0) if isinstance(report, str) else faults(report, entry)
        found += these
        total += looked_at
    print("\n".join(dict.fromkeys(found)) or f"{total} loops are vectorised")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
