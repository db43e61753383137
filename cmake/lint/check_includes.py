# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: the folder table, the homes of third-party headers, and private headers."""

import re
import sys

from source_tree import CPP, files, text

EVERYTHING = {"core", "kernels", "autograd", "nn", "optim", "data", "distributed", "train", "tools", "bench", "tests"}
MAY_INCLUDE = {
    "core": {"core"},
    "kernels": {"kernels", "core"},
    "autograd": {"autograd", "kernels", "core"},
    "nn": {"nn", "autograd", "core"},
    "optim": {"optim", "kernels", "core", "autograd/var.h"},
    "data": {"data", "core"},
    "distributed": {"distributed", "optim", "nn", "autograd", "core"},
    "distributed/comm": {"distributed/comm", "core"},
    "train": EVERYTHING - {"tools", "bench", "tests"},
    "tools": EVERYTHING - {"tests"},
    "bench": EVERYTHING - {"tools"},
    "examples": EVERYTHING - {"tools", "bench", "tests"},
    "tests": EVERYTHING,
}
# A header of another library, and the only places that may name it.
HOMES = [
    (r"cuda.*\.h|cublas.*|cudnn.*|device_launch_parameters\.h|mma\.h", ("kernels/cuda/", "core/cuda/", "tests/simt/")),
    (r"nlohmann/.*", ("core/json_parse.cpp", "core/safetensors_header.cpp")),
    (r"zlib\.h", ("data/", "tests/")),
    (r"omp\.h", ("core/parallel.cpp",)),
    (r"(oneapi/dnnl/)?dnnl.*", ("kernels/", "tests/", "bench/", "tools/")),
    (r"CLI/.*", ("tools/", "bench/", "examples/")),
    (r"benchmark/.*", ("bench/", "tools/")),
    (r"gtest/.*|gmock/.*", ("tests/",)),
    (r"nccl\.h|gloo/.*|hiredis.*", ("distributed/",)),
]
# Folders whose headers only their own side may include.
PRIVATE = [
    ("kernels/cuda/", ("kernels/cuda/", "tests/")),
    ("kernels/cpu/", ("kernels/cpu/", "tests/", "bench/")),
    ("core/cuda/", ("core/", "kernels/cuda/", "tests/")),
]
# The dialect of the kernels, which is the emulator's wherever nvcc does not compile.
EMULATED = {("kernels/cuda/device.cuh", "tests/simt/simt.h")}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def folder_of(name):
    if name.startswith("distributed/") and "comm" in name.rsplit("/", 1)[-1].split(".")[0].split("_"):
        return "distributed/comm"
    return name.split("/", 1)[0]


def allowed(user, target):
    return any(target == entry or target.startswith(entry + "/") for entry in MAY_INCLUDE[user])


def faults(name, source):
    user = folder_of(name)
    for match in INCLUDE.finditer(source):
        quote, target = match.groups()
        line = source.count("\n", 0, match.start(2)) + 1
        where = f"{name}:{line}: "
        if quote == '"':
            if target.startswith("tests/"):
                if user not in ("tests", "bench") and (name, target) not in EMULATED:
                    yield where + f'"{target}": only tests and benchmarks include tests/'
                continue
            if not target.startswith("tare/"):
                yield where + f'"{target}": the tree\'s headers are included as "tare/..."'
                continue
            target = target.removeprefix("tare/")
            if user in MAY_INCLUDE and not allowed(user, target):
                yield where + f"{user} may not include {target}"
            for private, users in PRIVATE:
                if target.startswith(private) and not name.startswith(users):
                    yield where + f"{target} is private to {private}"
        else:
            if target.startswith(("tare/", "tests/")):
                yield where + f"<{target}>: use quotes"
            for pattern, homes in HOMES:
                if re.fullmatch(pattern, target) and not name.startswith(homes):
                    yield where + f"<{target}> belongs to {', '.join(homes)}"


def main():
    found = [fault for name in files(*CPP) if not name.startswith("examples/link_as_library/")
             for fault in faults(name, text(name))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
