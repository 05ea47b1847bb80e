// See exchange.hpp.
#include "cli/execute/exchange.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "data/regions.hpp"
#include "pieces/grid.hpp"

namespace tessera::cli {

namespace {

constexpr int rows_tag = 32011;

struct Rows {
  i64 begin = 0, end = 0;
};

Rows rows_in(const Region& region) {
  return region.begin.empty() ? Rows{} : Rows{region.begin[0], region.end[0]};
}

// No larger than a message may be, and one behind the other in memory.
Shape parts_of(const Shape& image, const Format& format) {
  constexpr i64 most = i64{16} << 20;  // bytes
  Shape part = image;
  i64 bytes = element_count(image) * static_cast<i64>(format.size());
  for (std::size_t d = 0; d < part.size(); ++d) {
    bytes /= image[d];  // of one along this dimension
    part[d] = std::clamp<i64>(most / bytes, 1, image[d]);
    if (bytes <= most) break;
  }
  return part;
}

// Rows of an image on their way from or to another rank, a part at a time.
class Way {
 public:
  Way(ranks::Ranks& ranks, io::Scratch& image, const Format& format, Rows rows, int other)
      : ranks_(ranks),
        image_(image),
        format_(format),
        other_(other),
        parts_{{std::vector<i64>(image.shape().size()), image.shape()}, parts_of(image.shape(), format)} {
    parts_.whole.begin[0] = rows.begin;
    parts_.whole.end[0] = std::max(rows.begin, rows.end);
  }

  bool ended() const { return next_ == parts_.count(); }
  void begin_send() {
    if (ended()) return;
    take();
    image_.read(region_, array_);
    request_ = ranks_.send(bytes(), other_, rows_tag);
    request_.keep(array_.owner());
  }
  void begin_receive() {
    if (ended()) return;
    take();
    request_ = ranks_.receive(bytes(), other_, rows_tag);
    request_.keep(array_.owner());
  }
  void end(bool received) {
    if (ended()) return;
    ranks_.wait(request_);
    if (received) image_.write(region_, array_);
    ++next_;
  }

 private:
  void take() {
    region_ = parts_.box(next_);
    array_ = Array(format_, data::shape_of(region_));
  }
  std::span<std::byte> bytes() {
    return {array_.as<std::byte>(), static_cast<std::size_t>(array_.count()) * format_.size()};
  }

  ranks::Ranks& ranks_;
  io::Scratch& image_;
  const Format& format_;
  int other_;
  pieces::Grid parts_;
  i64 next_ = 0;
  Region region_;
  Array array_;
  ranks::Request request_;
};

}  // namespace

// In each turn every rank sends to one and receives from one.
void exchange_rows(ranks::Ranks& ranks, io::Scratch& image, const Format& format, const std::vector<Region>& reads) {
  const int own = ranks.rank(), count = ranks.size();
  // What `reader` reads of that which `maker` has made.
  const auto common = [&](int reader, int maker) {
    const Rows read = rows_in(reads[static_cast<std::size_t>(reader)]),
               made = rows_in(rows_of(image.shape(), maker, count));
    return Rows{std::max(read.begin, made.begin), std::min(read.end, made.end)};
  };
  for (int turn = 1; turn < count; ++turn) {
    const int to = (own + turn) % count, from = (own - turn + count) % count;
    Way out(ranks, image, format, common(to, own), to), in(ranks, image, format, common(own, from), from);
    while (!out.ended() || !in.ended()) {
      in.begin_receive();
      out.begin_send();
      in.end(true);
      out.end(false);
    }
  }
}

Region rows_of(const Shape& shape, int rank, int ranks) {
  Region rows = data::all_of(shape);
  rows.begin[0] = shape[0] * rank / ranks;
  rows.end[0] = shape[0] * (rank + 1) / ranks;
  return rows;
}

void exchange(ranks::Agreement& agreement, const PieceProgram& program, const std::vector<Source>& sources,
              const std::function<std::vector<Region>(int rank)>& reads_of) {
  ranks::Ranks& ranks = agreement.ranks();
  if (ranks.size() == 1) return;
  std::vector<std::vector<Region>> reads(sources.size());  // by source and rank
  for (int r = 0; r < ranks.size(); ++r) {
    const std::vector<Region> of_rank = reads_of(r);
    for (std::size_t i = 0; i < sources.size(); ++i) reads[i].push_back(of_rank[i]);
  }
  agreement.part();
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (const auto& image : sources[i].images) exchange_rows(ranks, *image, program.format_of(i), reads[i]);
  agreement.meet();
}

}  // namespace tessera::cli
