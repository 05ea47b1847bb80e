// See exchange.hpp.
#include "cli/execute/exchange.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "data/regions.hpp"

namespace tessera::cli {

namespace {

constexpr int rows_tag = 32011;

struct Rows {
  i64 begin = 0, end = 0;
};

Rows rows_of(const Region& region) {
  return region.begin.empty() ? Rows{} : Rows{region.begin[0], region.end[0]};
}

// Rows of an image on their way, some at a time.
class Way {
 public:
  Way(ranks::Ranks& ranks, io::Scratch& image, const Format& format, Rows rows, int other)
      : ranks_(ranks), image_(image), format_(format), rows_(rows), other_(other) {
    Shape one = image.shape();
    one[0] = 1;
    constexpr i64 most = i64{16} << 20;  // bytes of a message
    step_ = std::max<i64>(1, most / std::max<i64>(1, element_count(one) * static_cast<i64>(format.size())));
  }

  bool ended() const { return rows_.begin >= rows_.end; }
  void begin_send() {
    if (ended()) return;
    take();
    image_.read(region_, array_);
    request_ = ranks_.send(bytes(), other_, rows_tag);
  }
  void begin_receive() {
    if (ended()) return;
    take();
    request_ = ranks_.receive(bytes(), other_, rows_tag);
  }
  void end(bool received) {
    if (ended()) return;
    ranks_.wait(request_);
    if (received) image_.write(region_, array_);
    rows_.begin = region_.end[0];
  }

 private:
  void take() {
    region_ = {std::vector<i64>(image_.shape().size()), image_.shape()};
    region_.begin[0] = rows_.begin;
    region_.end[0] = std::min(rows_.begin + step_, rows_.end);
    array_ = Array(format_, data::shape_of(region_));
  }
  std::span<std::byte> bytes() {
    return {array_.as<std::byte>(), static_cast<std::size_t>(array_.count()) * format_.size()};
  }

  ranks::Ranks& ranks_;
  io::Scratch& image_;
  const Format& format_;
  Rows rows_;
  int other_;
  i64 step_ = 1;
  Region region_;
  Array array_;
  ranks::Request request_;
};

}  // namespace

Region share_of(const Shape& shape, int rank, int ranks) {
  Region share{std::vector<i64>(shape.size()), shape};
  share.begin[0] = shape[0] * rank / ranks;
  share.end[0] = shape[0] * (rank + 1) / ranks;
  return share;
}

void exchange(ranks::Ranks& ranks, io::Scratch& image, const Format& format, const std::vector<Region>& reads) {
  const int own = ranks.rank(), count = ranks.size();
  // What `reader` reads of that which `maker` has made.
  const auto common = [&](int reader, int maker) {
    const Rows read = rows_of(reads[static_cast<std::size_t>(reader)]);
    const Rows made = rows_of(share_of(image.shape(), maker, count));
    return Rows{std::max(read.begin, made.begin), std::min(read.end, made.end)};
  };
  // In each turn every rank sends to one and receives from one.
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

}  // namespace tessera::cli
