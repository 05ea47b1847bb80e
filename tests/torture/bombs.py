"""Short program texts that are long to compile: kinds that were found once, and mutations of them that look for the
most seconds for each byte of text."""
import random

HEAD = "parameter M, N; vector#2 float a[M,N]; "


def chain(stages):
    """Stages that read each other, one after the other."""
    lines = ["stencil f(vector#2 float X) { return (X@[0,-1] + X@[0,1]) / 2; } " + HEAD, "b<-1> = a;",
             f"for k = 0..{stages - 1}", "  b<k> = f(b<k-1>:clamped);", "endfor", f"return b<{stages - 1}>;"]
    return "\n".join(lines)


def reductions(count):
    """Means of images that depend on each other."""
    return ("stencil put(vector#2 float A, float m) { return A - m; } " + HEAD + "o<-1> = a;\n"
            f"for v = 0..{count - 1}\n  o<v> = put(o<v-1>, mean(o<v-1>));\nendfor\nreturn o<{count - 1}>;")


def computed_weights(side):
    """A window whose weights are computed for every offset."""
    r = side // 2
    return (f"stencil f(vector#2 float X) {{ return sum(i = -{r}..{r}, j = -{r}..{r}) "
            "(exp(-(i*i + j*j) * 0.001f) * X@[i,j]); } " + HEAD + "return f(a:clamped);")


def medians(count, side):
    r = side // 2
    return (f"stencil f(vector#2 float X) {{ return median(i = -{r}..{r}, j = -{r}..{r}) (X@[i,j]); }} " + HEAD +
            "b<-1> = a;\n" + f"for k = 0..{count - 1}\n  b<k> = f(b<k-1>:clamped);\nendfor\nreturn b<{count - 1}>;")


def nested_sines(doublings):
    text = "x0 = sin(X); "
    for k in range(1, doublings + 1):
        text += f"x{k} = sin(x{k - 1} + cos(x{k - 1})); "
    return f"stencil f(vector#2 float X) {{ {text}return x{doublings}; }} " + HEAD + "return f(a);"


def doubled_sines(doublings):
    """Every value is used twice where nothing shares it."""
    return (f"stencil f(vector#2 float X) {{ return sin(X@[0,-1] * X) + sin(X@[0,1]); }} " + HEAD + "b<-1> = a;\n"
            f"for k = 0..{doublings - 1}\n  b<k> = f(b<k-1>:wrap);\nendfor\nreturn b<{doublings - 1}>;")


def table(side):
    return (f"table float k[i = 0..{side - 1}, j = 0..{side - 1}] = (i * 7 + j * 5) % 23 * 0.01f; "
            "stencil f(vector#2 float X) { return k[3, 4] * X; } " + HEAD + "return f(a);")


def summed_table(side):
    return (f"table float k[i = 0..{side - 1}, j = 0..{side - 1}] = (i * 7 + j * i * j * 5) % 23 * 0.01f; "
            f"stencil f(vector#2 float X) {{ return sum(i = 0..{side - 1}, j = 0..{side - 1}) (k[i,j] * X@[i,j]); }} "
            + HEAD + "return f(a:clamped);")


def channels(side):
    """A window over channels."""
    r = side // 2
    return ("stencil f(vector#3 float X) { return sum(c = -2..2, " +
            f"i = -{r}..{r}, j = -{r}..{r}) (abs(X@[c,i,j] - X)); }} "
            "parameter C, M, N; vector#3 float a[C,M,N]; return f(a:clamped);")


def nested_windows(depth, side):
    inner = "X@[" + ",".join(["i0", "j0"]) + "]"
    text = f"sum(i0 = -{side}..{side}, j0 = -{side}..{side}) (abs({inner}))"
    for k in range(1, depth):
        text = f"max(i{k} = -{side}..{side}) ({text} * i{k})"
    return f"stencil f(vector#2 float X) {{ return {text}; }} " + HEAD + "return f(a:mirror);"


def pyramid(levels):
    return ("stencil d(vector#2 float X) { return (X@[0,0] + X@[1,0] + X@[0,1] + X@[1,1]) / 4; } " + HEAD +
            "b<-1> = a;\n" + f"for k = 0..{levels - 1}\n  c<k> = d(b<k-1>:clamped);\n  b<k> = c<k>@[(0,2),(0,2)];\n"
            f"endfor\nreturn b<{levels - 1}>;")


def wide(stages):
    """Many stages of one image, all of them summed."""
    lines = ["stencil f(vector#2 float X, int k) { return X@[0,k % 5] * k; } "
             "stencil add(vector#2 float X, vector#2 float Y) { return X + Y; } " + HEAD, "s<-1> = a;",
             f"for k = 0..{stages - 1}", "  t = f(a:clamped, k);", "  s<k> = add(s<k-1>, t);", "endfor",
             f"return s<{stages - 1}>;"]
    return "\n".join(lines)


def pieces(count):
    return ("stencil scale(vector#1 float X, int k) { return k * X; } parameter N; vector#1 float x[N];\n"
            f"for k = 0..{count - 1}\n  y[k..k,..] = scale(x, k);\nendfor\nreturn y;")


def nested_extremes(side):
    """The least and the greatest in turns, three deep."""
    r = side // 2
    return (f"stencil f(vector#2 float X) {{ return max(i = -{r}..{r}) (min(j = -{r}..{r}) (max(k = -{r}..{r}) "
            f"(min(l = -3..3) (X@[i+k,j+l])))); }} " + HEAD + "return f(a:mirror);")


# Of each kind a number that may grow, the largest that a text of a few kilobytes would name.
KINDS = {
    "chain": (chain, [(100,), (1000,), (5000,)]),
    "reductions": (reductions, [(64,), (256,), (600,)]),
    "computed_weights": (computed_weights, [(31,), (255,), (1001,)]),
    "medians": (medians, [(4, 5), (20, 9), (20, 15)]),
    "nested_sines": (nested_sines, [(11,), (100,)]),
    "doubled_sines": (doubled_sines, [(6,), (11,), (40,)]),
    "table": (table, [(200,), (2000,)]),
    "summed_table": (summed_table, [(63,), (501,)]),
    "channels": (channels, [(5,), (15,), (41,)]),
    "nested_windows": (nested_windows, [(2, 3), (4, 5), (6, 9)]),
    "nested_extremes": (nested_extremes, [(9,), (81,)]),
    "pyramid": (pyramid, [(8,), (30,)]),
    "wide": (wide, [(100,), (1000,), (3000,)]),
    "pieces": (pieces, [(64,), (1000,)]),
}


def known():
    for name, (make, sizes) in KINDS.items():
        for size in sizes:
            yield f"{name}({', '.join(map(str, size))})", make(*size)


def mutated(numbers: random.Random, best):
    """One more text: a kind with other numbers, or one of the slowest with a number in it changed."""
    if best and numbers.random() < 0.6:
        text = numbers.choice(best)
        places = [k for k, c in enumerate(text) if c.isdigit() and (k == 0 or not text[k - 1].isalnum())]
        if places:
            at = numbers.choice(places)
            end = at
            while end < len(text) and text[end].isdigit():
                end += 1
            value = int(text[at:end])
            value = max(0, numbers.choice([value * 2, value + 1, value // 2, value * 3 + 1, value - 1]))
            return text[:at] + str(min(value, 10**7)) + text[end:]
    make, sizes = numbers.choice(list(KINDS.values()))
    size = [max(1, int(n * numbers.choice([0.3, 0.7, 1, 1.5, 2.5]))) for n in numbers.choice(sizes)]
    return make(*size)
