import copy
import gc
import importlib.util
import pickle
import threading
import unittest
import warnings

import numpy as np
import tessera as ts
from programs import BLUR, TWO, blurred

if importlib.util.find_spec("torch"):
    import torch
else:
    torch = None


@ts.pipeline
def soften(image, amount=0.5):
    b = image.mirror()
    return image + amount * (b[0, -1] + b[0, 1] - 2 * image)


@ts.pipeline
def exact(image, amount: ts.f64 = 0.5):
    b = image.wrap()
    g = ts.stage(ts.over(1, 1).sum(lambda i, j: b[i, j] * 0.1) * ts.exp(-image)).clamped()
    return {
        "edges": amount * ts.sqrt((g[0, 1] - g[0, -1]) ** 2 + 1),
        "smooth": g,
        "bytes": ts.saturate(ts.uint8, image),
    }


@ts.pipeline(channel_axis=0)
def warm(photo, strength=1.0):
    grey = ts.stage((photo["r"] + photo["g"] + photo["b"]) / 3)
    b = photo.r.clamped()
    return {"grey": grey, "warm": {"r": strength * (b[0, -1] + b[0, 1]), "g": photo.g * photo.b, "b": photo.b}}


@ts.pipeline
def powers(image, n: ts.Constant, weights: ts.Constant):
    w = ts.table(weights)
    b = image.symmetric()
    return ts.over(1).sum(lambda i: w[i + 1] * b[i]) ** n


def soft(x, amount):
    """soften, in torch."""
    b = torch.cat([x[:, 1:2], x, x[:, -2:-1]], 1)
    return x + amount * (b[:, :-2] + b[:, 2:] - 2 * x)


@unittest.skipUnless(torch, "no torch")
class Torch(unittest.TestCase):
    device = "cpu"

    def rand(self, *shape, dtype=None, grad=False):
        made = torch.rand(shape, dtype=dtype or torch.float32, generator=torch.Generator().manual_seed(sum(shape)))
        return made.to(self.device).requires_grad_(grad)

    def operator(self):
        return torch.ops.tessera.run.default

    def check(self, f, *arguments):
        """Everything that torch asks of an operator."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = torch.library.opcheck(self.operator(), (f._name, list(arguments)))
        self.assertEqual(set(found.values()), {"SUCCESS"}, found)

    def test_values_and_gradients(self):
        f = ts.torch.function(soften)
        x, a = self.rand(6, 7, grad=True), torch.tensor(0.3, requires_grad=True)
        y = f(x, a)
        self.assertEqual((y.device, y.dtype), (x.device, x.dtype))
        weights = self.rand(6, 7)
        (y * weights).sum().backward()
        x2, a2 = x.detach().clone().requires_grad_(), a.detach().clone().requires_grad_()
        wanted = soft(x2, a2)
        (wanted * weights).sum().backward()
        torch.testing.assert_close(y, wanted)
        torch.testing.assert_close(x.grad, x2.grad)
        torch.testing.assert_close(a.grad, a2.grad)
        self.assertFalse(f(x.detach()).requires_grad)

    def test_opcheck(self):
        self.check(ts.torch.function(soften), self.rand(6, 7, grad=True), torch.tensor(0.3, requires_grad=True))
        self.check(ts.torch.function(soften), self.rand(7, 6).t(), torch.tensor(0.3, dtype=torch.float64))
        self.check(ts.torch.function(exact), self.rand(5, 6, dtype=torch.float64, grad=True), torch.tensor(0.3))
        self.check(ts.torch.function(warm), self.rand(3, 5, 6, grad=True), torch.tensor(0.3))

    def test_gradcheck(self):
        x, a = (
            self.rand(4, 5, dtype=torch.float64, grad=True),
            torch.tensor(0.7, dtype=torch.float64, requires_grad=True),
        )
        f = ts.torch.function(exact)
        self.assertTrue(torch.autograd.gradcheck(lambda *g: f(*g)[:2], (x, a)))
        self.assertTrue(torch.autograd.gradcheck(lambda *g: f(*g)["edges"], (x, a)))
        photo = self.rand(3, 4, 5, dtype=torch.float64, grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda p: tuple(ts.torch.function(warm)(p)), (photo,)))
        row = self.rand(9, dtype=torch.float64, grad=True)
        for n in (2, 3.0):
            cube = ts.torch.function(powers, n=n, weights=np.array([0.5, 1, 0.25]))
            self.assertTrue(torch.autograd.gradcheck(cube, (row,)))

    def test_gradients_of_gradients(self):
        x = self.rand(4, 5, dtype=torch.float64, grad=True)

        @ts.torch.function
        def f(image):
            b = image.constant(0.5)
            return ts.exp(b[0, 1] - b[0, -1]) * image

        self.assertTrue(torch.autograd.gradgradcheck(f, (x,)))

    def test_not_contiguous(self):
        f = ts.torch.function(soften)
        whole = self.rand(8, 10, 3)
        for x in (whole[1:7, ::2, 1], whole[..., 0].t(), whole[0, 0, 0].expand(4, 5), whole[:, :, 2].neg()):
            x = x.detach().requires_grad_()
            y = f(x, 0.25)
            torch.testing.assert_close(y, soft(x, 0.25))
            gradient = self.rand(*y.shape[::-1]).t()
            (g,) = torch.autograd.grad(y, x, gradient)
            (wanted,) = torch.autograd.grad(soft(x, 0.25), x, gradient)
            torch.testing.assert_close(g, wanted)

    def test_several_outputs(self):
        f = ts.torch.function(exact)
        x = self.rand(5, 6, dtype=torch.float64, grad=True)
        out = f(x)
        self.assertEqual(out.keys(), ("edges", "smooth", "bytes"))
        self.assertEqual((out.bytes.dtype, out.bytes.requires_grad), (torch.uint8, False))
        out.smooth.sum().backward()  # of the others there is none
        self.assertEqual(x.grad.shape, x.shape)
        (found,) = torch.autograd.grad(f(x).edges.sum(), x)
        self.assertTrue(torch.isfinite(found).all())

    def test_channels(self):
        f = ts.torch.function(warm)
        photo = self.rand(3, 5, 6, grad=True)
        out = f(photo, strength=2.0)
        self.assertEqual((out.grey.shape, out.warm.shape), ((5, 6), (3, 5, 6)))
        torch.testing.assert_close(out.grey, photo.mean(0))
        torch.testing.assert_close(out.warm[1], photo[1] * photo[2])
        out.warm[2].sum().backward()
        torch.testing.assert_close(
            photo.grad, torch.tensor([0.0, 0, 1], device=self.device)[:, None, None].expand(3, 5, 6)
        )

    def test_compile(self):
        torch._dynamo.reset()
        f = ts.torch.function(soften)
        compiled = torch.compile(lambda x, a: f(x * 2, a).relu(), fullgraph=True, backend="aot_eager")
        for shape in ((6, 7), (8, 9), (10, 11)):
            for amount in (0.25, 0.5, torch.tensor(0.75, requires_grad=True)):
                x = self.rand(*shape, grad=True)
                y = compiled(x, amount)
                torch.testing.assert_close(y, soft(x * 2, amount).relu())
                (g,) = torch.autograd.grad(y.square().sum(), x)
                (wanted,) = torch.autograd.grad(soft(x * 2, amount).relu().square().sum(), x)
                torch.testing.assert_close(g, wanted)
        photo = self.rand(3, 5, 6, grad=True)
        grey, _ = torch.compile(ts.torch.function(warm), fullgraph=True, backend="aot_eager")(photo)
        torch.testing.assert_close(grey, photo.mean(0))

    def test_compile_does_not_compile_for_each_shape(self):
        torch._dynamo.reset()
        f = ts.torch.function(soften)
        count = torch._dynamo.testing.CompileCounter()
        compiled = torch.compile(f, fullgraph=True, backend=count)
        for n in range(6, 12):
            compiled(self.rand(n, n + 1), 0.5)
        self.assertLessEqual(count.frame_count, 2)

    def test_vmap(self):
        f = ts.torch.function(soften)
        batch, amounts = self.rand(4, 6, 7), torch.linspace(0.1, 0.4, 4)
        wanted = torch.stack([f(x, a) for x, a in zip(batch, amounts, strict=True)])
        torch.testing.assert_close(torch.vmap(f)(batch, amounts), wanted)
        torch.testing.assert_close(torch.vmap(torch.vmap(f))(batch[None])[0], torch.stack([f(x) for x in batch]))

    def test_vmap_of_nothing_and_of_several_outputs(self):
        self.assertEqual(torch.vmap(ts.torch.function(soften))(self.rand(0, 6, 7)).shape, (0, 6, 7))
        out = torch.vmap(ts.torch.function(exact), in_dims=1)(self.rand(5, 3, 6, dtype=torch.float64))
        self.assertEqual((out.edges.shape, out.bytes.dtype), ((3, 5, 6), torch.uint8))

    def test_transforms(self):
        f = ts.torch.function(soften)
        x, a, batch = self.rand(6, 7), torch.tensor(0.3), self.rand(3, 6, 7)
        of = torch.func
        for transformed in (
            lambda g: of.grad(lambda x, a: g(x, a).square().sum(), (0, 1))(x, a),
            lambda g: of.jacrev(g)(x, a),
            lambda g: of.vjp(g, x, a)[1](x),
            lambda g: torch.vmap(of.grad(lambda x: g(x, a).square().sum()))(batch),
            lambda g: of.grad(lambda b: torch.vmap(lambda x: g(x, a))(b).square().sum())(batch),
        ):
            torch.testing.assert_close(transformed(f), transformed(soft))

        def two(x):
            r = ts.torch.function(exact)(x)
            return r.smooth.sum(), r.bytes

        _, bytes_of = of.grad(two, has_aux=True)(x.double())
        self.assertEqual(bytes_of.dtype, torch.uint8)

        @ts.torch.function
        def squared(image):
            b = image.constant(0)
            return b[0, 1] * b[0, -1] * image

        def in_torch(x):
            b = torch.nn.functional.pad(x, (1, 1))
            return b[:, 2:] * b[:, :-2] * x

        twice = [of.jacrev(of.jacrev(lambda x, g=g: g(x).sum()))(x) for g in (squared, in_torch)]
        torch.testing.assert_close(*twice)

    def test_derivatives_forwards_are_errors(self):
        f = ts.torch.function(soften)
        x, ahead = self.rand(6, 7), torch.autograd.forward_ad
        with self.assertRaisesRegex(ts.ArgumentError, "no derivatives forwards"):
            torch.func.jvp(f, (x,), (x,))
        with ahead.dual_level():
            torch.testing.assert_close(f(x), soft(x, 0.5))
            with self.assertRaisesRegex(ts.ArgumentError, "no derivatives forwards"):
                f(ahead.make_dual(x, x))

    def test_training(self):
        f = ts.torch.function(soften)
        x, amount = self.rand(16, 16), torch.nn.Parameter(torch.tensor(0.0, device=self.device))
        wanted = f(x, 0.4)
        optimizer = torch.optim.SGD([amount], lr=0.5)
        for _ in range(100):
            optimizer.zero_grad()
            (f(x, amount) - wanted).square().mean().backward()
            optimizer.step()
        self.assertAlmostEqual(amount.item(), 0.4, places=2)

    def test_programs(self):
        f = ts.torch.function(ts.Program.from_text(BLUR))
        x = self.rand(6, 7, grad=True)
        y = f(x)
        np.testing.assert_allclose(y.detach().cpu(), blurred(x.detach().cpu().numpy()), rtol=1e-5)
        y.sum().backward()
        self.assertAlmostEqual(x.grad.sum().item(), 42, places=3)
        two = ts.torch.function(ts.Program.from_text(TWO))
        self.assertEqual(two((self.rand(5, 6) * 255).to(torch.uint8)).keys(), ("double_of", "rest"))

    def test_what_has_no_derivative(self):
        @ts.torch.function
        def middle(image):
            return ts.stage(ts.over(1, 1).median(lambda i, j: image.clamped()[i, j]), "the_middle")

        x = self.rand(6, 7, grad=True)
        y = middle(x)
        with self.assertRaisesRegex(ts.ArgumentError, "the_middle"):
            y.sum().backward()

    def test_wrong_arguments(self):
        f = ts.torch.function(soften)
        x = self.rand(6, 7)
        for call, what in (
            (f, "'image' is not given"),
            (lambda: f(x, 1.0, 2), "takes 2 arguments, 3 are given"),
            (lambda: f(x, image=x), "given twice"),
            (lambda: f(x, strength=2), "takes no 'strength'"),
            (lambda: f(x, "much"), "'amount' is a str"),
            (lambda: f(np.zeros((3, 4), np.float32)), "torch.as_tensor"),
            (lambda: f(x.bfloat16()), r"write image.float\(\)"),
            (lambda: f(x.to(torch.complex64)), "complex64"),
            (lambda: ts.torch.function(3), "given a int"),
            (lambda: ts.torch.function(soften, nothing=3), "no parameter 'nothing'"),
            (lambda: ts.torch.function(powers), r"ts.torch.function\(pipeline, n=...\)"),
            (lambda: ts.torch.function(soften, amount=2), "annotate it: amount: ts.Constant"),
            (lambda: ts.torch.function(lambda *images: images[0]), "any number of arguments"),
            (lambda: ts.torch.function(ts.Program.from_text(BLUR), a=1), "no constant 'a'"),
        ):
            with self.subTest(what), self.assertRaisesRegex(ts.ArgumentError, what):
                call()
        with self.assertRaises(ts.ArgumentError):
            f(self.rand(3, 6, 7))  # of another rank

    def test_one_for_each_pipeline(self):
        self.assertIs(ts.torch.function(soften), ts.torch.function(soften))
        w = np.ones(3)
        a, b = ts.torch.function(powers, n=2, weights=w), ts.torch.function(powers, n=3, weights=w)
        self.assertIsNot(a, b)
        self.assertIs(a, ts.torch.function(powers, n=2, weights=w))

    def test_methods(self):
        class Filter:
            gain = 3

            @ts.pipeline
            def scaled(self, image, amount=1.0):
                return image * (self.gain * amount)

        f = ts.torch.function(Filter().scaled)
        x = self.rand(4, 5, grad=True)
        f(x, 2.0).sum().backward()
        torch.testing.assert_close(x.grad, torch.full_like(x, 6))

    def test_what_is_not_used_any_more_is_freed(self):
        from tessera import torch as own

        gc.collect()
        before = len(own._functions)
        for _ in range(3):
            ts.torch.function(lambda image: image * 2)(self.rand(3, 4))
        gc.collect()
        self.assertEqual(len(own._functions), before)
        x = self.rand(3, 4, grad=True)
        y = ts.torch.function(lambda image: image * 2)(x)
        gc.collect()
        y.sum().backward()  # keeps what it needs
        torch.testing.assert_close(x.grad, torch.full_like(x, 2))

    def test_threads(self):
        f = ts.torch.function(ts.Pipeline(soften._function))
        failed = []

        def work(k):
            try:
                x = self.rand(6 + k, 7, grad=True)
                y = f(x, 0.1 * k)
                torch.testing.assert_close(y, soft(x, 0.1 * k))
                y.sum().backward()
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_in_a_module(self):
        class Soften(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.amount = torch.nn.Parameter(torch.tensor(0.1))
                self.f = ts.torch.function(soften)

            def forward(self, x):
                return self.f(x, self.amount)

        module = Soften().to(self.device)
        x = self.rand(6, 7)
        torch.testing.assert_close(copy.deepcopy(module)(x), module(x))
        self.assertIs(pickle.loads(pickle.dumps(module.f)), module.f)


@unittest.skipUnless(torch and torch.cuda.is_available(), "no CUDA device")
class OnDevice(Torch):
    device = "cuda"

    def test_in_the_stream_of_the_caller(self):
        f = ts.torch.function(soften)
        x = self.rand(512, 512)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            x = x * 3
            y = f(x, 0.25)
        stream.synchronize()
        torch.testing.assert_close(y, soft(x, 0.25))


if __name__ == "__main__":
    unittest.main()
