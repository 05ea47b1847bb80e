#include "support/programs.hpp"

#include <cstdlib>
#include <stdexcept>

#include "engine/explain/device.hpp"
#include "engine/program_impl.hpp"
#include "ir/bind.hpp"
#include "lang/compile.hpp"
#include "lower/ways/ways.hpp"

namespace tessera {

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"blur",
       R"(
parameter M, N;
stencil rows(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; }
stencil columns(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }
vector#2 float image[M,N];
return columns(rows(image:mirror):mirror);
)",
       {{1080, 1920}}},
      {"heavy",  // tiles are as small as their time asks for
       R"(
parameter M, N;
stencil apart(vector#2 float X) { return sum(i = -20..20, j = -20..20) (abs(X@[i,j] - X)); }
vector#2 float image[M,N];
return apart(image:clamped);
)",
       {{60, 300}}},
      {"heavy_fused",
       R"(
parameter M, N;
stencil blur(vector#2 float X) { return X@[-1,0] * X@[0,1] + X@[1,0] * X@[0,-1]; }
stencil apart(vector#2 float X) { return sum(i = -14..14, j = -14..14) (abs(X@[i,j] - X)); }
vector#2 float image[M,N];
return apart(blur(image:clamped):clamped);
)",
       {{60, 300}}},
      {"harris",
       R"(
parameter M, N;
stencil dx(vector#2 float X) { return X@[-1,1] - X@[-1,-1] + 2 * (X@[0,1] - X@[0,-1]) + X@[1,1] - X@[1,-1]; }
stencil dy(vector#2 float X) { return X@[1,-1] - X@[-1,-1] + 2 * (X@[1,0] - X@[-1,0]) + X@[1,1] - X@[-1,1]; }
stencil product(vector#2 float A, vector#2 float B) { return A * B; }
stencil box(vector#2 float X) { return sum(i = -1..1, j = -1..1) ( X@[i,j] ); }
stencil response(vector#2 float A, vector#2 float B, vector#2 float C) {
  t = A + B;
  return A * B - C * C - 0.04f * t * t;
}
vector#2 float image[M,N];
x = dx(image:clamped);
y = dy(image:clamped);
return response(box(product(x, x):clamped), box(product(y, y):clamped), box(product(x, y):clamped));
)",
       {{2160, 3840}}},
      {"pyramid",
       R"(
parameter M, N;
stencil down(vector#2 float X) { return (X@[(0,2),(0,2)] + X@[(1,2),(0,2)] + X@[(0,2),(1,2)] + X@[(1,2),(1,2)]) / 4; }
stencil even(vector#2 float X) { return (X@[-1,0] + 6 * X + X@[1,0]) * 0.125f; }
stencil odd(vector#2 float X) { return (X + X@[1,0]) * 0.5f; }
stencil even_columns(vector#2 float X) { return (X@[0,-1] + 6 * X + X@[0,1]) * 0.125f; }
stencil odd_columns(vector#2 float X) { return (X + X@[0,1]) * 0.5f; }
vector up(vector#2 float X) {
  tall = ( @[(0,2),(0,1)] = even(X:clamped); @[(1,2),(0,1)] = odd(X:clamped); );
  return ( @[(0,1),(0,2)] = even_columns(tall:clamped); @[(0,1),(1,2)] = odd_columns(tall:clamped); );
}
stencil minus(vector#2 float A, vector#2 float B) { return A - B; }
vector#2 float image[M,N];
g1 = down(image);
g2 = down(g1);
return detail = minus(image, up(g1)), coarse = minus(g1, up(g2)), rest = g2;
)",
       {{512, 768}}},
      {"grey",
       R"(
struct rgb { uint8 r; uint8 g; uint8 b; }
parameter M, N;
stencil grey(vector#2 uint8 r, vector#2 uint8 g, vector#2 uint8 b) { return saturate<uint8>((77 * r + 150 * g + 29 * b) / 256); }
stencil widest(vector#2 uint8 X) { return max(i = -7..7, j = -7..7) ( X@[i,j] ); }
vector#2 rgb photo[M,N];
return widest(grey(photo.r, photo.g, photo.b):clamped);
)",
       {{600, 800}}},
      {"convolution",
       "table float k[i = 0..14, j = 0..16] = (i * 5 + j * 3) % 11 * 0.02f; stencil f(vector#2 float X) { return sum(i "
       "= "
       "0..14, j = 0..16) (k[i,j] * X@[i-7,j-8]); } parameter M, N; vector#2 float a[M,N]; return f(a:mirror);",
       {{300, 500}}},
      {"gather",
       R"(
parameter M, N;
stencil flip(vector#2 float X, vector#2 float Y) { return X[coord(0), extent(1) - 1 - coord(1)] - Y; }
stencil blur(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) * 0.33f; }
vector#2 float image[M,N];
return blur(flip(blur(image:wrap), image):constant(1.5));
)",
       {{300, 400}}},
      {"line",
       R"(
parameter N;
stencil smooth(vector#1 float X) { return (X@[-1] + 2 * X + X@[1]) / 4; }
vector#1 float signal[N];
float gain;
stencil scale(vector#1 float X, float g) { return X * g; }
return scale(smooth(smooth(signal:symmetric):symmetric), gain);
)",
       {{100000}, {}}},
      {"volume",
       R"(
parameter K, M, N;
stencil step(vector#3 float X) {
  return X + 0.1f * (X@[-1,0,0] + X@[1,0,0] + X@[0,-1,0] + X@[0,1,0] + X@[0,0,-1] + X@[0,0,1] - 6 * X);
}
vector#3 float body[K,M,N];
u<0> = body;
for t = 1..7 u<t> = step(u<t-1>:clamped); endfor
return u<7>;
)",
       {{60, 200, 300}}},
      {"inner",
       R"(
parameter M, N;
stencil edge(vector#2 float X) { return abs(X@[0,1] - X@[0,-1]) + abs(X@[1,0] - X@[-1,0]); }
stencil peak(vector#2 float X) { return (X > X@[0,-1] && X > X@[0,1] ? X : 0.0f); }
vector#2 float image[M,N];
return peak(edge(image));
)",
       {{37, 61}}},
  };
  return all;
}

const Sample& sample(const std::string& name) {
  for (const Sample& s : samples())
    if (s.name == name) return s;
  throw std::logic_error("no sample is called " + name);
}

machine::Machine fixed_device() {
  machine::Machine device;
  device.name = "a machine of the tests";
  device.threads = 4;
  return device;
}

Planned planned(const Sample& sample, const RunOptions& options) {
  lang::CompileInput input;
  input.text = sample.text;
  input.file_name = sample.name;
  ir::Graph graph = lang::compile(input).graph;
  std::vector<i64> parameters = ir::bind_parameters(graph, sample.shapes);
  plan::Options how;
  how.schedule = options.schedule;
  how.numbers = options.numbers;
  how.method = options.method;
  plan::Plan plan = plan::make_plan(std::move(graph), how, fixed_device());
  lower::choose_core_ways(plan);
  return {std::move(plan), parameters};
}

explain::Report report_of(const Sample& sample, RunOptions options) {
  Planned p = planned(sample, options);
  if (options.threads == 0) options.threads = 4;
  return explain::report(std::move(p.plan), p.parameters, options);
}

explain::Report device_report_of(const Sample& sample, RunOptions options) {
  setenv("TESSERA_CUDA_DRIVER", "no such library", 1);
  options.target = "cuda";
  const Program program = Program::from_text(sample.text);
  return engine::device_report(program.impl(), ir::bind_parameters(program.impl().graph, sample.shapes), options);
}

}  // namespace tessera
