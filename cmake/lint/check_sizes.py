# SPDX-License-Identifier: Apache-2.0
"""Length of files and functions, number of parameters, first lines of files.

A function is found by its braces: a block that follows a parameter list, at namespace or class level. Lambdas and
local classes count in the function around them.
"""

import re
import sys

from source_tree import CPP, code_only, files, text

FILE_LINES, TEST_FILE_LINES = 700, 1000
FUNCTION_LINES, LONG_FUNCTION_LINES = 60, 120  # the second for kernels and tests
PARAMETERS = 8

HEAD = re.compile(r"(operator\s*\(\)|operator\s*[^\s\w(]{1,3}|[A-Za-z_~][\w:~<>]*)\s*\(")
# What may follow a parameter list; after a macro's arguments comes the next declaration instead.
TAIL = re.compile(r"\s*(?:$|const\b|noexcept\b|override\b|final\b|mutable\b|requires\b|try\b|__attribute__|->|:|&)")
NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "alignas", "defined",
                 "requires", "noexcept", "__attribute__", "static_assert", "explicit", "__launch_bounds__",
                 "__declspec"}


def closing(code, opening):
    """Index of the bracket that closes the one at `opening`, or -1."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth, close = 0, pairs[code[opening]]
    for i in range(opening, len(code)):
        if code[i] == code[opening]:
            depth += 1
        elif code[i] == close:
            depth -= 1
            if depth == 0:
                return i
    return -1


def head_of(code, start, brace):
    """Name, start and parameter text of the function whose body opens at `brace`, or None for another block."""
    head = code[start:brace]
    if re.search(r"\b(namespace|class|struct|union|enum)\b[^()]*$", head) or re.search(r"=\s*$", head):
        return None
    for match in HEAD.finditer(head):
        name = match.group(1)
        if name in NOT_FUNCTIONS:
            continue
        opening = start + match.end() - 1
        end = closing(code, opening)
        if 0 <= end < brace and TAIL.match(code, end + 1, brace):
            return name, start + match.start(), code[opening + 1:end]
    return None


def count_parameters(parameters):
    depth, commas = 0, 0
    for c in parameters:
        if c in "(<[{":
            depth += 1
        elif c in ")>]}":
            depth -= 1
        elif c == "," and depth == 0:
            commas += 1
    return commas + 1 if parameters.strip() else 0


def functions(code):
    """(name, first line, last line, parameters) of every function body."""
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M)
    start, i = 0, 0
    while i < len(code):
        c = code[i]
        if c in ";}":
            start = i + 1
        elif c == "(":  # skip whole lists, so that default arguments with braces do not look like bodies
            end = closing(code, i)
            i = end if end > 0 else i
        elif c == "{":
            found = head_of(code, start, i)
            if found:
                end = closing(code, i)
                if end < 0:
                    return
                if re.match(r"\s*,", code[end + 1:end + 40]) or is_initialiser(code, start, i, end):
                    i = end  # a member of an initialiser list: `: a_{x}, b_{y} {`
                else:
                    name, at, parameters = found
                    yield (name, code.count("\n", 0, at) + 1, code.count("\n", 0, end) + 1,
                           count_parameters(parameters))
                    i = end
                    start = end + 1
            else:
                start = i + 1
        i += 1


def is_initialiser(code, start, brace, end):
    """True for the braces of a constructor's member initialiser, whose body is still to come."""
    before = re.search(r"[:,]\s*\w+(<[^{}]*>)?\s*$", code[start:brace])
    after = re.match(r"\s*\{", code[end + 1:])
    return bool(before and after and ")" in code[start:brace])


def faults(name, source):
    lines = source.split("\n")
    tests = name.startswith("tests/")
    limit = TEST_FILE_LINES if tests else FILE_LINES
    if len(lines) - 1 > limit:
        yield f"{name}: {len(lines) - 1} lines; at most {limit}"
    if lines[0] != "// SPDX-License-Identifier: Apache-2.0":
        yield f"{name}:1: the first line must be // SPDX-License-Identifier: Apache-2.0"
    elif not lines[1].startswith("// ") and not lines[1].endswith("/" + name.rsplit("/", 1)[-1].split(".")[0] + '.h"'):
        yield f"{name}:2: say in a comment what this file is, or include the header that says it"
    if name.endswith((".h", ".cuh")) and "#pragma once" not in lines:
        yield f"{name}: no #pragma once"
    limit = LONG_FUNCTION_LINES if name.startswith(("kernels/", "tests/")) else FUNCTION_LINES
    for function, first, last, parameters in functions(code_only(source)):
        if last - first + 1 > limit:
            yield f"{name}:{first}: {function} has {last - first + 1} lines; at most {limit}"
        if parameters > PARAMETERS and function not in ("TARE_ISA_VARIANTS",):
            yield f"{name}:{first}: {function} has {parameters} parameters; at most {PARAMETERS}, else a struct"


def main():
    found = [fault for name in files(*CPP) for fault in faults(name, text(name))]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
