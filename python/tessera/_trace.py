"""Pipelines: functions of images that run once, to be built, for each kind of arguments.

Nothing is parsed: the function is called with images that record what is done with them, so that it may be a lambda, a
closure, or typed into a shell, and call whatever it likes.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast, overload

from tessera import _channels, _core, _given, _options, _xarray
from tessera._arrays import is_uniform, move_axis, stand_in
from tessera._builder import Builder, DType, builders, dtype_name
from tessera._errors import ArgumentError
from tessera._forks import Lock
from tessera._images import Image, ImageType, Planes, Total, stage
from tessera._methods import Method
from tessera._parameters import (
    _SCALARS,
    Constant,
    _annotations,
    _extent,
    _is_array,
    _number_type,
    _Parameter,
    _plane_names,
)
from tessera._program import Program, Run, is_shape
from tessera._regions import InputWindow, Locality
from tessera._results import Emitted, Explanation
from tessera._store import store
from tessera._tasks import Tasks, tasks
from tessera._values import Value


class _Known(NamedTuple):
    """Where the inputs of a program are among the arguments of a call, or, counted from -1 down, among defaults."""

    program: Program
    order: tuple[int, ...]  # empty: as they are given
    defaults: tuple[Any, ...]


_ARRAY_TYPES: set[type] = set()  # of torch and CuPy, as far as they were met


def _is_array_type(kind: type) -> bool:
    if kind.__name__ not in ("Tensor", "ndarray") or kind.__module__.partition(".")[0] not in ("torch", "cupy"):
        return False
    _ARRAY_TYPES.add(kind)
    return True


class Pipeline:
    """A function of images as a program. ``@ts.pipeline`` makes one; called with arrays it runs.

    Arguments that are arrays become images of their type and rank; numbers become numbers of the program (float32, int32
    or bool, an annotation such as ``ts.float64`` chooses), so that another number builds nothing again; all else, and what
    is annotated ``ts.Constant``, reaches the function as it is. With ``channel_axis`` arrays have their channels there and
    are images of planes, ``image["r"]``: y a, r g b, r g b a, or c0 c1 ... by their number.

    The function returns an image or a value, a dictionary of them by name, or a tuple; a dictionary or planes in the
    place of an image are an output of planes. Called within another pipeline it becomes a part of that one. Thread-safe.
    """

    def __init__(self, function: Callable[..., Any], channel_axis: int | None = None) -> None:
        self._function = function
        self._channel_axis = None if channel_axis is None else _given.whole("channel_axis", channel_axis)
        try:
            if type(function).__name__ == "ufunc":  # whose arguments say how, too
                raise TypeError
            self._signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"a pipeline is made of {function!r}, expected a function of images", help="write def or lambda"
            ) from None
        self._annotations = _annotations(function)
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                raise ArgumentError(
                    f"{self._name()} takes **{name}", help="name its parameters: each is an input of the program"
                )
        self._built: dict[Any, Program] = {}
        self._known: dict[Any, _Known] = {}
        self._lock = Lock()
        self.__qualname__: str
        functools.update_wrapper(self, function)

    def __call__(self, /, *args: Any, out: Any = None, **named: Any) -> Any:
        if "region" in named and "region" not in self._signature.parameters:
            if named["region"] is not None:
                return self._window(args, out, named)
            del named["region"]
        plain = self._plain(args, named) if out is None and self._channel_axis is None else None
        if plain is not None:
            known = self._known.get(plain)
            if known is not None:
                if not named and not known.order:
                    return known.program(*args)
                given = (*args, *named.values())
                return known.program(*[given[k] if k >= 0 else known.defaults[~k] for k in known.order])
        values = list(args) + list(named.values())
        if builders() and any(isinstance(v, (Image, Value, Planes)) for v in values):
            return self._inlined(args, named)
        axis = self._axis(named)
        options = self._take_options(named)
        program, inputs = self._bound(args, named, axis)
        if out is not None:
            result = program(*inputs, out=_channels.targets(program, out, axis), **options)
            return _channels.in_place(out, _channels.shown(program, result, axis))
        result = program(*inputs, **options)
        if plain is not None and not options and axis is None:
            self._remember(plain, program, args, named)
        return _channels.shown(program, result, axis)

    def _window(self, args: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """A part of the results, ``region=np.s_[10:20, 5:9]``; channels are not counted among the dimensions."""
        region = named.pop("region")
        axis = self._axis(named)
        options = self._take_options(named)
        program, inputs = self._bound(args, named, axis)
        targets = None if out is None else _channels.targets(program, out, axis)
        result = program(*inputs, out=targets, region=region, **options)
        shown = _channels.shown(program, result, axis)
        return shown if out is None else _channels.in_place(out, shown)

    def tasks(self, /, src: Any, dst: Any, **options: Any) -> Tasks:
        """Picklable, restartable tasks that compute from files to files: see :func:`tessera.tasks`."""
        return tasks(self, src, dst, **options)

    def store(self, /, src: Any, dst: Any, **options: Any) -> None:
        """Computes from files to files, larger than memory, here or on a cluster: see :func:`tessera.store`."""
        store(self, src, dst, **options)

    def submit(self, /, *args: Any, out: Any = None, **named: Any) -> Run:
        """The same in another thread: a ``concurrent.futures.Future``. Results have their channels last."""
        asked = "region" in named and "region" not in self._signature.parameters
        part = {"region": named.pop("region")} if asked else {}
        axis = self._axis(named)
        options = self._take_options(named)
        program, inputs = self._bound(args, named, axis)
        targets = None if out is None else _channels.targets(program, out, axis)
        return program.submit(*inputs, out=targets, **options, **part)

    def output_shapes(self, /, *args: Any, **named: Any) -> tuple[tuple[int, ...], ...]:
        """Shapes of the results for these arguments, channels last."""
        axis = self._axis(named)
        program, inputs = self._bound(args, named, axis)
        return program.output_shapes(*inputs)

    def locality(self, /, *args: Any, **named: Any) -> tuple[Locality, ...]:
        """Of every output what a point of it depends on, for arguments like these: see :meth:`Program.locality`."""
        return self.compile(*args, **named).locality()

    def reads(self, region: Any, /, *args: Any, **named: Any) -> tuple[Any, ...]:
        """What ``pipeline(..., region=region)`` reads of every input of its program: see :meth:`Program.reads`. Of several
        outputs ``output`` names one. A shape will do for an array whose type and rank an annotation says."""
        axis = self._axis(named)
        output = None if "output" in self._signature.parameters else named.pop("output", None)
        options = self._take_options(named)
        if not any(map(_is_array, (*args, *named.values()))) and not any(
            isinstance(a, ImageType) for a in self._annotations.values()
        ):
            raise ArgumentError(
                f"{self._name()} is given no array, and no annotation says what a shape is of",
                help=f'give an array, or write {next(iter(self._signature.parameters), "image")}: ts.Image["float32", 2]',
            )
        program, inputs = self._bound(args, named, axis, partly=True, shapes=True)
        for port, value in zip(program.inputs, inputs, strict=True):
            if port.array and value is inspect.Parameter.empty:
                raise ArgumentError(f"{port.name!r} is not given", help="give an array, or its shape")
        given = tuple(None if i is inspect.Parameter.empty else i for i in inputs)
        return program._reads(region, program._shaped(given, {}), output, options)

    def compile(self, /, *args: Any, **named: Any) -> Program:
        """The program for arguments like these. Arrays may be left out whose type and rank an annotation says, or be
        types themselves: ``edges.compile(ts.Image["float32", 2])``."""
        axis = self._axis(named)
        self._take_options(named)
        return self._bound(args, named, axis, partly=True)[0]

    def explain(self, /, *args: Any, format: str = "text", **named: Any) -> Explanation:
        """What the plan decided and why, for these arguments: "text", "json" or "svg". In a notebook the picture is shown."""
        axis = self._axis(named)
        options = self._take_options(named)
        program, inputs = self._bound(args, named, axis)
        return program.explain(*inputs, format=format, **options)

    def interpret(self, /, *args: Any, **named: Any) -> Any:
        """The same by the slow, obvious interpreter, which every target agrees with."""
        axis = self._axis(named)
        cancel = None if "cancel" in self._signature.parameters else named.pop("cancel", None)
        program, inputs = self._bound(args, named, axis)
        return _channels.shown(program, program.interpret(*inputs, cancel=cancel), axis)

    def emit(self, target: str = "c", *args: Any, options: Mapping[str, Any] | None = None, **named: Any) -> Emitted:
        """The code of a target, the same that runs, for arguments like these; ``options`` as :meth:`Program.emit` takes them.

        Without arguments it is that of the only program that has been built, or of what annotations say."""
        options = _given.by_name("options", options, '{"name": "sharpen"}')
        with self._lock:
            built = list(self._built.values())
        if not args and not named and len(built) == 1:
            return built[0].emit(target, **options)
        return self.compile(*args, **named).emit(target, **options)

    def clear(self) -> None:
        """Forgets what has been built: the function is called again, and sees what it closes over as it is then."""
        with self._lock:
            self._built.clear()
            self._known.clear()

    def __reduce__(self) -> Any:
        name = self.__qualname__
        if "<" in name:  # a lambda or a function in a function, which a library that pickles code can take
            return Pipeline, (self._function, self._channel_axis)
        return name

    def adjoint(self, /, *args: Any, **named: Any) -> Program:
        """The program that goes backwards, for arguments like these: see :meth:`Program.adjoint`."""
        return self.compile(*args, **named).adjoint()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method is a pipeline, too; what it belongs to is a constant."""
        return self if instance is None else Method(self, instance)

    def __repr__(self) -> str:
        return f"<pipeline {getattr(self._function, '__qualname__', self._function)}{self._signature}>"

    # ---- calls like those before ----

    def _plain(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What tells a call of arrays of NumPy, torch and CuPy and of Python's numbers from others; None for any other
        call."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        array = numpy.ndarray
        key: list[Any] = []
        for a in (*args, *named.values()) if named else args:
            kind = type(a)
            if kind is array:
                key.append((a.dtype, a.ndim))
            elif kind is float or kind is int or kind is bool:
                key.append(kind)
            elif (kind in _ARRAY_TYPES or _is_array_type(kind)) and a.ndim > 0:
                key.append((kind, a.dtype, a.ndim))
            else:
                return None
        return (tuple(key), tuple(named)) if named else tuple(key)

    def _remember(self, plain: Any, program: Program, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Which arguments and defaults are the inputs of the program, in order."""
        parameters = self._signature.parameters
        if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters.values()):
            return
        places = {name: k for k, name in enumerate((*list(parameters)[: len(args)], *named))}
        if any(self._annotations.get(name) is Constant for name in places):
            return
        order: list[int] = []
        defaults: list[Any] = []
        for name, p in parameters.items():
            if name in places:
                order.append(places[name])
            elif self._annotations.get(name) is not Constant and isinstance(p.default, numbers.Number):
                order.append(~len(defaults))
                defaults.append(p.default)
        if len(order) != len(program.inputs):
            return
        straight = not named and order == list(range(len(args)))
        with self._lock:  # who looks for the oldest one must not meet one that is put in
            while len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[plain] = _Known(program, () if straight else tuple(order), tuple(defaults))

    # ---- arguments -------------------------------------------------------------------------------------------------

    def _axis(self, named: dict[str, Any]) -> int | None:
        if "channel_axis" in named and "channel_axis" not in self._signature.parameters:
            axis = named.pop("channel_axis")
            return None if axis is None else _given.whole("channel_axis", axis)
        return self._channel_axis

    def _take_options(self, named: dict[str, Any]) -> dict[str, Any]:
        known = self._signature.parameters
        return {n: named.pop(n) for n in tuple(named) if n not in known and _options.is_run_option(n)}

    def _bound(
        self,
        args: tuple[Any, ...],
        named: dict[str, Any],
        axis: int | None,
        partly: bool = False,
        shapes: bool = False,
    ) -> tuple[Program, list[Any]]:
        """The program, and its inputs in order. ``partly``: what an annotation says may be left out; ``shapes``: extents
        stand for arrays whose type one says."""
        try:
            bound = (self._signature.bind_partial if partly else self._signature.bind)(*args, **named)
        except TypeError as why:
            unknown = next((n for n in named if n not in self._signature.parameters), None)
            words = [*self._signature.parameters, *_options.RUN, "region", "out", "channel_axis"]
            near = "" if unknown is None else _given.near(unknown, words)
            raise ArgumentError(f"{self._name()}: {why}", help=f"{near} it takes {self._signature}".lstrip()) from None
        bound.apply_defaults()
        parameters: dict[str, list[_Parameter]] = {}
        inputs: list[Any] = []
        for name, declared in self._signature.parameters.items():
            several = declared.kind is inspect.Parameter.VAR_POSITIONAL
            if name not in bound.arguments:
                values: Sequence[Any] = [inspect.Parameter.empty]
            else:
                values = bound.arguments[name] if several else [bound.arguments[name]]
            parameters[name] = []
            for value in values:
                wanted = self._annotations.get(name)
                if shapes and isinstance(wanted, ImageType) and is_shape(value):
                    parameter, given = self._of_type(name, wanted), _channels.last(value, wanted, axis)
                else:
                    parameter, given = self._parameter(name, value, axis)
                parameters[name].append(parameter)
                if parameter.types:
                    inputs.extend(given)
                elif parameter.kind != "constant":
                    inputs.append(given)
        key = tuple(p.key() for all_of in parameters.values() for p in all_of)
        program = self._built.get(key)
        if program is None:
            with self._lock:
                program = self._built.get(key)
                if program is None:
                    program = self._build(parameters)
                    while len(self._built) >= _MOST:
                        del self._built[next(iter(self._built))]
                    self._built[key] = program
        return program, inputs

    def _parameter(self, name: str, value: Any, axis: int | None) -> tuple[_Parameter, Any]:
        wanted = self._annotations.get(name)
        empty = inspect.Parameter.empty
        if wanted is Constant:
            if value is empty:
                raise ArgumentError(f"{name!r} is not given, and is a constant")
            return _Parameter("constant", value=value), value
        if isinstance(value, ImageType) or (value is empty and isinstance(wanted, ImageType)):
            return self._of_type(name, value if isinstance(value, ImageType) else cast("ImageType", wanted)), empty
        if value is empty:
            if isinstance(wanted, DType) or wanted in _SCALARS:
                return _Parameter("scalar", dtype_name(wanted)), value
            raise ArgumentError(
                f"{name!r} is not given",
                help=f'give an array like those to come, or write {name}: ts.Image["float32", 2]',
            )
        if isinstance(value, DType) and isinstance(wanted, DType | type(None)):
            return _Parameter("scalar", str(wanted or value)), empty
        if _is_array(value):
            return self._image(name, value, wanted, axis)
        if wanted is Image or isinstance(wanted, ImageType):
            raise ArgumentError(
                f"{name!r} is a {type(value).__name__}, expected an array",
                help=f"write np.asarray({name}, 'float32')" if isinstance(value, tuple | list) else "",
            )
        if isinstance(value, numbers.Number) or getattr(value, "shape", None) == ():
            if isinstance(value, complex):
                raise ArgumentError(f"{name!r} is {value!r}, expected a real number")
            if isinstance(wanted, DType) or wanted in _SCALARS:
                return _Parameter("scalar", dtype_name(wanted)), value
            return _Parameter("scalar", _number_type(value, self._signature.parameters[name].default)), value
        if isinstance(value, list) and self._signature.parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY:
            raise ArgumentError(
                f"{name!r} is a list, expected an array or a number",
                help=f"write np.asarray({name}, 'float32'), or annotate it with ts.Constant",
            )
        return _Parameter("constant", value=value), value

    def _of_type(self, name: str, wanted: ImageType) -> _Parameter:
        if wanted.rank is None or not wanted.dtype:
            raise ArgumentError(
                f"the {'rank' if wanted.dtype else 'type'} of {name!r} is not known",
                help=f'write {name}: ts.Image["{wanted.dtype or "float32"}", {wanted.rank or 2}]',
            )
        return _Parameter("image", wanted.dtype, wanted.rank, wanted.fields, wanted.extents)

    def _image(self, name: str, value: Any, wanted: Any, axis: int | None) -> tuple[_Parameter, Any]:
        array, ranked = value, isinstance(wanted, ImageType) and wanted.rank is not None
        (bare,), _ = _xarray.unwrapped((value,))
        if not is_uniform(bare):
            return self._records(name, bare, wanted)
        dtype, shape = _core.describe(stand_in(bare, name), name)
        rank = len(shape)
        structs = tuple(getattr(getattr(bare, "dtype", None), "names", None) or ())
        fields = structs
        if structs:
            rank = len(getattr(bare, "shape", shape))
        elif ranked and wanted.fields:
            fields, rank, axis = wanted.fields, rank - 1, -1 if axis is None else axis
        elif axis is not None and not (ranked and wanted.rank == rank):
            if not -rank <= axis < rank:
                raise ArgumentError(f"channel_axis is {axis}, but {name!r} has {rank} dimensions")
            if rank == 1:
                raise ArgumentError(f"{name!r} has one dimension, which are its channels alone")
            fields, rank = _plane_names(shape[axis]), rank - 1
        if fields and not structs and axis is not None and axis % (rank + 1) != rank:
            array = move_axis(bare, axis, -1)
        if isinstance(wanted, ImageType):
            if (wanted.dtype and wanted.dtype != dtype) or (wanted.rank is not None and wanted.rank != rank):
                raise ArgumentError(
                    f"{name!r} is an array of {dtype} with {rank} dimensions, expected {wanted!r}",
                    help=f"write {name}.astype('{wanted.dtype}')" if wanted.dtype and wanted.dtype != dtype else "",
                )
            return _Parameter("image", dtype, rank, fields, wanted.extents), array
        return _Parameter("image", dtype, rank, fields), array

    def _records(self, name: str, array: Any, wanted: Any) -> tuple[_Parameter, Any]:
        """Structs whose fields have several types, or gaps between them: each field is an array of its own."""
        names = tuple(array.dtype.names)
        rank = len(array.shape)
        if isinstance(wanted, ImageType) and (wanted.dtype or wanted.fields or wanted.rank not in (None, rank)):
            listed = ", ".join(f"{n} {array.dtype[n]}" for n in names)
            raise ArgumentError(f"{name!r} is an array of structs of {listed}, expected {wanted!r}")
        parts = [array[n] for n in names]
        for n, part in zip(names, parts, strict=True):
            if part.dtype.names or part.ndim != rank:
                raise ArgumentError(
                    f"{name!r} has a field {n!r} of {array.dtype[n]}, expected fields that are numbers",
                    help="give it as an array of its own",
                )
        types = tuple(
            _core.describe(stand_in(part, name), f"{name}[{n!r}]")[0] for n, part in zip(names, parts, strict=True)
        )
        extents = wanted.extents if isinstance(wanted, ImageType) else None
        return _Parameter("image", "", rank, names, extents, types=types), parts

    # ---- building --------------------------------------------------------------------------------------------------

    def _name(self) -> str:
        return getattr(self._function, "__name__", "the pipeline")

    def _inlined(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        stack = _tracing()
        if self in stack:
            raise ArgumentError(
                f"{self._name()} calls itself while it is built",
                help="write a loop over range(...), or ts.repeat for one that ends by a test",
            )
        stack.append(self)
        try:
            return self._function(*args, **named)
        finally:
            stack.pop()

    def _build(self, parameters: dict[str, list[_Parameter]]) -> Program:
        stack = _tracing()
        if self in stack:
            raise ArgumentError(
                f"{self._name()} calls itself while it is built",
                help="write a loop over range(...), or ts.repeat for one that ends by a test",
            )
        builder = Builder()
        sizes: dict[str, int] = {}
        args: list[Any] = []
        named: dict[str, Any] = {}
        for p in (p for all_of in parameters.values() for p in all_of):
            for e in p.extents or ():  # before images by rank, which share those of their names
                _extent(builder, sizes, e)
        for name, all_of in parameters.items():
            kind = self._signature.parameters[name].kind
            for k, parameter in enumerate(all_of):
                own = f"{name}{k}" if kind is inspect.Parameter.VAR_POSITIONAL else name
                value = self._argument(builder, own, parameter, sizes)
                if kind is inspect.Parameter.KEYWORD_ONLY:
                    named[name] = value
                else:
                    args.append(value)
        stack.append(self)
        builders().append(builder)
        try:
            result = self._function(*args, **named)
            outputs = self._outputs(builder, result)
        except (AttributeError, TypeError) as why:
            if any(p.kind == "image" for all_of in parameters.values() for p in all_of):
                raise
            if any(isinstance(p.value, InputWindow) for all_of in parameters.values() for p in all_of):
                raise ArgumentError(
                    "a pipeline takes whole images, but an InputWindow was given",
                    help="give it to the program: pipeline.compile(image)(window, region=np.s_[10:20, 5:9])",
                ) from why
            given = ", ".join(f"{n} is {_given.shown(p.value)}" for n, of in parameters.items() for p in of if p.value)
            raise ArgumentError(
                f"{self._name()} is given no array" + (f": {given}" if given else ""),
                help=f"it takes {self._signature}",
            ) from why
        finally:
            builders().pop()
            stack.pop()
        return Program._from_core(builder.core.compile(outputs))

    def _argument(self, builder: Builder, name: str, p: _Parameter, sizes: dict[str, int]) -> Any:
        if p.kind == "constant":
            return p.value
        if p.kind == "scalar":
            return Value(builder, builder.core.scalar(name, p.dtype))
        extents = None if p.extents is None else [_extent(builder, sizes, e) for e in p.extents]
        if p.types:
            of = zip(p.fields, p.types, strict=True)
            made = [builder.core.input(f"{name}_{f}", t, p.rank, extents, None)[0] for f, t in of]
            return Planes(p.fields, [Image(builder, i) for i in made])
        images = [Image(builder, i) for i in builder.core.input(name, p.dtype, p.rank, extents, list(p.fields) or None)]
        return Planes(p.fields, images) if p.fields else images[0]

    def _outputs(self, builder: Builder, result: Any) -> list[tuple[str, list[int], list[str] | None]]:
        if result is None:
            raise ArgumentError(
                f"{self._name()} returns nothing", help="return an image, or a dictionary of images by name"
            )
        if isinstance(result, Mapping):
            if not result:
                raise ArgumentError(f"{self._name()} returns no image", help="name one: return {'result': image}")
            return [self._output(builder, _given.text("the name of a result", n), r) for n, r in result.items()]
        if isinstance(result, tuple | list):
            if len(result) == 1:
                return [self._output(builder, "", result[0])]
            return [self._output(builder, f"out{k}", r) for k, r in enumerate(result)]
        return [self._output(builder, "", result)]

    def _output(self, builder: Builder, name: str, result: Any) -> tuple[str, list[int], list[str] | None]:
        if isinstance(result, Planes):
            result = dict(zip(result.names, result.images, strict=True))
        if isinstance(result, Mapping):
            return (
                name,
                [self._stage(builder, name, r) for r in result.values()],
                [_given.text("a plane", n, "its name") for n in result],
            )
        return name, [self._stage(builder, name, result)], None

    def _stage(self, builder: Builder, name: str, result: Any) -> int:
        if isinstance(result, Total):
            result = result.image
        if not isinstance(result, (Image, Value)):
            raise ArgumentError(
                f"{self._name()} returns {_given.shown(result)}" + (f" as {name!r}" if name else ""),
                help="make the array a parameter of the pipeline"
                if _is_array(result)
                else "return an image or a value, or a dictionary of them by name",
            )
        if result._b is not builder:
            raise ArgumentError(
                f"{self._name()} returns a value of another pipeline",
                help="make values in the function that returns them; give others as arguments",
            )
        if isinstance(result, Image) and not result._strides:
            return result._id
        return stage(result, builder.name(None, name or "result") if isinstance(result, Value) else None)._id


_MOST = 64  # programs that a pipeline keeps


_stacks = threading.local()


def _tracing() -> list[Pipeline]:
    """The pipelines whose functions this thread is in."""
    stack: list[Pipeline] | None = getattr(_stacks, "pipelines", None)
    if stack is None:
        stack = _stacks.pipelines = []
    return stack


@overload
def pipeline(function: Callable[..., Any], *, channel_axis: int | None = None) -> Pipeline: ...


@overload
def pipeline(function: None = None, *, channel_axis: int | None = None) -> Callable[[Callable[..., Any]], Pipeline]: ...


def pipeline(function: Callable[..., Any] | None = None, *, channel_axis: int | None = None) -> Any:
    """Makes a program of a function of images: see :class:`Pipeline`.

    ::

        @ts.pipeline
        def edges(image, amount=0.8):
            b = image.mirror()
            g = ts.stage(sum(b[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)) / 9)
            return {"edges": amount * ts.hypot(g[0, 1] - g[0, -1], g[1, 0] - g[-1, 0]), "smooth": g}

        out = edges(photo, amount=0.5)
    """
    if function is None:
        return lambda f: Pipeline(f, channel_axis)
    return Pipeline(function, channel_axis)
