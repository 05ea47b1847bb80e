// `tessera fft`: the Fourier transform of a file, its spectrum as a picture, and the way back.
//
// It runs a program like any other, written for the file that is given:
//
//   vector#2 uint8 image[extent_0, extent_1];
//   F = fft(image);
//   m = magnitude(F);                                                  // log(1 + |F|)
//   spectrum[0..extent_0-1, 0..extent_1-1] = shown(m, max(m));         // frequency 0 in the middle, 0 to 255
//   return F = F, spectrum = spectrum;
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "cli/execute/execute.hpp"
#include "cli/execute/pages.hpp"
#include "cli/verbs.hpp"
#include "io/image.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct FftVerb {
  RunSettings settings;
  std::string image, spectrum, axes;
  std::vector<std::string> all_axes;
  bool inverse = false, real = false;
};

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

bool is_complex(const Format& f) {
  return f.fields.size() == 2 && f.fields[0].name == "re" && f.fields[1].name == "im" &&
         f.fields[0].type == f.fields[1].type && is_float(f.fields[0].type) && f.fields[0].type != ElementType::f16;
}

bool holds_complex(const std::string& path) {
  return path.ends_with(".npy");
}

std::vector<i64> parse_axes(const std::string& text, int rank) {
  std::vector<i64> all;
  if (text.empty()) {
    for (int d = 0; d < rank; ++d) all.push_back(d);
    return all;
  }
  for (i64 d : parse_list(text, "--axes")) {
    const i64 from_first = d < 0 ? d + rank : d;
    if (from_first < 0 || from_first >= rank)
      fail(fmt::format("--axes {} names dimension {}, expected 0 to {}, or -1 for the last one", base::quoted(text), d,
                       rank - 1));
    if (std::find(all.begin(), all.end(), from_first) != all.end())
      fail(fmt::format("--axes {} names dimension {} twice", base::quoted(text), from_first));
    all.push_back(from_first);
  }
  return all;
}

class Writer {
 public:
  Writer(const FftVerb& verb, const Format& stored, int rank)
      : verb_(verb), rank_(rank), complex_(is_complex(stored)), axes_(parse_axes(verb.axes, rank)) {
    type_ = stored.is_struct() ? stored.fields[0].type : stored.scalar;
  }

  // `out`: the file of the result; "" for none.
  std::string text(const std::string& out) const {
    std::string extents, ranges, axes;
    for (int d = 0; d < rank_; ++d) {
      extents += fmt::format("{}extent_{}", d > 0 ? ", " : "", d);
      ranges += fmt::format("{}0..extent_{}-1", d > 0 ? ", " : "", d);
    }
    for (const i64 d : axes_) axes += fmt::format(", {}", d);
    const std::string real = type_ == ElementType::f64 ? "double" : "float";
    std::string program;
    if (complex_) program += fmt::format("struct complex {{ {0} re; {0} im; }}\n", real);
    program += fmt::format("parameter {0};\nvector#{1} {2} image[{0}];\n", extents, rank_,
                           complex_ ? std::string("complex") : std::string(name_of(type_)));
    const std::string result = verb_.inverse ? "f" : "F";
    program += fmt::format("{} = {}(image{});\n", result, verb_.inverse ? "ifft" : "fft", axes);
    const bool real_part = verb_.real || (verb_.inverse && !out.empty() && !holds_complex(out));
    std::string returned;
    if (!out.empty() || verb_.spectrum.empty()) returned = fmt::format("{0} = {0}{1}", result, real_part ? ".re" : "");
    if (!verb_.spectrum.empty()) {
      program += shown(real) + fmt::format("m = magnitude({});\nspectrum[{}] = shown(m, max(m));\n", result, ranges);
      returned += std::string(returned.empty() ? "" : ", ") + "spectrum = spectrum";
    }
    return program + fmt::format("return {};\n", returned);
  }

 private:
  std::string shown(const std::string& real) const {
    const bool floats = io::stores_floats(verb_.spectrum);
    std::string indices;
    for (int d = 0; d < rank_; ++d) {
      const bool turned = std::find(axes_.begin(), axes_.end(), d) != axes_.end();
      if (d > 0) indices += ", ";
      indices +=
          turned ? fmt::format("(coord({0}) + (extent({0}) + 1) / 2) % extent({0})", d) : fmt::format("coord({})", d);
    }
    return fmt::format(
        "stencil magnitude(vector#{0} complex F) {{ return log(1 + hypot(F.re, F.im)); }}\n"
        "stencil shown(vector#{0} {1} M, {1} most) {{\n"
        "  v = M[{2}];\n"
        "  return {3};\n"
        "}}\n",
        rank_, real, indices,
        floats ? "cast<float>(most > 0 ? v / most : 0)" : "saturate<uint8>(most > 0 ? 255 * v / most : 0)");
  }

  const FftVerb& verb_;
  int rank_;
  bool complex_;
  ElementType type_;
  std::vector<i64> axes_;
};

// The file of -o: one, that can hold what it is given.
std::string result_file(const FftVerb& verb) {
  const std::vector<std::string>& files = verb.settings.output.files;
  if (files.size() > 1)
    fail(fmt::format("-o is given {} times, expected one file", files.size()), "--spectrum FILE is for the picture");
  if (files.empty()) return "";
  if (!verb.inverse && !verb.real && io::is_writable_name(files[0]) && !holds_complex(files[0]))
    fail(fmt::format("{} cannot hold complex numbers, expected a .npy file", base::quoted(files[0])),
         fmt::format("--spectrum {} shows how large they are", files[0]));
  return files[0];
}

// Numbers are dimensions that are transformed, letters what the dimensions of the file are.
void sort_axes(FftVerb& verb) {
  for (const std::string& text : verb.all_axes) {
    const bool numbers = text.find_first_not_of("0123456789,- ") == std::string::npos;
    if (numbers && !verb.axes.empty())
      fail(fmt::format("--axes is given twice: {} and {}", base::quoted(verb.axes), base::quoted(text)));
    if (numbers)
      verb.axes = text;
    else
      verb.settings.input.reading.axes.push_back(text);
  }
}

int run(FftVerb& verb) {
  sort_axes(verb);
  verb.settings.check();
  const std::string out = result_file(verb);
  const base::InterruptGuard interrupt;
  io::Image image = io::read_image(verb.image, verb.settings.input.reading.of("image"));
  const int rank = verb.settings.input.reading.pages ? std::min(image.array.rank(), 2) : image.array.rank();
  if (rank < 1 || rank > 4)
    fail(fmt::format("{} has rank {} ({}), expected 1 to 4", base::quoted(verb.image), rank,
                     to_string(image.array.shape())));
  const Format& stored = image.array.format();
  if (verb.settings.input.grey && is_complex(stored))
    fail(fmt::format("--gray is of colours, but {} has complex numbers", base::quoted(verb.image)));
  const bool grey = verb.settings.input.grey && io::channels_of(image.array) > 1;
  Format format = grey ? Format(stored.fields[0].type) : stored;
  if (verb.settings.input.unit && !is_complex(stored)) format = in_unit(format);
  const bool colours = format.is_struct() && !is_complex(format);
  if (colours && (!out.empty() && holds_complex(out) && !verb.real))
    fail(fmt::format("{} has {} channels, and a .npy file holds the complex numbers of one", base::quoted(verb.image),
                     format.fields.size()),
         "--gray transforms intensity");
  const Program program = Program::from_text(Writer(verb, format, rank).text(out), {}, "fft");
  std::vector<std::string>& files = verb.settings.output.files;
  files.clear();
  if (!out.empty()) files.push_back(std::string(verb.inverse ? "f=" : "F=") + out);
  if (!verb.spectrum.empty()) files.push_back("spectrum=" + verb.spectrum);
  mark_pages(files, verb.settings.input.reading.pages);
  verb.settings.input.read.emplace(verb.image, std::move(image));
  return execute(program, "fft", {"image=" + verb.image}, {}, verb.settings, interrupt);
}

}  // namespace

Verb add_fft(CLI::App& root) {
  CLI::App* app = root.add_subcommand("fft", "transform a file, or show its spectrum");
  auto verb = std::make_shared<FftVerb>();
  verb->settings.input.note_nodata = true;
  app->add_option("image", verb->image, "an image, a volume, or a .npy file of real or complex numbers")
      ->type_name("FILE")
      ->required();
  app->add_option("--spectrum", verb->spectrum,
                  "picture of log(1 + magnitude), frequency 0 in the middle, over the range of the file")
      ->type_name("FILE");
  app->add_flag("--inverse", verb->inverse, "the way back, divided by the number of points");
  app->add_flag("--real", verb->real, "keep the real part alone, as files other than .npy do on the way back");
  app->add_option("--axes", verb->all_axes,
                  "the dimensions, the slowest is 0 and the last -1 (all); letters: those of the file")
      ->allow_extra_args(false)
      ->type_name("D,D");
  verb->settings.declare(*app, false);
  return {app, [verb] { return run(*verb); }};
}

}  // namespace tessera::cli
