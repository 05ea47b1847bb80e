// See line.hpp.
#include "fft/device/line.hpp"

#include <fmt/format.h>

#include "fft/device/line_writer.hpp"

namespace tessera::fft {

DeviceLineKernel write_line(const DeviceLine& line, const std::string& name) {
  DeviceLineKernel kernel;
  kernel.function.name = name;
  std::string radices;
  for (const i64 r : line.radices) radices += (radices.empty() ? "" : " x ") + std::to_string(r);
  kernel.function.essay = fmt::format("lines of {} points{}{}, {} a block of {} threads", line.points,
                                      radices.empty() ? "" : " as ", radices, line.lines, line.lines * line.threads);
  Builder out(kernel.function.body);
  DeviceLineWriter(line, kernel, out).write({});
  return kernel;
}

DeviceLineKernel write_pair(const DeviceLine& first, const DeviceLine& second, const PairOrder& order,
                            const std::string& name) {
  DeviceLineKernel kernel;
  kernel.function.name = name;
  kernel.function.essay =
      fmt::format("lines of {} points, then of {}, in place; {} and {} a block of {} threads", first.points,
                  second.points, first.lines, second.lines, first.lines * first.threads);
  Builder out(kernel.function.body);
  const auto let = [&](const char* stem, const Index& i) { return Index(out.let(stem, i.value)); };
  const Value counters = ir::nest::variable("p3", ir::nest::bytes_pointer);
  out.call("tsr_fft_begin", {});
  const Index ticket = let("ticket", Index(ir::nest::call("tsr_fft_ticket", Index::type(), {counters})));
  const Index strip = let("strip", ticket / order.items()), item = let("item", ticket % order.items());
  // A group of columns, counted along the first dimension and those that are no part of the line.
  const auto group_of = [&](const Index& all, i64 groups, const Index& part) {
    DeviceLineWriter::Given given;
    given.group = let("group", all % groups);
    given.rest = {part};
    Index others = let("others", all / groups);
    for (std::size_t d = 2; d < first.dimensions.size(); ++d) {
      given.rest.push_back(let("index", others % first.dimensions[d].extent));
      others = let("others", others / first.dimensions[d].extent);
    }
    given.fresh = true;
    return given;
  };
  out.branch(
      less(item, Index(order.first_items)),
      [&] {
        const Index all = let("all", strip * order.strip + item % order.strip);
        out.branch(less(all, Index(order.groups * order.others)), [&] {
          DeviceLineWriter::Given given = group_of(all, order.groups, let("part", item / order.strip));
          given.target = order.source ? 0 : 1;
          DeviceLineWriter(first, kernel, out).write(given);
          out.call("tsr_fft_done", {counters, (all + 1).value});
        });
      },
      [&] {
        const i64 width = order.strip * order.finer;
        const Index behind = let("behind", item - order.first_items);
        const Index all = let("all", (strip - 1) * width + behind % width);
        const Value there = less(Index(0), strip) & less(all, Index(order.groups * order.others * order.finer));
        out.branch(there, [&] {
          out.call("tsr_fft_await", {counters, (all / order.finer + 1).value, Index(order.parts).value});
          DeviceLineWriter::Given given = group_of(all, order.groups * order.finer, let("part", behind / width));
          given.source = order.source ? 0 : 1;
          DeviceLineWriter(second, kernel, out).write(given);
        });
      });
  return kernel;
}

void write_line_within(const DeviceLine& line, const LineMemory& memory, DeviceLineKernel& kernel, Builder& out) {
  DeviceLineWriter::Given given;
  given.group = memory.group;
  given.memory = &memory;
  DeviceLineWriter(line, kernel, out).write(given);
}

i64 blocks_of(const DeviceLine& line, i64 count) {
  i64 blocks = 1;
  for (std::size_t d = 0; d < line.dimensions.size(); ++d) {
    const i64 extent = static_cast<i64>(d) == line.counted ? count : line.dimensions[d].extent;
    blocks *= d == 0 ? (extent + line.lines - 1) / line.lines : extent;
  }
  return blocks;
}

}  // namespace tessera::fft
