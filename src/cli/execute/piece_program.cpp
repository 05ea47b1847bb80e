// See piece_program.hpp.
#include "cli/execute/piece_program.hpp"

#include <algorithm>
#include <utility>

#include "data/regions.hpp"
#include "engine/filters/filters.hpp"
#include "engine/program_impl.hpp"

namespace tessera::cli {

using data::shape_of;

bool Source::is_image() const {
  return input == nullptr && std::ranges::any_of(shape, [](i64 n) { return n != 1; });
}

PieceProgram::PieceProgram(const Program& program, std::vector<Source> sources, std::vector<i64> parameters,
                           PieceLanes lanes, const InputOptions& settings, const RunOptions& options)
    : program_(program),
      sources_(std::move(sources)),
      parameters_(std::move(parameters)),
      lanes_(lanes),
      settings_(settings),
      options_(options) {
  for (const Source& s : sources_) shapes_.push_back(s.input == nullptr ? s.shape : s.input->taken_shape());
  for (const Parameter& output : program_.outputs()) formats_.push_back(output.format);
}

Shape PieceProgram::result() const {
  return program_.impl().output_shapes(parameters_).front();
}

engine::RegionNeeds PieceProgram::needs(const Region& box) const {
  return engine::needs_of(program_, regions_of(box), parameters_, options_);
}

std::vector<Region> PieceProgram::reads(const Region& box) const {
  return engine::reads_of(program_, regions_of(box), parameters_, options_);
}

double PieceProgram::file_bytes(const engine::RegionNeeds& needs) const {
  double bytes = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!is_read(i)) continue;
    const Region& read = needs.reads[i];
    const Region part = sources_[i].input != nullptr ? sources_[i].input->in_array(read) : read;
    bytes += static_cast<double>(element_count(shape_of(part)) * static_cast<i64>(format_of(i).size()));
  }
  return bytes;
}

i64 PieceProgram::pooled_beside(i64 taken) {
  constexpr i64 most = i64{64} << 20;
  return std::min(taken, most);
}

pieces::Demand PieceProgram::demand(const Region& box, i64 ahead) const {
  const auto [reads, memory, computed] = needs(box);
  const i64 lanes = static_cast<i64>(lanes_.count), run = static_cast<i64>(lanes_.run());
  pieces::Demand d{memory + pooled_beside(memory), 0};
  i64 beside = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    const Parameter& p = program_.inputs()[i];
    const i64 n = element_count(shape_of(reads[i])), wanted = n * static_cast<i64>(p.format.size());
    if (source.is_image()) {
      d.memory += ahead * run * wanted;
    } else if (source.input != nullptr && !source.input->number) {
      const Format& stored = source.input->array.format();
      const Region part = source.input->in_array(reads[i]);
      const i64 points = element_count(shape_of(part)), raw = points * static_cast<i64>(stored.size());
      const bool same = !stored.is_struct() && !p.format.is_struct() && stored.scalar == p.format.scalar;
      if (source.input->reader != nullptr) {
        d.memory += ahead * raw;
        beside = std::max(beside, source.input->reader->beside(part));
      }
      const i64 copies = p.format.is_struct() ? 2 : lanes;
      if (!same) d.memory += copies * points * static_cast<i64>(p.format.size());
      if (source.input->continued != nullptr) d.memory += copies * wanted;
      if (source.input->grey) d.memory += raw;
    } else {
      continue;
    }
    // Read once, and gone through with all that depends on it.
    d.work += computing * static_cast<double>(run * wanted);
  }
  d.memory += beside;
  return d;
}

pieces::Arrays PieceProgram::read(const Region& box, pieces::Buffers& buffers, const Seen& seen) const {
  const std::vector<Region> parts = reads(box);
  pieces::Arrays raw;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    for (const auto& image : source.images) {
      raw.push_back(buffers.take(program_.inputs()[i].format, shape_of(parts[i])));
      image->read(parts[i], raw.back());
    }
    if (source.input == nullptr || source.input->number) continue;
    raw.push_back(read_part(*source.input, source.input->in_array(parts[i]),
                            [&](const Format& format, const Shape& shape) { return buffers.take(format, shape); }));
    if (seen) seen(*source.input, raw.back());
  }
  return raw;
}

std::vector<std::vector<Array>> PieceProgram::compute(const Region& box, const pieces::Arrays& raw,
                                                      const std::vector<Array>& into) const {
  const std::vector<Region> parts = reads(box);
  std::vector<std::vector<InputWindow>> windows(lanes_.run());
  std::size_t next = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    std::vector<Array> arrays = source.numbers;
    bool part = false;
    if (source.is_image()) {
      for (std::size_t c = 0; c < windows.size(); ++c) arrays.push_back(raw[next++]);
      part = true;
    } else if (source.input != nullptr) {
      part = !source.input->number;
      arrays = in_lanes(program_.inputs()[i], *source.input, part ? raw[next++] : Array(), lanes_.count, settings_);
      if (lanes_.only) arrays = {arrays[*lanes_.only]};
      if (const auto& continued = source.input->continued; continued != nullptr && part)
        for (Array& array : arrays)
          array = continued->input_part({array, source.input->in_array(parts[i]).begin, source.input->array.shape()},
                                        parts[i]);
    }
    for (std::size_t c = 0; c < windows.size(); ++c)
      windows[c].push_back(part ? InputWindow{arrays[c], parts[i].begin, shapes_[i]} : InputWindow{arrays[c]});
  }
  if (!into.empty()) {
    engine::run_regions_into(program_, windows[0], regions_of(box), into, parameters_, options_);
    return {into};
  }
  std::vector<std::vector<Array>> of_lanes;
  for (const std::vector<InputWindow>& lane : windows)
    of_lanes.push_back(engine::run_regions(program_, lane, regions_of(box), parameters_, options_));
  return of_lanes;
}

}  // namespace tessera::cli
