#!/usr/bin/env python3
"""Sums the reports (GoogleTest, pytest) of one test run: count_tests.py FOLDER. Says which tests were skipped and why; fails when
nothing ran or something failed."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main():
    programs = tests = failed = skipped = 0
    for report in sorted(Path(sys.argv[1]).glob("*.xml")):
        root = ElementTree.parse(report).getroot()
        programs += 1
        for counts in [root] if root.get("tests") else root.iter("testsuite"):
            tests += int(counts.get("tests", 0)) - int(counts.get("disabled", 0))
            failed += int(counts.get("failures", 0)) + int(counts.get("errors", 0))
        for case in root.iter("testcase"):
            reason = case.find("skipped")
            if reason is None and case.get("result") != "skipped":
                continue
            skipped += 1
            text = (reason.get("message") or "") if reason is not None else ""
            print(f"skipped {case.get('classname')}.{case.get('name')}: {' '.join(text.split())[:120]}")
    print(f"test cases: {tests - skipped} ran in {programs} programs, {failed} failed, {skipped} skipped")
    sys.exit(0 if tests > skipped and not failed else 1)


main()
