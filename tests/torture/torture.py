"""What is done to Tessera on purpose: signals at random moments, full disks and small limits, little memory, files that
are bombs or have no end, planted compilers and links, poisoned caches, short texts that are long to compile.

    torture.py TESSERA [--seconds N] [--seed N] [--only PART,...] [--report FILE]

Every part counts what it did and what went wrong; the exit status is 1 when anything did. Nothing is needed but Python,
and no part takes longer than its share of --seconds (120).
"""
import argparse
import hashlib
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import bombs

CLEAN = {0, 1, 2, 4}  # statuses that say what happened; 128 + n: ended by the signal that was sent


class Part:
    """One kind of attack: how often it was made, and what went wrong."""

    def __init__(self, name, folder, tessera, numbers, seconds):
        self.name, self.tessera, self.numbers = name, tessera, numbers
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self.end = time.monotonic() + seconds
        self.tried, self.wrong, self.notes = 0, [], {}
        self.slack = 2  # how many times a limit of seconds may pass

    def time_left(self):
        return time.monotonic() < self.end

    def count(self, what):
        self.notes[what] = self.notes.get(what, 0) + 1

    def fault(self, text):
        self.wrong.append(text)

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_")}
        return env | {"TESSERA_CACHE": str(self.folder / "cache"), "TESSERA_PRICES": ""} | more

    def run(self, *words, limits=(), timeout=120, env=None, cwd=None, stdin=subprocess.DEVNULL, executable=None, **more):
        """Its status, below 0 for a signal, and what it said."""
        def prepare():
            for kind, value in limits:
                resource.setrlimit(kind, (value, value))
        try:
            done = subprocess.run([self.tessera, *map(str, words)], stdin=stdin, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=timeout, env=env or self.environment(),
                                  cwd=cwd or self.folder, preexec_fn=prepare, executable=executable, **more)
            return done.returncode, done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None, "no end"


def picture(path, rows, columns, numbers):
    data = numbers.randbytes(rows * columns)
    path.write_bytes(b"P5 %d %d 255\n" % (columns, rows) + data)


def unique_program(numbers):
    """A text that no cache knows."""
    k = [numbers.randint(1, 9**6) for _ in range(4)]
    return (f"stencil f(vector#2 float X) {{ return X@[0,-1] * {k[0]} + X@[1,1] / {k[1]} - X * 0.{k[2]}f; }}\n"
            f"stencil g(vector#2 float X) {{ return sum(i = -2..2, j = -2..2) (X@[i,j] * (i * {k[3] % 7} + j)); }}\n"
            "parameter M, N;\nvector#2 float a[M,N];\nreturn g(f(a:mirror):clamped);\n")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def signals(part):
    """Outputs are whole or as before, nothing else is left, and the status names the signal."""
    image, out = part.folder / "in.pgm", part.folder / "out"
    out.mkdir()
    picture(image, 700, 900, part.numbers)
    kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
    whole = {}
    while part.time_left():
        suffix = part.numbers.choice(["png", "tif", "npy", "pgm", "nii.gz"])
        program, target = part.folder / "p.forma", out / f"r.{suffix}"
        fresh = part.numbers.random() < 0.5
        if fresh:
            program.write_text(unique_program(part.numbers))
        elif not program.exists():
            continue
        if fresh or suffix not in whole:
            if target.exists():
                target.unlink()
            before = None
        else:
            before = digest(target)
        command = [part.tessera, "run", program, image, "-o", target, "-q", "--stretch"]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=part.environment())
        time.sleep(part.numbers.uniform(0, 0.4 if fresh else 0.05))
        kind = part.numbers.choice(kinds)
        child.send_signal(kind)
        try:
            status = child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            part.fault(f"{kind.name}: does not end")
            continue
        part.tried += 1
        part.count(kind.name)
        ended = status in (0, -kind, 128 + kind)
        if not ended:
            part.fault(f"{kind.name}: status {status}")
        left = sorted(p.name for p in out.iterdir() if not p.name.startswith("r."))
        if left:
            part.fault(f"{kind.name}: left behind {left}")
            for name in left:
                (out / name).unlink()
        after = digest(target)
        if after is not None and after != before:
            again, said = part.run("run", program, image, "-o", part.folder / f"whole.{suffix}", "-q", "--stretch")
            if again != 0 or digest(part.folder / f"whole.{suffix}") != after:
                part.fault(f"{kind.name}: a torn {suffix}, {said[:200]}")
        whole[suffix] = True
    time.sleep(1)
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if str(part.folder).encode() in words + environment and int(process.name) != os.getpid():
            part.fault(f"a process is left: {words!r}")


def quotas(part):
    """A limit on the size of files, a full device, a folder that may not be written: an error, and nothing changed."""
    image = part.folder / "in.pgm"
    picture(image, 400, 500, part.numbers)
    while part.time_left():
        suffix = part.numbers.choice(["png", "tif", "npy", "pgm", "nii", "jpg", "bmp"])
        target = part.folder / f"out.{suffix}"
        target.write_bytes(b"as before")
        words = ["filter", "median", image, "-o", target, "-q"]
        if part.numbers.random() < 0.3:
            status, said = part.run(*words[:4], "/dev/full", "--format", suffix, "-q")
        else:
            status, said = part.run(*words, limits=[(resource.RLIMIT_FSIZE, part.numbers.choice([0, 1, 100, 5000]))])
        part.tried += 1
        if status != 2 or "error" not in said:
            part.fault(f"{suffix}: status {status}, {said[:200]}")
        if target.read_bytes() != b"as before":
            part.fault(f"{suffix}: the old file is gone")
        left = [p.name for p in part.folder.iterdir() if p.name not in ("in.pgm", target.name, "cache")]
        for name in left:
            if not name.startswith("out."):
                part.fault(f"left behind {name}")
            (part.folder / name).unlink()


def memory(part):
    """Cold compilations with 100 to 600 MB of address space: a result or an error, never a signal."""
    image = part.folder / "in.pgm"
    picture(image, 64, 64, part.numbers)
    while part.time_left():
        program = part.folder / "p.forma"
        program.write_text(unique_program(part.numbers))
        limit = part.numbers.randint(100, 600) << 20
        status, said = part.run("run", program, image, "-q", limits=[(resource.RLIMIT_AS, limit)])
        part.tried += 1
        part.count("compiled" if status == 0 else "refused")
        if status is None or status not in CLEAN or (status != 0 and "error" not in said):
            part.fault(f"{limit >> 20} MB: status {status}, {said[:300]}")


def bomb_files():
    """Names and texts of files that claim much and hold little."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def png(rows, columns, kind=6, repeat=1 << 22):
        packed = zlib.compressobj(9)
        row = b"\0" * (columns * 4 + 1)
        body = b"".join(packed.compress(row) for _ in range(min(rows, max(1, repeat // len(row)))))
        body += packed.flush()
        header = struct.pack(">IIBBBBB", columns, rows, 8, kind, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")

    def tiff(rows, columns):
        entries = [(256, 4, columns), (257, 4, rows), (258, 3, 8), (259, 3, 32946), (262, 3, 1), (273, 4, 8), (277, 3, 1),
                   (278, 4, rows), (279, 4, 20)]
        directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", t, k, 1, v) for t, k, v in entries)
        return b"II*\0" + struct.pack("<I", 28) + zlib.compress(b"\0" * 1000)[:20].ljust(20, b"\0") + directory + b"\0" * 4

    yield "large.png", png(60000, 60000, repeat=1 << 26)
    yield "short.png", png(50000, 65000)
    yield "large.tif", tiff(60000, 60000)
    yield "large.pgm", b"P5 99999 99999 255\n" + b"x" * 100
    yield "large.npy", (b"\x93NUMPY\x01\0" + struct.pack("<H", 118) +
                        b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000, 100000), }".ljust(117) + b"\n")
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, 30000, 30000, 30000, 1, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 16, 32)
    struct.pack_into("<f", header, 108, 352)
    header[344:348] = b"n+1\0"
    yield "large.nii", bytes(header)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    yield "large.nii.gz", packer.compress(bytes(header)) + b"".join(packer.compress(zeros) for _ in range(200)) + packer.flush()
    yield "large.pfm", b"PF\n100000 100000\n-1\n"
    yield "large.bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 100, 0, 0, 54, 40, 100000, 100000, 1, 24, 0, 0, 0, 0, 0, 0)
    yield "large.hdr", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 100000 +X 100000\n" + b"\0" * 50
    yield "large.gif", b"GIF89a" + struct.pack("<HHBBB", 65000, 65000, 0xf0, 0, 0) + b"\0" * 6 + b","


def inputs(part):
    """Files with bombs, devices and pipes without end: an error within seconds, and within --memory. A pipe that begins with a whole
    picture is read as far as that."""
    files = list(bomb_files())
    for name, data in files:
        (part.folder / name).write_bytes(data)
    limit = 1 << 30
    turns = [(name, None) for name, _ in files]
    turns += [("/dev/zero", None), ("/dev/urandom", None), ("-", b"\x89PNG\r\n\x1a\n"), ("-", b"P5 9 9 255\n"), ("-", b"BM")]
    while part.time_left():
        name, begin = part.numbers.choice(turns)
        feeder = None
        if begin is not None:
            feeder = subprocess.Popen([sys.executable, "-c", "import sys,os\nos.write(1, %r)\nwhile True: os.write(1, bytes(1 << 16))" % begin],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        words = part.numbers.choice([["filter", "gaussian", name], ["fft", name], ["filter", "median", name, "--mask", name]])
        start = time.monotonic()
        status, said = part.run(*words, "-q", "--memory", "200MiB", limits=[(resource.RLIMIT_AS, 4 * limit)], timeout=60,
                                stdin=feeder.stdout if feeder else subprocess.DEVNULL)
        if feeder:
            feeder.kill()
            feeder.wait()
        part.tried += 1
        whole = begin is not None and begin.startswith(b"P5") and "--mask" not in words
        if status != (0 if whole else 2) or ("error" in said) == whole:
            part.fault(f"{words}: status {status}, {said[:200]}")
        if time.monotonic() - start > 30:
            part.fault(f"{words}: {time.monotonic() - start:.0f} s")


def planted(part):
    """Compilers, links and outputs that somebody else has put there."""
    image = part.folder / "in.pgm"
    picture(image, 32, 32, part.numbers)
    trap = part.folder / "trap"
    script = f"#!/bin/sh\ntouch {trap}\nexit 1\n"
    for place in ("tessera-clang", "lib/tessera/tessera-clang", "tessera/tessera-clang", "sub/tessera-clang",
                  "sub/lib/tessera/tessera-clang", "libtessera_clang.so", "sub/libtessera_clang.so"):
        path = part.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)
    ring = part.folder / "ring.png"
    ring.symlink_to("ring2.png")
    (part.folder / "ring2.png").symlink_to("ring.png")
    writable = part.folder / "writable-clang"
    writable.write_text(script)
    writable.chmod(0o777)
    while part.time_left():
        program = part.folder / "p.forma"
        program.write_text(unique_program(part.numbers))
        kind = part.numbers.choice(["name", "environment", "writable", "path", "ring", "set-id"])
        words, env, start = ["run", program, image, "-q"], part.environment(), [part.tessera]
        expected = {0}
        if kind == "environment":
            env["TESSERA_CLANG"] = part.numbers.choice(["tessera-clang", "sub/../tessera-clang"])
            expected = {2}
        elif kind == "writable":
            env["TESSERA_CLANG"] = str(writable)
            expected = {2}
        elif kind == "path":
            env["PATH"] = f"{part.folder}:{env.get('PATH', '')}"
        elif kind == "ring":
            words += ["-o", ring]
            expected = {2}
        elif kind == "set-id":
            old = part.folder / "old.npy"
            old.write_bytes(b"x")
            old.chmod(0o6755)
            words += ["-o", old]
        name = part.numbers.choice(["sub/tessera", "./tessera", "tessera", "lib/tessera/x"]) if kind == "name" else start[0]
        done = subprocess.run([name, *map(str, words)], executable=part.tessera, cwd=part.folder, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120)
        part.tried += 1
        part.count(kind)
        if done.returncode not in expected:
            part.fault(f"{kind}: status {done.returncode}, {done.stdout[:300]!r}")
        if trap.exists():
            part.fault(f"{kind}: a planted program ran")
            trap.unlink()
        if kind == "set-id" and (part.folder / "old.npy").stat().st_mode & 0o6000:
            part.fault("a set-id bit was kept")


def caches(part):
    """Entries that are cut, changed, exchanged, links, pipes, folders, or open to others: never trusted, never waited for."""
    image, cache = part.folder / "in.pgm", part.folder / "cache"
    picture(image, 32, 32, part.numbers)
    program = part.folder / "p.forma"
    program.write_text(unique_program(part.numbers))
    status, right = part.run("run", program, image, "-q")
    if status != 0:
        part.fault(f"cannot run: {right[:200]}")
        return
    while part.time_left():
        entries = [p for p in cache.rglob("*.blob") if p.is_file() and not p.is_symlink()]
        if not entries:
            part.run("run", program, image, "-q")
            continue
        entry = part.numbers.choice(entries)
        data = bytearray(entry.read_bytes())
        kind = part.numbers.choice(["cut", "changed", "empty", "link", "hard link", "pipe", "folder", "open", "open folder", "other"])
        if kind == "cut":
            entry.write_bytes(data[:part.numbers.randrange(len(data))])
        elif kind == "changed":
            data[part.numbers.randrange(len(data))] ^= 1 << part.numbers.randrange(8)
            entry.write_bytes(data)
        elif kind == "empty":
            entry.write_bytes(b"")
        elif kind == "open":
            entry.chmod(0o666)
        elif kind == "open folder":
            cache.chmod(0o777)
        elif kind == "hard link":
            os.link(entry, part.folder / "other-name")
        elif kind == "other":
            entry.write_bytes(part.numbers.randbytes(5000))
        else:
            entry.unlink()
            if kind == "link":
                target = part.folder / "elsewhere"
                target.write_bytes(data)
                entry.symlink_to(target)
            elif kind == "pipe":
                os.mkfifo(entry)
            else:
                entry.mkdir()
        status, said = part.run("run", program, image, "-q", timeout=60)
        part.tried += 1
        part.count(kind)
        if status != 0 or said != right:
            part.fault(f"{kind}: status {status}, {said[:200]}")
        cache.chmod(0o700)
        (part.folder / "other-name").unlink(missing_ok=True)
        if kind in ("pipe", "folder", "link") and (entry.is_symlink() or entry.exists()):
            entry.rmdir() if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        part.run("run", program, image, "-q")


def compilations(part):
    """Texts of at most 4 KB in check, explain and emit: 8 seconds and 4 GB, or the error of the limit."""
    slow, begin = [], list(bombs.known())
    part.numbers.shuffle(begin)
    limit = 8
    while part.time_left():
        text = begin.pop()[1] if begin else bombs.mutated(part.numbers, [t for _, t in slow])
        if len(text) > 4096:
            continue
        (part.folder / "p.forma").write_text(text)
        verb = part.numbers.choice(["check", "explain", "emit"])
        words = [verb, "p.forma", "--compile-limit", limit] + (["-o", "p.c", "--force"] if verb == "emit" else [])
        start = time.monotonic()
        status, said = part.run(*words, limits=[(resource.RLIMIT_AS, 4 << 30)], timeout=60)
        seconds = time.monotonic() - start
        part.tried += 1
        late = "takes longer" in said
        part.count("limit" if late else "done" if status == 0 else "refused")
        if status is None or status not in CLEAN or (status != 0 and "error" not in said):
            part.fault(f"{verb}: status {status} after {seconds:.1f} s of {text[:300]!r}: {said[:200]}")
        elif seconds > part.slack * limit:  # the limit is looked at while nodes are made
            part.fault(f"{verb}: {seconds:.1f} s of {text[:300]!r}")
        slow = sorted(slow + [(seconds, text)], reverse=True)[:8]
    if slow:
        part.notes["slowest"] = f"{slow[0][0]:.1f} s"


PARTS = {"signals": signals, "quotas": quotas, "memory": memory, "inputs": inputs, "planted": planted, "caches": caches,
         "compilations": compilations}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=120, help="of all parts together (120)")
    parser.add_argument("--seed", type=int, default=None, help="of all choices (of the time)")
    parser.add_argument("--slack", type=float, default=2, help="how many times a limit of seconds may pass: more on a busy machine (2)")
    parser.add_argument("--only", default=",".join(PARTS), help="some of " + ",".join(PARTS))
    parser.add_argument("--report", help="a table of what was done, into this file as well")
    options = parser.parse_args()
    names = [n for n in options.only.split(",") if n]
    unknown = [n for n in names if n not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}, expected some of {', '.join(PARTS)}")
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"seed {seed}", flush=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-torture-"))
    lines, wrong = ["| part | attacks | faults | |", "|---|---|---|---|"], 0
    try:
        for name in names:
            part = Part(name, folder, str(options.tessera.resolve()), random.Random(f"{seed} {name}"),
                        options.seconds / len(names))
            part.slack = options.slack
            PARTS[name](part)
            wrong += len(part.wrong)
            notes = ", ".join(f"{k} {v}" for k, v in sorted(part.notes.items()))
            lines.append(f"| {name} | {part.tried} | {len(part.wrong)} | {notes} |")
            print(lines[-1], flush=True)
            for text in part.wrong[:10]:
                print(f"  {text}", flush=True)
            if part.tried == 0:
                print(f"  {name}: nothing was tried", flush=True)
                wrong += 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.report:
        pathlib.Path(options.report).write_text("\n".join(lines) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
