#!/usr/bin/env python3
"""What libtessera.so shows to others: check_abi.py LIBRARY [--renew].

- tsr_* alone, every one with the version TESSERA_0.1, and every function that the header declares.
- No symbol of the C library that is newer than 2.34, so that the library loads on systems of 2021.
- Functions and structures as they were in the last release (tests/c/abi.xml). The compiler reads the header with debug
  information into a library of its own, and libabigail compares. What is added is no difference. --renew takes the header of
  today as the last release: for a release, or where nothing was released yet.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/tessera/tessera.h"
KEPT = ROOT / "tests/c/abi.xml"
NEWEST_GLIBC = (2, 34)


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True)


def symbols(library):
    findings = []
    shown = [line.split() for line in run("nm", "-D", "--defined-only", library).stdout.splitlines()]
    names = {}
    for line in shown:
        name, _, version = line[-1].partition("@@")
        if line[-2] == "A":  # the version itself
            continue
        names[name] = version
        if not name.startswith("tsr_"):
            findings.append(f"{name} can be seen from outside")
        elif not version.startswith("TESSERA_"):
            findings.append(f"{name} has no version")
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    declared = set(re.findall(r"TSR_API [^;(#]*?\b(tsr_\w+)\s*\(", text))
    findings += [f"{name} is declared, but not in the library" for name in sorted(declared - set(names))]
    findings += [f"{name} is in the library, but not declared" for name in sorted(set(names) - declared)]
    for line in run("nm", "-D", "--undefined-only", library).stdout.splitlines():
        found = re.search(r"@GLIBC_(\d+)\.(\d+)", line)
        if found and tuple(map(int, found.groups())) > NEWEST_GLIBC:
            findings.append(f"it takes {line.split()[-1]}, which is newer than {'.'.join(map(str, NEWEST_GLIBC))}")
    return findings, declared


def described(header, functions, folder, name):
    """A library with the functions of a header alone, which libabigail reads by its debug information."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    body = [f'#include "{header}"']
    for result, function, arguments in re.findall(r"TSR_API ([^;(#]*?)\b(tsr_\w+)\s*\(([^;]*?)\)\s*;", text):
        if function in functions:
            arguments = [a.strip() for a in arguments.replace("\n", " ").split(",")]
            named = "void" if arguments == ["void"] else ", ".join(with_name(a, k) for k, a in enumerate(arguments))
            end = "" if result.strip() == "void" else "return 0;"
            body.append(f"{result.strip()} {function}({named}) {{ {end} }}")
    source, library = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text("\n".join(body) + "\n")
    made = run("cc", "-g", "-w", "-shared", "-fPIC", "-DTSR_BUILD", f"-I{header.parent.parent}", f"-ffile-prefix-map={folder}=.",
               f"-ffile-prefix-map={ROOT}=.", source, "-o", library)
    if made.returncode != 0:
        sys.exit(f"check_abi: the header does not compile: {made.stderr}")
    return library


def with_name(argument, k):
    """A parameter with a name of its own, whether it has one or not."""
    words = argument.split()
    types = {"int", "char", "void", "double", "size_t", "float"}
    bare = argument.endswith("*") or len(words) == 1 or words[-1] in types or words[-1].startswith(("DL", "tsr_"))
    bare = bare or (len(words) == 2 and words[0] == "const")
    return f"{argument} a{k}" if bare else argument


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--renew", action="store_true")
    options = parser.parse_args()
    findings, declared = symbols(options.library)
    if shutil.which("abidw") is None:
        print("check_abi: abigail-tools are not here: signatures and structures were not compared")
    else:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            now = described(HEADER, declared, folder, "now")
            text = folder / "now.xml"
            run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", text, now)
            if options.renew:
                shutil.copy(text, KEPT)
            told = run("abidiff", "--no-added-syms", KEPT, text)
            if told.returncode != 0:
                findings.append(f"it differs from {KEPT.relative_to(ROOT)}:\n{told.stdout}")
    for finding in findings:
        print(f"check_abi: {finding}")
    if not findings:
        print(f"ABI: {len(declared)} functions, all tsr_*, as in {KEPT.relative_to(ROOT)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
