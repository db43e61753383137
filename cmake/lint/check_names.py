# SPDX-License-Identifier: Apache-2.0
"""Words that say nothing are not part of names: of files, and of identifiers that the tree declares."""

import re
import sys

from source_tree import CPP, code_only, files, text

BANNED = {"fast", "new", "v2", "util", "utils", "helper", "helpers", "manager", "managers"}
# Names that other libraries chose.
FOREIGN = re.compile(r"u?int_fast\d+_t|set_new_handler|get_new_handler|hardware_\w+|__\w+|EIGEN_\w+|cuda[A-Z]\w*"
                     r"|cudnn\w*|cublas\w*|manager_ctx|PR_[A-Z_]+")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")


def parts(identifier):
    return {part.lower() for part in PART.findall(identifier)}


def faults(name, source):
    stem = name.rsplit("/", 1)[-1]
    for word in sorted(parts(stem.replace(".", "_")) & BANNED):
        yield f"{name}: '{word}' in a file's name"
    for number, line in enumerate(code_only(source).split("\n"), 1):
        if line.lstrip().startswith("#include"):
            continue
        for identifier in IDENTIFIER.findall(line):
            if identifier == "new" or FOREIGN.fullmatch(identifier):
                continue
            for word in sorted(parts(identifier) & BANNED):
                yield f"{name}:{number}: '{word}' in the name {identifier}"


def main():
    found = [fault for name in files("") for fault in faults(name, text(name) if name.endswith(CPP) else "")]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
