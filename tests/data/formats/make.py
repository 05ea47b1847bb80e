"""Makes the files of this folder with programs that are not ours: NumPy, Pillow and tifffile.

Every NAME.EXT comes with NAME.EXT.npy, what a reader must make of it (channels last). Run it in this folder.
"""
import io
import struct

import numpy as np
import tifffile
from PIL import Image

rng = np.random.default_rng(1)
H, W = 13, 21
smooth = (np.add.outer(np.arange(H) * 7, np.arange(W) * 5) % 256).astype(np.uint8)
rgb = np.stack([smooth, smooth[::-1], 255 - smooth], -1)
noise16 = rng.integers(0, 65536, (H, W), dtype=np.uint16)


def expect(name, array):
    np.save(name + ".npy", np.ascontiguousarray(array))


def pil(name, image, array=None, **options):
    image.save(name, **options)
    expect(name, np.asarray(Image.open(name)) if array is None else array)


def tiff(name, array, expected=None, **options):
    tifffile.imwrite(name, array, **options)
    expect(name, array if expected is None else expected)


# PNG
pil("grey.png", Image.fromarray(smooth))
pil("rgb.png", Image.fromarray(rgb))
rgba = np.dstack([rgb, smooth.T.copy().reshape(H, W)])
pil("rgba.png", Image.fromarray(rgba))
pil("ga.png", Image.fromarray(rgba[..., 2:], "LA"))
pil("grey16.png", Image.fromarray(noise16), noise16)
palette = Image.fromarray(rgb).quantize(16)
pil("palette4.png", palette, np.asarray(palette.convert("RGB")), bits=4)
palette.info["transparency"] = 3
palette.save("palette_alpha.png", transparency=3)
expect("palette_alpha.png", np.asarray(Image.open("palette_alpha.png").convert("RGBA")))
bits = Image.fromarray(((smooth > 100) * 255).astype(np.uint8)).convert("1")
pil("bits.png", bits, ((smooth > 100) * 255).astype(np.uint8))


def interlaced(name, array):
    """Adam7 by hand: no Python library writes it."""
    import zlib

    data = b""
    for y0, x0, dy, dx in [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]:
        part = array[y0::dy, x0::dx]
        if part.size:
            data += b"".join(b"\0" + row.tobytes() for row in part)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width = array.shape[:2]
    with open(name, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)))
        f.write(chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))
    assert (np.asarray(Image.open(name)) == array).all()
    expect(name, array)


interlaced("interlaced.png", rgb)

# JPEG: the expectation is Pillow's decoding by the same library family; the test allows a step of 2
pil("grey.jpg", Image.fromarray(smooth), quality=90)
pil("rgb.jpg", Image.fromarray(rgb), quality=90)
pil("progressive.jpg", Image.fromarray(rgb), quality=90, progressive=True)
cmyk = Image.fromarray(rgb).convert("CMYK")
cmyk.save("cmyk.jpg", quality=95)
ink = np.asarray(Image.open("cmyk.jpg")).astype(int)
expect("cmyk.jpg", (((255 - ink[..., :3]) * (255 - ink[..., 3:]) + 127) // 255).astype(np.uint8))

# TIFF
tiff("grey.tif", smooth, photometric="minisblack")
tiff("rgb.tif", rgb, photometric="rgb")
tiff("deflate16.tif", noise16, compression="zlib", predictor=True, photometric="minisblack")
tiff("big_endian.tif", noise16, byteorder=">", photometric="minisblack")
tiff("bigtiff.tif", smooth, bigtiff=True, photometric="minisblack")
tiff("float.tif", (smooth / 7 - 3).astype(np.float32), photometric="minisblack")
tiff("double_predictor.tif", smooth / 7 - 3, photometric="minisblack", compression="zlib", predictor=3)
tiff("half.tif", (smooth / 8).astype(np.float16), photometric="minisblack")
tiff("int8.tif", smooth.astype(np.int8), smooth.astype(np.int8).astype(np.int16), photometric="minisblack")
tiff("int32.tif", noise16.astype(np.int32) - 30000, photometric="minisblack")
tiff("tiles.tif", rgb, photometric="rgb", tile=(16, 16))
tiff("planar.tif", np.moveaxis(rgb, -1, 0).copy(), rgb, photometric="rgb", planarconfig="separate")
tiff("planar_tiles.tif", np.moveaxis(rgb, -1, 0).copy(), rgb, photometric="rgb", planarconfig="separate", tile=(16, 16))
tiff("strips.tif", smooth, photometric="minisblack", rowsperstrip=5)
tiff("white.tif", smooth, 255 - smooth, photometric="miniswhite")
tiff("pages.tif", np.stack([smooth, smooth + 1, smooth + 2]), photometric="minisblack")
tiff("five.tif", np.dstack([rgb, smooth, smooth]), photometric="minisblack", planarconfig="contig")
pil("palette.tif", palette, np.asarray(palette.convert("RGB")))
pil("packbits.tif", Image.fromarray(smooth), compression="packbits")
pil("lzw.tif", Image.fromarray(rgb), compression="tiff_lzw")
pil("jpeg.tif", Image.fromarray(rgb), compression="jpeg")
pil("fax.tif", bits, ((smooth > 100) * 255).astype(np.uint8), compression="group4")
pil("cmyk.tif", cmyk, (((255 - np.asarray(cmyk).astype(int)[..., :3]) * (255 - np.asarray(cmyk).astype(int)[..., 3:]) + 127) // 255).astype(np.uint8))

# BMP, GIF, TGA, portable maps
pil("grey.bmp", Image.fromarray(smooth))
pil("rgb.bmp", Image.fromarray(rgb))
pil("palette.bmp", palette, np.asarray(palette.convert("RGB")))
gif = Image.fromarray(rgb).quantize(32)
gif.save("frame.gif")
expect("frame.gif", np.asarray(Image.open("frame.gif").convert("RGBA")))
pil("rgb.tga", Image.fromarray(rgb))
pil("packed.tga", Image.fromarray(rgb), compression="tga_rle")
pil("grey.pgm", Image.fromarray(smooth))
pil("rgb.ppm", Image.fromarray(rgb))
pil("bits.pbm", bits, ((smooth > 100) * 255).astype(np.uint8))

# NumPy
for name, dtype in [("i1", "i1"), ("be_f8", ">f8"), ("be_u2", ">u2"), ("i8", "i8"), ("u8", "u8"), ("bool", "?"), ("f2", "f2")]:
    values = np.arange(24).reshape(2, 3, 4) % 3 if dtype == "?" else np.arange(24).reshape(2, 3, 4) - (0 if dtype[-2] == "u" else 5)
    values = values.astype(dtype)
    np.save(f"{name}.npy", values)
    wider = {"i1": "i2", "i8": "i4", "u8": "u4"}.get(dtype, dtype)
    expect(f"{name}.npy", values.astype(wider).astype(np.dtype(wider).newbyteorder("=")))
np.save("fortran.npy", np.asfortranarray(noise16))
expect("fortran.npy", noise16)
for version in (2, 3):
    with open(f"version{version}.npy", "wb") as f:
        np.lib.format.write_array(f, smooth, version=(version, 0))
    expect(f"version{version}.npy", smooth)
