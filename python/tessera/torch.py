"""Pipelines and programs as functions of torch's tensors: differentiable, on CPUs and GPUs, in ``torch.compile``.

::

    @ts.torch.function
    def soften(image, amount=0.5):
        b = image.mirror()
        return image + amount * (b[0, -1] + b[0, 1] - 2 * image)

    y = soften(x, amount)        # tensors that may require gradients; amount is a number or a tensor of no dimension
    y.sum().backward()           # by the adjoint program

All of them are one operator, ``torch.ops.tessera.run(name, arguments)``, whose gradient is the same operator with the
adjoint program: gradients of gradients are those of the adjoint's adjoint.
"""

from __future__ import annotations

import importlib
import inspect
import numbers
import re
import secrets
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tessera._errors import ArgumentError
from tessera._methods import Method
from tessera._parameters import Constant, _is_array
from tessera._ports import Port
from tessera._program import Program
from tessera._results import Outputs
from tessera._trace import Pipeline

torch: Any = importlib.import_module("torch")

_DTYPES = ("bool", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32", "float64")


def function(of: Pipeline | Program | Callable[..., Any], /, **constants: Any) -> Function:
    """A pipeline, a program, or a function that ``ts.pipeline`` takes, as a function of tensors.

    ``constants`` are arguments of the pipeline that are neither tensors nor numbers; they are fixed. The same one is given
    for the same pipeline and constants.
    """
    if isinstance(of, Method):
        return function(of._of, **{next(iter(of._of._signature.parameters)): of._instance}, **constants)
    if not isinstance(of, Pipeline | Program):
        if not callable(of):
            raise ArgumentError(
                f"ts.torch.function is given a {type(of).__name__}", help="give a pipeline or a ts.Program"
            )
        of = Pipeline(of)
    made: list[tuple[dict[str, Any], Function]] = of.__dict__.setdefault("_functions_of_tensors", [])
    for known, one in made:
        if known.keys() == constants.keys() and all(known[n] is constants[n] for n in known):
            return one
    made.append((constants, Function(of, constants)))
    return made[-1][1]


class Function:
    """What :func:`function` makes. Called with tensors, and numbers where the pipeline has numbers, in order or by name, it
    gives a tensor on the device of the first one; of several outputs a tuple that has them by name, too (a plain tuple in
    ``torch.compile``).

    A number may be a tensor of no dimension and then has a gradient. Gradients are those of ``ts.Program.adjoint``: what has
    none, a median or a loop with a test, is an ArgumentError that names the stage, when ``backward`` comes to it.
    """

    def __init__(self, of: Pipeline | Program, constants: Mapping[str, Any]) -> None:
        self._of = of
        self._constants = dict(constants)
        self._axis = of._channel_axis if isinstance(of, Pipeline) else None
        self._names: tuple[str, ...]
        self._defaults: dict[str, Any] = {}
        self._programs: dict[Any, Program] = {}
        self._adjoints: dict[Program, Program] = {}
        title = getattr(of, "__name__", "program")
        if isinstance(of, Program):
            if constants:
                raise ArgumentError(f"a program has no constant {next(iter(constants))!r}")
            self._names = tuple(p.name for p in of.inputs)
        else:
            self._names = self._of_signature(of)
        self.__name__ = title
        self.__doc__ = of.__doc__ if isinstance(of, Pipeline) else None
        # Graphs that torch keeps across processes contain it.
        self._name = f"{re.sub(r'[^A-Za-z0-9_]', '_', title)}-{secrets.token_hex(6)}"
        _functions[self._name] = self

    def _of_signature(self, of: Pipeline) -> tuple[str, ...]:
        signature = of._signature.parameters
        unknown = [n for n in self._constants if n not in signature]
        if unknown:
            raise ArgumentError(f"{self._of!r} has no parameter {unknown[0]!r}")
        for name, value in self._constants.items():
            if of._annotations.get(name) is not Constant and (_is_array(value) or isinstance(value, numbers.Number)):
                raise ArgumentError(
                    f"{name!r} of {of!r} is an input, no constant", help=f"annotate it: {name}: ts.Constant"
                )
        names = []
        for name, parameter in signature.items():
            if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                raise ArgumentError(
                    f"{of!r} takes any number of arguments", help="name each of them to make it a function of tensors"
                )
            default = parameter.default
            if name in self._constants or (of._annotations.get(name) is Constant and default is not parameter.empty):
                continue
            if of._annotations.get(name) is Constant:
                raise ArgumentError(
                    f"{name!r} is a constant of {of!r}", help=f"write ts.torch.function(pipeline, {name}=...)"
                )
            if default is parameter.empty:
                names.append(name)
            elif isinstance(default, numbers.Real):
                names.append(name)
                self._defaults[name] = default
        return tuple(names)

    def __deepcopy__(self, _: Any) -> Function:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._of, self._constants)

    def __repr__(self) -> str:
        return f"<function of tensors {self._of!r}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        arguments = [self._tensor(n, x) for n, x in self._in_order(args, named)]
        results = (_run if _is_unwatched(arguments) else _called)(self._name, arguments)
        if len(results) == 1:
            return results[0]
        if torch.compiler.is_compiling():
            return tuple(results)
        return Outputs(results, self._output_names(arguments))

    def _in_order(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[tuple[str, Any]]:
        if len(args) > len(self._names):
            raise ArgumentError(
                f"{self.__name__} takes {len(self._names)} arguments, {len(args)} are given",
                help=f"it takes {', '.join(self._names)}; constants are arguments of ts.torch.function",
            )
        given = dict(zip(self._names, args))
        for name, value in named.items():
            if name not in self._names:
                raise ArgumentError(
                    f"{self.__name__} takes no {name!r}",
                    help=f"it takes {', '.join(self._names)}; constants are arguments of ts.torch.function",
                )
            if name in given:
                raise ArgumentError(f"{name!r} is given twice")
            given[name] = value
        missing = [n for n in self._names if n not in given and n not in self._defaults]
        if missing:
            raise ArgumentError(f"{missing[0]!r} is not given")
        return [(n, given[n] if n in given else self._defaults[n]) for n in self._names]

    def _tensor(self, name: str, x: Any) -> Any:
        """An argument of the operator: numbers as tensors of no dimension."""
        if isinstance(x, torch.Tensor):
            return x
        if isinstance(x, bool):
            return torch.tensor(x, dtype=torch.bool)
        if isinstance(x, int | torch.SymInt):
            return torch.tensor(x, dtype=torch.int64)
        if isinstance(x, float | torch.SymFloat):
            return torch.tensor(x, dtype=torch.float64)
        if isinstance(x, numbers.Real):
            return torch.tensor(float(x), dtype=torch.float64)
        raise ArgumentError(
            f"{name!r} is a {type(x).__name__}, expected a tensor or a number",
            help=f"write torch.as_tensor({name}), or ts.torch.function(pipeline, {name}=...) for a constant",
        )

    # ---- what the operator asks ------------------------------------------------------------------------------------

    def program(self, *arguments: Any) -> Program:
        """The program for tensors like these."""
        return self._program([self._tensor("", x) for x in arguments])

    def _program(self, arguments: Sequence[Any]) -> Program:
        if isinstance(self._of, Program):
            return self._of
        axis = self._axis
        key = tuple(
            [(str(a.dtype)[6:], a.dim(), 0 if axis is None or a.dim() == 0 else int(a.shape[axis])) for a in arguments]
        )
        program = self._programs.get(key)
        if program is None:
            like = {n: _like(n, *k, axis) for n, k in zip(self._names, key, strict=True)}
            program = self._programs[key] = self._of.compile(**like, **self._constants)
        return program

    def _adjoint(self, arguments: Sequence[Any]) -> Program:
        program = self._program(arguments[: len(self._names)])
        adjoint = self._adjoints.get(program)
        if adjoint is None:
            adjoint = self._adjoints[program] = program.adjoint()
        return adjoint

    def _output_names(self, arguments: Sequence[Any]) -> tuple[str, ...]:
        return tuple(p.name or "out" for p in self._program(arguments).outputs)


def _restored(of: Pipeline | Program, constants: dict[str, Any]) -> Function:
    return function(of, **constants)


#: By the name that the operator is given.
_functions: weakref.WeakValueDictionary[str, Function] = weakref.WeakValueDictionary()


def _like(name: str, dtype: str, rank: int, channels: int, axis: int | None) -> Any:
    import numpy as np

    if rank == 0:
        return False if dtype == "bool" else 0.0 if "float" in dtype else 0
    if dtype not in _DTYPES:
        raise ArgumentError(
            f"{name!r} is a tensor of {dtype}, expected one of {', '.join(_DTYPES)}",
            help=f"write {name}.float()" if "float" in dtype else f"write {name}.int()" if "int" in dtype else "",
        )
    shape = [1] * rank
    if axis is not None:
        shape[axis] = channels
    return np.zeros(shape, dtype)


def _program(name: str, arguments: Sequence[Any]) -> tuple[Program, int | None]:
    """The program of a call, and where its arrays have their channels. A name with an apostrophe behind it is that of the
    adjoint, and so on."""
    base = name.rstrip("'")
    found = _functions.get(base)
    if found is None:
        raise ArgumentError(f"the function of tensors {base!r} is not there any more", help="keep what function() gave")
    backwards = len(name) - len(base)
    if backwards == 0:
        return found._program(arguments), found._axis
    program = found._adjoint(arguments)
    for _ in range(1, backwards):
        inner = found._adjoints.get(program)
        if inner is None:
            inner = found._adjoints[program] = program.adjoint()
        program = inner
    return program, found._axis


# ---- the operator ------------------------------------------------------------------------------------------------------


def _is_unwatched(arguments: Sequence[Any]) -> bool:
    """Whether a call is nothing but a run: no gradients, no compilation, no transform of functions, no mode. Then the
    operator, whose dispatch takes 40 microseconds, is left out."""
    return (
        not torch.compiler.is_compiling()
        and torch._C._len_torch_dispatch_stack() == 0
        and not torch._C._are_functorch_transforms_active()
        and torch.autograd.forward_ad._current_level < 0
        and all(type(a) is torch.Tensor and not a.requires_grad for a in arguments)
        and not torch.jit.is_tracing()
    )


def _run(name: str, arguments: Sequence[Any]) -> list[Any]:
    program, axis = _program(name, arguments)
    given = [
        _moved(a.detach() if a.requires_grad else a, p, axis, -1) if p.array else _number(p.name, a)
        for p, a in zip(program.inputs, arguments, strict=True)
    ]
    results = program(*given)
    several = [results] if len(program.outputs) == 1 else results
    return [_moved(r, p, -1, axis) for p, r in zip(program.outputs, several, strict=True)]


def _moved(a: Any, p: Port, source: int | None, to: int | None) -> Any:
    """An array with its channels elsewhere, if it has some."""
    return a.movedim(source, to) if p.fields and source is not None and to is not None and source != to else a


def _number(name: str, a: Any) -> Any:
    if a.dim() != 0:
        raise ArgumentError(f"{name!r} is a tensor of shape {tuple(a.shape)}, expected a number")
    return a.item()


def _shapes(name: str, arguments: Sequence[Any]) -> list[Any]:
    """Results without elements, for torch to know their shapes: extents that are those of an input stay symbols."""
    program, axis = _program(name, arguments)
    known: dict[str, Any] = {}
    arrays = [(p, _moved(a, p, axis, -1)) for p, a in zip(program.inputs, arguments, strict=True) if p.array]
    for p, a in arrays:
        for extent, n in zip(p.extents.split(" x "), a.shape, strict=False):
            if extent.isidentifier():
                known.setdefault(extent, n)
    shapes: Sequence[Sequence[Any]] | None = None
    results = []
    for k, p in enumerate(program.outputs):
        extents = p.extents.split(" x ")
        shape: list[Any] = [known.get(e, int(e) if e.isdecimal() else None) for e in extents]
        if None in shape:
            if shapes is None:
                shapes = program.output_shapes(*(tuple(int(n) for n in a.shape) for _, a in arrays))
            shape = list(shapes[k])
        elif p.has_planes:
            shape.append(len(p.fields))
        empty = torch.empty(shape, dtype=getattr(torch, p.dtype), device=arrays[0][1].device)
        results.append(_moved(empty, p, -1, axis))
    return results


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Sequence[Any]) -> None:
    ctx.name, arguments = inputs
    ctx.function = _functions.get(ctx.name.rstrip("'"))  # until there are gradients
    ctx.save_for_backward(*arguments)
    ctx.results = [(o.shape, o.dtype, o.device) for o in output]


def _backward(ctx: Any, gradients: Sequence[Any]) -> tuple[None, list[Any]]:
    arguments = ctx.saved_tensors
    program, _ = _program(ctx.name, arguments)
    given = [
        torch.zeros(shape, dtype=dtype, device=device) if g is None else g
        for g, (shape, dtype, device) in zip(gradients, ctx.results, strict=True)
        if dtype.is_floating_point
    ]
    found = iter(_called(ctx.name + "'", [*arguments, *given]))
    results: list[Any] = []
    for p, a in zip(program.inputs, arguments, strict=True):
        gradient = next(found) if p.dtype.startswith("float") else None
        if gradient is not None and not p.array:
            gradient = gradient.reshape(()).to(dtype=a.dtype, device=a.device) if a.is_floating_point() else None
        results.append(gradient)
    return None, results


def _each(info: Any, in_dims: Any, name: str, arguments: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """torch.vmap: one after the other."""
    dimensions = in_dims[1]
    if info.batch_size == 0:
        like = [
            a if d is None else a.new_empty(_without(a.shape, d)) for a, d in zip(arguments, dimensions, strict=True)
        ]
        results = [r.new_empty((0, *r.shape)) for r in _shapes(name, like)]
        return results, [0] * len(results)
    parts = [
        _called(name, [a if d is None else a.select(d, k) for a, d in zip(arguments, dimensions, strict=True)])
        for k in range(info.batch_size)
    ]
    results = [torch.stack(r) for r in zip(*parts, strict=True)]
    return results, [0] * len(results)


def _without(shape: Sequence[int], d: int) -> list[int]:
    return [n for k, n in enumerate(shape) if k != d % len(shape)]


class _Transformed(torch.autograd.Function):  # type: ignore[misc]
    """The operator as the transforms of torch.func take it, which know no gradient of a custom operator."""

    @staticmethod
    def forward(name: str, *arguments: Any) -> tuple[Any, ...]:
        return tuple(torch.ops.tessera.run(name, list(arguments)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Sequence[Any]) -> None:
        _keep(ctx, (inputs[0], inputs[1:]), output)
        ctx.mark_non_differentiable(*[o for o in output if not o.dtype.is_floating_point])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return None, *_backward(ctx, gradients)[1]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise ArgumentError(
            "functions of tensors have no derivatives forwards", help="write torch.func.vjp, or jacrev for jacfwd"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, name: str, *arguments: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        results, dimensions = _each(info, (None, in_dims[1:]), name, arguments)
        return tuple(results), tuple(dimensions)


def _called(name: str, arguments: Sequence[Any]) -> Sequence[Any]:
    """The operator's results. Within a transform of torch.func, or where derivatives go forwards, which a custom operator
    would take for 0, they come through a function that knows these."""
    if not torch.compiler.is_compiling() and (
        torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0
    ):
        return tuple(_Transformed.apply(name, *arguments))
    found: Sequence[Any] = torch.ops.tessera.run(name, list(arguments))
    return found


# Transforms look for tensors in what a function returns.
torch.utils._pytree.register_pytree_node(
    Outputs,
    lambda r: (list(r), r.keys()),
    Outputs,
    serialized_type_name="tessera.Outputs",
)

_operator: Any = torch.library.custom_op(
    "tessera::run", _run, mutates_args=(), schema="(str name, Tensor[] arguments) -> Tensor[]"
)
_operator.register_fake(_shapes)
_operator.register_autograd(_backward, setup_context=_keep)
_operator.register_vmap(_each)
