// A length becomes points by the distances of the file's header, each axis by its own; what the header does not say is
// not guessed. One exception: NIfTI files of many programs give distances and leave their units at 0, "unknown", and
// all programs that read them take millimetres and seconds. So do we, and say so.
//
// A frequency becomes cycles a point the same way. An axis that a unit does not reach is left as it is: by a length of
// 0, by a cutoff beyond all frequencies.
#include "cli/options/filter_lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/tell.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

using Kind = io::Step::Unit;

constexpr double beyond_all = 1e6;  // cycles a point

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

struct Unit {
  std::string_view name;
  Kind kind;
  double size;  // in millimetres or seconds; of a frequency in 1/s
};
constexpr Unit units[] = {{"nm", Kind::millimetre, 1e-6}, {"um", Kind::millimetre, 1e-3}, {"mm", Kind::millimetre, 1},
                          {"cm", Kind::millimetre, 10},   {"m", Kind::millimetre, 1e3},   {"us", Kind::second, 1e-6},
                          {"ms", Kind::second, 1e-3},     {"s", Kind::second, 1}};
constexpr Unit frequencies[] = {
    {"mHz", Kind::second, 1e-3}, {"Hz", Kind::second, 1}, {"kHz", Kind::second, 1e3}, {"MHz", Kind::second, 1e6}};

struct Quantity {
  double value = 0;  // of a unit: in millimetres or seconds, or in cycles for each
  std::optional<Kind> kind;
  std::string text;
};

enum class Takes { numbers, lengths, frequencies };

template <std::size_t N>
const Unit* find(const Unit (&known)[N], std::string_view name) {
  const auto* found = std::find_if(std::begin(known), std::end(known), [&](const Unit& u) { return u.name == name; });
  return found == std::end(known) ? nullptr : found;
}

Quantity parse_quantity(const std::string& option, std::string_view part, Takes takes) {
  const auto wrong = [&]() {
    fail(fmt::format("--{} {} cannot be used, expected a number{}", option, base::quoted(part),
                     takes == Takes::lengths ? " of points, or one with a unit: nm, um, mm, cm, m, us, ms or s"
                     : takes == Takes::frequencies
                         ? " of cycles a point, or one with a unit: /nm, /um, /mm, /cm, /m, mHz, Hz, kHz or MHz"
                         : ""));
  };
  const std::size_t slash = takes == Takes::frequencies ? part.find('/') : std::string_view::npos;
  const bool per = slash != std::string_view::npos;
  const std::size_t digits =
      per ? slash : part.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") + 1;
  const auto number = base::parse_number(base::trim(part.substr(0, digits)));
  const std::string_view word = base::trim(part.substr(digits + (per ? 1 : 0)));
  if (!number || (per && word.empty())) wrong();
  if (word.empty()) return {*number, {}, std::string(part)};
  const Unit* unit = takes == Takes::numbers          ? nullptr
                     : takes == Takes::lengths || per ? find(units, word)
                                                      : find(frequencies, word);
  if (unit == nullptr) wrong();
  return {per ? *number / unit->size : *number * unit->size, unit->kind, std::string(part)};
}

// From one point to the next; what a NIfTI header gives without a unit in the usual ones.
io::Step step_of(const io::ImageHeader& header, int rank, int dimension) {
  const int from_fastest = rank - 1 - dimension, known = static_cast<int>(header.steps.size());
  if (from_fastest < 0 || from_fastest >= known) return {};
  io::Step step = header.steps[static_cast<std::size_t>(known - 1 - from_fastest)];
  if (header.nifti != nullptr && step.unit == Kind::unknown && step.size > 0)
    step.unit = from_fastest < 3 ? Kind::millimetre : Kind::second;
  return step;
}

bool is_guessed(const io::ImageHeader& header, int rank, int dimension) {
  const int place = static_cast<int>(header.steps.size()) - rank + dimension;
  return header.nifti != nullptr && place >= 0 && header.steps[static_cast<std::size_t>(place)].unit == Kind::unknown;
}

// Where a dimension lies: millimetre in space, second in time, unknown elsewhere. The file may name it; else the
// slowest of four is time.
Kind place_of(const io::ImageHeader& header, int rank, int dimension) {
  const int place = static_cast<int>(header.axes.size()) - rank + dimension;
  if (!header.axes.empty() && place >= 0) {
    const char axis = header.axes[static_cast<std::size_t>(place)];
    return axis == 't' ? Kind::second : axis == 'q' ? Kind::unknown : Kind::millimetre;
  }
  const Kind unit = step_of(header, rank, dimension).unit;
  if (unit != Kind::unknown) return unit;
  return rank == 4 && dimension == 0 ? Kind::second : Kind::millimetre;
}

void note_guess(Kind kind) {
  static bool said = false;
  if (said) return;
  said = true;
  tell("note: the NIfTI header gives distances without a unit; they are taken for {}\n",
       kind == Kind::second ? "seconds" : "millimetres");
}

double points_of(const std::string& option, const Quantity& q, const io::ImageHeader& header, int rank, int dimension,
                 Takes takes) {
  if (!q.kind) return q.value;
  const io::Step step = step_of(header, rank, dimension);
  if (step.unit != *q.kind || !(step.size > 0))
    fail(fmt::format("--{} {} cannot be used in dimension {}: the header of the image {}", option, q.text, dimension,
                     step.unit == Kind::second       ? "gives it in seconds"
                     : step.unit == Kind::millimetre ? "gives it in millimetres"
                     : step.size > 0 ? fmt::format("gives a distance of {}, but not its unit", step.size)
                                     : "does not say how far apart its points are"),
         takes == Takes::frequencies ? "give it in cycles a point, without a unit"
                                     : "give it in points, without a unit");
  if (is_guessed(header, rank, dimension)) note_guess(step.unit);
  return takes == Takes::frequencies ? q.value * step.size : q.value / step.size;
}

}  // namespace

PerAxis parse_points(const std::string& option, const std::string& text, bool lengths, int rank,
                     const io::ImageHeader& header) {
  const bool cutoff = option == "cutoff" || option == "low" || option == "high";
  const Takes takes = cutoff ? Takes::frequencies : lengths ? Takes::lengths : Takes::numbers;
  std::vector<Quantity> all;
  for (const std::string_view part : base::split(text, ','))
    all.push_back(parse_quantity(option, base::trim(part), takes));
  std::vector<double> values;
  if (all.size() == 1 && all[0].kind) {
    // A length is of the dimensions in space, a time of those in time.
    const bool time = *all[0].kind == Kind::second;
    bool some = false;
    for (int d = 0; d < rank; ++d) {
      const bool reached = place_of(header, rank, d) == *all[0].kind;
      some = some || reached;
      values.push_back(reached ? points_of(option, all[0], header, rank, d, takes) : cutoff ? beyond_all : 0);
    }
    if (!some)
      fail(fmt::format("--{} {} cannot be used, an image of rank {} has no dimension in {}", option, base::quoted(text),
                       rank, time ? "time" : "space"),
           time ? "a series of volumes has one, the first of four" : "");
  } else {
    for (std::size_t d = 0; d < all.size(); ++d)
      values.push_back(points_of(option, all[d], header, rank, static_cast<int>(d), takes));
  }
  return PerAxis(std::move(values));
}

}  // namespace tessera::cli
