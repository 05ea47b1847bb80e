"""What _core asks of NumPy, torch, CuPy and JAX. It looks them up among the modules that are loaded and loads none but NumPy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tessera._errors import ArgumentError
from tessera._regions import InputWindow


def as_numpy(given: Any, name: str, for_writing: bool) -> Any:
    """An array of whatever NumPy can make one of, without a copy where that can be."""
    import numpy as np

    if for_writing and not isinstance(given, np.ndarray) and not hasattr(given, "__array_interface__"):
        if hasattr(given, "__dask_graph__"):
            raise ArgumentError(
                f"{name!r} is an array of Dask, expected an array to write to",
                help=f"leave {name} out: what is computed from arrays in memory is there at once",
            )
        try:
            memoryview(given)
        except TypeError:
            raise ArgumentError(f"{name!r} is a {type(given).__name__}, expected an array to write to") from None
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(given, masked.MaskedArray):
        raise ArgumentError(
            f"{name!r} is a masked array, whose mask would be lost",
            help=f"give {name}.data, and mask=~{name}.mask where a filter takes one",
        )
    try:
        array = np.asarray(given)
    except (TypeError, ValueError) as why:
        if type(given).__module__ in ("tessera._images", "tessera._values"):
            raise ArgumentError(
                f"{name!r} is an image of a pipeline, expected an array",
                help="call programs and named filters outside of pipelines; a pipeline may call another one",
            ) from None
        raise ArgumentError(f"{name!r} is a {type(given).__name__}, expected an array", (str(why),)) from None
    if isinstance(given, InputWindow):
        raise ArgumentError(
            f"{name!r} is an InputWindow, but no region is asked for", help="add region=np.s_[10:20, 5:9]"
        )
    if array.dtype.kind in "OUS" and not isinstance(given, np.ndarray):
        raise ArgumentError(f"{name!r} is a {type(given).__name__}, expected an array of numbers")
    if array.dtype == object:
        raise ArgumentError(
            f"{name!r} is an array of objects, expected one of numbers",
            help=f"write {name}.astype('float32')",
        )
    return array if type(array) is np.ndarray else array.view(np.ndarray)


def stand_in(given: Any, name: str) -> Any:
    """Of what is no array in memory, one of its type and shape without memory; anything else as it is."""
    dask = getattr(sys.modules.get("dask.array"), "Array", None)
    if dask is not None and isinstance(given, dask):
        from tessera._lazy import check_known

        check_known(given, name)
    elif not hasattr(given, "__stored__"):
        return given
    import numpy as np

    return np.broadcast_to(np.zeros((), given.dtype), tuple(given.shape))


def half(number: float) -> Any:
    """A number in half precision; what is too large for it is infinite, as it is in the others."""
    import numpy as np

    with np.errstate(over="ignore"):
        return np.float16(number)


def record_type(names: Sequence[str], types: Sequence[str]) -> Any:
    """NumPy's type of structs, in memory as in C."""
    import numpy as np

    return np.dtype(list(zip(names, types, strict=True)), align=True)


def record_bytes(given: Any, name: str, dtype: Any, for_writing: bool) -> Any:
    """Structs with fields of several types as their bytes, a last dimension; what has no fields stays as it is."""
    import numpy as np

    own = getattr(given, "dtype", None)
    if own is not None and getattr(own, "names", None) is None:
        if getattr(own, "itemsize", 0) == 1:
            return given  # bytes
        raise ArgumentError(
            f"{name!r} is an array of {own}, expected structs of {_listed(dtype)}",
            help=f"write np.array(..., dtype={_written(dtype)})",
        )
    array = as_numpy(given, name, for_writing)
    if array.dtype.names is None:
        raise ArgumentError(f"{name!r} is a {type(given).__name__}, expected an array of structs of {_listed(dtype)}")
    if array.dtype != dtype:
        if set(array.dtype.names) != set(dtype.names) or any(array.dtype[n] != dtype[n] for n in dtype.names):
            alike = array.dtype.names == dtype.names
            raise ArgumentError(
                f"{name!r} is an array of structs of {_listed(array.dtype)}, expected {_listed(dtype)}",
                help=f"write {name}.astype({_written(dtype)})" if alike else "",
            )
        if for_writing:
            raise ArgumentError(
                f"{name!r} has its fields at other places than C puts them, so that it cannot be written to",
                help=f"make it of np.dtype({_written(dtype)}, align=True)",
            )
        other, array = array, np.empty(array.shape, dtype)
        for field in dtype.names:
            array[field] = other[field]
    return array[..., np.newaxis].view(np.uint8)


def is_uniform(array: Any) -> bool:
    """Whether fields of structs, where there are any, have one type and lie side by side."""
    dtype: Any = getattr(array, "dtype", None)
    names = getattr(dtype, "names", None)
    if not names:
        return True
    first = dtype[names[0]]
    return all(dtype.fields[n][:2] == (first, k * first.itemsize) for k, n in enumerate(names))


def records(array: Any, dtype: Any) -> Any:
    """The structs that bytes are."""
    return array.view(dtype)[..., 0]


def _listed(dtype: Any) -> str:
    return ", ".join(f"{n} {dtype[n]}" for n in dtype.names)


def _written(dtype: Any) -> str:
    return repr([(n, str(dtype[n])) for n in dtype.names])


def share_memory(a: Any, b: Any) -> bool:
    import numpy as np

    try:
        work: Any = 10_000
        return bool(np.shares_memory(a, b, work))
    except RuntimeError:  # too hard to tell
        return True


_roots: dict[type, str] = {}


def _root(given: Any) -> str:
    """Which of the libraries that are known here an array is of."""
    cls = type(given)
    found = _roots.get(cls)
    if found is None:
        roots = (c.__module__.partition(".")[0] for c in cls.__mro__)
        found = next((r for r in roots if r in ("torch", "cupy", "jax", "jaxlib", "dask")), "")
        found = _roots[cls] = "jax" if found == "jaxlib" else found
    return found


def exchanges(cls: type) -> bool:
    """Whether DLPack's table of functions, which a type gives, serves arrays of just this type. What is derived from
    torch's tensors may lie elsewhere or nowhere, and overrides __dlpack__ then."""
    torch = sys.modules.get("torch")
    return torch is not None and cls in (torch.Tensor, torch.nn.Parameter)


def current_stream(given: Any, device: int) -> tuple[int, bool, bool]:
    """The cudaStream_t in which the owner of an array works now, 0 for the default one, whether its memory is freed
    in the order of that stream, as that of torch and CuPy is, and whether all that makes its elements was put there."""
    root = _root(given)
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and (root == "torch" or cupy is None) and torch.cuda.is_initialized():
        return int(torch.cuda.current_stream(device).cuda_stream), root == "torch", root == "torch"
    if cupy is not None:
        return int(cupy.cuda.get_current_stream(device).ptr), root == "cupy", root == "cupy"
    return 0, False, False


def device_of(given: Any) -> int:
    """The number of the device on which an array with __cuda_array_interface__ lies."""
    for name in ("device", "device_id", "gpu_id"):
        device = getattr(given, name, None)
        number = getattr(device, "id", device)
        if isinstance(number, int):
            return number
    return 0


def empty_like(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A new array where ``like`` lies, of its kind, by its allocator."""
    root = _root(like)
    torch: Any
    cupy: Any
    if root == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    if root == "cupy":
        cupy = sys.modules["cupy"]
        with like.device:
            return cupy.empty(shape, dtype)
    device = like.__dlpack_device__() if hasattr(like, "__dlpack_device__") else (2, device_of(like))
    if int(device[0]) in (1, 3):
        import numpy as np

        return np.empty(shape, dtype)
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        with cupy.cuda.Device(device[1]):
            return cupy.empty(shape, dtype)
    torch_module = sys.modules.get("torch")
    if torch_module is not None and torch_module.cuda.is_available():
        return torch_module.empty(shape, dtype=getattr(torch_module, dtype), device=f"cuda:{device[1]}")
    raise ArgumentError(
        f"a result for an array of {type(like).__module__} on a device needs an array library of that device",
        help="give out=, or import cupy or torch",
    )


def finished(like: Any, array: Any) -> Any:
    """What a result becomes once it is computed: JAX's arrays are made from others."""
    if _root(like) != "jax" or _root(array) == "jax":
        return array
    jax = sys.modules["jax"]
    return jax.numpy.asarray(array) if type(array).__module__ == "numpy" else jax.dlpack.from_dlpack(array)


def move_axis(array: Any, source: int, to: int) -> Any:
    """The array with a dimension elsewhere, as a view."""
    root = _root(array)
    if root == "torch":
        return array.movedim(source, to)
    if root in ("cupy", "jax", "dask"):
        return sys.modules[{"cupy": "cupy", "jax": "jax.numpy", "dask": "dask.array"}[root]].moveaxis(array, source, to)
    if hasattr(array, "__stored__"):
        return array.moved(source, to)
    import numpy as np

    return np.moveaxis(array if isinstance(array, np.ndarray) else np.asarray(array), source, to)
