"""Small files on which results once were wrong, with the right values: tests/data/faults/NAME."""

import numpy

from conftest import FAULTS


def test_packbits_with_predictor(tessera):
    folder = FAULTS / "packbits_predictor"
    assert numpy.array_equal(tessera.array("filter", "gaussian", folder / "in.tif", "--sigma", 0), numpy.load(folder / "expected.npy"))
