#!/usr/bin/env python3
"""The include law: a folder of src/ includes only itself, the public headers and the folders that its tessera_layer() names.

What a folder may include is read from its CMakeLists.txt (DEPENDS, or the tessera_* targets that an executable links), so the
build and this check can never disagree. The order of the folders is that of src/CMakeLists.txt: a folder may depend only on
folders that come before it, and public headers include only public headers and the standard library.
"""

import re
from pathlib import Path

from common import ROOT, files, finish, text_of

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def without_comments(cmake):
    return re.sub(r"#.*", "", cmake)


def layer_order():
    return re.findall(r"add_subdirectory\(\s*([\w/]+)\s*\)", without_comments(text_of("src/CMakeLists.txt")))


def allowed_layers(layer, layers):
    """The layers that src/<layer>/CMakeLists.txt names."""
    text = without_comments(text_of(Path("src", layer, "CMakeLists.txt")))
    names = set()
    for call in re.findall(r"tessera_layer\(([^)]*)\)", text):
        words = call.split()
        if "DEPENDS" in words:
            for word in words[words.index("DEPENDS") + 1:]:
                if word in ("LINK", "FOLDERS"):
                    break
                names.add(word)
    targets = {"tessera_" + name.replace("/", "_"): name for name in layers}
    for call in re.findall(r"target_link_libraries\(([^)]*)\)", text):
        names |= {targets[word] for word in call.split() if word in targets}
    return names - {layer}


def layer_of(path, layers):
    """The layer that a path relative to src/ lies in: the longest folder of the list."""
    owners = [name for name in layers if str(path).startswith(name + "/")]
    return max(owners, key=len, default=None)


def check():
    findings, checked = [], 0
    order = layer_order()
    for name in [name for name in order if not (ROOT / "src" / name / "CMakeLists.txt").is_file()]:
        findings.append(f"src/CMakeLists.txt: names {name}, but src/{name}/CMakeLists.txt does not exist")
    allowed = {name: allowed_layers(name, order) if (ROOT / "src" / name / "CMakeLists.txt").is_file() else set()
               for name in order}
    for position, name in enumerate(order):
        for dependency in sorted(allowed[name]):
            if dependency not in order[:position]:
                findings.append(f"src/{name}/CMakeLists.txt: depends on {dependency}, which does not come before it "
                                "in src/CMakeLists.txt")
    for path in files("src/*.cpp", "src/*.hpp"):
        inside = path.relative_to("src")
        layer = layer_of(inside, order)
        if layer is None:
            findings.append(f"{path}: lies in no layer of src/CMakeLists.txt")
            continue
        text = text_of(path)
        for match in INCLUDE.finditer(text):
            kind, target = match.groups()
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            checked += 1
            included = layer_of(target, order)
            if included and included != layer and included not in allowed[layer]:
                findings.append(f"{where}: {layer} includes {target}, but may include only "
                                f"{', '.join(sorted(allowed[layer])) or 'itself'}")
            elif kind == '"' and not included and not target.startswith("tessera/"):
                findings.append(f"{where}: {target}: write the path from src/, as in \"{layer}/{target}\"")
    for path in files("include/*.hpp"):
        for kind, target in INCLUDE.findall(text_of(path)):
            checked += 1
            if kind == '"' and not target.startswith("tessera/"):
                findings.append(f"{path}: a public header includes {target}")
            if kind == "<" and ("/" in target or target.endswith((".h", ".hpp"))):
                findings.append(f"{path}: a public header includes <{target}>, which users may not have")
    finish("include law", findings, f"{checked} includes of {len(order)} layers are as src/*/CMakeLists.txt say")


check()
