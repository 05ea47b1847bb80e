// Faulty programs: every kind of fault, where it is shown and what is said. A row lists all errors of its program.
#include <gtest/gtest.h>

#include <cmath>

#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

struct Expected {
  int line, column;
  std::string message;
};
struct Row {
  std::string program;
  std::vector<Expected> errors;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"stencil f(vector#1 float X) { return Y; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "unknown name 'Y'"}}},
      {"stencil f(vector#1 float image) { return imgae@[1]; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 42, "unknown name 'imgae'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(z);",
       {{3, 10, "unknown image 'z'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return h(x);",
       {{3, 8, "unknown stencil 'h'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x, 2);",
       {{3, 8, "'f' takes 1 argument, 2 given"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x:mirorr);",
       {{3, 12, "unknown boundary mode 'mirorr'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x:replicate);",
       {{3, 12, "unknown boundary mode 'replicate'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x:constant);",
       {{3, 12, "'constant' needs its value: expected constant(0)"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x:mirror(2));",
       {{3, 12, "mode 'mirror' takes no value"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x:[mirror,wrap]);",
       {{3, 12, "2 modes for argument 'X' of rank 1: expected 1"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(3);",
       {{3, 10, "argument 'X' of 'f' is an image: expected a vector#1 float, found the scalar '3'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "stencil g(vector#2 float X) { return X@[1,0]; }\n"
       "vector#2 float y[5,6];\n"
       "return f(y);",
       {{5, 10, "argument 'X' of 'f' is a vector#1, but 'y' has rank 2"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "stencil g(vector#2 float X) { return X@[1,0]; }\n"
       "vector#2 float y[5,6];\n"
       "return g(x);",
       {{5, 8, "the images given to 'g' have rank 1: expected rank 2 for one of them"}}},
      {"stencil f(vector#1 int X) { return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{2, 31, "argument 'X' of 'f' is a vector#1 int32, but 'x' is a vector#1 float"}}},
      {"stencil f(vector#1 float X) { return X@[1,2]; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "'X' has 1 dimension, but 2 offsets are given"}}},
      {"stencil f(vector#1 float X, float t) { return X + t@[1]; }\n"
       "vector#1 float x[5]; return f(x, 1);",
       {{1, 51, "'t' is a single value: expected an image argument before '@'"}}},
      {"stencil f(vector#1 float X) { return X@[(0,2)] + X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 50,
         "'X' is read with stride 1 in dimension 0 here and with stride 2 at line 1: expected one stride for all "
         "accesses"}}},
      {"stencil f(vector#1 float X) { return X@[(0,0)]; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 44, "the stride is 0: expected at least 1"}}},
      {"stencil f(vector#1 float X) { return X ^ 2; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 40, "'^' is no operator here: some read it as a power, others as an exclusive or"}}},
      {"vector#1 float x[0]; return x;", {{1, 18, "the extent is 0: expected at least 1"}}},
      {"vector#1 float x[2-5]; return x;", {{1, 18, "the extent is -3: expected at least 1"}}},
      {"vector#5 float x[1,1,1,1,1]; return x;", {{1, 8, "vector#5 has no legal rank: expected 1 to 4"}}},
      {"vector#2 float x[3]; return x;", {{1, 16, "'x' is vector#2, but has 1 extent: expected 2"}}},
      {"vector#1 flaot x[3]; return x;", {{1, 1, "unknown type 'flaot'"}}},
      {"parameter M; vector#1 float x[M*N]; return x;", {{1, 33, "unknown name 'N'"}}},
      {"vector f(vector#1 float X) { return g(X); }\n"
       "vector g(vector#1 float X) { return f(X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{2, 37, "'f' calls itself: f -> g -> f"}}},
      {"function int a(int i) { return b(i); }\n"
       "function int b(int i) { return a(i); }\n"
       "stencil f(vector#1 int X) { return a(X); }\n"
       "vector#1 int x[5]; return f(x);",
       {{2, 32, "'a' calls itself: a -> b -> a"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "for i = 1..1000000\n"
       " u<i> = f(x);\n"
       "endfor\n"
       "return x;",
       {{3, 9, "the loop takes 1,000,000 steps: expected at most 100,000, since loops are unrolled"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "for i = 1..100000\n"
       " for j = 1..100000\n"
       " u<i> = f(x); endfor\n"
       "endfor\n"
       "return x;",
       {{5, 2, "'u<1>' already has a value: expected a new version"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "u<0> = x;\n"
       "for i = 1..9\n"
       " u<i> = f(u<i-2>);\n"
       "endfor\n"
       "return u<9>;",
       {{5, 11, "unknown image 'u<-1>'"}}},
      {"stencil f(vector#1 float X) { X = 2; return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 31, "'X' is an image argument: expected another name"}}},
      {"stencil f(vector#1 float X) { for k = 0..3 k = 2; endfor return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 44, "'k' is the index of a loop or a window: expected another name"}}},
      {"stencil f(vector#1 float X) { return sum(k = 0..3) { k = 2; return k; }; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 54, "'k' is the index of a loop or a window: expected another name"}}},
      {"stencil f(vector#1 float X) { for X = 0..3 a = 2; endfor return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 35, "'X' has a meaning already: expected a new name for the index"}}},
      {"stencil f(vector#1 float X, int n) { a = 1; for k = 0..n a = a + k; endfor return a; }\n"
       "vector#1 float x[5]; int n; return f(x, n);",
       {{1, 56, "the upper bound is not known at compile time: expected a constant"}}},
      {"stencil f(vector#1 float X) { do k = 0..3 while (X > 1); return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 31, "a loop with a test has no meaning inside a stencil or function: expected NAME = ...; or return"}}},
      {"stencil f(vector#1 float X) { return sum(k = 0..3) { t = X@[k]; }; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 65, "expected NAME = ...; or return, found '}'"}}},
      {"stencil f(vector#1 float X) { for k = 0..3 a = q; endfor return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 48, "unknown name 'q'"}}},
      {"struct p { float a; float b; }\n"
       "function p twice(p x) { return struct p(2*x.a, 2*x.b); }\n"
       "stencil f(vector#1 float X) { return twice(X).a; }\n"
       "vector#1 float x[5]; return f(x);",
       {{3, 44, "argument 'x' of 'twice' is a struct p, but 'X' is float"}}},
      {"struct p { float a; float b; }\n"
       "function p twice(float x) { return 2*x; }\n"
       "stencil f(vector#1 float X) { return twice(X).a; }\n"
       "vector#1 float x[5]; return f(x);",
       {{2, 36, "'twice' gives a struct p, but what it returns is float"}}},
      {"stencil f(vector#1 int X) { return X + 0x1ffffffff; }\n"
       "vector#1 int x[5]; return f(x);",
       {{1, 40, "integer '0x1ffffffff' does not fit 32 bits: expected at most 0xffffffff"}}},
      {"stencil f(vector#1 int X) { return X + 0xfg; }\n"
       "vector#1 int x[5]; return f(x);",
       {{1, 40, "'0xfg' is not a number: expected an operator after '0xf', found 'g'"}}},
      {"stencil f(vector#1 float X) { return popcount(X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 47, "the argument of 'popcount' is float: expected an integer"}}},
      {"stencil f(vector#1 int X) { return mulhi(X); }\n"
       "vector#1 int x[5]; return f(x);",
       {{1, 36, "'mulhi' takes 2 arguments, 1 given"}}},
      {"stencil f(vector#1 float X) { return X }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 40, "expected ';' after the returned value, found '}'"}}},
      {"stencil f(vector#1 float X) { a = X\n"
       " b = 2; return a; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 36, "expected ';' after the value of 'a', found 'b'"}}},
      {"stencil f(vector#1 float X) { return sqroot(X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "unknown function 'sqroot'"}}},
      {"stencil f(vector#1 float X) { return sum(X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "'sum' here needs a window: expected sum(i = lo..hi) ( ... )"}}},
      {"stencil f(vector#1 float X) { return sum(i=2..1)(X@[i]); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 44, "the window 2..1 is empty: expected a lower bound that is not above the upper"}}},
      {"stencil f(vector#1 float X) { return sum(i=0..1)(X@[i*i]); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 53, "expected a constant offset, found 'i*i'"}}},
      {"stencil f(vector#1 float X) { return X@[X]; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 41, "the offset is float: expected an integer"}}},
      {"stencil f(vector#1 float X, vector#1 float m) { return m[X]; }\n"
       "vector#1 float x[5]; return f(x,x);",
       {{1, 58, "the index is float: expected an integer"}}},
      {"parameter K = 1;\ntable float K[1] = {1};\nvector#1 float x[5]; return x;",
       {{2, 13, "'K' is declared already: expected a new name"}}},
      {"parameter K = 1;\nvector#1 float K[5]; return K;", {{2, 16, "'K' is declared already: expected a new name"}}},
      {"vector#1 float x[5];\nfloat x;\nreturn x;", {{2, 7, "'x' is declared already: expected a new name"}}},
      {"table float k[3] = {1,2};\n"
       "vector#1 float x[5]; return x;",
       {{1, 20, "table 'k' has 3 elements, but 2 values are given"}}},
      {"table float k[3] = {1,2,3};\n"
       "stencil f(vector#1 float X) { return sum(i=-1..1)(k[i]*X@[i]); }\n"
       "vector#1 float x[5]; return f(x);",
       {{2, 53, "the index runs from -1 to 1, but table 'k' has the indices 0 to 2 there"}}},
      {"table uint8 k[2] = {1,300};\n"
       "vector#1 float x[5]; return x;",
       {{1, 23, "300 is no value of uint8, the type of table 'k'"}}},
      {"parameter int r = 1.5;\n"
       "vector#1 float x[5]; return x;",
       {{1, 19, "parameter 'r' is int32, but its value is double: expected an integer"}}},
      {"parameter float r;\n"
       "vector#1 float x[5]; return x;",
       {{1, 17, "parameter 'r' is float and has no value: expected one"}}},
      {"parameter a = b, b = a;\n"
       "vector#1 float x[5]; return x;",
       {{1, 11, "parameter 'a' depends on itself"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "y = x + x;\n"
       "return y;",
       {{3, 5, "expected an image: arithmetic belongs into a stencil"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return median(x);",
       {{3, 8, "'median' has no meaning for a whole image: expected a stencil or vector function"}}},
      {"stencil f(vector#1 float X, float k) { return X * k; }\n"
       "vector#1 float x[5];\n"
       "float t;\n"
       "return f(x, max(t));",
       {{4, 17, "'max' of one argument reduces an image: expected an image, found the scalar 't'"}}},
      {"stencil f(vector#1 float X, float k) { return X * k; }\n"
       "struct two { float a; float b; }\n"
       "vector#1 two x[5];\n"
       "return f(x.a, sum(x));",
       {{4, 19, "'sum' takes an image of numbers, but 'x' is a vector#1 struct two"}}},
      {"stencil f(vector#1 float X) { return X; }\n"
       "vector#1 float x[5];\n"
       "hi = max(x);\n"
       "return f(hi);",
       {{4, 10, "argument 'X' of 'f' is an image: expected a vector#1 float, found the scalar 'hi'"}}},
      {"stencil f(vector#1 float X) { return max(X); }\n"
       "vector#1 float x[5];\n"
       "return f(x);",
       {{1, 38, "'max' here needs a window: expected max(i = lo..hi) ( ... )"}}},
      {"vector#1 float x[5];\n"
       "return max(x:clamped);",
       {{2, 14, "a boundary mode has no meaning here: nothing is read outside of the image"}}},
      {"vector#1 float x[5];\n"
       "hi = max(x);\n"
       "return hi[0..1];",
       {{3, 8, "expected an image, found the scalar 'hi'"}}},
      {"stencil f(vector#1 float X, float k) { return X * k; }\n"
       "vector#1 float x[5];\n"
       "return f(x, max(x) + x);",
       {{3, 13,
         "argument 'k' of 'f' is a scalar float: expected a number, parameter or scalar input, found the image "
         "'max(x) + x'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "hi = max(x);\n"
       "return f(x:constant(hi));",
       {{4, 21, "the value of the boundary is not known at compile time: expected a constant"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return f(x:constant(-1e39));",
       {{1, 38,
         "the boundary mode constant(-1e+39) is no finite number of float, the type of 'X': expected a finite number, "
         "at "
         "most 3.4028e+38"}}},
      {"stencil f(vector#1 uint8 X) { return X@[1]; }\n"
       "vector#1 uint8 x[5];\n"
       "return f(x:constant(300));",
       {{1, 38,
         "the boundary mode constant(300) is no value of uint8, the type of 'X': expected a whole number from 0 to "
         "255"}}},
      {"vector#1 int16 x[5];\n"
       "y = ( [..] = x; [1..2] = 40000; );\n"
       "return y;",
       {{2, 17,
         "the number 40000 is no value of int16, the type of the image: expected a whole number from -32768 to "
         "32767"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "hi = max(x);\n"
       "return x[0..hi];",
       {{4, 13, "'hi' is float: expected an integer"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x.r;",
       {{3, 10, "'x' is a vector#1 float: expected a struct image before '.'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x[0..9];",
       {{3, 10, "the range reaches to 9, but the last index in dimension 0 is 4"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x[3..1];",
       {{3, 10, "the range 3..1 is empty"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x[-1..];",
       {{3, 10, "the range starts at -1: expected 0 or more"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x[0..,1..];",
       {{3, 8, "'x' has rank 1, but 2 ranges are given"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x@[(0,0)];",
       {{3, 14, "the stride is 0: expected at least 1"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "stencil g(vector#2 float X) { return X@[1,0]; }\n"
       "vector#2 float y[5,6];\n"
       "return ( @[(0,2)] = x; @[(0,2),(0,1)] = y; );",
       {{5, 24, "this piece has 2 dimensions, the first has 1: expected the same"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return ( [..] = 1; );",
       {{3, 8, "the extent in dimension 0 is not known: expected a range with an end"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return ( );",
       {{3, 10, "expected an expression, found ')'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "out@[(0,-1)] = x; return out;",
       {{3, 9, "the stride is -1: expected at least 1"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "x2 = f(x)",
       {{3, 10, "expected ';' after the statement, found the end of the text"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "for i = 1..2\n"
       " a<i> = f(x);\n"
       "return x;",
       {{4, 14, "expected 'endfor', found 'return'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "endfor\n"
       "return x;",
       {{3, 1, "'endfor' without a 'for' before it"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n",
       {{3, 1, "the program has no return: expected return NAME; at its end"}}},
      {"", {{1, 1, "the program has no return: expected return NAME; at its end"}}},
      {"hello world", {{1, 1, "unknown word 'hello' before 'world'"}}},
      {"stencil", {{1, 8, "expected a name for the function, found the end of the text"}}},
      {"stencil f(", {{1, 11, "expected a type such as float, found the end of the text"}}},
      {"{}{}{}", {{1, 1, "expected a declaration or a statement, found '{'"}}},
      {";;;;", {{1, 1, "expected a declaration or a statement, found ';'"}}},
      {"$$$ %%% @@@",
       {{1, 1, "'$$$' has no meaning here"}, {1, 5, "expected a declaration or a statement, found '%'"}}},
      {"stencil f(vector#1 float X) { return 12abc; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "'12abc' is not a number: expected an operator after '12', found 'abc'"}}},
      {"stencil f(vector#1 float X) { return 99999999999; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "integer '99999999999' does not fit 32 bits: expected at most 4294967295"}}},
      {"stencil f(vector#1 float X) { return 1e999; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "number '1e999' is out of the range of double"}}},
      {"struct s { float a; }\n"
       "stencil f(vector#1 s X) { return X.b; }\n"
       "vector#1 s x[5]; return f(x);",
       {{2, 36, "struct 's' has no field 'b': expected 'a'"}}},
      {"struct s { float a; }\n"
       "stencil f(vector#1 s X) { return X + 1; }\n"
       "vector#1 s x[5]; return f(x);",
       {{2, 34, "this is a struct 's': expected one of its fields, 'a'"}}},
      {"struct s { float a; }\n"
       "stencil f(vector#1 float X) { return struct s(X,X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{2, 38, "struct 's' has 1 field, but 2 values are given"}}},
      {"struct s { float a; }\n"
       "struct s { int b; }\n"
       "vector#1 float x[5]; return x;",
       {{2, 8, "'s' is declared already: expected a new name"}}},
      {"stencil f(vector#1 float X) { return X; }\n"
       "stencil f(vector#1 float X) { return X; }\n"
       "vector#1 float x[5]; return f(x);",
       {{2, 9, "'f' is declared already: expected a new name"}}},
      {"stencil f(vector#1 float X) { return coord(1); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 44, "there is no dimension 1: expected 0 to 0"}}},
      {"stencil one() { return 1; }\n"
       "vector#1 float x[5]; return one();",
       {{2, 29, "the extent of 'one' is not known: expected an image argument that it reads by offsets"}}},
      {"stencil f(vector#1 float X) { return f(X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "'f' is a stencil: expected a function of values"}}},
      {"stencil f(vector#1 float X) { return X & 1; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "the left side of '&' is float: expected an integer"}}},
      {"stencil f(vector#1 float X) { return float(X); }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 38, "expected an expression, found the type 'float'"}}},
      {"stencil for(vector#1 float X) { return X; }\n"
       "vector#1 float x[5]; return x;",
       {{1, 9, "expected a name for the function, found the keyword 'for'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return a = x, a = f(x);",
       {{3, 15, "two outputs are named 'a'"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x, x;",
       {{3, 9, "expected ';' after the returned image, found ','"}}},
      {"stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x; y = x;",
       {{3, 11, "expected the end of the program after its return, found 'y'"}}},
      {"import \"q.forma\";\n"
       "stencil f(vector#1 float X) { return X@[1]; }\n"
       "vector#1 float x[5];\n"
       "return x;",
       {{1, 8, "cannot find 'q.forma' to import"}}},
      {"stencil f(vector#1 float X) { return X@[2000000000]; }\n"
       "vector#1 float x[5]; return f(x);",
       {{1, 41, "the offset reaches 2000000000: expected at most 1000000000 either way"}}},
      {"parameter M; vector#1 float x[M]; stencil f(vector#1 float X) { return X@[M]; } return f(x);",
       {{1, 75, "expected a constant offset, found 'M'"}}},
      {"vector#4 float x[2147483647,2147483647,2147483647,2]; return x;",
       {{1, 16, "the image has more than 2^56 elements"}}},
      {"stencil f(vector#1 float X) { /* never closed\n"
       " return X; }",
       {{1, 31, "comment without an end"}}},
      {"stencil f(vector#1 float X) { a = 1; b = q1; c = q2; return a; }\n"
       "vector#1 float x[5]; y = f(x); z = w; return y + ;",
       {{1, 42, "unknown name 'q1'"},
        {1, 50, "unknown name 'q2'"},
        {2, 36, "unknown image 'w'"},
        {2, 50, "expected an expression, found ';'"}}},
  };
  return all;
}

TEST(Faults, PlaceAndMessage) {
  for (const Row& row : rows()) {
    const std::vector<Diagnostic> found = check_text(row.program);
    std::string text = row.program + "\n";
    for (const Diagnostic& d : found) text += d.render();
    ASSERT_EQ(found.size(), row.errors.size()) << text;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].severity, Severity::error) << text;
      EXPECT_EQ(found[i].span.line, row.errors[i].line) << text;
      EXPECT_EQ(found[i].span.column, row.errors[i].column) << text;
      EXPECT_EQ(found[i].message, row.errors[i].message) << text;
      EXPECT_EQ(found[i].span.file, "test.forma");
    }
  }
}

// The help and notes of some of them.
TEST(Faults, Suggestions) {
  const auto help = [](const std::string& program) {
    const std::vector<Diagnostic> d = check_text(program);
    return d.empty() ? "" : d[0].help;
  };
  const std::string tail = "vector#1 float x[5]; return f(x);";
  EXPECT_EQ(help("stencil f(vector#1 float image) { return imgae; }" + tail), "did you mean 'image'?");
  EXPECT_EQ(help("stencil f(vector#1 float X) { return sqroot(X); }" + tail), "did you mean 'sqrt'?");
  EXPECT_EQ(help("stencil f(vector#1 float X) { return X ^ 2; }" + tail), "write pow(a, b) or xor(a, b)");
  EXPECT_EQ(help("stencil blur(vector#1 float X) { return X; }\nvector#1 float x[5]; return blurr(x);"),
            "did you mean 'blur'?");
  EXPECT_EQ(help("stencil f(vector#1 float X) { return X; }\nvector#1 float x[5]; return f(x:replicate);"),
            "write clamped");
  EXPECT_EQ(help("stencil f(vector#1 float X) { return X; }\nvector#1 float x[5]; return f(x:reflect);"),
            "write symmetric (c b a | a b c) or mirror (c b | a b c)");
  EXPECT_EQ(help("stencil f(vector#1 flaot X) { return X; }\n" + tail), "did you mean 'float'?");
  EXPECT_EQ(help("stecnil f(vector#1 float X) { return X; }\n" + tail), "did you mean 'stencil'?");
  const std::vector<Diagnostic> unset =
      check_text("parameter int radius = 2;\nvector#1 float x[3]; return x;", {{"radios", 3}});
  ASSERT_EQ(unset.size(), 1U);
  EXPECT_EQ(unset[0].message, "the program has no parameter 'radios' to set");
  EXPECT_EQ(unset[0].help, "did you mean 'radius'?");
  EXPECT_EQ(unset[0].span.line, 0);  // no line of the text is at fault
}

TEST(Faults, ParametersFromOutsideMustFit) {
  const std::string text = "parameter int r = 2;\nparameter uint8 k = 1;\nvector#1 float x[3]; return x;";
  EXPECT_TRUE(check_text(text, {{"r", -3}, {"k", 255}}).empty());
  EXPECT_EQ(check_text(text, {{"r", 1.5}}).at(0).message,
            "parameter 'r' is set to 1.5: expected a value of type int32");
  EXPECT_EQ(check_text(text, {{"k", 256}}).at(0).message,
            "parameter 'k' is set to 256: expected a value of type uint8");
  EXPECT_EQ(check_text(text, {{"r", 1e300}}).size(), 1U);
  EXPECT_EQ(check_text("parameter float s = 1;\nvector#1 float x[3]; return x;", {{"s", HUGE_VAL}}).size(), 1U);
}

TEST(Faults, TheCaretStandsUnderTheFault) {
  const std::vector<Diagnostic> d =
      check_text("stencil f(vector#1 float X) {\n\treturn /* \xc3\xa9 */ Y@[1];\n}\nvector#1 float x[5]; return f(x);");
  ASSERT_EQ(d.size(), 1U);
  EXPECT_EQ(d[0].span.line, 2);
  EXPECT_EQ(d[0].span.column, 17);  // characters, not bytes
  EXPECT_EQ(d[0].span.length, 1);
  EXPECT_EQ(d[0].render(),
            "test.forma:2:17: error: unknown name 'Y'\n"
            "    2 |   return /* \xc3\xa9 */ Y@[1];\n"
            "      |                  ^\n");
}

TEST(Faults, AtMostTwenty) {
  std::string text = "stencil f(vector#1 float X) {\n";
  for (int i = 0; i < 50; ++i) text += "  a" + std::to_string(i) + " = b" + std::to_string(i) + ";\n";
  text += "  return X;\n}\nvector#1 float x[5]; return f(x);";
  EXPECT_EQ(check_text(text).size(), 20U);
}

TEST(Faults, OneSlipIsOneError) {
  // The faulty stage is used again and again; a stencil is faulty wherever it is called.
  const std::string text =
      "stencil f(vector#1 float X) { return X + Y; }\nstencil g(vector#1 float X) { return X; }\n"
      "vector h(vector#1 float X) { return g(f(X)); }\n"
      "vector#1 float x[5];\na = f(x); b = g(a); c = h(b); u<0> = c;\n"
      "for i = 1..100\n  u<i> = f(u<i-1>);\nendfor\nreturn u<100>;";
  EXPECT_EQ(check_text(text).size(), 1U);
  // Names that a statement with a syntax error would have defined are not unknown.
  EXPECT_EQ(check_text("stencil g(vector#1 float X) { return X; }\nvector#1 float x[5];\na = g(x;\nb = g(a);\n"
                       "return b;")
                .size(),
            1U);
  EXPECT_EQ(check_text("stencil g(vector#1 float X { return X; }\nvector#1 float x[5];\nreturn g(x);").size(), 1U);
}

TEST(Faults, IndependentErrorsAreAllFound) {
  const std::vector<Diagnostic> d = check_text(
      "stencil f(vector#1 float X) {\n  a = X +;\n  b = unknown1;\n  return X;\n}\n"
      "stencil g(vector#1 float X) {\n  return X@[0,0];\n}\n"
      "parameter M = ;\nvector#1 float x[5];\ny = g(x, 1);\nz = nothing(x);\nreturn x[7..];\n");
  std::vector<int> lines;
  for (const Diagnostic& e : d) lines.push_back(e.span.line);
  EXPECT_EQ(lines, (std::vector<int>{2, 3, 7, 9, 11, 12, 13}));
}

}  // namespace
}  // namespace tessera::lang::testing
