// Sizes and numbers of hardware from the command line.
#include "cli/options/hardware_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {

namespace {

// `--input image=uint8`, or `gain=uint16.8` with bits of fraction.
std::pair<std::string, HardwareOptions::Input> fixed_input(const std::string& text) {
  const auto fail = [&] {
    throw Error(
        ErrorClass::argument,
        fmt::format("--input is {}; expected NAME=TYPE or NAME=TYPE.BITS with an integer type", base::quoted(text)), {},
        "for example --input image=uint8");
  };
  const std::size_t equals = text.find('='), dot = text.find('.', equals == std::string::npos ? 0 : equals);
  if (equals == 0 || equals == std::string::npos) fail();
  HardwareOptions::Input input;
  const std::string type = text.substr(equals + 1, dot == std::string::npos ? dot : dot - equals - 1);
  bool known = false;
  for (const ElementType t : {ElementType::u8, ElementType::i16, ElementType::u16, ElementType::i32, ElementType::u32})
    if (type == name_of(t)) input.type = t, known = true;
  if (!known) fail();
  if (dot != std::string::npos) {
    const auto bits = base::parse_integer(std::string_view(text).substr(dot + 1));
    if (!bits || *bits < 0 || *bits > 32) fail();
    input.fraction = static_cast<int>(bits.value_or(0));
  }
  return {text.substr(0, equals), input};
}

double finite(const std::string& text, std::string_view option) {
  const auto value = base::parse_number(text);
  if (!value || !std::isfinite(*value))
    throw Error(ErrorClass::argument, fmt::format("{} is {}; expected a number", option, base::quoted(text)));
  return *value;
}

}  // namespace

bool is_hardware_target(const std::string& target) {
  return target == "hls" || target == "verilog";
}

void HardwareFlags::declare(CLI::App& app) {
  app.add_option("--max-size", max_size, "the largest extents of frames, which are then arguments")
      ->type_name("HEIGHTxWIDTH");
  app.add_option("--lanes", lanes, "pixels a clock: 1, 2, 4 or 8 (1)")->type_name("N");
  app.add_option("--input", inputs, "integers that come in for floats: image=uint8, gain=uint16.8 (8 bits of fraction)")
      ->allow_extra_args(false)
      ->type_name("NAME=TYPE");
  app.add_option("--error", error, "how far floats may be from exact arithmetic (2^-10 of the largest value)")
      ->type_name("E");
  app.add_option("--frequency", frequency, "of the clock, to reach on the chip of verilog (200)")->type_name("MHZ");
  app.add_option("--chip", chip, "of verilog, whose delays and multipliers count: ecp5, ice40 or xilinx (ecp5)")
      ->type_name("NAME");
  app.add_option("--additions", additions, "of a product with a constant, before it becomes a multiplier (2)")
      ->type_name("N");
}

HardwareOptions HardwareFlags::options(const std::string& target, const std::string& size) const {
  HardwareOptions own;
  const char* const of_hardware = !size.empty()       ? "size"
                                  : !max_size.empty() ? "max-size"
                                  : lanes             ? "lanes"
                                  : !inputs.empty()   ? "input"
                                  : error             ? "error"
                                  : additions         ? "additions"
                                                      : nullptr;
  if (!is_hardware_target(target) && of_hardware != nullptr)
    throw Error(ErrorClass::argument,
                fmt::format("--{} is of targets hls and verilog; the target is {}", of_hardware, base::quoted(target)));
  if ((frequency || chip) && target != "verilog")
    throw Error(ErrorClass::argument, fmt::format("--{} is of target verilog; the target is {}",
                                                  frequency ? "frequency" : "chip", base::quoted(target)));
  if (frequency) own.frequency = finite(*frequency, "--frequency");
  if (chip) own.chip = *chip;
  own.additions = additions.value_or(own.additions);
  for (const std::string& text : inputs) {
    const auto [name, given] = fixed_input(text);
    if (!own.inputs.emplace(name, given).second)
      throw Error(ErrorClass::argument, fmt::format("--input names {} twice; expected once", base::quoted(name)));
  }
  if (error) {
    own.error = finite(*error, "--error");
    if (own.error <= 0)
      throw Error(ErrorClass::argument, fmt::format("--error is {}; expected a positive number", *error));
  }
  if (!size.empty() && !max_size.empty())
    throw Error(ErrorClass::argument, "--size and --max-size were both given; expected one of them");
  own.fixed = max_size.empty();
  own.lanes = lanes.value_or(1);
  const std::string& text = own.fixed ? size : max_size;
  if (text.empty()) return own;
  const std::string_view option = own.fixed ? "--size" : "--max-size";
  const Shape shape = parse_shape(text, option);
  if (shape.size() != 2)
    throw Error(ErrorClass::argument, fmt::format("{} is {}; expected HEIGHTxWIDTH", option, base::quoted(text)));
  own.height = shape[0];
  own.width = shape[1];
  return own;
}

}  // namespace tessera::cli
