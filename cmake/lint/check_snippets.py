# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ of README.md and docs/*.md, so that the pages stay true.

    ```cpp                 a whole source file: compiled, and linked and run when it has a main
    ```cpp continues       goes on where the page's block before it ended
    ```cpp from=PATH       stands in PATH word for word; a line `// ...` leaves something out
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source_tree import ROOT, files, text

FENCE = re.compile(r"^```(\S*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.M | re.S)


def blocks(page):
    """(line, info, code) of each C++ block of a page."""
    source = text(page)
    for match in FENCE.finditer(source):
        if match.group(1) in ("cpp", "c++", "cuda"):
            yield source.count("\n", 0, match.start()) + 2, match.group(2).strip(), match.group(3)


def quotes(code, path):
    """Nothing, or what of the block does not stand in the file, part by part and in order."""
    if not (ROOT / path).is_file():
        return f"there is no file {path}"
    lines = [" ".join(line.split()) for line in text(path).split("\n")]
    at = 0
    for part in re.split(r"^[ \t]*// \.\.\.[ \t]*$", code, flags=re.M):
        want = [" ".join(line.split()) for line in part.strip("\n").split("\n") if part.strip()]
        if not want:
            continue
        while at + len(want) <= len(lines) and lines[at:at + len(want)] != want:
            at += 1
        if at + len(want) > len(lines):
            return f"{path} does not have the lines that begin with: {want[0]}"
        at += len(want)
    return None


def gather():
    """Programs to compile as (page, line, code), and faults found by reading alone."""
    programs, found = [], []
    for page in files(".md"):
        if page != "README.md" and not page.startswith("docs/"):
            continue
        last = None
        for line, info, code in blocks(page):
            if info.startswith("from="):
                fault = quotes(code, info.removeprefix("from="))
                if fault:
                    found.append(f"{page}:{line}: {fault}")
            elif info == "continues" and last is not None:
                programs[last][2] += code
            elif info == "":
                last = len(programs)
                programs.append([page, line, code])
            else:
                found.append(f"{page}:{line}: a C++ block is plain, 'continues' one, or has 'from=PATH', not '{info}'")
    return programs, found


def try_program(build, program):
    page, line, code = program
    folder = build / "snippets"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{page.replace('/', '_').removesuffix('.md')}_{line}"
    source = folder / f"{stem}.cpp"
    source.write_text(f'#line {line} "{ROOT / page}"\n{code}')
    flags = (build / "snippet_flags.txt").read_text().split("\n")
    compile_flags = flags[0].split(";")
    if not re.search(r"\bint\s+main\s*\(", code):
        command = compile_flags + ["-fsyntax-only", str(source)]
        run = subprocess.run(command, capture_output=True, text=True)
        return run.stderr if run.returncode else None
    program_file = folder / stem
    link = compile_flags + [str(source), "-o", str(program_file)] + [f for f in flags[1].split(";") if f]
    run = subprocess.run(link, capture_output=True, text=True)
    if run.returncode:
        return run.stderr
    # Waiting threads sleep, as in the tests: the cores are shared with other checks.
    run = subprocess.run([str(program_file)], cwd=folder, capture_output=True, text=True, timeout=120,
                         env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    return f"{page}:{line}: the program ended with {run.returncode}: {run.stderr}" if run.returncode else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    programs, found = gather()
    with ThreadPoolExecutor(options.jobs) as pool:
        found += [fault for fault in pool.map(lambda p: try_program(options.build, p), programs) if fault]
    print("\n".join(found) or f"{len(programs)} programs compiled")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
