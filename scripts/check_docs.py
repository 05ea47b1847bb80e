#!/usr/bin/env python3
"""What pages name exists: paths and symbols in backticks, the files and the headings that links lead to; and so do the
pages that other files name, and the sources that comments of sources name. Words of other systems stand in scripts/docs_words.txt."""

import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from common import ROOT, files, finish, text_of

WORDS = "scripts/docs_words.txt"
PAGES = ("docs/*.md", "README.md", "CONTRIBUTING.md", "SECURITY.md")  # git's * takes folders, too
TOP = "src tests bench scripts include python examples filters docs".split()
TOP += sorted({path.parts[1] for path in files("src/*/*")})
BELOW = ("", "src/", "include/", "python/")  # where a path may begin, beside the folder of its page
ENDS = "* c cc cl cmake cpp cu cpp.in c.inc csv forma h hpp inc in ipynb json md py pyi sh svg sv toml txt".split()

FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)[^\n]*$", re.M | re.S)
SPAN = re.compile(r"(`+)((?:(?!\n\n).)+?)\1", re.S)
LINK = re.compile(r"\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.M)
PATH = re.compile(r"[\w.*{},+/-]+")
PAGE = re.compile(r"(?<![\w./-])docs/[\w/]+\.(?:md|ipynb)\b")
SOURCE = re.compile(r"\w+\.(?:\*|cpp|hpp|cpp\.in|c\.inc|py)")  # without a folder
COMMENT = re.compile(r"(?:^|\s)//.*$", re.M)
NAMED = re.compile(r"(?<![\w.*-])[a-z]\w*\.(?:cpp|hpp|c\.inc)\b")  # in a comment
# name, ns::name, object.name, each with or without (...): the whole of a span.
SYMBOL = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.)~?[A-Za-z_]\w*)*(?P<call>\(.*\))?", re.S)
ANY_NAME = re.compile(r"(?<![A-Z])(?:NAME|TARGET)(?![A-Z])")  # NAME_cuda: of a program of any name


def blanked(pattern, text):
    """The text with what matches made blank, so that lines keep their numbers."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def line_of(text, place):
    return text.count("\n", 0, place) + 1


def alternatives(path):
    """a.{cpp,hpp} is two paths."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [one for choice in found[1].split(",")
            for one in alternatives(path[:found.start()] + choice + path[found.end():])]


def is_path(token):
    if "/" not in token or token.startswith("/") or "//" in token:
        return False
    first, last = token.split("/")[0], token.rsplit("/", 1)[1]
    return first in TOP or (first != "build" and any(last.endswith("." + end) for end in ENDS))


class Tree:
    def __init__(self):
        paths = [path.as_posix() for path in files()]
        self.paths = set(paths)
        for path in paths:
            self.paths.update(parent.as_posix() for parent in PurePosixPath(path).parents)
        self.names = {path.rsplit("/", 1)[-1] for path in paths}
        self.words = set()
        for path in paths:
            if not path.startswith("docs/") and not path.endswith(".md") and path not in (WORDS, "scripts/check_docs.py"):
                self.words.update(re.findall(r"\w+", text_of(path) or ""))
        self.elsewhere = {word for line in text_of(WORDS).splitlines() if not line.startswith("#") for word in line.split()}
        self.anchors = {}

    def has(self, path, page):
        """examples/canny is a program, as well as a path without its ending."""
        path = ANY_NAME.sub("*", path).rstrip("/")
        for begin in (*BELOW, page.parent.as_posix() + "/"):
            for whole in (begin + path, begin + path + ".forma"):
                whole = whole.removeprefix("./")
                if whole in self.paths or ("*" in whole and any(fnmatchcase(one, whole) for one in self.paths)):
                    return True
        return False

    def knows(self, word):
        return word in self.words or word in self.elsewhere or ANY_NAME.search(word) is not None

    def anchors_of(self, path):
        """As GitHub makes them of headings."""
        if path not in self.anchors:
            text = text_of(path) or ""
            found, seen = set(re.findall(r'<a (?:name|id)="([^"]+)"', text)), {}
            for heading in HEADING.findall(blanked(FENCE, text)):
                heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
                anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
                count = seen.get(anchor, 0)
                seen[anchor] = count + 1
                found.add(f"{anchor}-{count}" if count else anchor)
            self.anchors[path] = found
        return self.anchors[path]


def words_of_symbol(span):
    """Of a span that looks like code: (...) behind it, an underscore, ::, or a capital in the middle."""
    found = SYMBOL.fullmatch(span)
    if not found:
        return []
    name = span[:found.start("call")] if found["call"] else span
    if name.rsplit(".", 1)[-1] in ENDS:  # the name of a file
        return []
    return re.findall(r"\w+", name) if found["call"] or re.search(r"_|::|[a-z][A-Z]", name) else []


def wrong_link(target, page, tree):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    whole = page if not path else Path((ROOT / page.parent / path).resolve()).relative_to(ROOT)
    if whole.as_posix() not in tree.paths:
        return f"a link to {target}, which does not exist"
    if anchor and whole.suffix == ".md" and anchor not in tree.anchors_of(whole):
        return f"a link to {target}: {whole} has no such heading"
    return None


def check():
    tree, findings, paths, symbols, links = Tree(), [], 0, 0, 0
    pages = files(*PAGES)
    for page in pages:
        text = blanked(FENCE, text_of(page))
        for span in SPAN.finditer(text):
            where, said = f"{page}:{line_of(text, span.start())}", span[2].strip()
            for token in PATH.findall(said):
                token = token.strip(".,")
                if is_path(token):
                    for path in alternatives(token):
                        paths += 1
                        if not tree.has(path, page):
                            findings.append(f"{where}: `{path}` does not exist")
                elif SOURCE.fullmatch(token):
                    paths += 1
                    if token not in tree.elsewhere and not any(fnmatchcase(name, token) for name in tree.names):
                        findings.append(f"{where}: no file is called `{token}`")
            words = words_of_symbol(said)
            symbols += bool(words)
            findings += [f"{where}: `{said}`: no file has the word {word}" for word in words if not tree.knows(word)]
        prose = blanked(SPAN, text)
        for link in LINK.finditer(prose):
            links += 1
            wrong = wrong_link(link[1], page, tree)
            if wrong:
                findings.append(f"{page}:{line_of(prose, link.start())}: {wrong}")
    for path in files():
        text = "" if path in pages or path.suffix == ".md" else text_of(path) or ""
        for named in PAGE.finditer(text):
            paths += 1
            if not tree.has(named[0], path):
                findings.append(f"{path}:{line_of(text, named.start())}: {named[0]} does not exist")
        if path.suffix not in (".cpp", ".hpp"):
            continue
        for comment in COMMENT.finditer(text):
            for named in NAMED.findall(comment[0]):
                paths += 1
                if named not in tree.names and named not in tree.elsewhere:
                    findings.append(f"{path}:{line_of(text, comment.start() + 1)}: no file is called {named}")
    index = (ROOT / "README.md").read_text()
    findings += [f"README.md: names no {page}" for page in pages if str(page).startswith("docs/") and page.parts[1] != "examples" and f"({page})" not in index]
    finish("docs", findings, f"{len(pages)} pages, in which {paths} paths, {symbols} symbols and {links} links hold")


check()
