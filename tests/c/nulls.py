"""Every function of the header with every choice of its pointers null and the others good: nulls.py LIBRARY HEADER. None ends
the process, and none is a fault of Tessera. Each function is called in a process of its own."""

import ctypes
import pathlib
import re
import subprocess
import sys


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int), ("number", ctypes.c_int), ("ndim", ctypes.c_int),
                ("dtype", Type), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


class Offset(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int64), ("terms", ctypes.c_size_t), ("variables", ctypes.c_void_p),
                ("factors", ctypes.c_void_p)]


class Output(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("images", ctypes.c_void_p), ("count", ctypes.c_size_t),
                ("fields", ctypes.c_void_p)]


FLOAT = Type(2, 32, 1)
PROGRAM = b"parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return X + 1; } return f(a);"
INTERNAL_ERROR = 6


def functions(header):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S)
    for result, name, arguments in re.findall(r"TSR_API ([^;(#]*?)\b(tsr_\w+)\s*\(([^;]*?)\)\s*;", text):
        words = [word.strip() for word in " ".join(arguments.split()).split(",")]
        yield result, name, [] if words == ["void"] else words


def is_pointer(argument):
    return "*" in argument or "tsr_progress" in argument


class Good:
    """Arguments that a function takes."""

    def __init__(self, library):
        self.kept = []  # what the arguments point to
        self.library = library
        self.handles = {"program": self.made("tsr_compile_text", PROGRAM, None, None), "cancel": self.made("tsr_cancel_new"),
                        "options": self.made("tsr_options_new"), "pipeline": self.made("tsr_pipeline_new"),
                        "filter": self.made("tsr_filter_new", b"box", FLOAT, 1, None), "stream": None}
        pipeline, image, value, here = self.handles["pipeline"], ctypes.c_uint32(), ctypes.c_uint32(), Offset()
        library.tsr_pipeline_input(pipeline, b"a", FLOAT, 1, None, None, ctypes.c_size_t(0), ctypes.byref(image))
        library.tsr_pipeline_read(pipeline, image, ctypes.byref(here), ctypes.c_size_t(1), ctypes.byref(value))
        self.images = self.keep((ctypes.c_uint32 * 1)(image.value))
        self.shape = self.keep((ctypes.c_int64 * 4)(8, 1, 1, 1))

    def keep(self, thing):
        self.kept.append(thing)
        return thing

    def made(self, function, *arguments):
        handle = ctypes.c_void_p()
        assert getattr(self.library, function)(*arguments, ctypes.byref(handle)) == 0, function
        return handle

    def tensor(self):
        data = self.keep((ctypes.c_float * 64)())
        return self.keep(Tensor(ctypes.addressof(data), 1, 0, 1, FLOAT, ctypes.addressof(self.shape), None, 0))

    def pointer(self, function, argument):
        handle = re.search(r"tsr_(program|options|cancel|filter|pipeline|stream)\*(\*?)", argument)
        if "char" in argument and argument.count("*") == 1:
            words = {"format": b"json", "operation": b"add"}
            name = b"gaussian" if function == "tsr_filter_new" else b"name"
            known = next((word for key, word in words.items() if key in argument), name)
            return None if function == "tsr_string_free" else known  # of malloc alone
        if "char" in argument:
            return self.keep((ctypes.c_char_p * 4)(b"x", b"y", b"z", b"w") if "const" in argument else (ctypes.c_void_p * 4)())
        if "DLTensor* const*" in argument:
            return self.keep((ctypes.c_void_p * 1)(ctypes.addressof(self.tensor())))
        if "DLTensor" in argument:
            return ctypes.byref(self.tensor())
        if "tsr_offset" in argument:
            return ctypes.byref(self.keep(Offset()))
        if "tsr_output" in argument:
            return ctypes.byref(self.keep(Output(b"", ctypes.addressof(self.images), 1, None)))
        if handle:
            return ctypes.byref(self.keep(ctypes.c_void_p())) if handle[2] else self.handles[handle[1]]
        return None if "tsr_progress" in argument else self.keep((ctypes.c_uint64 * 64)())

    def value(self, argument):
        if "DLDataType" in argument:
            return FLOAT
        for word, kind, number in (("double", ctypes.c_double, 1), ("int64", ctypes.c_int64, 1),
                                   ("size_t", ctypes.c_size_t, 1), ("int rank", ctypes.c_int, 1)):
            if word in argument:
                return kind(number)
        return ctypes.c_int(0)


def call(library, result, name, arguments, nulls):
    good, values = Good(library), []
    for argument in arguments:
        if not is_pointer(argument):
            values.append(good.value(argument))
            continue
        values.append(None if nulls & 1 else good.pointer(name, argument))
        nulls >>= 1
    function = getattr(library, name)
    function.restype = ctypes.c_int if "tsr_status" in result else ctypes.c_void_p
    return function(*values)


def call_all(path, result, name, arguments):
    library = ctypes.CDLL(path)
    for nulls in range(1, 1 << sum(map(is_pointer, arguments))):
        print(f"{name}, null: {nulls:b}", flush=True)
        if call(library, result, name, arguments, nulls) == INTERNAL_ERROR and "tsr_status" in result:
            sys.exit(1)


def main():
    path, header = sys.argv[1:3]
    found = list(functions(header))
    if len(sys.argv) > 3:
        call_all(path, *found[int(sys.argv[3])])
        return 0
    failed = 0
    for k, (_, name, _) in enumerate(found):
        run = subprocess.run([sys.executable, __file__, path, header, str(k)], capture_output=True, text=True, timeout=60)
        if run.returncode != 0:
            failed += 1
            print(f"{name} ends with {run.returncode}: {run.stdout.splitlines()[-1:]} {run.stderr.splitlines()[-1:]}")
    print(f"{len(found)} functions, {failed} failed")
    return 1 if failed or len(found) < 70 else 0


if __name__ == "__main__":
    sys.exit(main())
