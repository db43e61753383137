#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the tests of one run: count_results.py FOLDER, where ctest.xml and GoogleTest's reports lie.

A ctest test that is a GoogleTest binary stands for all of its tests, and its skipped ones are named with their
reasons; any other counts as one. The last line is `tests: N passed, N failed, N skipped`.
"""
import pathlib
import sys
import xml.etree.ElementTree as ET


def cases(folder):
    """(name, "passed" | "failed" | "skipped", reason) of every test."""
    for test in ET.parse(folder / "ctest.xml").getroot().iter("testcase"):
        name = test.get("name")
        report = folder / f"{name.replace('.', '_')}_test.xml"
        ended = test.find("failure") is None
        if report.exists():
            found = list(gtest_cases(report))
            yield from found
            # A binary that crashed or failed outside of a test.
            if not ended and all(status != "failed" for _, status, _ in found):
                yield name, "failed", ""
        elif test.find("skipped") is not None or test.get("status") in ("disabled", "notrun"):
            yield name, "skipped", ""
        else:
            yield name, "passed" if ended else "failed", ""


def gtest_cases(report):
    for case in ET.parse(report).getroot().iter("testcase"):
        name = f'{case.get("classname")}.{case.get("name")}'
        skipped = case.find("skipped")
        if case.find("failure") is not None:
            yield name, "failed", ""
        elif skipped is not None or case.get("result") == "skipped":
            message = (skipped.get("message") or "") if skipped is not None else ""
            yield name, "skipped", message.strip().splitlines()[-1] if message.strip() else ""
        else:
            yield name, "passed", ""


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, status, reason in cases(pathlib.Path(sys.argv[1])):
        counts[status] += 1
        if status != "passed":
            print(f"{status}: {name}" + (f": {reason}" if reason else ""))
    print("tests: " + ", ".join(f"{n} {status}" for status, n in counts.items()))


if __name__ == "__main__":
    main()
