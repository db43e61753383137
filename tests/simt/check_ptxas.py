# SPDX-License-Identifier: Apache-2.0
"""Compiles the .cu files for each architecture and reads what ptxas and the PTX say of the kernels.

check_ptxas.py NVCC FLAG... -- ARCHITECTURE... -- FILE.cu...

Fails when a kernel spills registers or keeps arrays in local memory, or when a file that uses load<N> has no 16-byte
load. Prints the most registers of each file's kernels. Only the first architecture unless TARE_TEST_ALL is set."""

import os
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r"Compiling entry function '(\S+)' for '(\S+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
# Pointers that a kernel reads from memory are generic: ld.v4 without .global.
VECTOR_LOAD = re.compile(r"\bld(\.global)?(\.nc)?\.(v4\.[fubs]32|v2\.[fubs]64)")


def compile_with(nvcc, flags, arch, source, *options):
    command = [nvcc, *flags, f"-arch={arch}", *options, source]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(" ".join(command) + "\n" + done.stdout + done.stderr)
    return done.stdout + done.stderr


def faults_of(nvcc, flags, arch, source, folder):
    name = os.path.basename(source)
    report = compile_with(nvcc, flags, arch, source, "-cubin", "-Xptxas=-v", "--keep", f"--keep-dir={folder}",
                          "-o", os.path.join(folder, "x.cubin"))
    kernel, most, kernels = "?", 0, 0
    for line in report.splitlines():
        if match := FUNCTION.search(line):
            kernel, kernels = match[1], kernels + 1
        if (match := FRAME.search(line)) and match.groups() != ("0", "0", "0"):
            yield f"{name}, {arch}, {kernel}: {match[0]}"
        if match := REGISTERS.search(line):
            most = max(most, int(match[1]))
    if kernels == 0:
        yield f"{name}, {arch}: ptxas reports no kernel"
    print(f"{name}, {arch}: {kernels} kernels, at most {most} registers")
    with open(source, encoding="utf-8") as file:
        loads_vectors = "load<" in file.read()
    with open(os.path.join(folder, name.removesuffix(".cu") + ".ptx"), encoding="utf-8") as file:
        if loads_vectors and not VECTOR_LOAD.search(file.read()):
            yield f"{name}, {arch}: no 16-byte load in the PTX"


def main(arguments):
    nvcc, *rest = arguments
    first, second = [i for i, a in enumerate(rest) if a == "--"]
    flags, archs, sources = rest[:first], rest[first + 1 : second], rest[second + 1 :]
    if "TARE_TEST_ALL" not in os.environ:  # the build itself refuses spills, for all of them
        archs = archs[:1]
    with tempfile.TemporaryDirectory() as folder:
        found = [f for source in sources for arch in archs for f in faults_of(nvcc, flags, arch, source, folder)]
    print("\n".join(found))
    return 1 if found or not sources else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
