#!/usr/bin/env python3
"""Writes what built programs are made of: a bill of materials in the JSON of SPDX 2.3.

It names Tessera, every shared library that they are linked with, directly or not, the libraries whose headers are compiled into them, and what
built and tested them (group `build` of scripts/packages.txt), each with the version and licence that Debian's package of it
states. Drivers of devices, which are looked for at run time, are no part of it. The same programs of the same commit give the same bytes: the date is $SOURCE_DATE_EPOCH, else the commit's.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = {"libcli11-dev", "nlohmann-json3-dev", "libstb-dev"}  # compiled into the programs
TESTS = {"libgtest-dev", "libgmock-dev", "librapidcheck-dev"}
# Short names of Debian's copyright files that SPDX spells in another way, in lower case.
LICENCES = {"expat": "MIT", "mit": "MIT", "zlib": "Zlib", "libpng": "Libpng", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
            "apache-2.0": "Apache-2.0", "apache-2-llvm-exceptions": "Apache-2.0 WITH LLVM-exception", "cc0-1.0": "CC0-1.0",
            "isc": "ISC", "ijg": "IJG", "ntp": "NTP", "gpl-1+": "GPL-1.0-or-later", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
            "gpl-2.0+": "GPL-2.0-or-later", "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later", "lgpl-2+": "LGPL-2.0-or-later",
            "lgpl-2.1": "LGPL-2.1-only", "lgpl-2.1+": "LGPL-2.1-or-later", "lgpl-3+": "LGPL-3.0-or-later", "artistic": "Artistic-1.0-Perl"}
NOT_SAID = "NOASSERTION"


def output(*command):
    """What a command prints, whatever its status; "" when there is no such command."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


# ---- libraries and packages ----------------------------------------------------------------------------------------


def libraries_of(program):
    """The paths of the shared libraries that the system loads for a program."""
    text = output("ldd", str(program.resolve()))
    if "not found" in text:
        sys.exit(f"sbom: {program} lacks a library: {re.search('.*not found', text)[0].strip()}")
    return {Path(found[1]) for found in re.finditer(r"^\s*(?:\S+ => )?(/\S+) \(0x", text, re.M)}


def needed_by(path):
    """The names of the libraries that a file itself asks for."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", str(path)))


def places(path):
    """The names under which a package may hold a file, which links of other packages lead to; /lib is one to /usr/lib."""
    for name in (str(path.resolve()), str(path)):
        yield name
        yield name.removeprefix("/usr") if name.startswith("/usr/") else "/usr" + name


def packages_of(paths):
    """Which package each file comes from."""
    owners = {}
    candidates = [place for path in paths for place in places(path)]
    for line in output("dpkg-query", "-S", *candidates).splitlines() if candidates else []:
        package, _, file = line.rpartition(": ")
        owners[file] = package.split(",")[0]
    return {path: next((owners[p] for p in places(path) if p in owners), None) for path in paths}


def facts_of(packages):
    """Version, architecture, source and home of the packages that are installed, by the name without an architecture."""
    fields = ["binary:Package", "Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage", "db:Status-Status"]
    text = output("dpkg-query", "-W", "-f", "\t".join(f"${{{f}}}" for f in fields) + "\n", *sorted(packages)) if packages else ""
    facts = {}
    for line in text.splitlines():
        fact = dict(zip(fields, line.split("\t")))
        if fact["db:Status-Status"] == "installed":
            facts[fact["binary:Package"]] = facts[fact["Package"]] = fact
    return facts


def build_packages():
    """The names of group `build`, alternatives among them."""
    lines = (ROOT / "scripts" / "packages.txt").read_text().splitlines()
    return {name for line in lines if line.startswith("build ") for name in line.split()[1:] if name != "|"}


# ---- licences ------------------------------------------------------------------------------------------------------


def paragraphs(text):
    """Those of a copyright file in Debian's format, each as fields; what follows a field's first line belongs to it."""
    for paragraph in re.split(r"\n\s*\n", text):
        fields = re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", paragraph, re.M)
        yield {name.lower(): value for name, value in fields}


class Licences:
    """Turns Debian's short names into SPDX's, and keeps the texts of those that SPDX has no name for."""

    def __init__(self):
        self.extracted = {}

    def _one(self, name, texts):
        known = LICENCES.get(name.lower())
        if known:
            return known
        reference = "LicenseRef-Debian-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-")
        if len(texts.get(name, "")) >= len(self.extracted.get(reference, ("", ""))[1]):
            self.extracted[reference] = (name, texts.get(name, ""))
        return reference

    def _expression(self, words, texts):
        """`A or B, and C` is (A or B) and C."""
        parts = re.split(r",\s+(and|or)\s+", words)
        if len(parts) > 1:
            return " ".join(p.upper() if p in ("and", "or") else f"({self._expression(p, texts)})" for p in parts)
        return " ".join(p.upper() if p in ("and", "or") else self._one(p.strip(), texts)
                        for p in re.split(r"\s+(and|or)\s+", words.strip()))

    def of(self, package):
        """The licence of a package's files and a remark on what else its copyright file names."""
        path = Path("/usr/share/doc") / package / "copyright"
        if not path.exists():
            return NOT_SAID, ""
        text = path.read_text(errors="replace")
        if not re.match(r"\s*Format:", text):
            return NOT_SAID, f"{path} says it in words."
        all_of = list(paragraphs(text))
        texts, named, whole = {}, [], None
        for fields in all_of:
            short, _, body = fields.get("license", "").partition("\n")
            short = short.strip()
            if body.strip() and short not in texts:
                texts[short] = re.sub(r"^ \.?", "", body, flags=re.M).strip()
            if "files" in fields and short:
                named.append(short)
                if "*" in fields["files"].split():
                    whole = short
        named = list(dict.fromkeys(named))
        if not named:
            named = [short for short in texts if short]
        if whole is None and len(named) != 1:
            return NOT_SAID, f"{path} names, for different files: {'; '.join(named)}."
        whole = whole or named[0]
        others = [name for name in named if name != whole]
        remark = f"Other files of the source package: {'; '.join(others)}." if others else ""
        return self._expression(whole, texts), remark

    def as_spdx(self):
        return [{"licenseId": reference, "name": name, "extractedText": text or f"The licence that Debian's copyright files call {name}."}
                for reference, (name, text) in sorted(self.extracted.items())]


# ---- the document --------------------------------------------------------------------------------------------------


def date():
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct").strip() or "0"
    return datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def distribution():
    try:
        text = Path("/etc/os-release").read_text()
    except OSError:
        return {}
    return {key: value.strip('"') for key, value in re.findall(r"^(\w+)=(.*)$", text, re.M)}


def debian_package(fact, licences, system):
    licence, remark = licences.of(fact["Package"])
    maker = system.get("ID", "debian")
    package = {"SPDXID": identifier(fact["Package"]), "name": fact["Package"], "versionInfo": fact["Version"],
               "supplier": f"Organization: {system.get('NAME', 'Debian')}", "downloadLocation": NOT_SAID, "filesAnalyzed": False,
               "licenseConcluded": NOT_SAID, "licenseDeclared": licence, "copyrightText": NOT_SAID,
               "sourceInfo": f"built from the source package {fact['source:Package']} {fact['source:Version']}",
               "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                 "referenceLocator": f"pkg:deb/{maker}/{fact['Package'].replace('+', '%2B')}@"
                                                     f"{fact['Version'].replace('+', '%2B').replace(':', '%3A')}?arch={fact['Architecture']}"
                                                     f"&distro={maker}-{system.get('VERSION_ID', '')}"}]}
    if fact["Homepage"]:
        package["homepage"] = fact["Homepage"]
    if remark:
        package["licenseComments"] = remark
    return package


def bare_library(name):
    """Of a library that no package holds."""
    return {"SPDXID": identifier(name), "name": name, "downloadLocation": NOT_SAID, "filesAnalyzed": False,
            "licenseConcluded": NOT_SAID, "licenseDeclared": NOT_SAID, "copyrightText": NOT_SAID}


def document(programs):
    version = re.search(r"^project\(tessera VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    licences, system = Licences(), distribution()
    own = {**bare_library("tessera"), "versionInfo": version, "primaryPackagePurpose": "APPLICATION", "licenseConcluded": "Apache-2.0",
           "licenseDeclared": "Apache-2.0", "comment": "Programs: " + ", ".join(sorted(p.name for p in programs)) + "."}

    loaded = sorted(set().union(*(libraries_of(p) for p in programs)))
    owners = packages_of(loaded)
    facts = facts_of({owner for owner in owners.values() if owner} | build_packages())
    packages = {own["SPDXID"]: own}
    links = set()  # (from, kind, to)

    def add(fact):
        package = debian_package(fact, licences, system)
        packages.setdefault(package["SPDXID"], package)
        return package["SPDXID"]

    by_name = {}
    for path in loaded:
        if owners[path] in facts:
            by_name[path.name] = add(facts[owners[path]])
        else:
            by_name[path.name] = identifier(path.name)
            packages.setdefault(by_name[path.name], bare_library(path.name))
    for path, user in [(p, own["SPDXID"]) for p in programs] + [(path, by_name[path.name]) for path in loaded]:
        links |= {(user, "DYNAMIC_LINK", by_name[name]) for name in needed_by(path) if by_name.get(name, user) != user}
    for name in build_packages() & facts.keys():
        package = add(facts[name])
        if name in HEADERS:
            links.add((own["SPDXID"], "STATIC_LINK", package))
        else:
            links.add((package, "TEST_DEPENDENCY_OF" if name in TESTS else "BUILD_DEPENDENCY_OF", own["SPDXID"]))

    result = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tessera-{version}",
              "creationInfo": {"created": date(), "creators": [f"Tool: tessera-sbom-{version}"]},
              "packages": [packages[key] for key in sorted(packages)],
              "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own["SPDXID"]}] +
                               [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in sorted(links)]}
    if licences.extracted:
        result["hasExtractedLicensingInfos"] = licences.as_spdx()
    # A name of its own for every content, as the format wants, and the same one for the same content.
    digest = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    result["documentNamespace"] = f"https://spdx.org/spdxdocs/tessera-{version}-{digest}"
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    for program in options.programs:
        if not program.is_file():
            parser.error(f"there is no file {program}")
    options.output.write_text(json.dumps(document(options.programs), indent=1, ensure_ascii=False) + "\n")


main()
