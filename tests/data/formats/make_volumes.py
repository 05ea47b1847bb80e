"""Makes the volumes of this folder and of ../volumes with programs that are not ours: nibabel and tifffile.

Every NAME.EXT here comes with NAME.EXT.npy, what a reader must make of it: slowest dimension first, channels last.
Run it in this folder. ../volumes holds what is no single file, or has no expectation of its own.
"""
import nibabel as nib
import numpy as np
import tifffile

rng = np.random.default_rng(2)
T, Z, Y, X = 3, 4, 5, 6
shape = (X, Y, Z)  # nibabel counts from the fastest dimension
wave = rng.integers(-1000, 1000, shape).astype(np.int16)
affine = np.array([[-2.0, 0.1, 0, 30], [0.1, 2.5, 0.2, -40], [0, -0.2, 3, 5.5], [0, 0, 0, 1]])
WIDER = {"i1": "<i2", "i8": "<i4", "u8": "<u4"}


def expect(name, values):
    np.save(name + ".npy", np.ascontiguousarray(values))


def nifti(name, values, expected=None, kind=nib.Nifti1Image, order="<", **fields):
    header = kind.header_class(endianness=order)
    header.set_data_dtype(values.dtype)
    image = kind(values, affine, header)
    image.header.set_xyzt_units("mm", "sec")
    for key, value in fields.items():
        image.header[key] = value
    nib.save(image, name)
    if expected is None:
        kind_of = values.dtype.str[1:]
        expected = values.astype(WIDER.get(kind_of, "<" + kind_of)).T
    expect(name, expected)
    return image


nifti("volume.nii", wave, descrip=b"made by nibabel", intent_code=3, intent_name=b"t-test", intent_p1=7, cal_max=9, cal_min=-9)
nifti("big_endian.nii", wave, order=">")
nifti("big_endian_double.nii.gz", wave / 7, order=">")
nifti("packed.nii.gz", wave)
nifti("image.nii", wave[:, :, 0])
nifti("series.nii.gz", rng.random(shape + (T,), dtype=np.float32), pixdim=[1, 2, 2.5, 3, 0.75, 0, 0, 0], toffset=0.5)
nifti("ones.nii", wave[:, :, :1, None, None])
expect("ones.nii", wave[:, :, :1, None].T)
for kind in ("u1", "i1", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
    small = wave if kind[0] != "u" else wave + 1000
    nifti(f"{kind}.nii", (small // 8 if kind[1] == "1" else small).astype(kind))
nifti("second.nii", wave / 3, kind=nib.Nifti2Image)
nifti("second_big.nii.gz", wave, kind=nib.Nifti2Image, order=">")
for channels, name in ((3, "colour.nii"), (4, "colour_alpha.nii")):
    values = rng.integers(0, 256, shape + (channels,)).astype(np.uint8)
    pixel = np.dtype([(c, "u1") for c in "RGBA"[:channels]])
    nifti(name, values.view(pixel)[..., 0], np.moveaxis(values, -1, 0).T)
    expect(name, np.transpose(values, (2, 1, 0, 3)))


def scaled(name, values, slope, inter):
    """The scale is put into the header behind nibabel's back, which would choose its own."""
    nifti(name, values)
    data = bytearray(open(name, "rb").read())
    data[112:120] = np.array([slope, inter], "<f4").tobytes()
    open(name, "wb").write(data)
    back = nib.load(name)
    wide = values.dtype.itemsize >= 4 and values.dtype != np.float32
    exact = values.astype(np.float64) * float(np.float32(slope)) + float(np.float32(inter))
    assert np.allclose(back.get_fdata(), exact)
    expect(name, exact.T.astype(np.float64 if wide else np.float32))


scaled("scaled.nii", wave, 0.25, -3)
scaled("scaled_long.nii", wave.astype(np.int32), 0.1, 0)
scaled("scaled_float.nii", (wave / 9).astype(np.float32), 1, 100)

extended = nib.Nifti1Image(wave, affine)
extended.header.extensions.append(nib.nifti1.Nifti1Extension("comment", b"a note that travels"))
extended.header.extensions.append(nib.nifti1.Nifti1Extension("afni", b"<AFNI_attributes/>"))
nib.save(extended, "extended.nii")
expect("extended.nii", wave.T)

nib.save(nib.Nifti1Pair(wave, affine), "../volumes/pair.img")
nib.save(nib.Nifti2Pair(wave, affine), "../volumes/packed_pair.img.gz")
np.save("../volumes/pair.npy", np.ascontiguousarray(wave.T))

stack = rng.integers(0, 65536, (Z, Y, X)).astype(np.uint16)
tifffile.imwrite("imagej.tif", stack, imagej=True, resolution=(1 / 0.25, 1 / 0.5), metadata={"spacing": 1.5, "unit": "um", "axes": "ZYX"})
expect("imagej.tif", stack)
moments = rng.integers(0, 65536, (T, Z, Y, X)).astype(np.uint16)
tifffile.imwrite("imagej_series.tif", moments, imagej=True, resolution=(2, 2), metadata={"spacing": 3, "unit": "mm", "finterval": 0.5, "axes": "TZYX"})
expect("imagej_series.tif", moments)
tifffile.imwrite("volume.ome.tif", stack, metadata={"axes": "ZYX", "PhysicalSizeX": 0.3, "PhysicalSizeY": 0.4, "PhysicalSizeZ": 2, "PhysicalSizeZUnit": "nm"})
expect("volume.ome.tif", stack)
wide = rng.integers(0, 256, (3, 33, 40)).astype(np.uint8)
tifffile.imwrite("tiled_pages.tif", wide, photometric="minisblack", tile=(16, 16), bigtiff=True, byteorder=">", compression="zlib")
expect("tiled_pages.tif", wide)


def text_headers():
    """NRRD and MetaImage, by pynrrd and SimpleITK; numbers of their own, so that this runs alone."""
    import nrrd
    import SimpleITK

    numbers = np.random.default_rng(3)
    volume = numbers.integers(-1000, 1000, (Z, Y, X)).astype(np.int16)
    space = {"space": "left-posterior-superior", "space origin": [30, -40, 5.5], "space directions": [[0, 0, 3], [0, 2.5, 0], [-2, 0, 0]]}
    nrrd.write("volume.nrrd", volume, {**space, "encoding": "raw"}, index_order="C")
    expect("volume.nrrd", volume)
    vectors = numbers.normal(size=(Z, Y, X, 3)).astype("<f4")
    nrrd.write("vectors.nrrd", vectors.astype(">f4"), {"kinds": ["vector", "domain", "domain", "domain"], "encoding": "gzip", "endian": "big"},
               index_order="C")
    expect("vectors.nrrd", vectors)
    small = numbers.integers(-128, 128, (Y, X)).astype(np.int8)
    nrrd.write("small.nrrd", small, {"encoding": "raw", "spacings": [2, 3], "units": ["mm", "mm"]}, index_order="C")
    expect("small.nrrd", small.astype("<i2"))
    for name, values in (("volume.mha", volume), ("colour.mha", numbers.integers(0, 256, (Y, X, 3)).astype(np.uint8)),
                         ("vectors.mha", numbers.normal(size=(Z, Y, X, 2))), ("long.mha", volume.astype("<i8"))):
        image = SimpleITK.GetImageFromArray(values, isVector=name in ("colour.mha", "vectors.mha"))
        image.SetSpacing((2, 2.5, 3)[:image.GetDimension()])
        SimpleITK.WriteImage(image, name, useCompression=name == "vectors.mha")
        expect(name, values.astype("<i4") if name == "long.mha" else values)


text_headers()
