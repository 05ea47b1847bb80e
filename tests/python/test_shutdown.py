"""What is asked for while the interpreter ends, and of other interpreters than the main one."""

import subprocess
import sys
import unittest

BEGIN = """
import atexit, os, sys, threading, time
import numpy as np
import tessera as ts
program = ts.Program.from_text("parameter M, N; vector#2 float image[M,N]; return image;")
pipe = ts.pipeline(lambda image: image + 1)
x = np.ones((8, 8), np.float32)
program(x), pipe(x)

def submit(of=program):
    try:
        print("got", of.submit(x).result(20).shape)
    except ts.Error as error:
        print("refused:", error)
"""


class Shutdown(unittest.TestCase):
    def said(self, text):
        ended = subprocess.run(
            [sys.executable, "-c", BEGIN + text], timeout=60, check=False, capture_output=True, text=True
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)
        self.assertNotIn("Exception ignored", ended.stderr)
        return ended.stdout

    def test_submit_at_exit(self):
        for first in ("", "program.submit(x).result()\n"):
            for of in ("program", "pipe"):
                said = self.said(first + f"atexit.register(submit, {of})\n")
                self.assertIn("refused: the run cannot go on in another thread", said)
                self.assertIn("help: call the program itself", said)

    def test_the_program_itself_at_exit(self):
        said = self.said(
            "atexit.register(lambda: print(program(x).sum(), ts.gaussian(x, sigma=1).shape, pipe(x).sum()))\n"
        )
        self.assertEqual(said.split("\n")[0], "64.0 (8, 8) 128.0")
        stencil = "stencil scaled(vector#2 float X, float g) { return X * g; }"
        text = f"ts.Program.from_text('parameter M, N; vector#2 float i[M,N]; float g; {stencil} return scaled(i, g);')"
        self.assertEqual(self.said(f"atexit.register(lambda: print({text}(x, 3).sum()))\n"), "192.0\n")

    def test_runs_that_go_on_are_waited_for(self):
        text = """
program.submit(np.ones((4000, 4000), np.float32)).add_done_callback(lambda run: print(run.result().shape))
"""
        self.assertEqual(self.said(text), "(4000, 4000)\n")

    def test_submit_of_a_thread_that_outlives_the_main_one(self):
        text = """
def work():
    threading.main_thread().join()
    submit()
threading.Thread(target=work).start()
"""
        said = self.said(text)
        self.assertTrue(said.startswith(("got", "refused: the run cannot go on")), said)

    def test_submit_of_daemons_while_it_ends(self):
        text = """
def work():
    while True:
        try:
            program.submit(x).result(20)
        except ts.Error:
            pass
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
"""
        for _ in range(3):
            self.said(text)

    def test_submit_of_what_is_collected_last(self):
        """Modules have lost their names by then, which no sentence survives; nothing hangs or crashes."""
        text = """
class Last:
    def __init__(self, of, x):
        self.of, self.x = of, x
    def __del__(self, Any=BaseException, write=os.write):
        try:
            self.of.submit(self.x).result(20)
        except Any:
            write(1, b"refused")
last = Last(program, x)
"""
        self.assertEqual(self.said(text), "refused")

    def test_other_interpreters(self):
        text = """
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit()
text = '''
for _ in range(2):
    try:
        import tessera
    except ImportError as error:
        print(error, flush=True)
    else:
        print("imported", flush=True)
'''
for kind in ((), ("legacy",), ({"isolated": False},)):
    try:
        number = interpreters.create(*kind) if not kind or kind[0] == "legacy" else interpreters.create(**kind[0])
    except TypeError:
        continue
    (getattr(interpreters, "exec", None) or interpreters.run_string)(number, text)
    print(ts.gaussian(x, sigma=1).sum() > 60, program.submit(x).result().shape, flush=True)
"""
        lines = self.said(text).splitlines()
        if not lines:
            self.skipTest("there are none")
        for line in lines:
            self.assertRegex(line, "not in sub-interpreters|not support loading in subinterpreters|^True ")


if __name__ == "__main__":
    unittest.main()
