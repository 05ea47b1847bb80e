#!/usr/bin/env python3
"""Sums the GoogleTest reports of one test run: count_tests.py FOLDER. Says which tests were skipped and why; fails when
nothing ran or something failed."""

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
        for case in root.iter("testcase"):
            if case.get("result") != "skipped":
                continue
            skipped += 1
            reason = case.find("skipped")
            text = (reason.get("message") or "") if reason is not None else ""
            print(f"skipped {case.get('classname')}.{case.get('name')}: {' '.join(text.split())[:120]}")
    print(f"test cases: {tests - skipped} ran in {programs} programs, {failed} failed, {skipped} skipped")
    sys.exit(0 if tests > skipped and not failed else 1)


main()
