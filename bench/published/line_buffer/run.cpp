// Runs the article's two versions with the headers of share/hls and counts: clocks, reads and writes outside of the
// chip. A line of JSON for each; the status is 1 where a result is not that of plain loops.
//
//   run        frames of FRAME_HEIGHT x FRAME_WIDTH, which are macros; writes image.raw and FILTER.raw, what plain
//   loops give
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "versions.hpp"

namespace {

// The article's: elements outside of the image count for nothing.
template <int SIZE>
struct edges {
  static constexpr int size = SIZE, half = (SIZE - 1) / 2;
  template <int H, int W>
  static int at(const pixel (&window)[SIZE][SIZE], int y, int x) {
    int result = 0;
    for (int i = -half; i <= half; i++)
      for (int j = -half; j <= half; j++)
        if (0 <= y + i && y + i < H && 0 <= x + j && x + j < W) result += window[i + half][j + half] * (i + j);
    return result;
  }
};

int clamped(int v, int n) {
  return v < 0 ? 0 : v >= n ? n - 1 : v;
}

// Weights of distance and of the difference of values, from tables; beyond the edge the nearest point counts.
struct bilateral {
  static constexpr int size = 5, half = 2;
  static int near(int k) { return static_cast<int>(16 * std::exp(-k * k / 4.5) + 0.5); }
  static int alike(int d) { return static_cast<int>(64 * std::exp(-d * d / 1250.0) + 0.5); }
  struct tables {
    int close[size], value[256];
    tables() {
      for (int k = 0; k < size; k++) close[k] = near(k - half);
      for (int d = 0; d < 256; d++) value[d] = alike(d);
    }
  };
  template <int H, int W>
  static int at(const pixel (&window)[size][size], int y, int x) {
    static const tables t;
    int total = 0, weight = 0;
    const int centre = window[half][half];
    for (int i = -half; i <= half; i++)
      for (int j = -half; j <= half; j++) {
        const int v = window[clamped(y + i, H) - y + half][clamped(x + j, W) - x + half];
        const int w = t.close[i + half] * t.close[j + half] * t.value[std::abs(v - centre)];
        total += w * v;
        weight += w;
      }
    return total / weight;
  }
};

constexpr int height = FRAME_HEIGHT, width = FRAME_WIDTH;

std::vector<pixel> random_image() {
  std::vector<pixel> image(static_cast<std::size_t>(height) * width);
  unsigned long long state = 1;
  for (std::size_t k = 0; k < image.size(); ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // Slopes with noise on them: neighbours are alike, as in pictures.
    image[k] = static_cast<pixel>(k % width / 3 + k / width / 2 + (state >> 60));
  }
  return image;
}

template <class Operation>
std::vector<int> plain(const std::vector<pixel>& image) {
  std::vector<int> out(image.size());
  const int half = Operation::half;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      pixel window[Operation::size][Operation::size] = {};
      for (int i = -half; i <= half; i++)
        for (int j = -half; j <= half; j++)
          if (0 <= y + i && y + i < height && 0 <= x + j && x + j < width)
            window[i + half][j + half] = image[static_cast<std::size_t>((y + i) * width + x + j)];
      out[static_cast<std::size_t>(y * width + x)] = Operation::template at<height, width>(window, y, x);
    }
  return out;
}

template <class T>
void store(const std::string& name, const std::vector<T>& elements) {
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  if (file == nullptr || std::fwrite(elements.data(), sizeof(T), elements.size(), file) != elements.size() ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "error: %s cannot be written\n", name.c_str());
    std::exit(2);
  }
}

bool good = true;

void tell(const char* filter, const char* version, int accesses, long long reads, long long writes, long long clocks,
          long long bits, bool same) {
  std::printf(
      "{\"filter\": \"%s\", \"version\": \"%s\", \"accesses\": %d, \"reads\": %lld, \"writes\": %lld, "
      "\"clocks\": %lld, \"buffer_bits\": %lld, \"verdict\": \"%s\"}\n",
      filter, version, accesses, reads, writes, clocks, bits, same ? "same" : "DIFFERENT");
  good = good && same;
}

template <class Operation>
void run(const char* filter, std::vector<pixel> image) {
  const std::vector<int> expected = plain<Operation>(image);
  store(std::string(filter) + ".raw", expected);
  for (const int accesses : {1, 2}) {
    std::vector<int> out(image.size());
    const std::string name = std::string(filter) + std::to_string(accesses);
    hls::port<pixel> in((name + " in").c_str(), image.data(), static_cast<long long>(image.size()), accesses);
    hls::port<int> to((name + " out").c_str(), out.data(), static_cast<long long>(out.size()), accesses);
    const long long before = hls::clocks();
    {
      TESSERA_PROCESS(filter_v1<Operation, height, width>(to, in));
    }
    tell(filter, "naive", accesses, in.reads(), to.writes(), hls::clocks() - before, 0, out == expected);
  }
  std::vector<int> out;
  long long reads = 0;
  const long long before = hls::clocks();
  {
    hls::stream<pixel, 2> in("in");
    hls::stream<int, 2> to("out");
    TESSERA_PROCESS(for (const pixel p : image) {
      TESSERA_TICK();
      in.write(p);
      ++reads;
    });
    TESSERA_PROCESS(filter_v2<Operation, height, width>(to, in));
    TESSERA_PROCESS(for (std::size_t k = 0; k < image.size(); ++k) {
      TESSERA_TICK();
      out.push_back(to.read());
    });
  }
  tell(filter, "line buffer", 1, reads, static_cast<long long>(out.size()), hls::clocks() - before,
       8LL * (Operation::size - 1) * width + 8LL * Operation::size * Operation::size, out == expected);
}

}  // namespace

int main() {
  const std::vector<pixel> image = random_image();
  store("image.raw", image);
  run<edges<3>>("3x3", image);
  run<edges<5>>("5x5", image);
  run<edges<7>>("7x7", image);
  run<bilateral>("bilateral", image);
  return good ? 0 : 1;
}
