// What the native peers of bench/gpu.py share: images from .npy files, the comparison with our result, how long a call
// takes, the line of JSON that says so. Knows no library of a device: nvcc and the host's compiler both take it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpu_peer {

constexpr int kSets = 4, kMargin = 8, kMostRuns = 60;

struct Image {
  char kind = 'f';  // f: float, u: uint8, w: uint16, i: int16
  int rows = 0, columns = 0;
  std::vector<char> bytes;
  int planes = 1;
  std::size_t element() const { return kind == 'f' ? 4 : kind == 'u' ? 1 : 2; }
  std::size_t plane() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
  std::size_t points() const { return static_cast<std::size_t>(planes) * plane(); }
  int step() const { return static_cast<int>(element()) * columns; }
  double at(std::size_t i) const {
    if (kind == 'f') return reinterpret_cast<const float*>(bytes.data())[i];
    if (kind == 'i') return reinterpret_cast<const std::int16_t*>(bytes.data())[i];
    if (kind == 'w') return reinterpret_cast<const std::uint16_t*>(bytes.data())[i];
    return static_cast<unsigned char>(bytes[i]);
  }
};

inline Image read_npy(const char* path) {
  std::ifstream file(path, std::ios::binary);
  char start[10];
  if (!file.read(start, 10)) throw std::runtime_error(std::string("no file ") + path);
  std::string head(static_cast<std::size_t>((start[8] & 255) + 256 * (start[9] & 255)), ' ');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  Image image;
  const auto type = head.find("'descr': '");
  image.kind = head.at(type + 11);
  if (head.substr(type + 11, 2) == "u2") image.kind = 'w';
  const auto shape = head.find("'shape': (");
  int extents[3];
  const int found = std::sscanf(head.c_str() + shape, "'shape': (%d, %d, %d)", extents, extents + 1, extents + 2);
  if (found < 2) throw std::runtime_error(std::string("no image of two extents or three in ") + path);
  if (found == 3) image.planes = extents[0];
  image.rows = extents[found - 2];
  image.columns = extents[found - 1];
  image.bytes.resize(image.element() * image.points());
  file.read(image.bytes.data(), static_cast<std::streamsize>(image.bytes.size()));
  if (!file) throw std::runtime_error(std::string("too few points in ") + path);
  return image;
}

struct Limits {
  double tolerance, share;
  int margin = kMargin;  // points at every edge of a plane that are not compared
};

// The largest difference and the share of points that are too far, of `sign` times the result.
inline std::pair<double, double> compare(const Image& result, const Image& ours, double tolerance, double sign,
                                         int margin = kMargin) {
  double largest = 0;
  std::size_t far = 0, points = 0;
  for (std::size_t plane = 0; plane < ours.points(); plane += ours.plane())
    for (int y = margin; y < ours.rows - margin; ++y)
      for (int x = margin; x < ours.columns - margin; ++x, ++points) {
        const std::size_t i =
            plane + static_cast<std::size_t>(y) * static_cast<std::size_t>(ours.columns) + static_cast<std::size_t>(x);
        const double d = std::abs(sign * result.at(i) - ours.at(i));
        if (!(d <= tolerance)) ++far;
        if (!(d <= largest)) largest = d;
      }
  return {largest, static_cast<double>(far) / static_cast<double>(std::max<std::size_t>(points, 1))};
}

// The median of 10 to 60 runs; times(n) gives the milliseconds of n.
template <class Times>
double median_ms(Times times) {
  const auto middle = [&](int runs) {
    std::vector<float> ms = times(runs);
    std::sort(ms.begin(), ms.end());
    return static_cast<double>(ms[ms.size() / 2]);
  };
  const double first = middle(5);
  return middle(std::clamp(static_cast<int>(400 / first), 10, kMostRuns));
}

struct Figures {
  std::string variant, verdict;  // same, DIFFERENT or related
  double ms = -1;                // below 0: not timed
  double difference = 0, share = 0;
  std::string note;
};

inline void tell(const Figures& f) {
  char time[40] = "";
  if (f.ms >= 0) std::snprintf(time, sizeof time, R"("ms": %.5f, )", f.ms);
  std::printf(R"({"variant": "%s", "verdict": "%s", %s"difference": %.6g, "share": %.3g, "note": "%s"})"
              "\n",
              f.variant.c_str(), f.verdict.c_str(), time, std::isfinite(f.difference) ? f.difference : 1e308, f.share,
              f.note.c_str());
  std::fflush(stdout);
}

inline void tell_error(const std::string& variant, std::string text) {
  for (char& c : text)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = ' ';
  std::printf(R"({"variant": "%s", "error": "%s"})"
              "\n",
              variant.c_str(), text.substr(0, 300).c_str());
  std::fflush(stdout);
}

}  // namespace gpu_peer
