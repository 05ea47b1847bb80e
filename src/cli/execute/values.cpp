// Statistics, one linear map, and sentences; see values.hpp.
#include "cli/execute/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.hpp"
#include "cli/execute/convert.hpp"
#include "cli/tell.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

bool all_float(const Format& f) {
  if (!f.is_struct()) return is_float(f.scalar);
  return std::all_of(f.fields.begin(), f.fields.end(), [](const auto& field) { return is_float(field.type); });
}

// The same channels in another type.
Format of_type(const Format& format, ElementType type) {
  if (!format.is_struct()) return type;
  std::vector<std::pair<std::string, ElementType>> fields;
  for (const Format::Field& f : format.fields) fields.emplace_back(f.name, type);
  return Format::record(format.struct_name, std::move(fields));
}

// Without the transparency, which has a range of its own.
std::vector<Array> colours_of(const Array& array) {
  std::vector<Array> planes = io::as_planes(array);
  if (planes.size() > 1 && array.format().fields.back().name == "a") planes.pop_back();
  return planes;
}

// Calls f(value) with every value, a piece of the plane at a time.
template <class F>
void for_each_value(const Array& plane, F&& f) {
  const i64 outer = plane.rank() == 0 ? 1 : plane.shape()[0];
  const i64 inner = outer == 0 ? 0 : plane.count() / outer;
  const i64 step = std::max<i64>(1, (i64{1} << 18) / std::max<i64>(inner, 1));
  for (i64 at = 0; at < outer; at += step) {
    Array piece = plane;
    if (plane.rank() > 0) {
      std::vector<i64> begin(plane.shape().size(), 0), end = plane.shape();
      begin[0] = at;
      end[0] = std::min(at + step, outer);
      piece = plane.region(begin, end);
    }
    i64 lost = 0;
    const Array values = in_type(piece, ElementType::f64, lost);
    const double* v = values.as<double>();
    for (i64 i = 0, n = values.count(); i < n; ++i) f(v[i]);
  }
}

struct Spread {
  double least = std::numeric_limits<double>::infinity(), largest = -std::numeric_limits<double>::infinity();
  bool whole = true;  // nothing but integers, to the last bits of a float
  bool any() const { return least <= largest; }
  bool within(double low, double high) const { return any() && least >= low && largest <= high; }
};

Spread spread_of(const std::vector<Array>& planes) {
  Spread s;
  for (const Array& plane : planes) {
    for_each_value(plane, [&](double v) {
      if (!std::isfinite(v)) return;
      s.least = std::min(s.least, v);
      s.largest = std::max(s.largest, v);
      s.whole = s.whole && std::abs(v - std::nearbyint(v)) <= 1e-4;
    });
  }
  return s;
}

// What the pictures that came in hold, as the program saw them.
enum class Inputs { dark_integers, unit_floats, others };

Inputs inputs_of(const Program& program, const Lanes& lanes) {
  bool unit = true, any = false;
  for (const auto& lane : lanes.inputs) {
    for (std::size_t i = 0; i < lane.size() && unit; ++i) {
      if (!program.inputs()[i].is_array) continue;
      any = true;
      unit = spread_of(colours_of(lane[i])).within(0, 1);
    }
  }
  if (!any || !unit) return Inputs::others;
  return lanes.integers ? Inputs::dark_integers : Inputs::unit_floats;
}

// (v - low) * full / (high - low), single or double; transparency of 0..1 times `full`.
Array mapped(const Array& array, double low, double high, double full, ElementType type) {
  Array result(of_type(array.format(), type), array.shape());
  const auto from = io::as_planes(array), to = io::as_planes(result);
  const std::size_t colours = colours_of(array).size();
  for (std::size_t c = 0; c < from.size(); ++c) {
    double origin = low, factor = full / (high - low);
    if (c >= colours) {
      origin = 0;
      factor = spread_of({from[c]}).within(0, 1) && all_float(array.format()) ? full : 1;
    }
    i64 lost = 0;
    const Array values = in_type(from[c], type, lost).clone();
    if (type == ElementType::f64) {
      for (i64 i = 0, n = values.count(); i < n; ++i)
        values.as<double>()[i] = (values.as<double>()[i] - origin) * factor;
    } else {
      const auto o = static_cast<float>(origin), f = static_cast<float>(factor);
      for (i64 i = 0, n = values.count(); i < n; ++i) values.as<float>()[i] = (values.as<float>()[i] - o) * f;
    }
    to[c].copy_from(values);
  }
  return result;
}

std::pair<double, double> parse_range(const std::string& text) {
  const auto parts = base::split(text, ',');
  std::optional<double> low, high;
  if (parts.size() == 2) {
    low = base::parse_number(base::trim(parts[0]));
    high = base::parse_number(base::trim(parts[1]));
  }
  if (!low || !high || !std::isfinite(*low) || !std::isfinite(*high) || *low == *high)
    fail(fmt::format("--range {} cannot be used, expected two different numbers LO,HI", base::quoted(text)));
  return {*low, *high};
}

// Of the values and of what they become: the numbers of different ones, over at most a million of them.
void tell_merged(const Array& array, const Target& target, std::vector<std::string>& notes) {
  std::vector<double> values;
  const auto planes = colours_of(array);
  i64 all = 0, at = 0;
  for (const Array& plane : planes) all += plane.count();
  const i64 step = all / (i64{1} << 20) + 1;
  for (const Array& plane : planes)
    for_each_value(plane, [&](double v) {
      if (at++ % step == 0 && std::isfinite(v)) values.push_back(v);
    });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 8) return;
  // Rounding of floats makes many values of one: only what differs by a part of the whole spread counts.
  const double spread = values.back() - values.front();
  if (spread <= 1e-3 * std::max(std::abs(values.back()), std::abs(values.front()))) return;
  std::set<double> different, left;
  const double lowest = target.type == ElementType::i16 ? -32768 : 0;
  for (const double v : values) {
    if (different.size() < 4096) different.insert(std::nearbyint((v - values.front()) / spread * 4095));
    left.insert(target.type == ElementType::boolean ? (v != 0 ? 1 : 0)
                                                    : std::clamp(std::nearbyint(v), lowest, target.largest) + 0.0);
  }
  if (left.size() > 12 || different.size() < 4 * left.size()) return;
  notes.push_back(fmt::format("warning: {}{} different values of {} became {}\n", step > 1 ? "at least " : "",
                              values.size(), target.name, left.size()));
  notes.push_back(
      "help: --stretch writes the least as black and the largest as white, --range LO,HI these two; a .tif or .npy "
      "file keeps all\n");
}

// In two digits, 100 as it is.
std::string percent(i64 part, i64 of) {
  const double p = static_cast<double>(part) / static_cast<double>(of);
  return p < 0.1 ? fmt::format("{:.2g}%", 100 * p) : fmt::format("{:.0f}%", 100 * p);
}

// No scale was asked for.
Fitted fit_unasked(const Program& program, const Array& result, const Target& target, const Lanes& lanes) {
  Fitted fitted{result, {}, false};
  if (!target.integers) return fitted;
  const Format& format = result.format();
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  if (lanes.stored == ElementType::boolean && type != ElementType::boolean && target.largest > 1 &&
      spread_of(colours_of(result)).within(0, 1)) {
    fitted.array = mapped(result, 0, 1, target.largest, ElementType::f32);
    return fitted;
  }
  const bool chosen_type = type == ElementType::boolean || type == ElementType::u8 || type == ElementType::u16;
  if (chosen_type || target.largest <= 1) {
    if (!chosen_type) tell_merged(result, target, fitted.notes);
    return fitted;
  }
  const Spread spread = spread_of(colours_of(result));
  constexpr double rounding = 1e-5;
  const bool unit = spread.within(-rounding, 1 + rounding), near = spread.within(-0.5, 1.5);
  if (all_float(format) && near && spread.largest > 0) {
    const Inputs inputs = inputs_of(program, lanes);
    const bool scaled = spread.whole ? false : unit ? inputs != Inputs::dark_integers : inputs == Inputs::unit_floats;
    if (scaled) {
      fitted.array = mapped(result, 0, 1, target.largest, ElementType::f32);
      fitted.notes.push_back(fmt::format("note: the values of {} are of 0 to 1: they are written times {:.0f}\n",
                                         target.name, target.largest));
      fitted.notes.push_back(fmt::format("help: --range 0,{:.0f} writes them as they are\n", target.largest));
      return fitted;
    }
  }
  if (unit && spread.whole && spread.largest >= 0.5) {
    fitted.notes.push_back(fmt::format("note: {} holds nothing but {}, and looks black\n", target.name,
                                       spread.least < 0.5 ? "0 and 1" : "1"));
    fitted.notes.push_back(fmt::format("help: --range 0,1 writes 0 and {:.0f}\n", target.largest));
    return fitted;
  }
  if (all_float(format)) tell_merged(result, target, fitted.notes);
  return fitted;
}

}  // namespace

void ValueOptions::check() const {
  if (range.size() > 1) fail(fmt::format("--range is given {} times, expected once", range.size()));
  if (range.empty()) return;
  parse_range(range[0]);
  if (stretch)
    fail(fmt::format("--range {} and --stretch are given, expected one of them", base::quoted(range[0])),
         "--stretch takes the least and the largest value for LO and HI");
}

Format in_unit(const Format& format) {
  const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
  return is_float(type) || type == ElementType::boolean ? format : of_type(format, ElementType::f32);
}

void copy_converted(const Array& from, const Array& to, i64& lost) {
  const auto sources = io::as_planes(from), targets = io::as_planes(to);
  for (std::size_t c = 0; c < targets.size(); ++c) {
    i64 more = 0;
    targets[c].copy_from(in_type(sources[c], targets[c].format().scalar, more));
    lost += more;
  }
}

Fitted fit_values(const Program& program, const Array& result, const Target& target, const ValueOptions& options,
                  const Lanes& lanes) {
  const Format& format = result.format();
  double low = 0, high = 1;
  if (!options.range.empty()) {
    std::tie(low, high) = parse_range(options.range[0]);
  } else if (options.stretch) {
    const Spread spread = spread_of(colours_of(result));
    low = spread.any() ? spread.least : 0;
    high = spread.any() && spread.largest > low ? spread.largest : low + 1;
  } else if (options.unit) {
    if (!all_float(format) || is_float(target.type)) return {result, {}, false};
    if (target.type != ElementType::boolean) return {mapped(result, 0, 1, target.largest, ElementType::f32), {}, false};
  } else {
    return fit_unasked(program, result, target, lanes);
  }
  if (target.type == ElementType::boolean) {  // to the nearer of black and white
    const Array part = mapped(result, low, high, 1, ElementType::f32);
    Array whole(ElementType::u8, result.shape());
    i64 lost = 0;
    copy_converted(part, whole, lost);
    return {whole, {}, true};
  }
  const bool wide =
      target.type == ElementType::f64 || target.type == ElementType::i32 || target.type == ElementType::u32;
  const double full = is_float(target.type) ? 1 : target.largest;
  Array array = mapped(result, low, high, full, wide ? ElementType::f64 : ElementType::f32);
  if (target.integers || is_float(target.type)) return {array, {}, true};
  Array whole(format, result.shape());  // a file of any type: that of the result
  i64 lost = 0;
  copy_converted(array, whole, lost);
  return {whole, {}, true};
}

void warn_clamped(const Array& array, const Target& target, i64 saturated, bool chosen) {
  if (saturated == 0) return;
  i64 missing = 0, below = 0, above = 0, all = 0;
  for (const Array& plane : io::as_planes(array)) {
    all += plane.count();
    for_each_value(plane, [&](double v) {
      missing += std::isnan(v) ? 1 : 0;
      below += v < -0.5 ? 1 : 0;
      above += v > target.largest + 0.5 ? 1 : 0;
    });
  }
  if (missing > 0)
    tell("warning: {} of the {} values of {} {} NaN, written as 0\n", missing, all, target.name,
         missing == 1 ? "is" : "are");
  const i64 clamped = saturated - missing;
  if (chosen || clamped <= 0 || clamped * 1000 <= all) return;
  std::string where;
  if (below > 0) where += fmt::format("{} below 0", percent(below, all));
  if (above > 0)
    where += fmt::format("{}{} above {:.0f}", where.empty() ? "" : ", ", percent(above, all), target.largest);
  tell("warning: {} of the values of {} did not fit {} and were clamped{}\n", percent(clamped, all), target.name,
       name_of(target.type), where.empty() ? "" : " (" + where + ")");
  tell("help: a .tif or .npy file keeps them; --stretch or --range LO,HI brings them to 0 to {:.0f}\n", target.largest);
}

}  // namespace tessera::cli
