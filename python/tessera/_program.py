"""Compiled programs."""

from __future__ import annotations

import hashlib
import json
import numbers
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tessera import _arrays, _core, _given, _lazy, _options, _ports, _regions, _xarray
from tessera._errors import ArgumentError, Cancelled, Error, IoError
from tessera._forks import Lock
from tessera._ports import Port
from tessera._results import Emitted, Explanation, Outputs

if TYPE_CHECKING:
    from tessera._tasks import Tasks


class Run(Future[Any]):
    """A run that goes on in another thread; ``cancel()`` ends it within a tile."""

    def __init__(self, cancel: _core.Cancel) -> None:
        super().__init__()
        self._ends = cancel
        self._thread: int | None = None  # in which it goes on
        _runs.add(self)

    def _work(self, call: Callable[[], Any]) -> None:
        self._thread = threading.get_ident()
        if not self.set_running_or_notify_cancel():
            return
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            self.set_exception(error)
        else:
            self.set_result(result)

    def _left_behind(self) -> None:
        """In the child of a fork: the thread of the run, and whoever holds its lock, are in the parent."""
        self._condition = threading.Condition()
        if self.done() or self._thread == threading.get_ident():
            return
        super().__init__()
        self.set_exception(Cancelled("the run went on in another thread, which a child of os.fork() does not have"))

    def cancel(self) -> bool:
        if super().cancel():
            return True
        if self.done():
            return False
        self._ends.now()
        return True


_pool: ThreadPoolExecutor | None = None
_pool_lock = Lock()
_runs: weakref.WeakSet[Run] = weakref.WeakSet()


def _workers() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="tessera")
        return _pool


def _forget_workers() -> None:
    global _pool
    _pool = None
    for run in _runs:
        run._left_behind()


os.register_at_fork(after_in_child=_forget_workers)


def _on_device(given: Any) -> bool:
    if hasattr(given, "__cuda_array_interface__"):
        return True
    if not hasattr(given, "__dlpack_device__"):
        return False
    try:
        return int(given.__dlpack_device__()[0]) in (2, 13)
    except Exception:  # noqa: BLE001 - the run says what is wrong with it
        return False


class Program:
    """A program of a file, compiled: ``Program("canny.forma")``. Thread-safe.

    ``parameters`` are numbers for its compile-time parameters by name, ``types`` element types, ``borders`` modes
    ("mirror", "constant(3)", or one for each dimension), ``tables`` arrays. Imports are looked for in the folder of the
    file, in ``import_paths`` and among the standard filters. Raises CompileError for a text that is no program.

    Called with its inputs in order, or by their names, it gives an array for one output, else :class:`Outputs`::

        edges = canny(photo)
        canny(photo, out=edges, numbers="exact", threads=2)
        part = canny(photo, region=np.s_[10:20, 5:9])

    ``region`` computes a part of the results, of several outputs a dictionary of parts; inputs may be an
    :class:`InputWindow` then. ``reads`` says what it reads, ``locality`` what a point depends on.

    Arrays are those of NumPy, torch, CuPy, JAX and xarray, and whatever else has ``__dlpack__``,
    ``__cuda_array_interface__``, ``__array_interface__`` or a buffer; results are of the kind of the first one. Nothing
    is converted: an array of another type than the input's is an ArgumentError. A run of arrays on a GPU is put into the
    stream in which their owner works, and returns.

    Options of a run: ``numbers`` ("fast", "exact"), ``method``, ``schedule``, ``threads`` (0: all), ``target`` ("cpu",
    "cuda", "opencl"; else where the arrays are), ``device``, ``devices`` ("all" or numbers, which share the work on
    arrays of the host), ``device_memory``, ``compiler``, ``compile_limit``, ``tile_rows``, ``tile_columns``, ``progress`` (a function of tiles done and to do; what it raises ends the run; True
    shows them), ``cancel`` (a :class:`Cancel`), ``stream``. Ctrl-C ends a run within a tile.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    #: Compile-time names that shapes bind.
    parameters: tuple[str, ...]
    warnings: tuple[str, ...]

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        parameters: Mapping[str, float] | None = None,
        types: Mapping[str, Any] | None = None,
        borders: Mapping[str, str | Sequence[str]] | None = None,
        tables: Mapping[str, Any] | None = None,
        import_paths: Sequence[str | os.PathLike[str]] | None = None,
        import_only: Sequence[str | os.PathLike[str]] | None = None,
        compile_limit: float | None = None,
    ) -> None:
        path = os.fsdecode(_options.path_bytes("the path", path))
        given = (parameters, types, borders, tables, import_paths, import_only, compile_limit)
        options = _options.compilation(*given)
        try:
            core = _core.Program.file(os.fsencode(path), options)
        except IoError as why:
            if not any(c in path for c in ";\n{"):
                raise
            raise IoError(why.message, why.notes, "write ts.Program.from_text(...) for the text of a program") from None
        self._take(core, parameters)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        name: str | None = None,
        parameters: Mapping[str, float] | None = None,
        types: Mapping[str, Any] | None = None,
        borders: Mapping[str, str | Sequence[str]] | None = None,
        tables: Mapping[str, Any] | None = None,
        import_paths: Sequence[str | os.PathLike[str]] | None = None,
        import_only: Sequence[str | os.PathLike[str]] | None = None,
        compile_limit: float | None = None,
    ) -> Program:
        """A program of a text; ``name`` stands in messages, and imports are looked for in its folder."""
        given = (parameters, types, borders, tables, import_paths, import_only, compile_limit)
        _given.text("the text", text, "the text of a program")
        if text.endswith(".forma") and len(text.split()) == 1:
            raise ArgumentError(f"the text is {text!r}, expected the text of a program", help="write ts.Program(path)")
        name = None if name is None else _given.text("the name", name)
        return cls._from_core(_core.Program.text(text, name, _options.compilation(*given)), parameters)

    @classmethod
    def _from_core(cls, core: _core.Program, chosen: Mapping[str, float] | None = None) -> Program:
        made = cls.__new__(cls)
        made._take(core, chosen)
        return made

    def _take(self, core: _core.Program, chosen: Mapping[str, float] | None) -> None:
        """``chosen``: parameters, as they were given."""
        said = json.loads(core.json)
        self._core = core
        self._run = core.run
        self._chosen = None if chosen is None else dict(chosen)
        self._forward: Program | None = None  # of which this is the adjoint
        self._graph: str | None = None
        self.inputs = tuple(map(_ports.port_of, said["inputs"]))
        self.outputs = tuple(map(_ports.port_of, said["outputs"]))
        self.parameters = tuple(said["parameters"])
        self.warnings = tuple(said["warnings"])
        self._places = {p.name: k for k, p in enumerate(self.inputs)}
        self._names = tuple(p.name or "out" for p in self.outputs)
        self._single = len(self.outputs) == 1

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """Runs it on arrays, in order or by name; ``region`` asks for a part. Options are those of the class."""
        if "dask.array" in sys.modules and _lazy.any_of(arrays, named):
            return _lazy.call(self, arrays, out, named)
        if "region" in named and "region" not in self._places:
            if named["region"] is not None:
                return self._window(arrays, out, named)
            del named["region"]
        if not named and "xarray" not in sys.modules:
            if out is None:
                results = self._run(arrays)
                return results[0] if self._single else Outputs(results, self._names)
            if self._single and hasattr(out, "shape"):
                self._run(arrays, (out,))
                return out
        options = self._take_options(named)
        inputs = self._in_order(arrays, named)
        inputs, like = _xarray.unwrapped(inputs)
        results = self._run(inputs, self._outs(out), _options.run(options))
        if like is not None and out is None:
            results = tuple(_xarray.wrapped(r, like) for r in results)
        if self._single:
            given = self._whole(out)
            return results[0] if given is None else given
        return Outputs(results, self._names)

    def _window(self, arrays: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """A part of the results: ``region=np.s_[10:20, 5:9]``."""
        region = named.pop("region")
        options = self._take_options(named)
        given = list(self._in_order(arrays, named))
        places: list[_regions.Box | None] = []
        for k, (value, port) in enumerate(zip(given, self.inputs, strict=False)):
            window = isinstance(value, _regions.InputWindow)
            places.append(_regions.place_of(value, port.rank, port.name) if window else None)
            if window:
                given[k] = value.array
        inputs, like = _xarray.unwrapped(tuple(given))
        shapes = self._core.whole_shapes(inputs, places)
        boxes = _regions.boxes_of(region, self._names, shapes)
        results = self._core.run_region(
            inputs,
            places,
            boxes,
            [p.window_shape(b) for b, p in zip(boxes, self.outputs, strict=True)],
            self._outs(out),
            _options.run(options),
        )
        if like is not None and out is None and places == [None] * len(places):  # coordinates are those of the whole
            results = tuple(
                r if box is None else _xarray.wrapped(r, like, (box, shape))
                for r, box, shape in zip(results, boxes, shapes, strict=True)
            )
        if self._single:
            whole = self._whole(out)
            return results[0] if whole is None else whole
        return Outputs(results, self._names)

    def locality(self) -> tuple[_regions.Locality, ...]:
        """Of every output what a point of it depends on: halos, steps, or why no part of it can be had alone."""
        return _regions.localities(json.loads(self._core.locality()))

    def reads(self, region: Any, *arrays: Any, output: str | None = None, **named: Any) -> tuple[Any, ...]:
        """What ``program(..., region=region)`` reads of every input, for inputs or shapes of inputs: tuples of slices, None
        for numbers. Of several outputs ``output`` names one, or ``region`` as {name: slices}."""
        options = self._take_options(named)
        return self._reads(region, self._shaped(arrays, named), output, options)

    def _reads(
        self, region: Any, inputs: tuple[Any, ...], output: str | None, options: dict[str, Any]
    ) -> tuple[Any, ...]:
        names = self._names
        if isinstance(region, Mapping) and len(region) == 1 and output is None:
            output, region = next(iter(region.items()))
        if output is None and len(names) > 1:
            raise ArgumentError(f"output is not given, expected one of {', '.join(names)}")
        if output is not None and output not in names:
            raise ArgumentError(f"output is {_given.shown(output)}, expected one of {', '.join(names)}")
        place = 0 if output is None else names.index(output)
        shape = self._core.whole_shapes(inputs, [None] * len(inputs))[place]
        begin, end = _regions.box_of(region, shape, names[place])
        return tuple(
            None if box is None else tuple(slice(b, e) for b, e in zip(*box, strict=True))
            for box in self._core.reads(inputs, place, begin, end, _options.run(options))
        )

    def tasks(self, src: Any, dst: Any, **options: Any) -> Tasks:
        """Picklable, restartable tasks that compute from files to files: see :func:`tessera.tasks`."""
        return import_module("tessera._tasks").tasks(self, src, dst, **options)  # type: ignore[no-any-return]

    def store(self, src: Any, dst: Any, **options: Any) -> None:
        """Computes from files to files, larger than memory, here or on a cluster: see :func:`tessera.store`."""
        import_module("tessera._store").store(self, src, dst, **options)

    def submit(self, *arrays: Any, out: Any = None, **named: Any) -> Run:
        """The same in another thread: a ``concurrent.futures.Future``. Arrays on a GPU are put into their stream at
        once, and the future is done, as it is with lazy arrays."""
        cancel = named.get("cancel")
        lazy = "dask.array" in sys.modules and _lazy.any_of(arrays, named)
        if cancel is None:
            cancel = _core.Cancel()
            if not lazy:
                named["cancel"] = cancel
        elif not isinstance(cancel, _core.Cancel):
            raise ArgumentError(f"cancel is {_given.shown(cancel)}, expected a tessera.Cancel")
        run = Run(cancel)

        def work() -> None:
            run._work(lambda: self(*arrays, out=out, **named))

        if lazy or any(map(_on_device, arrays)) or any(map(_on_device, named.values())):
            work()
            return run
        try:
            _workers().submit(work)
        except RuntimeError as why:  # no more threads, or the interpreter ends
            Future.cancel(run)
            raise Error(
                f"the run cannot go on in another thread: {why}", help="call the program itself, which runs in this one"
            ) from None
        return run

    def interpret(self, *arrays: Any, **named: Any) -> Any:
        """The same by the slow, obvious interpreter, which every target agrees with; arrays of the host. Of the options of
        a run it takes ``cancel``; Ctrl-C ends it."""
        cancel = None if "cancel" in self._places else named.pop("cancel", None)
        inputs, like = _xarray.unwrapped(self._in_order(arrays, named))
        results = self._core.interpret(inputs, _options.run({"cancel": cancel}))
        if like is not None:
            results = tuple(_xarray.wrapped(r, like) for r in results)
        return results[0] if self._single else Outputs(results, self._names)

    def output_shapes(self, *arrays: Any, **named: Any) -> tuple[tuple[int, ...], ...]:
        """Shapes of the outputs for inputs, or for shapes of inputs. Numbers may be left out."""
        return self._core.output_shapes(self._shaped(arrays, named))

    def explain(self, *arrays: Any, format: str = "text", **named: Any) -> Explanation:
        """What the plan decided and why, for inputs or for shapes of inputs: "text", "json" or "svg".

        In a notebook the picture is shown. Numbers may be left out."""
        options = _options.run(self._take_options(named))
        inputs = self._shaped(arrays, named)
        _given.text("format", format, '"text", "json" or "svg"')
        return Explanation(lambda f: self._core.explain(inputs, f, options), format)

    def emit(self, target: str = "c", **options: Any) -> Emitted:
        """The code of a target, the same that runs: "c", "cuda", "opencl", "hls" or "verilog".

        Options are those of ``tessera emit``: ``name``, ``numbers``, ``vector_bits``, and of hardware ``height``,
        ``width``, ``lanes``, ``error``, ``frequency``, ``chip``, ``inputs`` ({"image": "uint8/4"}). ``shapes``
        ({"image": (1080, 1920)}, of one array its extents alone) make a file for these extents, which takes any others as
        well: it has the plan of a run of these and, for GPUs, its Fourier transforms.

        An ArgumentError says which option does not fit. Nothing is written."""
        if not isinstance(target, str):
            raise ArgumentError(
                f"the target is a {type(target).__name__}, expected a word",
                help='"c", "cuda", "opencl", "hls" or "verilog" comes first',
            )
        chosen = _core.Options()
        chosen.set("target", target)
        for name, value in _given.by_name("inputs", options.pop("inputs", None), '{"image": "uint8/4"}').items():
            chosen.set(f"input.{name}", value)
        for name, shape in self._named_shapes(options.pop("shapes", None)).items():
            what = f'shapes["{name}"]'
            extents = _given.several(what, shape, "extents")
            chosen.set(f"shape.{name}", [float(_given.whole(f"an extent of {what}", n, 1)) for n in extents])
        for name, value in options.items():
            if name not in _EMIT:
                raise ArgumentError(
                    f"{name!r} is no option of emit",
                    (f"options: {', '.join(_EMIT)}, inputs, shapes",),
                    _given.near(name, [*_EMIT, "inputs", "shapes"]),
                )
            chosen.set(name, value)
        return Emitted(*self._core.emit(chosen))

    def _named_shapes(self, shapes: Any) -> Mapping[str, Any]:
        """Extents by the names of arrays; of a program with one array its extents alone will do."""
        if shapes is None or isinstance(shapes, Mapping):
            return _given.by_name("shapes", shapes, '{"image": (1080, 1920)}')
        arrays = [p.name for p in self.inputs if p.array]
        if len(arrays) == 1 and is_shape(shapes):
            return {arrays[0]: shapes}
        wanted = ", ".join(f'"{name}": (...)' for name in arrays)
        raise ArgumentError(
            f"shapes are {shapes!r}, expected extents by the names of arrays", help=f"write {{{wanted}}}"
        )

    def adjoint(self) -> Program:
        """The program that goes backwards: it takes the inputs of this one and then, for each output of floats, how a number
        changes with its elements; it gives how the number changes with each element of every input of floats, in order."""
        made = Program._from_core(self._core.adjoint())
        made._forward = self
        return made

    @property
    def graph(self) -> str:
        """The graph of stages as text: equal texts are equal programs."""
        return self._core.graph

    def __repr__(self) -> str:
        def listed(ports: tuple[Port, ...]) -> str:
            return ", ".join(map(str, ports))

        text = f"<Program ({listed(self.inputs)}) -> ({listed(self.outputs)})"
        if self.parameters:
            text += f", {', '.join(self.parameters)} by shapes"
        return text + "".join(f", {name} = {value}" for name, value in (self._chosen or {}).items()) + ">"

    def graph_text(self) -> str:
        """The graph, kept: it is what programs are pickled as."""
        if self._graph is None:
            self._graph = self._core.graph
        return self._graph

    def __reduce__(self) -> tuple[Any, ...]:
        """The text of the graph: with what was imported, tables and parameters, so that no file is needed elsewhere."""
        if self._forward is not None:
            return _restored_adjoint, (self._forward,)
        return _restored, (self.graph_text(), self._chosen, self.warnings)

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: Any) -> Program:
        return self  # it does not change

    # ---- arguments -------------------------------------------------------------------------------------------------

    def _take_options(self, named: dict[str, Any]) -> dict[str, Any]:
        """Takes options of a run out of what is named; an input of the same name has precedence."""
        places = self._places
        return {n: named.pop(n) for n in tuple(named) if n not in places and _options.is_run_option(n)}

    def _in_order(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        if not named:
            return arrays
        inputs: list[Any] = [*arrays, *([_missing] * (len(self.inputs) - len(arrays)))]
        for name, value in named.items():
            place = self._places.get(name)
            if place is None:
                raise ArgumentError(
                    f"{name!r} is neither an input nor an option of a run",
                    (f"inputs: {', '.join(self._places)}", f"options: {', '.join(_options.RUN)}"),
                    _given.near(name, [*self._places, *_options.RUN, "region", "out"]),
                )
            if place < len(arrays):
                raise ArgumentError(f"input {name!r} is given twice")
            inputs[place] = value
        missing = [p.name for p, v in zip(self.inputs, inputs, strict=False) if v is _missing]
        if missing:
            raise ArgumentError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given")
        return tuple(inputs)

    def _shaped(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Arrays of the right types where shapes are given."""
        ports = [p for p in self.inputs if p.name not in named]
        if len(arrays) < len(ports) and len(arrays) == sum(p.array for p in ports):
            given = iter(arrays)
            arrays, named = (), {p.name: next(given) if p.array else None for p in ports} | named
        inputs, _ = _xarray.unwrapped(self._in_order(arrays, named))
        return tuple(
            (_ports.hollow(v, p) if is_shape(v) else _arrays.stand_in(v, p.name)) if p.array else v
            for v, p in zip(inputs, self.inputs, strict=False)
        )

    def _outs(self, out: Any) -> Sequence[Any] | None:
        if out is None:
            return None
        if isinstance(out, Mapping):
            unknown = [n for n in out if n not in self._names]
            if unknown:
                raise ArgumentError(f"out has {unknown[0]!r}, expected some of {', '.join(self._names)}")
            return [_bare(out.get(n)) for n in self._names]
        if self._single and not isinstance(out, tuple | list):
            return [_bare(out)]
        if not isinstance(out, tuple | list):
            raise ArgumentError(
                f"out is one array, expected {len(self._names)}: {', '.join(self._names)}",
                help="write a tuple of them, or a dictionary by their names; None for one to be made",
            )
        return [_bare(o) for o in out]

    def _whole(self, out: Any) -> Any:
        if isinstance(out, Mapping):
            return out.get(self._names[0])
        return out[0] if isinstance(out, tuple | list) else out


_missing: Any = object()
_most = 64  # unpickled programs that are kept
_kept: dict[str, Program] = {}
_kept_lock = Lock()


def _restored(graph: str, chosen: Mapping[str, float] | None, warnings: tuple[str, ...]) -> Program:
    """A program that was pickled."""

    def made() -> Program:
        program = Program._from_core(_core.Program.of_graph(graph), chosen)
        program.warnings = warnings
        return program

    return _once(hashlib.sha256(graph.encode()).hexdigest(), made)


def _restored_adjoint(forward: Program) -> Program:
    key = hashlib.sha256(forward.graph_text().encode()).hexdigest()
    return _once(f"adjoint {key}", forward.adjoint)


def _once(key: str, make: Callable[[], Program]) -> Program:
    """A process has an unpickled program once, however many tasks bring it."""
    with _kept_lock:
        found = _kept.get(key)
        if found is None:
            found = make()
            while len(_kept) >= _most:
                del _kept[next(iter(_kept))]
            _kept[key] = found
        return found


def _bare(array: Any) -> Any:
    return _xarray.unwrapped((array,))[0][0]


#: Options of emit, as the library has them.
_EMIT = (
    "name",
    "kernels_file",
    "numbers",
    "schedule",
    "method",
    "compile_limit",
    "tile_rows",
    "tile_columns",
    "vector_bits",
    "height",
    "width",
    "fixed",
    "lanes",
    "error",
    "frequency",
    "chip",
    "additions",
)


def is_shape(given: Any) -> bool:
    """Whether numbers are extents, not what an array would be made of."""
    return isinstance(given, tuple | list) and all(isinstance(n, numbers.Real) for n in given)
