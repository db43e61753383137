# SPDX-License-Identifier: Apache-2.0
"""The files that git knows, and C++ text with comments and literals blanked out."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPP = (".h", ".cpp", ".cu", ".cuh")


def files(*suffixes):
    """Tracked and not ignored files below the root with one of the suffixes, sorted."""
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         cwd=ROOT, check=True, capture_output=True).stdout
    names = sorted(set(out.decode().split("\0")) - {""})
    return [n for n in names if n.endswith(suffixes) and (ROOT / n).is_file()]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                    r"|(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'", re.S)


def code_only(source):
    """The same text, line for line, with comments, strings and characters turned into blanks."""
    return _TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source)
