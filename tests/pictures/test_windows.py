"""--window: a part of the results, with the borders of the whole image."""
import numpy as np
import pytest

PROGRAM = """
stencil f(vector#2 float X) { return X@[-1,0] + 2 * X + X@[0,2] + coord(1); }
parameter M, N; vector#2 float image[M,N]; return f(image:mirror);
"""


@pytest.fixture
def image(tmp_path):
    array = np.random.default_rng(5).random((40, 60), np.float32)
    np.save(tmp_path / "in.npy", array)
    (tmp_path / "f.forma").write_text(PROGRAM)
    return array


@pytest.mark.parametrize("window", [(0, 0, 39, 59), (7, 11, 20, 59), (39, 0, 39, 0)])
def test_it_is_that_part_of_the_result(tessera, image, window):
    top, left, bottom, right = window
    whole = tessera.array("run", "f.forma", "in.npy", "--exact")
    part = tessera.array("run", "f.forma", "in.npy", "--exact", "--window", ",".join(map(str, window)))
    assert np.array_equal(part, whole[top : bottom + 1, left : right + 1])


def test_of_a_region_that_was_cut_out(tessera, image):
    cut = tessera.array("run", "f.forma", "in.npy", "--roi", "10,10,29,39")
    part = tessera.array("run", "f.forma", "in.npy", "--roi", "10,10,29,39", "--window", "5,5,9,9")
    assert np.allclose(part, cut[5:10, 5:10])


def test_filters_have_windows(tessera, image):
    whole = tessera.array("filter", "gaussian", "in.npy", "--sigma", "2", "--exact")
    part = tessera.array("filter", "gaussian", "in.npy", "--sigma", "2", "--exact", "--window", "3,4,5,6")
    assert np.array_equal(part, whole[3:6, 4:7])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--window", "0,0,40,59"], "--window '0,0,40,59' runs from 0 to 40 in dimension 0, expected 0 to 39"),
        (["--window", "0,0"], "--window '0,0' has 2 numbers, expected 4"),
        (["--window", "0,0,1,1", "--verify"], "--verify compares whole results"),
        (["--window", "5,5,1,1"], "--window '5,5,1,1' runs from 5 to 1 in dimension 0, which is backwards"),
        (["--window", "0,0,1,1", "--stretch"], "--stretch looks at a whole result"),
    ],
)
def test_what_is_no_window_is_refused(tessera, image, words, message):
    done = tessera("run", "f.forma", "in.npy", *words, status=2)
    assert message in done.stderr


def test_what_depends_on_all_has_none(tessera, image, tmp_path):
    (tmp_path / "m.forma").write_text(
        "stencil f(vector#2 float X, float m) { return X / m; } parameter M, N; vector#2 float a[M,N]; m = max(a); return f(a, m);"
    )
    done = tessera("run", "m.forma", "in.npy", "--window", "0,0,1,1", status=2)
    assert "reduces a whole image" in done.stderr
    (tmp_path / "h.forma").write_text(
        "stencil f(vector#2 float X) { return cast<int>(X); } parameter M, N; vector#2 float a[M,N]; h[0..7] = sum(1 into f(a)); return h;"
    )
    for words in (["--window", "0,5"], ["--memory", "1KiB"]):
        done = tessera("run", "h.forma", "in.npy", *words, "-o", "h.npy", status=2)
        assert "stage 'h: elements' puts a whole image into bins" in done.stderr


def test_of_several_outputs_those_that_have_a_file(tessera, image, tmp_path):
    (tmp_path / "two.forma").write_text(
        "stencil f(vector#2 float X) { return X@[0,1] - X; } stencil g(vector#2 float X, float m) { return X / m; } "
        "parameter M, N; vector#2 float a[M,N]; m = max(a); e = f(a:mirror); h = ( [0..,0..] = e; [M..,0..] = e; ); "
        "return edges = e, rel = g(a, m), twice = h;"
    )
    tessera("run", "two.forma", "in.npy", "-q", "-o", "edges=whole.npy")
    tessera("run", "two.forma", "in.npy", "-q", "--window", "3,4,12,20", "-o", "edges=part.npy")
    whole, part = np.load(tmp_path / "whole.npy"), np.load(tmp_path / "part.npy")
    assert np.array_equal(part, whole[3:13, 4:21])
    done = tessera("run", "two.forma", "in.npy", "-q", "--window", "3,4,12,20", status=2)
    assert "is of outputs of one shape" in done.stderr and "name one of them: -o twice=FILE" in done.stderr


def test_of_volumes(tessera, tmp_path):
    np.save(tmp_path / "v.npy", np.random.default_rng(5).random((9, 40, 60), np.float32))
    whole = tessera.array("filter", "gaussian", "v.npy")
    assert np.array_equal(tessera.array("filter", "gaussian", "v.npy", "--window", "2,3,4,5,30,50"), whole[2:6, 3:31, 4:51])


def test_it_is_timed(tessera, image):
    assert "runs of the window" in tessera("run", "f.forma", "in.npy", "--window", "0,0,9,9", "--time", "--repeat", "3").stdout
