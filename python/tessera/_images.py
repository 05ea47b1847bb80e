"""Images of a pipeline: inputs and stages, what they are composed of, loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tessera import _borders, _given
from tessera._builder import Builder, current, dtype_name
from tessera._errors import ArgumentError
from tessera._values import Value, _builder_of, _in, _is_integer, _Symbolic
from tessera._windows import Offset, _index

_INT = (-(2**31), 2**31 - 1)
_FAR = 2**40
_PLANES = ": where planes are meant, give channel_axis or an array of structs"


_SHAPE = ": it keeps the dimensions of its array; give that one as it is to be"
#: What arrays have, and what is written instead.
_ELSEWHERE = {
    **dict.fromkeys(
        ("T", "transpose", "reshape", "flatten", "ravel", "squeeze", "permute", "view", "swapaxes"), _SHAPE
    ),
    "std": ": write ts.sqrt(ts.stage((image - image.mean()) ** 2).mean())",
    "var": ": write ts.stage((image - image.mean()) ** 2).mean()",
    "size": ": write ts.extent(0) * ts.extent(1)",
    "copy": ": it does not change; use it as it is",
    **dict.fromkeys(("float", "double", "int", "half", "to", "type"), ': write image.astype("float32")'),
    **dict.fromkeys(("abs", "sqrt", "exp", "log", "pow", "floor", "ceil"), ": write the function, as ts.sqrt(image)"),
}


class Image(_Symbolic):
    """An input or a stage. ``image[di, dj]`` reads a neighbour, one offset for each dimension, the last runs fastest.

    Without a border mode the points whose neighbours lie outside are left out: they are 0. ``clamped()``, ``mirror()``,
    ``symmetric()``, ``wrap()`` and ``constant(v)`` say what lies outside, for the uses made through the result.
    """

    __slots__ = ("_b", "_id", "_modes", "_strides", "dtype", "rank")

    def __init__(
        self,
        builder: Builder,
        id: int,
        modes: Sequence[tuple[str, float]] | None = None,
        strides: Sequence[int] | None = None,
    ) -> None:
        self._b = builder
        self._id = id
        self.dtype: str
        self.rank: int
        self.dtype, self.rank = builder.core.image_type(id)
        self._modes = modes
        self._strides = strides

    def __class_getitem__(cls, key: Any) -> ImageType:
        """``Image["float32", 2]``, with extents ``Image["float32", ts.Size("M"), 3]``, with planes
        ``Image["uint8", 2, ("r", "g", "b")]``; None is whatever type the array has."""
        dtype, *extents = key if isinstance(key, tuple) else (key,)
        fields: tuple[str, ...] = ()
        if extents and isinstance(extents[-1], tuple | list):
            fields = tuple(_given.text("a plane", f, "its name") for f in extents.pop())
        name = "" if dtype is None else dtype_name(dtype)
        if len(extents) == 1 and (extents[0] is None or _is_integer(extents[0])):
            return ImageType(name, extents[0], None, fields)
        for e in extents:
            if not (isinstance(e, str) or hasattr(e, "_make")):
                _given.whole("an extent", e, 1)
        return ImageType(name, len(extents) or None, tuple(extents) or None, fields)

    def _said(self) -> str:
        return "an image"

    def _value(self) -> Value:
        return Value(self._b, self._b.core.read(self._id, [0] * self.rank))

    def __repr__(self) -> str:
        return f"<image of {self.dtype}, {self.rank} dimension{'' if self.rank == 1 else 's'}>"

    def __getitem__(self, offsets: Any) -> Value:
        places = offsets if isinstance(offsets, tuple) else (offsets,)
        if any(isinstance(p, (Value, Image)) for p in places):
            raise TypeError(
                "an image is read at offsets: numbers and sums of window variables; write image.gather(y, x) for a "
                "place that is computed, or annotate a parameter with ts.Constant to have its number"
            )
        if any(isinstance(p, (slice, str)) or p is Ellipsis for p in places):
            raise TypeError(
                f"an image is read at offsets, not at {offsets!r}: write image[0, 1] for the neighbour to the right"
            )
        return Value(self._b, self._b.core.read(self._id, [_place(p) for p in places]))

    @property
    def ndim(self) -> int:
        """The number of dimensions, ``rank``."""
        return self.rank

    def __getattr__(self, name: str) -> Any:
        if name == "shape":
            raise AttributeError(
                "the shape of an image is not known while the pipeline is built: write ts.extent(dimension)"
            )
        how = _ELSEWHERE.get(name, "" if name.startswith("_") else _PLANES)
        raise AttributeError(f"an image has no {name!r}{how}")

    def at(self, *offsets: Any) -> Value:
        """The neighbour at these offsets: ``image.at(0, 1)`` is ``image[0, 1]``."""
        return self[offsets]

    def gather(self, *indices: Any) -> Value:
        """The element at an absolute place; outside as the border says, without one the nearest."""
        ids = [_index(self._b, i, "an image")._id for i in indices]
        return Value(self._b, self._b.core.gather(self._id, ids))

    def borders(self, *modes: Any) -> Image:
        """One mode for each dimension, or one for all: ``image.borders("mirror", ("constant", 3))``. The words are those of
        ``border`` of a filter: "mirror", "symmetric", "clamp", "wrap", "constant(3)", "none", and what others call them."""
        pairs = _borders.modes(modes[0]) if len(modes) == 1 else [_borders.mode(m) for m in modes]
        return self._bordered(pairs)

    def _bordered(self, pairs: list[_borders.Mode]) -> Image:
        pairs = pairs * self.rank if len(pairs) == 1 else pairs
        return Image(self._b, self._b.core.borders(self._id, pairs), pairs, self._strides)

    def clamped(self) -> Image:
        """aaa|abcd|ddd"""
        return self.borders("clamp")

    def mirror(self) -> Image:
        """dcb|abcd|cba"""
        return self.borders("mirror")

    def symmetric(self) -> Image:
        """cba|abcd|dcb"""
        return self.borders("symmetric")

    def wrap(self) -> Image:
        """bcd|abcd|abc"""
        return self.borders("wrap")

    def constant(self, value: float) -> Image:
        """kkk|abcd|kkk"""
        return self._bordered([_borders.constant(value)])

    def every(self, *strides: int) -> Image:
        """The image read at stride * point + offset."""
        if not all(_is_integer(s) for s in strides):
            raise TypeError(f"an image is read at every {strides} points, expected whole numbers")
        given = tuple(map(int, strides * self.rank if len(strides) == 1 else strides))
        for s in given:
            _given.whole("a stride of every", s, -_FAR, _FAR)
        return Image(self._b, self._b.core.every(self._id, list(given)), self._modes, given)

    # What all elements come to.
    def min(self, name: str | None = None, *, axis: None = None) -> Total:
        return self._total("min", name, axis)

    def max(self, name: str | None = None, *, axis: None = None) -> Total:
        return self._total("max", name, axis)

    def sum(self, name: str | None = None, *, axis: None = None) -> Total:
        return self._total("sum", name, axis)

    def mean(self, name: str | None = None, *, axis: None = None) -> Total:
        return self._total("mean", name, axis)

    def _whole(self) -> Image:
        """Without strides: what reads all of an image reads the stage that they make."""
        return stage(self) if self._strides else self

    def _total(self, operation: str, name: str | None, axis: Any) -> Total:
        if axis is not None or _is_integer(name) or isinstance(name, tuple):
            raise ArgumentError(
                f"the {operation} of an image is that of all its elements, not along axis {name if axis is None else axis}",
                help=f"write np.{operation}(array, axis) outside of the pipeline, ts.over(...) for windows",
            )
        whole = self._whole()
        image = self._b.core.total(self._b.name(name, operation), operation + "_of", whole._id)
        return Total(self._b, self._b.core.only(image), Image(self._b, image))

    def fft(self, axes: Sequence[int] | int | None = None, name: str | None = None) -> Planes:
        """The Fourier transform along these dimensions, all where none are given: planes ``re`` and ``im``."""
        return _transformed(self._b, False, [self], axes, name)


class Total(Value):
    """What all elements of an image come to: a number for later stages; ``image`` has it as its only element.

    Least and largest elements have the type of the image, sums and means are float64."""

    __slots__ = ("image",)

    def __init__(self, builder: Builder, id: int, image: Image) -> None:
        super().__init__(builder, id)
        self.image = image

    @property
    def value(self) -> Value:
        """The number by itself."""
        return Value(self._b, self._id)


class Planes:
    """Images of equal extents whose elements lie together: ``photo["r"]``, ``photo.r``."""

    def __init__(self, names: Sequence[str], images: Sequence[Image]) -> None:
        self.names = tuple(names)
        self.images = tuple(images)

    def __getitem__(self, name: str | int) -> Image:
        if not isinstance(name, str):
            number = _given.whole("a plane", name)
            if not -len(self.images) <= number < len(self.images):
                raise ArgumentError(f"there is no plane {number}, the planes are {', '.join(self.names)}")
            return self.images[number]
        if name in self.names:
            return self.images[self.names.index(name)]
        raise ArgumentError(f"there is no plane {name!r}, the planes are {', '.join(self.names)}")

    def __getattr__(self, name: str) -> Image:
        if name.startswith("_") or name not in self.names:
            planes = ", ".join(self.names)
            how = f": write image.map(lambda plane: plane.{name}(...))" if hasattr(Image, name) else ""
            raise AttributeError(f"there is no plane {name!r}, the planes are {planes}{how}")
        return self[name]

    def __repr__(self) -> str:
        return f"<planes {', '.join(self.names)} of {self.images[0].dtype}>"

    def _refused(self, *_: Any) -> Any:
        raise TypeError(
            f"planes {', '.join(self.names)} are no value: write photo.map(lambda c: 2 * c) for each of them, photo.{self.names[0]} for one"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __pow__ = __rpow__ = __and__ = __or__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = _refused
    __array_ufunc__ = None  # of NumPy's numbers too

    @property
    def planes(self) -> tuple[Image, ...]:
        """The images in order."""
        return self.images

    def items(self) -> tuple[tuple[str, Image], ...]:
        return tuple(zip(self.names, self.images, strict=True))

    def __iter__(self) -> Any:
        return iter(self.images)

    def __len__(self) -> int:
        return len(self.images)

    def map(self, f: Callable[[Image], Any]) -> Planes:
        """The planes that a function makes of each of them; values become stages."""
        if not callable(f):
            raise TypeError(
                f"planes are mapped by {_given.shown(f)}, expected a function: write photo.map(lambda c: 2 * c)"
            )
        made = [f(i) for i in self.images]
        return Planes(self.names, [m if isinstance(m, Image) else stage(m) for m in made])

    def borders(self, *modes: Any) -> Planes:
        """Each plane with these borders, as :meth:`Image.borders`."""
        return Planes(self.names, [i.borders(*modes) for i in self.images])

    def clamped(self) -> Planes:
        return self.borders("clamp")

    def mirror(self) -> Planes:
        return self.borders("mirror")

    def symmetric(self) -> Planes:
        return self.borders("symmetric")

    def wrap(self) -> Planes:
        return self.borders("wrap")

    def constant(self, value: float) -> Planes:
        return Planes(self.names, [i.constant(value) for i in self.images])

    def ifft(self, axes: Sequence[int] | int | None = None, name: str | None = None) -> Planes:
        """Back from a spectrum, divided by the number of points."""
        return _transformed(self["re"]._b, True, [self["re"], self["im"]], axes, name)

    def fft(self, axes: Sequence[int] | int | None = None, name: str | None = None) -> Planes:
        return _transformed(self["re"]._b, False, [self["re"], self["im"]], axes, name)


class ImageType:
    """``ts.Image["float32", 2]``: an annotation that fixes the type and the rank of a parameter."""

    def __init__(
        self, dtype: str, rank: int | None, extents: tuple[Any, ...] | None, fields: tuple[str, ...] = ()
    ) -> None:
        if rank is not None and not 1 <= rank <= 4:
            raise ArgumentError(f"an image has rank {rank}, expected 1 to 4")
        self.dtype = dtype  # "": any
        self.rank = rank
        self.extents = extents
        self.fields = fields

    def __call__(self) -> Any:  # typing asks for it of what stands in annotations
        raise TypeError("this is the type of a parameter: write it as an annotation")

    def __repr__(self) -> str:
        parts = [repr(self.dtype or None), *map(str, self.extents or ([] if self.rank is None else [self.rank]))]
        return f"Image[{', '.join(parts + ([repr(self.fields)] if self.fields else []))}]"


def _place(x: Any) -> Any:
    if isinstance(x, Offset):
        return x._place()
    if _is_integer(x):
        return _given.whole("an offset", x, -_FAR, _FAR)
    raise TypeError(f"an image is read at offset {x!r}, expected a whole number or a window variable")


# ---- stages --------------------------------------------------------------------------------------------------------


def stage(value: Any, name: str | None = None, *, border: Any = None) -> Image:
    """A value computed at every point, as an image of its type: where other stages read it at offsets.

    Its extents are the smallest of the images that it reads. ``name`` stands in errors and explanations;
    with ``border``, a mode or one for each dimension, it is the image with these borders.
    """
    builder = _builder_of(value)
    made = Image(builder, builder.core.stage(builder.name(name, "s"), _in(builder, value, None)._id))
    return made if border is None else made.borders(border)


def coord(dimension: int) -> Value:
    """The index of the point along a dimension of its stage, int32."""
    builder = current("ts.coord")
    return Value(builder, builder.core.coord(_given.whole("the dimension of coord", dimension, *_INT)))


def extent(dimension: int) -> Value:
    """The number of points along a dimension of the stage, int32."""
    builder = current("ts.extent")
    return Value(builder, builder.core.extent_value(_given.whole("the dimension of extent", dimension, *_INT)))


def compose(pieces: Sequence[tuple[Image, Any]], name: str | None = None) -> Image:
    """The union of pieces, 0 elsewhere; later ones win. ``compose([(a, (0, 2)), (b, (1, 2))])`` lays two images out in
    turns: for each dimension a start, or (start, stride)."""
    pieces = _given.several("the pieces of an image", pieces, "(image, places) in a list")
    if not pieces:
        raise ArgumentError("an image is composed of no pieces")
    if not all(isinstance(p, tuple | list) and len(p) == 2 for p in pieces):
        raise ArgumentError(
            "an image is composed of pieces (image, places)", help="write ts.compose([(a, (0, 0)), (b, (0, 8))])"
        )
    builder = _builder_of(*(image for image, _ in pieces))
    pieces = [(_imaged(image), places) for image, places in pieces]
    starts, strides = [], []
    for image, places in pieces:
        pairs = _places(image, places)
        starts.append([s for s, _ in pairs])
        strides.append([s for _, s in pairs])
        if len(pairs) != len(starts[0]):
            raise ArgumentError(
                f"a piece has {len(pairs)} places, the first one {len(starts[0])}", help="write one for each dimension"
            )
    made = builder.core.compose(
        builder.name(name, "pieces"), [i._id for i, _ in pieces], len(starts[0]), starts, strides
    )
    return Image(builder, made)


def _places(image: Image, given: Any) -> list[tuple[int, int]]:
    """Where a piece lies: (start, stride) for each dimension."""
    if _is_integer(given) or (
        image.rank == 1 and isinstance(given, tuple | list) and len(given) == 2 and _is_integer(given[0])
    ):
        given = [given]
    pairs = []
    for p in _given.several("the place of a piece", given, "a start for each dimension, or (start, stride)"):
        pair = (p, 1) if _is_integer(p) else p
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ArgumentError(
                f"a piece lies at {_given.shown(p)}, expected a start or (start, stride)", help="write (0, 2)"
            )
        start, stride = (_given.whole("the place of a piece", n, -_FAR, _FAR) for n in pair)
        pairs.append((start, stride))
    return pairs


def _imaged(given: Any) -> Image:
    """An image as it is read as a whole; a value becomes a stage."""
    if isinstance(given, Total):
        return given.image
    return given._whole() if isinstance(given, Image) else stage(given)


def repeat(body: Callable[..., Any], first: Any, most: int = 100, name: str | None = None) -> Any:
    """A loop with a test: ``body(before)`` gives (next, test), an image and a number that images come to, such as
    ``difference.max() > 0.01``. The body is called once, to be built, and runs ``most`` times at most, once at least. With a
    tuple of images it gets and gives as many."""
    if not callable(body):
        raise ArgumentError(f"the body of a loop is {_given.shown(body)}, expected a function of the images before")
    most = _given.whole("most", most)
    many = isinstance(first, tuple | list)
    builder = _builder_of(*(first if many else [first]))
    images = [_imaged(i) for i in (first if many else [first])]
    before = builder.core.begin_loop(builder.name(name, "loop"), most, [i._id for i in images])
    given = body(*(Image(builder, b) for b in before))
    if not isinstance(given, tuple) or len(given) != 2:
        raise ArgumentError(
            "the body of a loop gives no (next, test)", help="write return next, difference.max() > 0.01"
        )
    nexts, test = given
    ends = [_imaged(n) for n in (nexts if isinstance(nexts, tuple | list) else (nexts,))]
    if len(ends) != len(images):
        raise ArgumentError(
            f"the loop carries {len(images)} images, but its body gives {len(ends)}", help="give one for each, in order"
        )
    after = builder.core.end_loop([n._id for n in ends], _in(builder, test, "bool")._id)
    result = tuple(Image(builder, a) for a in after)
    return result if many else result[0]


def _transformed(builder: Builder, inverse: bool, images: Sequence[Image], axes: Any, name: str | None) -> Planes:
    given = [] if axes is None else [axes] if _is_integer(axes) else _given.several("axes", axes, "whole numbers")
    along = [_given.whole("an axis of a transform", a, *_INT) for a in given]
    images = [_real_image(i) for i in images]
    along = [a + images[0].rank if a < 0 else a for a in along]
    made = builder.core.fourier(
        builder.name(name, "back" if inverse else "spectrum"), inverse, [i._id for i in images], along
    )
    return Planes(("re", "im"), [Image(builder, i) for i in made])


def _real_image(given: Any) -> Image:
    image = _imaged(given)
    return image if image.dtype in ("float32", "float64") else stage(image.astype("float32"))


def ifft(re: Any, im: Any, axes: Sequence[int] | int | None = None, name: str | None = None) -> Planes:
    """Back from a spectrum of two images or values, divided by the number of points: planes ``re`` and ``im``."""
    return _transformed(_builder_of(re, im), True, [re, im], axes, name)
