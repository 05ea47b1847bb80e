#!/usr/bin/env python3
"""Sums the GoogleTest reports of one test run: count_tests.py FOLDER. Fails when nothing ran or something failed."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main():
    programs = tests = failed = skipped = 0
    for report in sorted(Path(sys.argv[1]).glob("*.xml")):
        root = ElementTree.parse(report).getroot()
        programs += 1
        tests += int(root.get("tests", 0)) - int(root.get("disabled", 0))
        failed += int(root.get("failures", 0)) + int(root.get("errors", 0))
        skipped += sum(case.get("result") == "skipped" for case in root.iter("testcase"))
    print(f"test cases: {tests - skipped} ran in {programs} programs, {failed} failed, {skipped} skipped")
    sys.exit(0 if tests > skipped and not failed else 1)


main()
