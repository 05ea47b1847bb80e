#!/usr/bin/env python3
"""Says of each program given whether it was built so that damage ends the process: position independent, relocations
read-only before main, no executable stack, canaries, checked copies. Fails when one was not."""

import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def weaknesses(path):
    header = output("readelf", "-hW", path)
    segments = output("readelf", "-lW", path)
    dynamic = output("readelf", "-dW", path)
    symbols = output("readelf", "--dyn-syms", "-W", path)
    if not re.search(r"Type:\s+DYN", header):
        yield "is loaded at a fixed address (no PIE)"
    if "GNU_RELRO" not in segments or not re.search(r"BIND_NOW|FLAGS.*NOW", dynamic):
        yield "has relocations that can be written (no full RELRO)"
    stack = re.search(r"GNU_STACK.*", segments)
    if stack is None or re.search(r"\bRWE\b|R E", stack.group()):
        yield "has an executable stack"
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector"
    if not re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")):
        yield "has no checked copies (no fortify)"
    if re.search(r"\b(RPATH|RUNPATH)\b.*\[(?!\$ORIGIN)[^/]", dynamic):
        yield "looks for libraries in relative folders"


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: check_hardening.py PROGRAM...")
    findings = [f"{path} {weakness}" for path in sys.argv[1:] for weakness in weaknesses(path)]
    for finding in findings:
        print(f"hardening: {finding}")
    if not findings:
        print(f"hardening: {len(sys.argv) - 1} programs are hardened")
    sys.exit(1 if findings else 0)


main()
