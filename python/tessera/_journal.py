"""The folder of markers that tasks leave, so that what was killed goes on where it has ended.

``job.json`` says whose it is: a key that no other job has, and what decides about the results. Markers are files of
``<key>/``, so that a task of an earlier job marks nothing of a later one. Nothing else in the folder is ever touched, and
whoever goes on with a job takes nothing away: any number of processes may begin one at the same time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from tessera._errors import ArgumentError

_HEAD = "job.json"
_KEY = re.compile("[0-9a-f]{32}")
Head = Mapping[str, Any]
_WORDS = ("after", "program", "inputs", "outputs", "tasks")


def head_of(folder: Path) -> Head | None:
    """What stands in a folder of markers, None where there is no such folder yet."""
    try:
        text = (folder / _HEAD).read_text()
    except FileNotFoundError:
        # Of a process that was killed when it began there may be a folder of markers alone; a head has come just now.
        with contextlib.suppress(FileNotFoundError):
            if not all(name == _HEAD or _KEY.fullmatch(name) for name in os.listdir(folder)):
                raise _foreign(folder) from None
        return None
    except (OSError, UnicodeDecodeError):
        raise _foreign(folder) from None
    try:
        head = json.loads(text)
        if _KEY.fullmatch(head["key"]) and all(word in head for word in _WORDS):
            return head  # type: ignore[no-any-return]
    except (ValueError, TypeError, KeyError):
        pass
    raise _foreign(folder)


def _foreign(folder: Path) -> ArgumentError:
    return ArgumentError(f"{str(folder)!r} is no journal of tasks, expected one, or nothing")


def _next(key: str) -> str:
    """The file that says which job comes after one."""
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def _made_again(now: Sequence[Head], before: Sequence[Head]) -> bool:
    """Whether there is a target that has nothing of what markers say."""
    written = {json.dumps(o["place"]): o["written"] for o in before}
    return any(written.get(json.dumps(o["place"]), o["written"]) != o["written"] for o in now)


class Journal:
    """Where the tasks of a job leave their markers."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.abspath(folder))  # for whoever works elsewhere
        self.key = uuid4().hex

    def begin(self, said: Head, before: Head | None, resume: bool) -> bool:
        """Begins anew, or goes on with what is there; False where that is to be looked at again."""
        own, head = self.folder / self.key, self.folder / _HEAD
        try:
            if resume and before is not None and not _made_again(said["outputs"], before["outputs"]):
                self._compare(said, before)
                (self.folder / before["key"]).mkdir(exist_ok=True)
                self.key = before["key"]
                return True
            own.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, FileExistsError):  # another one ends here
            return False
        partial = own / _HEAD
        partial.write_text(json.dumps({"key": self.key, "after": before and before["key"], **said}))
        if not resume:
            partial.replace(head)
            self._remove(before)
            return True
        # Of those who begin at once one is the first, whom all follow.
        place = head if before is None else self.folder / _next(before["key"])
        try:
            os.link(partial, place)
            partial.unlink()
        except FileExistsError:
            shutil.rmtree(own, ignore_errors=True)
        except OSError:  # a file system without links: work may be done twice
            partial.replace(place)
        if before is not None:
            with contextlib.suppress(FileNotFoundError):  # it has ended already
                aside = self.folder / uuid4().hex
                shutil.copyfile(place, aside)
                aside.replace(head)
            self._remove(before)
        return False

    def _remove(self, job: Head | None) -> None:
        """The markers of a job, and what has made it the next one."""
        if job is not None:
            shutil.rmtree(self.folder / job["key"], ignore_errors=True)
            if job["after"] is not None:
                (self.folder / _next(job["after"])).unlink(missing_ok=True)

    def _compare(self, said: Head, before: Head) -> None:
        for what, now in said.items():
            if now != before.get(what):
                raise ArgumentError(
                    f"the {what} of {str(self.folder / _HEAD)!r}, whose tasks are to be resumed, "
                    f"{'is' if what == 'program' else 'are'} other than now",
                    (f"then: {json.dumps(before.get(what))[:400]}", f"now: {json.dumps(now)[:400]}"),
                    "write resume=False to begin anew",
                )

    def mark(self, task: str) -> None:
        """Of a job that is over there is no folder, and nothing is left there."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / self.key / task).touch()

    def has(self, task: str) -> bool:
        return (self.folder / self.key / task).exists()

    def close(self) -> None:
        """Takes the job away, its markers first; of another one that has begun there meanwhile nothing."""
        shutil.rmtree(self.folder / self.key, ignore_errors=True)
        with contextlib.suppress(ArgumentError):
            head = head_of(self.folder)
            if head is not None and head["key"] == self.key:
                (self.folder / _HEAD).unlink(missing_ok=True)
                self._remove(head)
        with contextlib.suppress(OSError):  # there is more in it
            self.folder.rmdir()
            if self.folder.parent.name.endswith(".tessera"):  # that of one array of several
                self.folder.parent.rmdir()
