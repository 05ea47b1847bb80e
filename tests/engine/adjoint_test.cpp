// Adjoints: gradients against differences, for every border and kind of read, and what has no derivative.
#include "tessera/adjoint.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tessera/pipeline.hpp"
#include "tessera/program.hpp"

namespace tessera {
namespace {

class Numbers01 {
 public:
  Array array(const Shape& shape, double lo, double hi) {
    Array a(ElementType::f64, shape);
    std::uniform_real_distribution<double> u(lo, hi);
    for (i64 i = 0; i < a.count(); ++i) a.as<double>()[i] = u(numbers_);
    return a;
  }

 private:
  std::mt19937 numbers_{7};
};

double dot(const Array& a, const Array& b) {
  double sum = 0;
  for (i64 i = 0; i < a.count(); ++i) sum += a.as<double>()[i] * b.as<double>()[i];
  return sum;
}

Array moved(const Array& a, const Array& direction, double by) {
  Array out = a.clone();
  for (i64 i = 0; i < out.count(); ++i) out.as<double>()[i] += by * direction.as<double>()[i];
  return out;
}

// The change of sum(weights * output) in a random direction of all inputs, by the adjoint and by differences.
void check(const Program& program, const std::vector<Shape>& shapes, double lo = 0.5, double hi = 2) {
  const Program back = adjoint_of(program);
  Numbers01 random;
  std::vector<Array> x, ahead, behind, directions;
  constexpr double h = 1e-5;
  for (const Shape& shape : shapes) {
    x.push_back(random.array(shape, lo, hi));
    directions.push_back(random.array(shape, -1, 1));
    ahead.push_back(moved(x.back(), directions.back(), h));
    behind.push_back(moved(x.back(), directions.back(), -h));
  }
  const std::vector<Array> y = program.interpret(x), y1 = program.interpret(ahead), y0 = program.interpret(behind);
  std::vector<Array> given = x;
  double expected = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    given.push_back(random.array(y[k].shape(), -1, 1));
    expected += (dot(given.back(), y1[k]) - dot(given.back(), y0[k])) / (2 * h);
  }
  for (const bool compiled : {false, true}) {
    const std::vector<Array> gradients = compiled ? back.run(given) : back.interpret(given);
    ASSERT_EQ(gradients.size(), x.size());
    double found = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x[k].rank() > 0) {
        ASSERT_EQ(gradients[k].shape(), x[k].shape());
      }
      found += dot(gradients[k], directions[k]);
    }
    EXPECT_NEAR(found, expected, 1e-5 * (std::abs(expected) + 1)) << (compiled ? "compiled" : "interpreted");
  }
}

Program text(const std::string& body) {
  return Program::from_text(body);
}

const char* const head = "parameter M, N; vector#2 double a[M,N]; ";

TEST(Adjoint, TurnsStencilsRoundWithEveryBorder) {
  for (const std::string mode : {"", ":clamped", ":mirror", ":symmetric", ":wrap", ":constant(3)"})
    for (const Shape& shape : {Shape{11, 13}, Shape{8, 9}}) {
      SCOPED_TRACE(mode);
      check(text("stencil f(vector#2 double X) { return 2 * X@[-1,0] - X@[2,1] * 3 + 0.5 * X@[0,-3] + X@[1,2]; } " +
                 std::string(head) + "return f(a" + mode + ");"),
            {shape});
    }
}

TEST(Adjoint, FollowsArithmetic) {
  const auto of = [](const std::string& e) {
    return text("stencil f(vector#2 double X, vector#2 double Y) { return " + e +
                "; } parameter M, N; "
                "vector#2 double a[M,N]; vector#2 double b[M,N]; return f(a:mirror, b:clamped);");
  };
  for (const std::string e :
       {"X * Y@[0,1]", "X@[1,0] / Y", "sqrt(X) * exp(Y * 0.3)", "log(X) + sin(X) * cos(Y@[-1,0])", "tan(X * 0.3)",
        "asin(X * 0.3) + acos(Y * 0.3) + atan(X)", "sinh(X) + cosh(Y) + tanh(X@[0,-1])", "pow(X, Y)", "atan2(X, Y)",
        "hypot(X, Y@[2,0])", "min(X, Y) + 2 * max(X@[0,1], Y)", "abs(X - Y)", "X > Y ? X * X : Y", "-X + floor(X)",
        "cbrt(X) + exp2(Y) + log2(X) + log10(Y)", "fmod(X, Y)"}) {
    SCOPED_TRACE(e);
    check(of(e), {{9, 12}, {9, 12}});
  }
}

TEST(Adjoint, GoesThroughWindows) {
  for (const std::string mode : {":clamped", ":mirror", ""}) {
    SCOPED_TRACE(mode);
    check(text("table double k[i = 0..2, j = 0..4] = i * 0.5 + j * j * 0.1; stencil f(vector#2 double X) { return "
               "sum(i = -1..1, j = -2..2) (k[i+1,j+2] * X@[i,j]); } " +
               std::string(head) + "return f(a" + mode + ");"),
          {{9, 12}});
    // Weights that vary from point to point: a bilateral filter.
    check(
        text("stencil f(vector#2 double X) { return sum(i = -1..1, j = -1..1) (exp(-pow(X@[i,j] - X, 2)) * X@[i,j]) / "
             "sum(i = -1..1, j = -1..1) (exp(-pow(X@[i,j] - X, 2))); } " +
             std::string(head) + "return f(a" + mode + ");"),
        {{9, 12}});
  }
}

TEST(Adjoint, GoesThroughChainsStridesAndPieces) {
  check(text("stencil f(vector#2 double X) { return X@[0,-1] * X + X@[1,0]; } " + std::string(head) +
             "b = f(a:mirror); c = f(b:wrap); return last = f(c:clamped), first = b;"),
        {{9, 12}});
  check(text("stencil d(vector#2 double X) { return (X + X@[1,0] + 2 * X@[0,1]) * X@[-1,-1]; } " + std::string(head) +
             "b = d(a:mirror); c = b@[(0,2),(0,2)]; return c;"),
        {{10, 12}});
  Pipeline p;
  const auto image = p.input<double>("image", 2);
  const auto squares = p.stage("squares", image * image);
  // The second piece covers a part of the first one.
  check(p.compile({p.compose<double>("y", {{image, {{0, 2}, {0, 2}}}, {squares, {{1, 1}, {3, 2}}}})}), {{7, 6}});
}

TEST(Adjoint, GoesThroughTotalsAndScalars) {
  check(text("stencil f(vector#2 double X, double m) { return X * X / m; } " + std::string(head) +
             "return f(a, mean(a));"),
        {{7, 6}});
  check(text("stencil f(vector#2 double X, double m) { return X@[0,1] * m + m * m; } parameter M, N; vector#2 double "
             "a[M,N]; "
             "double g; return f(a:clamped, g);"),
        {{7, 6}, {}});
}

TEST(Adjoint, GoesThroughBins) {
  const std::string bin = "stencil bin(vector#2 double X) { return coord(0) % 4 - coord(1) % 2; } ";
  check(text(bin + head + "h[0..2] = sum(a into bin(a)); return h;"), {{9, 12}});
  check(text(bin + "stencil square(vector#2 double X) { return X * X@[0,1]; } " + head +
             "m[0..2] = mean(square(a:mirror) into bin(a)); h[0..2, 0..3] = sum(square(a:mirror) into bin(a), bin(a)); "
             "return m = m, h = h;"),
        {{17, 12}});
}

TEST(Adjoint, GoesThroughTransforms) {
  Pipeline p;
  const auto image = p.input<double>("image", 2);
  const auto spectrum = p.fft("spectrum", image);
  const auto re = p.stage("re", spectrum["re"] * spectrum["re"] + spectrum["im"]);
  const auto im = p.stage("im", spectrum["im"] * 0.5);
  const auto back = p.ifft("back", Planes<double>{{"re", "im"}, {re, im}}, {1});
  check(p.compile({{"re", back["re"]}, {"im", back["im"]}, {"squares", re}}), {{6, 8}});
}

TEST(Adjoint, OfTheAdjointIsTheProgram) {
  const Program blur = text("stencil f(vector#2 double X) { return X@[0,-1] + 3 * X + X@[1,0]; } " + std::string(head) +
                            "return f(a:wrap);");
  check(adjoint_of(blur), {{9, 12}, {9, 12}});
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::argument);
    return e.message();
  }
  return "nothing was thrown";
}

TEST(Adjoint, SaysWhatHasNone) {
  EXPECT_EQ(refused([] {
              adjoint_of(text("stencil m(vector#2 double X) { return median(i = -1..1, j = -1..1) (X@[i,j]); } " +
                              std::string(head) + "smooth = m(a:clamped); return smooth;"));
            }),
            "stage 'smooth' has no derivative: it has median of inputs of floats");
  EXPECT_EQ(refused([] {
              adjoint_of(text("stencil bin(vector#2 double X) { return coord(0); } " + std::string(head) +
                              "h[0..2] = max(a into bin(a)); return h;"));
            }),
            "stage 'h: elements' has no derivative: which element of a bin is the least or the greatest is not known "
            "behind it");
  EXPECT_EQ(refused([] {
              adjoint_of(
                  text("stencil f(vector#2 uint8 X) { return X * 0.5; } parameter M, N; vector#2 uint8 a[M,N]; "
                       "return f(a);"));
            }),
            "no input is of floats: there are no gradients to give");
  EXPECT_EQ(refused([] {
              const Program p = adjoint_of(text("stencil f(vector#2 double X) { return X@[-2,0] + X@[2,0]; } " +
                                                std::string(head) + "return f(a:mirror);"));
              Numbers01 random;
              p.run({random.array({5, 4}, 0, 1), random.array({5, 4}, 0, 1)});
            }),
            "'a' has an extent of 5, but the gradients that its borders fold back take at least 6");
}

}  // namespace
}  // namespace tessera
