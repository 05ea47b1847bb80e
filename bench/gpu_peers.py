"""The peers of bench/gpu.py: what a user of a GPU would call today, each in a process of its own, on our files of data.

A peer reads the same input as we do, compares its result with ours and times itself; what it says comes back as a line of JSON per
job. A peer that is not installed, fails, crashes or takes too long gives a note in the table and never ends the run.
"""
import json
import lzma
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In the order in which they run: the slowest are last, should time run out. The driver compiles every schedule of Halide.
PEERS = {"npp": "NPP", "eager": "PyTorch", "cudnn": "cuDNN", "cupy": "CuPy", "inductor": "Inductor", "halide": "Halide"}
START_SECONDS, JOB_SECONDS = 60, {"npp": 30, "halide": 120, "inductor": 75}  # of a process, of a job (others: 20)


def weights_of(job):
    """The numbers of the table `weights` in a job's program; those of one axis where it has one."""
    found = re.search(r"table \w+ weights\[[^=]*=\s*\{([^}]*)\}", job.file.read_text())
    return [float(number.strip().rstrip("f")) for number in found[1].split(",")] if found else []


def note(text):
    return {"error": re.sub(r"\s+", " ", text).strip()[:300]}


class Process:
    """A child whose lines of JSON are waited for, but not for ever."""

    def __init__(self, command, log):
        self.log = log
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(log, "w"), text=True, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            if line.startswith("{"):
                self.lines.put(json.loads(line))
        self.lines.put(None)

    def next(self, seconds):
        """The next line, None at the end; raises TimeoutError."""
        try:
            return self.lines.get(timeout=max(seconds, 0.01))
        except queue.Empty:
            raise TimeoutError from None

    def reason(self):
        """Why it ended early: its exit status and the last that it said."""
        lines = [line for line in Path(self.log).read_text(errors="replace").splitlines() if line.strip()]
        return f"ended with status {self.child.wait()}" + (f": {lines[-1]}" if lines else "")

    def end(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)  # with the compilers that it started
        self.child.wait()


class Peers:
    """`names`: which of PEERS; `until`: time.monotonic() after which nothing new begins; `device`: cuda, or cpu to compare only;
    `beside`: the folder of our program, where that of Halide lies, compressed."""

    def __init__(self, names, folder, device, until, beside):
        self.names, self.folder, self.device, self.until = names, Path(folder), device, until
        self.halide_packed = Path(beside) / ("gpu_halide.xz" if device == "cuda" else "gpu_halide_check.xz")
        self.versions, self.building = {}, None
        if "npp" in names and device == "cuda":
            self.build_npp()

    def build_npp(self):
        """In the background: the compiler takes as long as a few of our jobs."""
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        if not Path(nvcc).exists():
            self.building = note("there is no nvcc here to build it with")
            return
        command = [nvcc, "-O2", "-std=c++20", "-arch=native", str(HERE / "gpu_npp.cu"), "-o", str(self.folder / "gpu_npp"),
                   "-lnppif", "-lnppim", "-lnppial", "-lnppc", "-Xlinker", f"-rpath={Path(nvcc).resolve().parent.parent / 'lib64'}"]
        self.building = subprocess.Popen(command, stdout=open(self.folder / "nvcc.log", "w"), stderr=subprocess.STDOUT)

    def measure(self, jobs):
        """{name: {peer: figures}}; `jobs`: [(job, inputs, our result)]."""
        specs = [{"job": job.name, "program": job.file.stem, "long": job.long, "inputs": images, "result": ours, "weights": weights_of(job),
                  "tolerance": float(job.tolerance_of(ours)), "share": job.share, "margin": job.margin} for job, images, ours in jobs]
        found = {spec["job"]: {} for spec in specs}
        for peer in PEERS:
            if peer not in self.names or not specs or (peer == "npp" and self.device == "cpu"):
                continue
            print(f"peer {PEERS[peer]} ...", file=sys.stderr, flush=True)
            start = time.monotonic()
            native = {"npp": self.npp, "halide": self.halide}.get(peer)
            for job, figures in (native(specs) if native else self.library(peer, specs)).items():
                if not figures.get("none"):
                    found[job][peer] = figures
            print(f"peer {PEERS[peer]}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        return found

    def left(self, seconds):
        return min(seconds, self.until - time.monotonic())

    # ---- libraries of Python: one process for all jobs, another one after a crash ----

    def library(self, peer, specs):
        found, rest, ends = {}, list(specs), 0
        while rest and ends < 4:
            if self.left(1) <= 0:
                break
            path = self.folder / f"{peer}.json"
            path.write_text(json.dumps({"device": self.device, "jobs": rest}))
            process = Process([sys.executable, str(HERE / "gpu_library.py"), peer, str(path)], self.folder / f"{peer}.log")
            try:
                failure = self.follow(peer, process, found, rest)
            finally:
                process.end()
            if failure is None:
                break
            ends += 1
            found[rest.pop(0)["job"]] = failure
            if peer not in self.versions:  # not even installed
                return found | {spec["job"]: failure for spec in rest}
        for spec in rest:
            found[spec["job"]] = note("not run: no time was left" if ends < 4 else "not run: the process ended four times")
        return found

    def follow(self, peer, process, found, rest):
        """Takes jobs off `rest` as their figures come; what ended the process, or None where all jobs were measured."""
        try:
            first = process.next(self.left(START_SECONDS))
            if first is None:
                return note(process.reason())
            self.versions[peer] = first["version"]
            while rest:
                line = process.next(self.left(JOB_SECONDS.get(peer, 20)))
                if line is None:
                    return note(process.reason())
                found[line.pop("job")] = line
                rest.pop(0)
        except TimeoutError:
            return note("took longer than its time" if self.left(1) > 0 else "not done: no time was left")
        return None

    # ---- NPP: a process per job; of several calls the fastest that gives our result ----

    def npp(self, specs):
        if isinstance(self.building, dict):
            return {spec["job"]: self.building for spec in specs}
        try:
            failed = self.building.wait(max(self.left(120), 0.01))
        except subprocess.TimeoutExpired:
            self.building.kill()
            return {spec["job"]: note("took too long to build") for spec in specs}
        if failed:
            text = (self.folder / "nvcc.log").read_text(errors="replace")
            wrong = [line for line in text.splitlines() if "error" in line or "cannot find" in line] or text.splitlines()[-1:]
            return {spec["job"]: note("could not be built: " + " ".join(wrong[:1])) for spec in specs}
        return {spec["job"]: self.calls("npp", [self.folder / "gpu_npp", spec["job"], spec["inputs"][0], spec["result"], spec["tolerance"],
                                                spec["share"], *spec["weights"]]) for spec in specs if not spec["long"]}

    # ---- Halide: a process per job; of all schedules the fastest that gives our result ----

    def halide(self, specs):
        if not self.halide_packed.exists():
            how = "./dev gpu pack" if self.device == "cuda" else f"bench/gpu_halide.py FOLDER_OF_TESSERA/{self.halide_packed.name} --target opencl"
            return {spec["job"]: note(f"was not compiled ahead of time ({how})") for spec in specs}
        program = self.folder / "gpu_halide"
        program.write_bytes(lzma.decompress(self.halide_packed.read_bytes()))
        program.chmod(0o755)
        return {spec["job"]: self.calls("halide", [program, spec["program"], spec["result"], spec["tolerance"], spec["share"], spec["margin"],
                                                   *spec["inputs"]]) for spec in specs}

    def calls(self, peer, command):
        """What a native peer says of one job, a line per call."""
        if self.left(1) <= 0:
            return note("not run: no time was left")
        process, calls = Process(list(map(str, command)), self.folder / f"{peer}.log"), []
        try:
            while (line := process.next(self.left(JOB_SECONDS[peer]))) is not None:
                if "version" in line:
                    self.versions[peer] = f"{PEERS[peer]} {line['version']}"
                else:
                    calls.append(line)
            if process.child.wait():
                calls.append(note(process.reason()))
        except TimeoutError:
            calls.append(note("took longer than its time"))
        finally:
            process.end()
        return best_call(calls)


def best_call(calls):
    """The fastest with our result, else the fastest of another result, else the first error; all calls are kept. Where nothing
    was timed (--check) a call of another result comes first: all have to be ours."""
    if not calls:
        return {"none": True}
    ranks = {"same": 0, "DIFFERENT": 1, "related": 1}
    timed = sorted((call for call in calls if "ms" in call), key=lambda call: (ranks[call["verdict"]], call["ms"]))
    if not timed:
        timed = sorted((call for call in calls if "verdict" in call), key=lambda call: -ranks[call["verdict"]])
    return {**(timed or calls)[0], "calls": calls}


def comparable(figures):
    return figures.get("verdict") == "same" and "ms" in figures


def best(peers):
    """(peer, ms) of the fastest whose result is ours, or None."""
    return min(((peer, figures["ms"]) for peer, figures in peers.items() if comparable(figures)), key=lambda item: item[1], default=None)


def cell(figures):
    if not figures:
        return ""
    if "error" in figures:
        return "failed"
    mark = {"DIFFERENT": "!", "related": "*"}.get(figures["verdict"], "")
    return (f"{figures['ms']:.3f}" if "ms" in figures else figures["verdict"].replace("DIFFERENT", "other")) + mark


def notes(rows):
    """What the cells cannot say: failures, results that differ, calls of another job, signs. The same of several jobs is said once."""
    jobs = {}
    for row in rows:
        for peer, figures in row.get("peers", {}).items():
            if text := remark(figures):
                jobs.setdefault((peer, text), []).append(row["job"])
    return [f"{PEERS[peer]}, {', '.join(names)}: {text}" for (peer, text), names in jobs.items()]


def remark(figures):
    if "error" in figures:
        return (f"{figures['variant']}: " if "variant" in figures else "") + figures["error"]
    parts = [f"{figures['variant']}"] if "variant" in figures else []
    if figures["verdict"] == "DIFFERENT":
        parts.append(f"another result, {100 * figures['share']:.3g} % of the points by up to {figures['difference']:.3g}")
    if figures.get("note"):
        parts.append(figures["note"])
    if not comparable(figures):  # what else was tried
        parts += [f"{call.get('variant', 'NPP')} failed ({call['error']})" for call in figures.get("calls", []) if "error" in call]
    theirs = of_the_peer(figures)
    return "; ".join(parts + theirs) if figures["verdict"] != "same" or figures.get("note") or theirs else ""


def of_the_peer(figures):
    """Times of the schedules that Halide found itself or publishes, where another one was faster."""
    calls = sorted((call for call in figures.get("calls", []) if comparable(call)), key=lambda call: call["ms"])
    kinds = {"Anderson2021": "Anderson2021", "published": "the published"}
    firsts = [(text, next((call for call in calls if call.get("variant", "").startswith(kind)), None)) for kind, text in kinds.items()]
    return [f"{text} takes {call['ms']:.3f} ms" for text, call in firsts if call and call["variant"] != figures["variant"]]
