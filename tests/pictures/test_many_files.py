"""Stacks page by page (`--pages`) and many files in one call, beside SciPy: each slice and each file by itself."""

import os
import resource
import signal
import subprocess
import time

import nibabel
import numpy
import pytest
import tifffile
import zarr
from numpy.lib.recfunctions import structured_to_unstructured
from scipy import ndimage


def stack(numbers, shape, dtype="uint8"):
    return numbers.integers(0, 200, shape).astype(dtype)


def test_filters_take_slices_by_themselves(tessera, numbers):
    data = stack(numbers, (3, 4, 17, 19), "uint16")
    tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": "TZYX"})
    tessera("filter", "median", "in.tif", "--radius", 1, "--pages", "-q", "-o", "out.tif")
    expected = numpy.stack([[ndimage.median_filter(p, 3, mode="mirror") for p in volume] for volume in data])
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert file.series[0].axes == "TZYX" and numpy.array_equal(file.series[0].asarray(), expected)
    # A filter of images alone says what to do.
    error = tessera("filter", "canny", "in.tif", "-q", "-o", "x.tif", status=2).stderr
    assert "--pages" in error
    assert tessera.array("filter", "canny", "in.tif", "--pages").shape == data.shape
    valid = tessera.array("filter", "median", "in.tif", "--radius", 2, "--pages", "--extent", "valid")
    assert valid.shape == (3, 4, 13, 15)
    expected = numpy.stack([[ndimage.median_filter(p, 5)[2:-2, 2:-2] for p in volume] for volume in data])
    assert numpy.array_equal(valid, expected)


def test_channels_and_pages(tessera, numbers):
    data = stack(numbers, (4, 2, 11, 13))
    tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": "ZCYX"})
    tessera("filter", "erode", "in.tif", "--pages", "-q", "-o", "out.tif")
    expected = numpy.stack([[ndimage.grey_erosion(p, 3, mode="mirror") for p in s] for s in data])
    with tifffile.TiffFile(tessera.folder / "out.tif") as file:
        assert file.series[0].axes == "ZCYX" and numpy.array_equal(file.series[0].asarray(), expected)


def test_masks_and_pages(tessera, numbers):
    data, mask = stack(numbers, (3, 12, 14), "float32"), stack(numbers, (3, 12, 14)) % 2
    numpy.save(tessera.folder / "in.npy", data)
    for shape in (mask, mask[0]):
        numpy.save(tessera.folder / "mask.npy", shape)
        whole = tessera.array("filter", "box", "in.npy", "--mask", "mask.npy", "--pages")
        for k in range(3):
            numpy.save(tessera.folder / "page.npy", data[k])
            numpy.save(tessera.folder / "part.npy", shape[k] if shape.ndim == 3 else shape)
            one = tessera.array("filter", "box", "page.npy", "--mask", "part.npy")
            assert numpy.array_equal(whole[k], one, equal_nan=True)


def test_a_file_for_each_page(tessera, numbers):
    """Each has the points of its page in the stack, whatever the format; without the field there is one file."""
    (tessera.folder / "out").mkdir()
    data = stack(numbers, (3, 4, 17, 19), "uint16")
    tifffile.imwrite(tessera.folder / "in.tif", data, imagej=True, metadata={"axes": "TZYX"}, resolution=(10, 20))
    words = ["filter", "gaussian", "in.tif", "--sigma", 1, "--pages", "-q", "-o"]
    tessera(*words, "whole.tif")
    whole = tifffile.imread(tessera.folder / "whole.tif").reshape(12, 17, 19)
    tessera(*words, "out/{stem}-{page}.tif")
    assert sorted(p.name for p in (tessera.folder / "out").iterdir()) == [f"in-{k:02}.tif" for k in range(12)]
    for k in range(12):
        with tifffile.TiffFile(tessera.folder / "out" / f"in-{k:02}.tif") as file:
            assert len(file.pages) == 1 and numpy.array_equal(file.asarray(), whole[k])
            assert file.pages[0].tags["XResolution"].value == (10, 1)
    for suffix in ("npy", "png", "zarr", "nrrd", "nii.gz"):
        tessera(*words, "out/{page}." + suffix, "--memory", "100MiB")
        for k in range(12):
            assert numpy.array_equal(tessera.array("filter", "median", f"out/{k:02}.{suffix}", "--radius", 0), whole[k])


def test_numbers_of_pages(tessera, numbers):
    """Two outputs, of which one is a stack; an image alone, whose number is 0; a range of pages, counted anew."""
    (tessera.folder / "two.forma").write_text(TWO)
    data = stack(numbers, (11, 6, 7))
    tifffile.imwrite(tessera.folder / "in.tif", data, photometric="minisblack", metadata=None)
    numpy.save(tessera.folder / "other.npy", data[0])
    tessera("run", "two.forma", "a=in.tif", "b=other.npy", "--pages", "-q", "-o", "x=x.npy", "-o", "y=y_{page}_{page}.npy")
    assert numpy.array_equal(numpy.load(tessera.folder / "x.npy"), data + 1)
    for k in range(11):
        assert numpy.array_equal(numpy.load(tessera.folder / f"y_{k:02}_{k:02}.npy"), data[k] ^ data[0])
    error = tessera("run", "two.forma", "a=in.tif", "b=other.npy", "--pages", "-q", "-o", "x=y_03.npy", "-o", "y=y_{page}.npy", status=2)
    assert "go into one file: 'y_03.npy'" in error.stderr
    tessera("filter", "median", "other.npy", "--pages", "-q", "-o", "one{page}.npy")
    assert (tessera.folder / "one0.npy").exists()
    tessera("filter", "median", "in.tif", "--pages", "--page", "4-6", "-q", "-o", "p{page}.npy")
    for k in range(3):
        assert numpy.array_equal(numpy.load(tessera.folder / f"p{k}.npy"), ndimage.median_filter(data[4 + k], 3, mode="mirror"))
    tessera("fft", "in.tif", "--pages", "--spectrum", "s{page}.png", "-q", "-o", "F{page}.npy")
    assert numpy.allclose(numpy.load(tessera.folder / "F10.npy"), numpy.fft.fft2(data[10]), atol=1e-2)
    assert (tessera.folder / "s10.png").exists()


def test_names_of_pages_that_are_refused(tessera, numbers):
    (tessera.folder / "two.forma").write_text(TWO)
    numpy.save(tessera.folder / "in.npy", stack(numbers, (3, 6, 7)))
    numpy.save(tessera.folder / "in2.npy", stack(numbers, (3, 6, 7)))
    numpy.save(tessera.folder / "in_1.npy", stack(numbers, (3, 6, 7)))
    before = sorted(tessera.folder.iterdir())
    for words in (["filter", "median", "in.npy"], ["filter", "median", "in.npy", "in2.npy"], ["fft", "in.npy"],
                  ["run", "two.forma", "a=in.npy", "b=in.npy"]):
        error = tessera(*words, "-q", "-o", "x{page}.npy", status=2).stderr
        assert "has a number of pages, but the whole input is one" in error and "add --pages" in error, words
    error = tessera("filter", "median", "in.npy", "--pages", "-q", "-o", "a{page}/x.npy", status=2).stderr
    assert "has {page} in the name of a folder" in error
    error = tessera("filter", "median", "in.npy", "in2.npy", "--pages", "-q", "-o", "x{page}.npy", status=2).stderr
    assert "is one file for 2 inputs" in error
    error = tessera("filter", "median", "in.npy", "--pages", "-q", "-o", "{stem}_{page}.what", status=2).stderr
    assert "'in_{page}.what' has no suffix of a known format" in error
    error = tessera("filter", "median", "in.npy", "--pages", "-q", "-o", "{stem}_{pages}.npy", status=2).stderr
    assert "did you mean '{page}'" in error
    assert sorted(tessera.folder.iterdir()) == before
    # Of a batch the results of one file meet an input, which stays; the others are done.
    kept = (tessera.folder / "in_1.npy").read_bytes()
    error = tessera("filter", "median", "in.npy", "in_1.npy", "--pages", "-q", "-o", "{stem}_{page}.npy", status=2).stderr
    assert "'in.npy': it would be written into 'in_1.npy', which is an input" in error and "1 of 2 files failed" in error
    assert (tessera.folder / "in_1.npy").read_bytes() == kept and (tessera.folder / "in_1_2.npy").exists()
    numpy.save(tessera.folder / "in.npy", stack(numbers, (22, 6, 7)))
    error = tessera("filter", "median", "in.npy", "in2.npy", "--pages", "-q", "-o", "x/{stem}{page}.npy", status=2).stderr
    assert "there is no folder 'x'" in error
    (tessera.folder / "x").mkdir()
    error = tessera("filter", "median", "in.npy", "in2.npy", "--pages", "-q", "-o", "x/{stem}{page}.npy", status=2).stderr
    assert "'in2.npy': it would be written into 'x/in20.npy', as 'in.npy' is" in error
    assert len(list((tessera.folder / "x").iterdir())) == 22


def test_pages_appear_together(tessera, numbers):
    """More of them than files may be open at first; none where one cannot be written."""
    (tessera.folder / "out").mkdir()
    data = stack(numbers, (400, 6, 7))
    numpy.save(tessera.folder / "in.npy", data)
    words = [os.environ["TESSERA"], "filter", "median", "in.npy", "--pages", "-q", "-o", "out/{page}.png"]
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    subprocess.run(words, cwd=tessera.folder, check=True, preexec_fn=few)
    assert len(list((tessera.folder / "out").iterdir())) == 400
    before = {path.name: made_as(path) for path in (tessera.folder / "out").iterdir()}
    none = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    done = subprocess.run(words, cwd=tessera.folder, capture_output=True, text=True, preexec_fn=none)
    assert done.returncode == 2 and "too many open files" in done.stderr
    assert {path.name: made_as(path) for path in (tessera.folder / "out").iterdir()} == before


def test_pages_of_many_files_are_resumed(tessera, numbers):
    (tessera.folder / "out").mkdir()
    data = {f"v{k}.npy": stack(numbers, (3 + k, 9, 8)) for k in range(4)}
    for name, values in data.items():
        numpy.save(tessera.folder / name, values)
    (tessera.folder / "v2.npy").rename(tessera.folder / "kept.npy")
    words = ["filter", "median", *data, "--pages", "--resume", "-o", "out/{stem}_{page}.npy"]
    assert "1 of 4 files failed: 'v2.npy'" in tessera(*words, status=2).stderr
    (tessera.folder / "kept.npy").rename(tessera.folder / "v2.npy")
    (tessera.folder / "out" / "v3_5.npy").unlink()
    before = {path.name: made_as(path) for path in (tessera.folder / "out").glob("*.npy")}
    assert "2 of 4 files are done already" in tessera(*words).stderr
    after = {path.name: made_as(path) for path in (tessera.folder / "out").iterdir()}
    assert sum(before.get(name) == made for name, made in after.items()) == 3 + 4 and len(after) == 3 + 4 + 5 + 6
    for name, values in data.items():
        for k, page in enumerate(values):
            made = numpy.load(tessera.folder / "out" / f"{name[:-4]}_{k}.npy")
            assert numpy.array_equal(made, ndimage.median_filter(page, 3, mode="mirror"))


PROGRAM = """stencil shifted(vector#2 uint8 X, uint8 amount) { return X@[0,-1] + amount; }
parameter M, N;
vector#2 uint8 image[M,N];
uint8 amount;
return shifted(image:clamped, amount);
"""


TWO = """stencil more(vector#2 uint8 X) { return X + 1; }
stencil both(vector#2 uint8 X, vector#2 uint8 Y) { return xor(X, Y); }
parameter M, N;
vector#2 uint8 a[M,N];
vector#2 uint8 b[M,N];
return x = more(a), y = both(a, b);
"""


def test_programs_take_slices_by_themselves(tessera, numbers):
    (tessera.folder / "p.forma").write_text(PROGRAM)
    data = stack(numbers, (5, 6, 7))
    numpy.save(tessera.folder / "in.npy", data)
    result = tessera.array("run", "p.forma", "in.npy", 3, "--pages")
    assert numpy.array_equal(result, data[..., [0, *range(6)]] + 3)
    assert "--pages" in tessera("run", "p.forma", "in.npy", 3, "-q", "-o", "x.npy", status=2).stderr


def test_pages_keep_the_header(tessera, numbers):
    data = stack(numbers, (6, 7, 8, 3), "int16")
    image = nibabel.Nifti1Image(data, numpy.diag([2, 3, 4, 1]))
    image.header.set_zooms((2, 3, 4, 1.5))
    nibabel.save(image, tessera.folder / "in.nii")
    tessera("filter", "median", "in.nii", "--pages", "--extent", "valid", "-q", "-o", "out.nii")
    back = nibabel.load(tessera.folder / "out.nii")
    assert back.shape == (4, 5, 8, 3) and back.header.get_zooms() == (2, 3, 4, 1.5)
    assert numpy.array_equal(back.affine[:3, 3], [2, 3, 0])


def test_many_files(tessera, numbers):
    (tessera.folder / "out").mkdir()
    data = {f"in{k}.tif": stack(numbers, (20 + k % 2, 30)) for k in range(4)}
    for name, values in data.items():
        tifffile.imwrite(tessera.folder / name, values)
    done = tessera("filter", "median", *data, "-q", "-o", "out/{stem}.npy")
    for name, values in data.items():
        result = numpy.load(tessera.folder / "out" / f"{name[:-4]}.npy")
        assert numpy.array_equal(result, ndimage.median_filter(values, 3, mode="mirror"))
    (tessera.folder / "in2.tif").write_bytes(b"II*\0rubbish")
    done = tessera("filter", "dilate", *data, "missing.png", "-q", "-o", "out/{index}_{name}", status=2)
    assert "in2.tif" in done.stderr and "missing.png" in done.stderr and "2 of 5 files failed" in done.stderr
    assert sorted(p.name for p in (tessera.folder / "out").glob("*.tif")) == ["0_in0.tif", "1_in1.tif", "3_in3.tif"]


def test_many_files_of_a_program(tessera, numbers):
    (tessera.folder / "p.forma").write_text(PROGRAM)
    names = [f"a{k}.npy" for k in range(3)]
    arrays = [stack(numbers, (5, 6 + k)) for k in range(3)]
    for name, values in zip(names, arrays):
        numpy.save(tessera.folder / name, values)
    for words in ([*names, 4], [*names, "amount=4"], [*names, "-p", "amount=4"]):
        tessera("run", "p.forma", *words, "-q", "-o", "{stem}_out.npy")
        for name, values in zip(names, arrays):
            result = numpy.load(tessera.folder / f"{name[:-4]}_out.npy")
            assert numpy.array_equal(result, values[:, [0, *range(values.shape[1] - 1)]] + 4)
            (tessera.folder / f"{name[:-4]}_out.npy").unlink()
    assert "one input too many" in tessera("run", "p.forma", names[0], 4, 5, status=2).stderr


def test_files_that_would_meet_are_refused(tessera, numbers):
    for folder in "ab":
        (tessera.folder / folder).mkdir()
        numpy.save(tessera.folder / folder / "x.npy", stack(numbers, (4, 5)))
    refused = lambda *words: tessera("filter", "median", *words, "-q", status=2).stderr
    assert "{stem}" in refused("a/x.npy", "b/x.npy", "-o", "out.npy")
    assert "both be written into" in refused("a/x.npy", "b/x.npy", "-o", "{stem}.npy")
    assert "both be written into" in refused("a/x.npy", "a/x.npy", "-o", "./b/../{stem}.npy")
    assert not list(tessera.folder.glob("*.npy"))
    before = (tessera.folder / "b" / "x.npy").read_bytes()
    numpy.save(tessera.folder / "a" / "y.npy", stack(numbers, (4, 5)))
    (tessera.folder / "b" / "y.npy").write_bytes(before)
    assert "another input" in refused("a/x.npy", "b/x.npy", "-o", "b/{name}")
    assert (tessera.folder / "b" / "x.npy").read_bytes() == before
    tessera("filter", "median", "a/x.npy", "b/x.npy", "-q", "-o", "{stem}{index}.npy")
    assert sorted(p.name for p in tessera.folder.glob("*.npy")) == ["x0.npy", "x1.npy"]
    tessera("filter", "median", "a/x.npy", "-q", "-o", "{stem}_one.npy")
    assert (tessera.folder / "x_one.npy").exists()


def test_stems_of_double_suffixes(tessera, numbers):
    data = stack(numbers, (4, 5, 6), "int16")
    nibabel.save(nibabel.Nifti1Image(data, numpy.eye(4)), tessera.folder / "brain.nii.gz")
    tifffile.imwrite(tessera.folder / "cells.ome.tif", data, metadata={"axes": "ZYX"})
    tessera("filter", "median", "brain.nii.gz", "cells.ome.tif", "-q", "-o", "{stem}.npy")
    assert (tessera.folder / "brain.npy").exists() and (tessera.folder / "cells.npy").exists()


def scans(tessera, numbers, count, shape=(40, 50), folder="in"):
    """Names and values of so many files, two shapes of them."""
    (tessera.folder / folder).mkdir(exist_ok=True)
    data = {f"{folder}/s{k:02}.tif": stack(numbers, (shape[0] + k % 2, shape[1]), "uint16") for k in range(count)}
    for name, values in data.items():
        tifffile.imwrite(tessera.folder / name, values)
    (tessera.folder / "out").mkdir(exist_ok=True)
    return data


def test_batches_have_the_bits_of_single_runs(tessera, numbers):
    data = scans(tessera, numbers, 9)
    (tessera.folder / "p.forma").write_text(PROGRAM.replace("uint8", "uint16"))
    for words, more in ((["filter", "gaussian"], ["--sigma", 2]), (["run", "p.forma"], ["amount=4"])):
        tessera(*words, *data, *more, "-q", "-o", "out/{stem}.tif")
        for name in data:
            tessera(*words, name, *more, "-q", "-o", "one.tif")
            whole = tessera.folder / "out" / name.split("/")[1]
            assert whole.read_bytes() == (tessera.folder / "one.tif").read_bytes(), name


def test_one_compilation_for_each_kind(tessera, numbers):
    """A compiler that counts: twelve files of two extents and two types."""
    data = scans(tessera, numbers, 12)
    for name in list(data)[:4]:
        tifffile.imwrite(tessera.folder / name, data[name].astype("uint8"))
    compiler = tessera.folder / "counting"
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *-shared*) echo 1 >> {tessera.folder}/calls;; esac\nexec cc "$@"\n')
    compiler.chmod(0o755)
    calls = []
    for k, files in enumerate((list(data)[4:6], list(data))):
        cache = str(tessera.folder / f"cache{k}")
        tessera("filter", "gaussian", *files, "--compiler", compiler, "-q", "-o", "out/{stem}.tif", XDG_CACHE_HOME=cache)
        calls.append(len((tessera.folder / "calls").read_text().split()))
    of_one_type, of_both = calls[0], calls[1] - calls[0]
    assert of_one_type >= 1 and of_both == 2 * of_one_type


def test_names_of_results(tessera, numbers):
    data = scans(tessera, numbers, 3)
    for field, names in (("{folder}/{stem}_x{suffix}", [f"in/s0{k}_x.tif" for k in range(3)]),
                         ("out/{parent}-{index}.npy", [f"out/in-{k}.npy" for k in range(3)]),
                         ("out/{name}.npy", [f"out/s0{k}.tif.npy" for k in range(3)])):
        tessera("filter", "median", *data, "-q", "-o", field)
        for name in names:
            (tessera.folder / name).unlink()
    error = tessera("filter", "median", *data, "-o", "out/{stm}.tif", status=2).stderr
    assert "has the field {stm}" in error and "did you mean '{stem}'" in error
    error = tessera("filter", "median", *data, "-o", "none/{stem}.tif", status=2).stderr
    assert error.count("there is no folder 'none'") == 1
    error = tessera("filter", "median", *data, "-o", "{folder}/{name}", status=2).stderr
    assert "which is the input itself" in error
    for name, values in data.items():
        assert numpy.array_equal(tifffile.imread(tessera.folder / name), values)


def test_folders(tessera, numbers):
    data = scans(tessera, numbers, 4)
    (tessera.folder / "in" / "notes.txt").write_text("no image")
    (tessera.folder / "in" / ".hidden.tif").write_text("no image")
    (tessera.folder / "in" / "deeper").mkdir()
    zarr.create_array(tessera.folder / "in" / "z.zarr", data=stack(numbers, (9, 8)))
    tessera("filter", "median", "in", "-q", "-o", "out/")
    assert sorted(p.name for p in (tessera.folder / "out").iterdir()) == [*(n[3:] for n in data), "z.zarr"]
    said = tessera("filter", "median", "in", "-q").stdout.splitlines()
    assert [line for line in said if line.startswith("in/")] == [*data, "in/z.zarr"]
    tessera("filter", "median", "in", "-q", "-o", "out", "--format", "npy")
    for name, values in data.items():
        result = numpy.load(tessera.folder / "out" / (name[3:-4] + ".npy"))
        assert numpy.array_equal(result, ndimage.median_filter(values, 3, mode="mirror"))
    tessera("filter", "median", "in/s00.tif", "-q", "-o", "out")
    assert (tessera.folder / "out" / "s00.tif").exists()
    assert "folder 'in/deeper' has no image" in tessera("filter", "median", "in/deeper", "-o", "out", status=2).stderr


def test_files_that_fail_are_named(tessera, numbers):
    data = scans(tessera, numbers, 8)
    names = list(data)
    whole = (tessera.folder / names[2]).read_bytes()
    (tessera.folder / names[2]).write_bytes(whole[: len(whole) // 2])
    tifffile.imwrite(tessera.folder / names[4], stack(numbers, (2, 3, 4, 5), "uint16"), imagej=True, metadata={"axes": "TZYX"})
    (tessera.folder / names[5]).unlink()
    (tessera.folder / names[5]).symlink_to("nowhere")
    (tessera.folder / "p.forma").write_text(PROGRAM.replace("uint8", "uint16"))
    said = tessera("run", "p.forma", *names, 1, "-q", "-o", "out/{stem}.npy", status=2).stderr
    lines = [line for line in said.splitlines() if line.startswith("tessera: error: ")]
    assert [names[k] in line for k, line in zip((2, 4, 5), lines)] == [True] * 3, said
    assert "has rank 4" in lines[1]
    assert "3 of 8 files failed: 'in/s02.tif', 'in/s04.tif' and 'in/s05.tif'" in said
    assert sorted(p.stem for p in (tessera.folder / "out").iterdir()) == [f"s{k:02}" for k in (0, 1, 3, 6, 7)]


def test_files_that_do_not_fit_the_disk(tessera, numbers):
    data = scans(tessera, numbers, 5)
    tifffile.imwrite(tessera.folder / "in" / "s02.tif", stack(numbers, (900, 1000), "uint16"))

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    tessera("filter", "median", *data, "-q", "-o", "out/{stem}.npy")
    before = (tessera.folder / "out" / "s02.npy").read_bytes()
    words = [os.environ["TESSERA"], "filter", "median", *data, "--radius", "2", "-q", "-o", "out/{stem}.npy"]
    done = subprocess.run(words, cwd=tessera.folder, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 2 and "1 of 5 files failed: 'in/s02.tif'" in done.stderr
    assert (tessera.folder / "out" / "s02.npy").read_bytes() == before
    assert len(list((tessera.folder / "out").iterdir())) == 5
    assert numpy.array_equal(numpy.load(tessera.folder / "out" / "s04.npy"), ndimage.median_filter(data["in/s04.tif"], 5, mode="mirror"))


def test_files_that_are_packed_beside_each_other(tessera, numbers):
    """What is told of failures in packing is in the order of files, whichever ends first; what they hold is bounded."""
    (tessera.folder / "out").mkdir()
    data = {f"p{k:02}.npy": stack(numbers, (40, 50) if k % 4 else (900, 1000 + 300 * (k == 0))) for k in range(24)}
    for name, values in data.items():
        numpy.save(tessera.folder / name, values)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))

    words = ["filter", "median", *data, "--threads", "6", "--resume", "-q", "-o", "out/{stem}.png"]
    done = subprocess.run([os.environ["TESSERA"], *words], cwd=tessera.folder, capture_output=True, text=True, preexec_fn=limit)
    failed = [line.split("'")[1] for line in done.stderr.splitlines() if line.startswith("tessera: error: ")]
    assert done.returncode == 2 and failed == [name for name in list(data)[::4]], done.stderr
    words.remove("-q")
    assert "18 of 24 files are done already" in tessera(*words).stderr
    for name, values in data.items():
        tessera("filter", "median", f"out/{name[:-4]}.png", "--radius", 0, "-q", "-o", "back.npy")
        assert numpy.array_equal(numpy.load(tessera.folder / "back.npy"), ndimage.median_filter(values, 3, mode="mirror"))


def test_memory_of_files_that_are_packed(tessera, numbers):
    (tessera.folder / "out").mkdir()
    numpy.save(tessera.folder / "in.npy", stack(numbers, (2200, 2400)))
    names = [f"link{k}.npy" for k in range(24)]
    for name in names:
        (tessera.folder / name).symlink_to("in.npy")
    most = 180  # a sixteenth holds one file, an eighth two that are packed
    words = ["filter", "median", *names, "--threads", "16", "--memory", f"{most}MiB", "--compression", "deflate:1", "-q"]
    process = subprocess.Popen([os.environ["TESSERA"], *words, "-o", "out/{stem}.png"], cwd=tessera.folder)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0 and usage.ru_maxrss < most * 1024
    first = (tessera.folder / "out" / "link0.png").read_bytes()
    assert all((tessera.folder / "out" / f"{name[:-4]}.png").read_bytes() == first for name in names)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_whole_files(tessera, numbers, ending):
    data = scans(tessera, numbers, 60, (300, 400))
    words = [os.environ["TESSERA"], "filter", "median", *data, "--radius", "6", "-q", "-o", "out/{stem}.npy"]
    process = subprocess.Popen(words, cwd=tessera.folder, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(list((tessera.folder / "out").iterdir())) < 3:
        time.sleep(0.002)
    process.send_signal(ending)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 128 + ending, said
    made = list((tessera.folder / "out").iterdir())
    assert 3 <= len(made) < 60
    for path in made:
        expected = ndimage.median_filter(data[f"in/{path.stem}.tif"], 13, mode="mirror")
        assert numpy.array_equal(numpy.load(path), expected), path


def test_large_files_of_a_batch_go_in_pieces(tessera, numbers):
    data = {f"v{k}.npy": numbers.random((2400 if k % 2 else 90, 2600), dtype="float32") for k in range(4)}
    for name, values in data.items():
        numpy.save(tessera.folder / name, values)
    said = tessera("filter", "gaussian", *data, "--sigma", 3, "--memory", "90MiB", "-o", "{stem}_p.npy").stderr
    assert said.count(" of memory") == 2
    for name in data:
        tessera("filter", "gaussian", name, "--sigma", 3, "-q", "-o", "one.npy")
        assert (tessera.folder / f"{name[:-4]}_p.npy").read_bytes() == (tessera.folder / "one.npy").read_bytes()


def made_as(path):
    """Another one of every file that is made: numbers of files that are gone are used again."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def test_batches_are_resumed(tessera, numbers):
    data = scans(tessera, numbers, 30, (200, 300))
    out = tessera.folder / "out"
    words = ["filter", "median", *data, "--radius", 5, "--resume", "-o", "out/{stem}.npy"]
    process = subprocess.Popen([os.environ["TESSERA"], *map(str, words)], cwd=tessera.folder, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(out.glob("*.npy"))) < 6:
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert len(list(out.glob("tessera-*.journal"))) == 1
    before = {path.name: made_as(path) for path in out.glob("*.npy")}
    # One result is gone, one input is another one, and one result was made by somebody else.
    made = sorted(before)
    (out / made[0]).unlink()
    os.utime(tessera.folder / "in" / (made[1][:-3] + "tif"))
    numpy.save(out / made[2], numpy.zeros(3))
    # Other work is other work, and leaves this one's journal alone.
    tessera(*["4" if word == 5 else word for word in words[:4]], "--resume", "-q", "-o", "out/{index}.tif")
    said = tessera(*words).stderr
    count = int(said.split("median: ")[1].split(" of 30 files are done already")[0])
    assert len(before) - 5 <= count <= len(before) - 3
    after = {path.name: made_as(path) for path in out.glob("*.npy")}
    assert sum(before.get(name) == made for name, made in after.items()) == count
    assert not list(out.glob("*.journal"))
    for name, values in data.items():
        result = numpy.load(out / f"{name[3:-4]}.npy")
        assert numpy.array_equal(result, ndimage.median_filter(values, 11, mode="mirror"))
    # What failed is done again, and the others are not.
    (tessera.folder / "in" / "s03.tif").rename(tessera.folder / "kept.tif")
    tessera(*words, status=2)
    (tessera.folder / "kept.tif").rename(tessera.folder / "in" / "s03.tif")
    assert "29 of 30 files are done already" in tessera(*words).stderr
    assert not list(out.glob("*.journal"))
    assert "--resume leaves files out" in tessera("filter", "median", *data, "--resume", status=2).stderr
