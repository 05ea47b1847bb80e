"""Zarr and OME-Zarr beside zarr-python and tensorstore, both ways: what they write is read here, what is written here they read."""

import hashlib
import json
import os
import random
import subprocess
import time

import numpy as np
import pytest
import tensorstore
import zarr
from numcodecs import GZip, Zlib, Zstd
from numcodecs import Blosc as BloscV2
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

TOOL = os.environ["TESSERA"]
NAMES = {"bool": "bool", "uint8": "uint8", "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32",
         "float16": "half", "float32": "float", "float64": "double"}


def tool(*arguments):
    """What it prints, as pairs; the steps are a list."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said = {"step": []}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        if key == "step":
            said["step"].append(value)
        else:
            said[key] = value
    return said


def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def numbers(dtype, shape, seed=1):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.normal(0, 100, shape).astype(dtype)
    info = np.iinfo(dtype)
    # Half of it is small, so that there is something to pack; the last slices are the fill value.
    array = rng.integers(0, 100, shape).astype(dtype)
    array[..., ::3] = rng.integers(info.min, info.max, array[..., ::3].shape, dtype, endpoint=True)
    array[-shape[0] // 3:] = 0
    return array


def check(path, array, chunk=None):
    said = tool("sum", path)
    assert said["sha256"] == digest(array)
    assert said["type"] == NAMES[array.dtype.name]
    assert said["shape"] == "x".join(map(str, array.shape))
    if chunk:
        assert said["chunk"] == "x".join(map(str, chunk))
    return said


# ---- what zarr-python writes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("version", [2, 3])
def test_types(tmp_path, dtype, version):
    array = numbers(dtype, (11, 19, 23))
    made = zarr.create_array(tmp_path / "a.zarr", shape=array.shape, chunks=(4, 8, 16), dtype=dtype, zarr_format=version)
    made[:] = array
    check(tmp_path / "a.zarr", array, (4, 8, 16))


V2 = {"none": None, "zlib": Zlib(3), "gzip": GZip(1), "zstd": Zstd(5)}
V2 |= {f"{name}-{shuffle}": BloscV2(name, 4, shuffle) for name in ("blosclz", "lz4", "lz4hc", "zlib", "zstd") for shuffle in range(3)}


@pytest.mark.parametrize("compressor", V2)
def test_compressors_of_v2(tmp_path, compressor):
    array = numbers("uint16", (13, 30, 37))
    for order, separator, big in [("C", ".", False), ("F", "/", True)]:
        path = tmp_path / order
        made = zarr.create_array(path, shape=array.shape, chunks=(5, 7, 37), dtype=">u2" if big else "<u2", zarr_format=2,
                                 compressors=V2[compressor], order=order,
                                 chunk_key_encoding={"name": "v2", "separator": separator})
        made[:] = array
        assert json.loads((path / ".zarray").read_text())["order"] == order
        check(path, array, (5, 7, 37))


V3 = {
    "none": [],
    "gzip": [GzipCodec(level=2)],
    "zstd": [ZstdCodec(level=2)],
    "zstd with a checksum": [ZstdCodec(level=2, checksum=True)],
    "crc32c": [Crc32cCodec()],
    "several": [ZstdCodec(level=1), GzipCodec(level=1), Crc32cCodec()],
    "several blocks": [BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", blocksize=256)],
}
V3 |= {f"blosc {name} {shuffle}": [BloscCodec(cname=name, clevel=3, shuffle=shuffle)]
       for name in ("blosclz", "lz4", "lz4hc", "zlib", "zstd") for shuffle in ("noshuffle", "shuffle", "bitshuffle")}


@pytest.mark.parametrize("compressors", V3)
def test_codecs_of_v3(tmp_path, compressors):
    array = numbers("float32", (9, 21, 34))
    made = zarr.create_array(tmp_path / "a", shape=array.shape, chunks=(4, 21, 10), dtype="float32", compressors=V3[compressors])
    made[:] = array
    check(tmp_path / "a", array, (4, 21, 10))


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_order_and_endian_of_v3(tmp_path, endian, order):
    array = numbers("int32", (9, 14, 22))
    made = zarr.create_array(tmp_path / "a", shape=array.shape, chunks=(3, 5, 7), dtype="int32",
                             filters=[TransposeCodec(order=order)], serializer=BytesCodec(endian=endian))
    made[:] = array
    check(tmp_path / "a", array, (3, 5, 7))


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("index", [[BytesCodec()], [BytesCodec(endian="big"), Crc32cCodec()]])
@pytest.mark.parametrize("order", [None, (2, 0, 1)])
def test_shards(tmp_path, location, index, order):
    array = numbers("uint16", (20, 33, 41))
    inner = [BytesCodec(endian="big"), BloscCodec(cname="zstd"), Crc32cCodec()]
    if order:
        inner.insert(0, TransposeCodec(order=order))
    shards = ShardingCodec(chunk_shape=(2, 6, 4), codecs=inner, index_codecs=index, index_location=location)
    made = zarr.create_array(tmp_path / "a", shape=array.shape, chunks=(6, 12, 8), dtype="uint16", serializer=shards, compressors=None)
    made[:] = array
    check(tmp_path / "a", array, (2, 6, 4))


def test_shards_behind_transpose(tmp_path):
    # tensorstore writes what zarr-python does not.
    array = numbers("uint16", (20, 33, 41))
    path = tmp_path / "a"
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)},
            "metadata": {"shape": array.shape, "data_type": "uint16", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6, 12, 8]}},
                         "codecs": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}},
                                    {"name": "sharding_indexed", "configuration": {
                                        "chunk_shape": [4, 2, 6],
                                        "codecs": [{"name": "transpose", "configuration": {"order": [1, 0, 2]}},
                                                   {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}],
                                        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]}}
    made = tensorstore.open(spec, create=True).result()
    made.write(array).result()
    check(path, array, (2, 6, 4))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype, fill", [("float32", np.nan), ("float64", np.inf), ("float16", -np.inf), ("float32", 1e-30), ("int16", -7), ("uint32", 2**32 - 1),
                                         ("bool", True)])
def test_fill_values(tmp_path, version, dtype, fill):
    made = zarr.create_array(tmp_path / "a", shape=(7, 9), chunks=(2, 4), dtype=dtype, fill_value=fill, zarr_format=version)
    made[0:2, 3:6] = numbers(dtype, (2, 3))
    check(tmp_path / "a", made[:])


@pytest.mark.parametrize("shape, chunk", [((), ()), ((5,), (3,)), ((1, 1), (1, 1)), ((0, 4), (2, 2)), ((2, 3, 4, 5, 6), (1, 2, 2, 3, 6))])
@pytest.mark.parametrize("version", [2, 3])
def test_extents(tmp_path, shape, chunk, version):
    array = np.arange(int(np.prod(shape)), dtype="float32").reshape(shape) + 1
    made = zarr.create_array(tmp_path / "a", shape=shape, chunks=chunk, dtype="float32", zarr_format=version)
    made[...] = array
    said = tool("sum", tmp_path / "a")
    assert said["sha256"] == digest(array)


@pytest.mark.parametrize("name, separator", [("default", "/"), ("default", "."), ("v2", "/"), ("v2", ".")])
def test_names_of_chunks(tmp_path, name, separator):
    array = numbers("uint8", (9, 9))
    made = zarr.create_array(tmp_path / "a", shape=(9, 9), chunks=(2, 3), dtype="uint8", chunk_key_encoding={"name": name, "separator": separator},
                             dimension_names=["y", "x"])
    made[:] = array
    assert check(tmp_path / "a", array)["letters"] == "yx"


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_tensorstore(tmp_path, driver):
    array = numbers("int16", (17, 40, 50))
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(tmp_path / "a")}}
    made = tensorstore.open(spec, create=True, dtype=tensorstore.int16, shape=array.shape, chunk_layout=tensorstore.ChunkLayout(chunk_shape=[4, 16, 25])).result()
    made.write(array).result()
    check(tmp_path / "a", array, (4, 16, 25))


# ---- OME-Zarr -----------------------------------------------------------------------------------------------------------


def multiscales(version, units=("second", None, "micrometer", "nanometer", "um")):
    axes = [{"name": n, "type": t} for n, t in zip("tczyx", ["time", "channel", "space", "space", "space"])]
    for axis, unit in zip(axes, units):
        if unit:
            axis["unit"] = unit
    levels = [{"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 2, 500 * 2**k, 0.25 * 2**k]}]} for k in range(2)]
    image = {"axes": axes, "datasets": levels, "coordinateTransformations": [{"type": "scale", "scale": [0.1, 1, 1, 1, 2]}]}
    if version == "0.4":
        image["version"] = version
        return {"multiscales": [image]}
    return {"ome": {"version": version, "multiscales": [image]}}


@pytest.mark.parametrize("version, zarr_format", [("0.4", 2), ("0.5", 3)])
def test_ome(tmp_path, version, zarr_format):
    path = tmp_path / "a.ome.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    group.attrs.update(multiscales(version))
    whole, half = numbers("uint16", (2, 3, 4, 20, 30)), numbers("uint16", (2, 3, 4, 10, 15), 2)
    for name, array in (("0", whole), ("1", half)):
        made = group.create_array(name, shape=array.shape, chunks=(1, 1, 2, 8, 8), dtype="uint16")
        made[:] = array
    said = check(path, whole)
    assert (said["format"], said["letters"]) == ("OME-Zarr", "tczyx")
    assert said["step"] == ["0.1 s", "0 ?", "0.002 mm", "0.0005 mm", "0.0005 mm"]
    said = check(path / "1", half)
    assert said["step"][3:] == ["0.001 mm", "0.001 mm"]
    assert check(path / "0", whole)["letters"] == "tczyx"


# ---- what is written here -----------------------------------------------------------------------------------------------


def tensorstore_of(path):
    return tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}).result().read().result()


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("packing", ["none", "zstd", "deflate"])
def test_written(tmp_path, dtype, packing):
    array = numbers(dtype, (11, 19, 23))
    source = zarr.create_array(tmp_path / "in", shape=array.shape, chunks=(4, 8, 16), dtype=dtype, dimension_names=["z", "y", "x"])
    source[:] = array
    out = tmp_path / "out.zarr"
    tool("copy", tmp_path / "in", out, "chunk=5x8x8", f"packing={packing}")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out.zarr"]
    written = zarr.open_array(out, mode="r")
    assert written.chunks == (5, 8, 8) and written.metadata.dimension_names == ("z", "y", "x")
    np.testing.assert_array_equal(written[:], array)
    np.testing.assert_array_equal(tensorstore_of(out), array)
    check(out, array, (5, 8, 8))


@pytest.mark.parametrize("shape", [(), (7,), (0, 3), (1, 2, 3, 4, 5, 6)])
def test_written_extents(tmp_path, shape):
    array = np.arange(int(np.prod(shape)), dtype="float64").reshape(shape) + 1
    zarr.create_array(tmp_path / "in", shape=shape, chunks=tuple(max(n, 1) for n in shape), dtype="float64")[...] = array
    tool("copy", tmp_path / "in", tmp_path / "out.zarr")
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "out.zarr", mode="r")[...], array)
    np.testing.assert_array_equal(tensorstore_of(tmp_path / "out.zarr"), array)


def halved(array, axes):
    """Means of what lies together, of what is there; integers half to even."""
    sums = array.astype("float64")
    count = np.ones_like(sums)
    for axis in axes:
        if array.shape[axis] > 1:
            edges = np.arange(0, array.shape[axis], 2)
            sums, count = np.add.reduceat(sums, edges, axis), np.add.reduceat(count, edges, axis)
    mean = sums / count
    return (np.rint(mean) if array.dtype.kind in "iub" else mean).astype(array.dtype)


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("thick", [False, True])
def test_written_pyramid(tmp_path, dtype, thick):
    array = numbers(dtype, (2, 1, 9, 21, 35))
    path = tmp_path / "in.ome.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=3)
    said = multiscales("0.5", ("second", None, "micrometer", "micrometer", "micrometer"))
    z = 4 if thick else 0.5
    del said["ome"]["multiscales"][0]["datasets"][1]
    said["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"] = [1, 1, z, 0.5, 0.25]
    group.attrs.update(said)
    group.create_array("0", shape=array.shape, chunks=array.shape, dtype=dtype)[:] = array
    out = tmp_path / "out.ome.zarr"
    tool("copy", path, out, "chunk=1x1x4x8x8", "levels=4")
    group = zarr.open_group(out, mode="r")
    image = group.attrs["ome"]["multiscales"][0]
    assert [axis["name"] for axis in image["axes"]] == list("tczyx") and image["axes"][4]["unit"] == "millimeter"
    expected = array
    for k, level in enumerate(image["datasets"]):
        read = group[level["path"]]
        # (Doubles have no wider type to be summed in, so that the order shows.)
        np.testing.assert_allclose(read[:], expected, rtol=1e-12 if dtype == "float64" else 0, atol=1e-12 if dtype == "float64" else 0)
        expected = read[:]
        np.testing.assert_array_equal(tensorstore_of(out / level["path"]), expected)
        scale = level["coordinateTransformations"][0]["scale"]
        np.testing.assert_allclose(scale[3:], np.array([0.5, 0.5]) * 1e-3 * 2**k)
        # Slices of 4 um are taken together when rows are as far apart.
        deep = not thick or k >= 3
        expected = halved(expected, (2, 3, 4) if deep else (3, 4))
    said = check(out / "3", read[:])
    assert said["step"][0] == "0.1 s" and said["letters"] == "tczyx"


def test_written_over(tmp_path):
    for seed in (1, 2):
        array = numbers("uint8", (5, 6), seed)
        zarr.create_array(tmp_path / "in", shape=(5, 6), chunks=(2, 2), dtype="uint8", overwrite=True)[:] = array
        tool("copy", tmp_path / "in", tmp_path / "out.zarr", "chunk=2x2")
        np.testing.assert_array_equal(zarr.open_array(tmp_path / "out.zarr", mode="r")[:], array)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out.zarr"]


def test_killed(tmp_path):
    """Whenever it ends, what has a name is whole, and going on gives the array."""
    array = numbers("uint16", (60, 250, 250))
    zarr.create_array(tmp_path / "in", shape=array.shape, chunks=(20, 250, 250), dtype="uint16")[:] = array
    out, partial = tmp_path / "out.zarr", tmp_path / "out.zarr.partial"
    command = [TOOL, "copy", str(tmp_path / "in"), str(out), "chunk=5x50x50"]
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - begun
    files = {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    cut_off = 0
    rng = random.Random(3)
    for _ in range(12):
        running = subprocess.Popen([*command, "resume=1"], stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 1) * took)
        running.kill()
        running.wait()
        if not partial.is_dir():
            continue
        cut_off += 1
        for file in partial.rglob("*"):
            name = file.relative_to(partial)
            if file.is_file() and name.parts[0] != ".writing":
                assert file.read_bytes() == files[name]
    assert cut_off > 0
    subprocess.run([*command, "resume=1"], check=True, stdout=subprocess.DEVNULL)
    assert not partial.exists()
    assert {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} == files
