// What reading takes of memory and of streams: no more than the array and what the limit counts beside it, and no
// further than the header says.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/files/files.hpp"
#include "base/process/deadline.hpp"
#include "support.hpp"
#include "support/sample.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;

class Bounds : public FolderTest {
 protected:
  void write(const std::string& name, const std::string& head, i64 bytes, const std::string& repeated = "0") {
    std::string all = head;
    all.reserve(head.size() + static_cast<std::size_t>(bytes));
    while (std::cmp_less(all.size(), head.size() + bytes)) all += repeated;
    all.resize(head.size() + static_cast<std::size_t>(bytes));
    base::write_file(path(name), all);
  }
  static std::string npy(const std::string& descr, bool fortran, const std::string& shape) {
    std::string text =
        "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (" + shape + "), }";
    text.append(117 - text.size(), ' ');
    return std::string("\x93NUMPY\x01\0\x76\0", 10) + text + "\n";
  }
  static std::string contents(const std::string& file) { return base::read_text(file); }
};

// Bytes of memory that a process of its own takes at most for reading, beyond what it had.
double peak_of_reading(const std::string& path) {
  int ends[2];
  if (::pipe(ends) != 0) return 1e30;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto most = [] {
      rusage use{};
      ::getrusage(RUSAGE_SELF, &use);
      return static_cast<double>(use.ru_maxrss) * 1024;
    };
    double taken = 1e30;
    try {
      const double before = most();
      const Array image = read_array(path);
      taken = most() - before;
    } catch (...) {
    }
    const bool told = ::write(ends[1], &taken, sizeof taken) == sizeof taken;
    ::_exit(told ? 0 : 1);
  }
  double taken = 1e30;
  int status = 0;
  ::close(ends[1]);
  if (::read(ends[0], &taken, sizeof taken) != sizeof taken) taken = 1e30;
  ::close(ends[0]);
  ::waitpid(child, &status, 0);
  return taken;
}

TEST_F(Bounds, memory_of_reading) {
  constexpr i64 size = i64{64} << 20, row = 8192;  // of each array
  const auto rows = [](i64 bytes_of_element) { return std::to_string(size / bytes_of_element / row); };
  write("big.npy", npy(">f8", false, rows(8) + ", 8192"), size);
  write("fortran.npy", npy("<f8", true, rows(8) + ", 8192"), size);
  write("wide.npy", npy("<i8", false, rows(4) + ", 8192"), 2 * size, std::string(8, '\0'));
  write("grey.pgm", "P5\n8192 " + rows(2) + "\n65535\n", size);
  write("text.pbm", "P1\n8192 " + rows(1) + "\n", 2 * size, "0 ");
  write("text.pgm", "P2\n8192 " + rows(2) + "\n65535\n", size / 2 * 6, "12345 ");
  write("grey.pfm", "Pf\n8192 " + rows(4) + "\n1.0\n", size);
  write_array(path("plain.nii"), Array(E::f64, {size / 8 / row, row}));
  std::string nifti = contents(path("plain.nii"));
  base::write_file(path("far.nii"), nifti.replace(108, 4, std::string("\0\0\xb1\x43", 4)) + "0123456789");  // 354
  write_array(path("plain.tif"), Array(E::f32, {size / 4 / row, row}));
  write_array(path("packed.tif"), Array(E::f32, {size / 4 / row, row}),
              {.compression = 0, .packing = Packing::deflate});
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder_)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : sample_of(paths)) EXPECT_LT(peak_of_reading(path), 1.1 * size + 0x1p26 / 2) << path;
}

// What is held beside the array counts before it is taken.
TEST_F(Bounds, the_file_counts_beside_the_array) {
  constexpr i64 size = i64{40} << 20;
  const Array noise = random_array(pixel_format(E::u8, 3), {size / 8192 / 3, 8192});
  for (const char* name : {"a.png", "a.bmp"}) {
    write_array(path(name), noise);
    EXPECT_THAT(message_of([&] { read_array(path(name), {.max_bytes = size + size / 4}); }),
                testing::AllOf(HasSubstr("and reading it takes"), HasSubstr("the limit is 50 MiB")))
        << name;
    expect_same(read_array(path(name), {.max_bytes = 6 * size}), noise, name);
  }
}

TEST_F(Bounds, fortran_order_in_pieces) {
  for (const Shape& shape : sample_of({Shape{20'000'000, 2}, Shape{2, 20'000'000}, Shape{3000, 4000, 3},
                                       Shape{3, 7, 11, 90'001}, Shape{5, 0, 3}, Shape{1, 1, 4}})) {
    const Array c = random_array(E::u8, Shape(shape.rbegin(), shape.rend()), 3);
    std::string extents;
    for (const i64 extent : shape) extents += std::to_string(extent) + ", ";
    const auto* data = static_cast<const char*>(c.data());
    base::write_file(path("x.npy"), npy("|u1", true, extents) + std::string(data, static_cast<std::size_t>(c.count())));
    const std::vector<i64> strides(c.strides().rbegin(), c.strides().rend());
    expect_same(read_array(path("x.npy")), Array::share(c.owner(), c.data(), E::u8, shape, strides).clone(), extents);
  }
}

// Two gigabytes behind the elements, which are no part of them.
TEST_F(Bounds, a_tail_is_not_read) {
  const Array volume = random_array(E::f32, {4, 4, 4});
  for (const char* name : {"x.nii", "x.npy", "x.pgm", "x.pfm", "x.ppm", "x.tif", "x.pbm"}) {
    const bool image = std::string_view(name) != "x.nii" && std::string_view(name) != "x.npy";
    const std::string n = name;
    write_array(path(name), !image                         ? volume
                            : n == "x.pfm" || n == "x.tif" ? random_array(E::f32, {5, 6})
                            : n == "x.pbm"                 ? random_array(E::boolean, {5, 6})
                            : n == "x.ppm"                 ? random_array(pixel_format(E::u8, 3), {5, 6})
                                                           : random_array(E::u8, {5, 6}));
    const Array whole = read_array(path(name));
    fs::resize_file(path(name), std::uintmax_t{2} << 30);
    expect_same(read_array(path(name), {.max_bytes = 1 << 20}), whole, name);
  }
}

// A stream that goes on behind the picture, or pauses there, is not waited for.
TEST_F(Bounds, a_stream_is_read_as_far_as_its_picture) {
  int streams = 0;
  for (const auto& entry : fs::directory_iterator(std::string(TESSERA_TEST_DATA) + "/formats")) {
    const std::string file = entry.path().string(), suffix = entry.path().extension().string();
    const bool only_by_its_end = suffix == ".tif" || suffix == ".hdr" || suffix == ".tga" || suffix == ".img";
    const bool expectation = suffix == ".npy" && !fs::exists(file + ".npy");
    if (!entry.is_regular_file() || suffix == ".py" || only_by_its_end || expectation) continue;
    const std::string bytes = contents(file);
    for (const std::string& tail : {std::string(), std::string(10'000, '\xff')}) {
      int ends[2];
      ASSERT_EQ(::pipe(ends), 0);
      ASSERT_LT(bytes.size() + tail.size(), 65536U);
      ASSERT_EQ(::write(ends[1], (bytes + tail).data(), bytes.size() + tail.size()),
                static_cast<ssize_t>(bytes.size() + tail.size()));
      try {
        const base::Deadline deadline(100);
        expect_same(read_array("/dev/fd/" + std::to_string(ends[0])), read_array(file), file);
      } catch (const Error& e) {
        ADD_FAILURE() << file << ": " << e.what();
      }
      ::close(ends[0]);
      ::close(ends[1]);
      ++streams;
    }
  }
  EXPECT_GT(streams, 40);
}

TEST_F(Bounds, a_header_without_an_end) {
  write("x.pgm", "P5 #", i64{17} << 20);
  EXPECT_THAT(message_of([&] { read_array(path("x.pgm")); }), HasSubstr("16 MiB of comments and blanks in one place"));
}

}  // namespace
}  // namespace tessera::io
