"""What the check scripts share: the repository's files, and one way to report findings."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(*patterns):
    """Tracked and new files (not the ignored ones) that match git's patterns, as paths relative to the root."""
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [Path(line) for line in sorted(out.splitlines()) if (ROOT / line).is_file()]


def text_of(path):
    """The file's text, or None for a binary file."""
    data = (ROOT / path).read_bytes()
    return None if b"\0" in data[:4096] else data.decode("utf-8", "replace")


def finish(name, findings, summary):
    for finding in findings:
        print(finding)
    print(f"{name}: {len(findings)} findings" if findings else f"{name}: {summary}")
    sys.exit(1 if findings else 0)
