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
  constexpr i64 most = i64{1} << 20;  // bytes: pieces lie beside them in memory
  Shape part = image;
  i64 bytes = element_count(image) * static_cast<i64>(format.size());
  for (std::size_t d = 0; d < part.size(); ++d) {
    bytes /= image[d];  // of one along this dimension
    part[d] = std::clamp<i64>(most / bytes, 1, image[d]);
    if (bytes <= most) break;
  }
  return part;
}

}  // namespace

// Rows of one image on their way from or to another rank, a part at a time.
class Exchange::Way {
 public:
  enum Kind { out, in };
  Way(ranks::Ranks& ranks, const Image& image, Rows rows, int other, Kind kind)
      : ranks_(ranks),
        image_(image),
        other_(other),
        kind_(kind),
        parts_{{std::vector<i64>(image.rows->shape().size()), image.rows->shape()},
               parts_of(image.rows->shape(), image.format)} {
    parts_.whole.begin[0] = rows.begin;
    parts_.whole.end[0] = std::max(rows.begin, rows.end);
  }

  bool ended() const { return next_ == parts_.count(); }
  // Has anything come, or gone?
  bool go_on() {
    if (ended()) return false;
    if (!under_way_) begin();
    if (!request_.done()) return false;
    if (kind_ == in) image_.rows->write(region_, array_);
    under_way_ = false;
    ++next_;
    return true;
  }

 private:
  void begin() {
    region_ = parts_.box(next_);
    array_ = Array(image_.format, data::shape_of(region_));
    const std::span<std::byte> bytes{array_.as<std::byte>(),
                                     static_cast<std::size_t>(array_.count()) * image_.format.size()};
    if (kind_ == out) image_.rows->read(region_, array_);
    request_ = kind_ == out ? ranks_.send(bytes, other_, rows_tag) : ranks_.receive(bytes, other_, rows_tag);
    request_.keep(array_.owner());
    under_way_ = true;
  }

  ranks::Ranks& ranks_;
  const Image& image_;
  int other_;
  Kind kind_;
  pieces::Grid parts_;
  i64 next_ = 0;
  bool under_way_ = false;
  Region region_;
  Array array_;
  ranks::Request request_;
};

struct Exchange::Turn {
  Way out, in;
};

Exchange::Exchange(ranks::Ranks& ranks, std::vector<Image> images) : ranks_(ranks), images_(std::move(images)) {}
Exchange::~Exchange() = default;

bool Exchange::begin_turn() {
  const int own = ranks_.rank(), count = ranks_.size();
  const auto turns = static_cast<std::size_t>(count - 1);
  if (next_ == images_.size() * turns) return false;
  const Image& image = images_[next_ / turns];
  const int turn = static_cast<int>(next_ % turns) + 1;
  // What `reader` reads of that which `maker` has made.
  const auto common = [&](int reader, int maker) {
    const Rows read = rows_in(image.reads[static_cast<std::size_t>(reader)]),
               made = rows_in(rows_of(image.rows->shape(), maker, count));
    return Rows{std::max(read.begin, made.begin), std::min(read.end, made.end)};
  };
  const int to = (own + turn) % count, from = (own - turn + count) % count;
  turn_ = std::make_unique<Turn>(
      Turn{{ranks_, image, common(to, own), to, Way::out}, {ranks_, image, common(own, from), from, Way::in}});
  ++next_;
  return true;
}

bool Exchange::go_on() {
  for (;;) {
    if (!turn_ && !begin_turn()) return true;
    bool moved = turn_->in.go_on();
    moved = turn_->out.go_on() || moved;
    if (turn_->in.ended() && turn_->out.ended())
      turn_.reset();
    else if (!moved)
      return false;
  }
}

void Exchange::finish() {
  ranks_.wait_until([this] { return go_on(); });
}

Region rows_of(const Shape& shape, int rank, int ranks) {
  Region rows = data::all_of(shape);
  rows.begin[0] = shape[0] * rank / ranks;
  rows.end[0] = shape[0] * (rank + 1) / ranks;
  return rows;
}

Exchange exchange_of(ranks::Ranks& ranks, const PieceProgram& program, const std::vector<Source>& sources,
                     const std::function<std::vector<Region>(int rank)>& reads_of) {
  std::vector<Exchange::Image> images;
  if (ranks.size() == 1) return {ranks, std::move(images)};
  std::vector<std::vector<Region>> reads(sources.size());  // by source and rank
  for (int r = 0; r < ranks.size(); ++r) {
    const std::vector<Region> of_rank = reads_of(r);
    for (std::size_t i = 0; i < sources.size(); ++i) reads[i].push_back(of_rank[i]);
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    for (const auto& image : sources[i].images) images.push_back({image, program.format_of(i), reads[i]});
  return {ranks, std::move(images)};
}

void exchange(ranks::Agreement& agreement, const PieceProgram& program, const std::vector<Source>& sources,
              const std::function<std::vector<Region>(int rank)>& reads_of) {
  if (agreement.ranks().size() == 1) return;
  Exchange rows = exchange_of(agreement.ranks(), program, sources, reads_of);
  agreement.part();
  rows.finish();
  agreement.meet();
}

}  // namespace tessera::cli
