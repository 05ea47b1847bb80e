// Whatever is wrong with the words, the files or the disk: one clear error on stderr, the right status, nothing on
// stdout, and every file as it was.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "fixture.hpp"

namespace tessera::cli {
namespace {

using Files = std::map<std::string, std::string>;

// Is every byte part of a character? The text goes to a terminal.
bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}
std::string little_endian(std::uint32_t value) {
  const std::string bytes = big_endian(value);
  return {bytes.rbegin(), bytes.rend()};
}

class BadInput : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    program("blur.forma",
            "stencil blur(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }\n"
            "parameter M, N;\nvector#2 float image[M,N];\nreturn result = blur(image:clamped);\n");
    program("add.forma",
            "stencil add(vector#2 float X, vector#2 float Y) { return X + Y; }\n"
            "parameter M, N;\nvector#2 float left[M,N];\nvector#2 float right[M,N];\nreturn add(left, right);\n");
    program("fixed.forma",
            "stencil same(vector#2 float X) { return X; }\n"
            "vector#2 float image[12,32];\nreturn same(image);\n");
    program("even.forma",
            "stencil same(vector#2 float X) { return X; }\n"
            "parameter M, N;\nvector#2 float image[M,2*N+1];\nreturn same(image);\n");
    io::write_array(path("small.npy"), Array(ElementType::f32, {12, 15}));
    io::write_array(path("tall.npy"), Array(ElementType::f32, {13, 16}));
    io::write_array(path("line.npy"), Array(ElementType::f32, {16}));
  }

  void file(const std::string& name, const std::string& bytes) const { base::write_file(path(name), bytes); }

  Files files() const {
    Files found;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      std::string& content = found[entry.path().string()];
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      content.assign(std::istreambuf_iterator<char>(in), {});
    }
    return found;
  }

  void refuses(const std::vector<std::string>& words, int status, const std::string& part) const {
    SCOPED_TRACE(testing::PrintToString(words));
    const Files before = files();
    const Outcome o = tessera(words);
    EXPECT_EQ(o.status, status);
    EXPECT_EQ(o.out, "");
    EXPECT_THAT(o.err, HasSubstr(part));
    EXPECT_TRUE(is_utf8(o.err)) << o.err;
    // "tessera: error: ..." or "file:line:column: error: ...", in the first line and nowhere else.
    const std::size_t first = o.err.find("error: ");
    EXPECT_LT(first, o.err.find('\n')) << o.err;
    EXPECT_EQ(o.err.find("error: ", first + 1), std::string::npos) << o.err;
    EXPECT_TRUE(files() == before) << "files have changed";
  }
};

TEST_F(BadInput, MissingFilesAndFolders) {
  refuses({"run", "absent.forma", "grey.png", "-o", "grey.png"}, 2, "no such file or folder");
  refuses({"run", "blur.forma", "absent.png", "-o", "grey.png"}, 2, "no such file or folder");
  refuses({"run", "blur.forma", "grey.png", "-o", "grey.png", "--onto", "absent.png"}, 2, "no such file or folder");
  refuses({"run", "blur.forma", "grey.png", "-o", "absent/o.png"}, 2, "there is no folder");
  refuses({"emit", "blur.forma", "-o", "absent/o.c"}, 2, "make the folder");
  fs::create_directory(path("empty"));
  refuses({"run", "blur.forma", path("empty"), "-o", "grey.png"}, 2, "has no image");
  refuses({"run", path(""), "grey.png"}, 2, "it is a folder");
  fs::create_directory(path("folder.png"));
  refuses({"run", "blur.forma", "grey.png", "-o", "folder.png"}, 2, "it is a folder");
  for (const char* verb : {"check", "explain", "emit", "format"}) {
    refuses({verb, "absent.forma"}, 2, "no such file or folder");
    refuses({verb, path("")}, 2, "it is a folder");
  }
}

TEST_F(BadInput, ProgramsThatAreNone) {
  file("empty.forma", "");
  std::string noise, printable;
  std::minstd_rand random(7);
  for (int i = 0; i < 4000; ++i) {
    noise += static_cast<char>(random() % 256);
    printable += static_cast<char>(' ' + random() % 95);
  }
  file("noise.forma", noise);
  file("printable.forma", printable);
  fs::copy_file("/proc/self/exe", path("binary.forma"));
  fs::resize_file(path("binary.forma"), 100000);
  for (const char* verb : {"run", "check", "emit", "explain"}) {
    refuses({verb, "empty.forma"}, 1, "the program has no return");
    refuses({verb, "noise.forma"}, 1, "noise.forma:1:");
    refuses({verb, "binary.forma"}, 1, "not Forma text");
  }
  refuses({"format", "noise.forma", "-i"}, 1, "noise.forma:1:");
  EXPECT_EQ(tessera({"check", "printable.forma"}).status, 1);
  file("long.forma", std::string(1 << 20, 'x'));
  refuses({"check", "long.forma"}, 1, "expected a name of at most 200 characters");
}

TEST_F(BadInput, ImagesThatAreNone) {
  file("empty.png", "");
  file("noise.png", std::string(500, '\x9c'));
  refuses({"run", "blur.forma", "empty.png"}, 2, "the file is empty");
  refuses({"run", "blur.forma", "noise.png"}, 2, "no known format");
  refuses({"run", "blur.forma", "blur.forma"}, 2, "no known format");
  std::string whole = base::read_text(path("colour.png"));
  file("cut.png", whole.substr(0, whole.size() / 2));
  refuses({"run", "blur.forma", "cut.png", "-o", "grey.png"}, 2, "cut.png");
}

TEST_F(BadInput, HeadersThatClaimTooMuch) {
  const std::string much = "2147483648", zeros(100, '\0');
  file("grey.pgm", "P5\n" + much + " " + much + "\n255\n" + zeros);
  file("huge.pfm", "Pf\n" + much + " " + much + "\n-1.0\n" + zeros);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2147483648, 2147483648), }";
  header.resize(117, ' ');
  file("huge.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + zeros);
  const std::string side = little_endian(0x7fffffff);
  file("huge.bmp", "BM" + little_endian(200) + zeros.substr(0, 4) + little_endian(54) + little_endian(40) + side +
                       side + std::string("\1\0\x18\0", 4) + zeros);
  // The sums of PNG are wrong, which libpng would say first if the extents were not looked at before.
  file("huge.png", "\x89PNG\r\n\x1a\n" + big_endian(13) + "IHDR" + big_endian(0x7fffffff) + big_endian(0x7fffffff) +
                       std::string("\x08\0\0\0\0", 5) + zeros);
  const auto entry = [](int tag, std::uint32_t value) {
    return little_endian(static_cast<std::uint32_t>(tag | 4 << 16)) + little_endian(1) + little_endian(value);
  };
  const std::uint32_t half = 1u << 31;
  file("huge.tif", std::string("II*\0", 4) + little_endian(8) + std::string("\x06\0", 2) + entry(256, half) +
                       entry(257, half) + entry(258, 8) + entry(262, 1) + entry(273, 8) + entry(279, 100) + zeros);
  for (const char* name : {"grey.pgm", "huge.pfm", "huge.npy", "huge.bmp", "huge.png", "huge.tif"})
    refuses({"run", "blur.forma", name, "-o", "grey.png"}, 2, name);
}

TEST_F(BadInput, ShapesThatDoNotFit) {
  refuses({"run", "swap.forma", "grey.png", "-o", "grey.png"}, 2, "has 1 channel, expected 3");
  refuses({"run", "blur.forma", "line.npy", "-o", "grey.png"}, 2, "has rank 1 (16), which does not fit input 'image'");
  refuses({"run", "add.forma", "grey.png", "small.npy", "-o", "grey.png"}, 2,
          "input 'right' is 12x15, but parameter N is already 16 (from input 'left')");
  refuses({"run", "add.forma", "grey.png", "tall.npy", "-o", "grey.png"}, 2, "parameter M is already 12");
  refuses({"run", "fixed.forma", "grey.png", "-o", "grey.png"}, 2, "input 'image' is 12x16, but extent 1 must be 32");
  refuses({"run", "even.forma", "grey.png", "-o", "grey.png"}, 2, "no whole N makes extent 1");
  refuses({"run", "even.forma", "grey.png", "-o", "grey.png"}, 2, "help: 15 fits");
}

TEST_F(BadInput, RegionsAndPlaces) {
  const auto region = [&](const char* roi, const char* part) {
    refuses({"run", "blur.forma", "grey.png", "-o", "grey.png", "--roi", roi}, 2, part);
  };
  region("0,0,12,15", "runs from 0 to 12 in dimension 0, expected 0 to 11");
  region("-1,0,5,5", "runs from -1 to 5 in dimension 0");
  region("0,9,5,8", "runs from 9 to 8 in dimension 1");
  region("0,0,99999999999999999999,5", "expected integers");
  region("a,b,c,d", "expected integers");
  const auto onto = [&](const char* image, const char* below, const char* part) {
    refuses({"run", "blur.forma", image, "-o", "grey.png", "--onto", below}, 2, part);
  };
  onto("grey.png", "small.npy", "runs from 0 to 15 in dimension 1, expected 0 to 14 (");
  onto("tall.npy", "grey.png", "runs from 0 to 12 in dimension 0");
  onto("grey.png", "line.npy", "output 'result' is 12x16 float and cannot be pasted onto");
  onto("colour.png", "grey.png", "cannot be pasted onto");
  refuses({"run", "blur.forma", "grey.png", "--onto", "grey.png"}, 2, "no file for the result");
}

TEST_F(BadInput, OptionsThatAreNone) {
  refuses({"run", "blur.forma", "grey.png", "--outptu", "o.png"}, 2, "did you mean '--output'?");
  refuses({"run", "blur.forma", "grey.png", "-z"}, 2, "unknown option '-z'");
  refuses({"run", "blur.forma", "grey.png", "-o"}, 2, "output");
  refuses({"--nothing"}, 2, "unknown option '--nothing'");
  refuses({"rum", "blur.forma"}, 2, "unknown verb 'rum'");
  refuses({"run", "blur.forma", "grey.png", "--threads", "many"}, 2,
          "--threads 'many' cannot be used, expected a whole number");
  refuses({"run", "blur.forma", "grey.png", "--threads", "99999999999999999999"}, 2, "cannot be used");
  refuses({"run", "blur.forma", "grey.png", "--time", "--repeat", "1e9"}, 2, "--repeat '1e9' cannot be used");
  refuses({"emit", "blur.forma", "--target", "abacus"}, 2, "there is no target 'abacus'");
  refuses({"emit", "blur.forma", "--name", "a b"}, 2, "is not a name in C");
  refuses({"emit", "blur.forma", "--target", "cuda", "--name", "a b"}, 2, "is not a name in C");
  refuses({"emit", "blur.forma", "--target", "opencl", "-o", "kernels.c"}, 2, "call them .cl");
  refuses({"emit", "blur.forma", "--target", "opencl", "-o", "k.cl", "--header", "k_host.c"}, 2,
          "which holds the code");
  refuses({"emit", "blur.forma", "-o", "k.c", "--header", "k.c"}, 2, "which holds the code");
  refuses({"emit", "blur.forma", "--target", "cuda", "--tile", "8x64"}, 2, "has no tiles to choose");
  refuses({"emit", "blur.forma", "--target", "hls"}, 2, "target hls needs the extents of frames");
  refuses({"emit", "blur.forma", "--target", "hls", "--size", "10"}, 2, "--size is '10'; expected HEIGHTxWIDTH");
  refuses({"emit", "blur.forma", "--target", "hls", "--size", "10x70000"}, 2, "expected 1 to 65536 rows and columns");
  refuses({"emit", "blur.forma", "--target", "hls", "--size", "9x9", "--max-size", "9x9"}, 2, "were both given");
  refuses({"emit", "blur.forma", "--target", "hls", "--size", "9x9", "--lanes", "3"}, 2, "expected 1, 2, 4 or 8");
  refuses({"emit", "blur.forma", "--target", "hls", "--size", "9x9", "--tile", "8x8"}, 2, "has no tiles to choose");
  refuses({"emit", "blur.forma", "--target", "verilog", "--size", "9x9", "--input", "image"}, 2,
          "--input is 'image'; expected NAME=TYPE");
  refuses({"emit", "blur.forma", "--target", "verilog", "--size", "9x9", "--input", "image=float"}, 2,
          "with an integer type");
  refuses({"emit", "blur.forma", "--target", "verilog", "--size", "9x9", "--input", "other=uint8"}, 2,
          "no argument of the program");
  refuses({"emit", "blur.forma", "--target", "verilog", "--size", "9x9"}, 2, "range is not known");
  refuses({"emit", "blur.forma", "--target", "verilog", "--size", "9x9", "--input", "image=uint8", "--name", "module"},
          2, "it is a keyword of SystemVerilog");
  refuses({"emit", "blur.forma", "--size", "9x9x9"}, 2, "--size 9x9x9 has rank 3, expected rank 2");
  refuses({"emit", "blur.forma", "--size", "9"}, 2, "--size 9 has rank 1, expected rank 2");
  refuses({"emit", "blur.forma", "--size", "0x9"}, 2, "--size '0x9' cannot be used");
  refuses({"emit", "blur.forma", "--size", "other=9x9"}, 2, "--size names 'other', the array inputs are: image");
  refuses({"emit", "blur.forma", "--target", "hls", "--size", "9x9", "--size", "8x8"}, 2,
          "2 sizes were given; expected one");
  const auto refuses_circuit = [&](std::vector<std::string> words, const char* what) {
    words.insert(words.begin(),
                 {"emit", "blur.forma", "--target", "verilog", "--size", "9x9", "--input", "image=uint8"});
    refuses(words, 2, what);
  };
  refuses_circuit({"--header", "k.h"}, "--header is not of target verilog");
  refuses_circuit({"--schedule", "tiled"}, "target verilog has no schedules to choose");
  refuses_circuit({"--method", "direct"}, "target verilog has no methods to choose");
  refuses_circuit({"--frequency", "fast"}, "--frequency is 'fast'; expected a number");
  refuses_circuit({"--error", "little"}, "--error is 'little'; expected a number");
  refuses_circuit({"--error", "inf"}, "--error is 'inf'; expected a number");
  refuses_circuit({"--error", "-0.5"}, "--error is -0.5; expected a positive number");
  refuses_circuit({"--chip", ""}, "--chip '' cannot be used, expected a value");
  refuses_circuit({"-o", "blur.forma"}, "it is the program");
  for (const char* option : {"--roi", "--window", "--onto", "--at", "--range", "--compression", "--format", "--page",
                             "--axes", "--device", "--device-memory", "--target", "--threads", "--memory", "--output"})
    refuses({"run", "blur.forma", "grey.png", option, ""}, 2,
            std::string(option) + " '' cannot be used, expected a value");
  refuses({"emit", "blur.forma", "-o", path("blur.forma")}, 2, "it is the program");
  refuses({"emit", "blur.forma", "--target", "verilok", "--size", "9x9"}, 2, "there is no target 'verilok'");
  program("whole.forma", "parameter M, N;\nvector#2 uint8 image[M,N];\nreturn image;\n");
  refuses({"emit", "whole.forma", "--target", "hls", "--size", "9x9", "--input", "image=uint16"}, 2,
          "has no floats that integers could come for");
  EXPECT_EQ(tessera({"emit", "whole.forma", "--target", "hls", "--size", "9x9", "--input", "image=uint8"}).status, 0);
  refuses({"run", "blur.forma", "grey.png", "--target", "abacus"}, 2, "unknown target 'abacus'");
  refuses({"run", "blur.forma", "grey.png", "--device", "1"}, 2, "--target cuda or opencl beside it");
  refuses({"run", "blur.forma", "grey.png", "--devices", "0,1", "--target", "cpu"}, 2,
          "--target cuda or opencl beside");
  refuses({"run", "blur.forma", "grey.png", "--devices", "-1"}, 2, "all, or numbers from 0 on");
  refuses({"run", "blur.forma", "grey.png", "--devices", "both"}, 2, "--devices");
  refuses({"run", "blur.forma", "grey.png", "--target", "cuda", "--tile", "8x64"}, 2,
          "--tile is of --target cpu alone");
  refuses({"run", "blur.forma", "grey.png", "--device-memory", "1GiB"}, 2, "--target cuda or opencl beside it");
  for (const char* size : {"0", "-1", "much", "3 furlongs", " ", "1e99GiB"})
    refuses({"run", "blur.forma", "grey.png", "--target", "opencl", "--device-memory", size}, 2, "bytes, as in 2GiB");
  refuses({"run", "blur.forma", "grey.png", "--target", "opencl", "--threads", "2"}, 2, "--threads is of --target cpu");
}

TEST_F(BadInput, ReadOnlyFolder) {
  fs::create_directory(path("locked"));
  io::write_array(path("locked/old.png"), read("grey.png"));
  constexpr fs::perms readable = fs::perms(0555);
  fs::permissions(path("locked"), readable);
  // Root may write anywhere; somebody else may not.
  const bool root = geteuid() == 0;
  if (root) {
    fs::permissions(folder(), readable, fs::perm_options::add);
    ASSERT_EQ(seteuid(65534), 0);
  }
  refuses({"run", "blur.forma", "grey.png", "-o", "locked/new.png"}, 2, "permission denied");
  refuses({"run", "blur.forma", "grey.png", "-o", "locked/old.png"}, 2, "permission denied");
  refuses({"emit", "blur.forma", "-o", "locked/new.c"}, 2, "permission denied");
  EXPECT_TRUE(!root || seteuid(0) == 0);
  fs::permissions(path("locked"), fs::perms::owner_all);
}

TEST_F(BadInput, FullDevice) {
  ASSERT_TRUE(fs::exists("/dev/full"));
  fs::create_symlink("/dev/full", path("full.png"));
  fs::create_symlink("/dev/full", path("full.c"));
  fs::create_symlink("/dev/full", path("full.svg"));
  refuses({"run", "blur.forma", "grey.png", "-o", "full.png"}, 2, "no space left on the device");
  refuses({"emit", "blur.forma", "-o", "full.c"}, 2, "no space left on the device");
  refuses({"explain", "blur.forma", "--size", "64x64", "--svg", "full.svg"}, 2, "no space left on the device");
}

// An error that nobody can read is an error all the same.
TEST_F(BadInput, FullStandardError) {
  for (const char* const file : {"/nosuch.forma", "--bad"}) {
    fflush(stderr);
    const int kept = dup(STDERR_FILENO), full = open("/dev/full", O_WRONLY);
    ASSERT_GE(full, 0);
    dup2(full, STDERR_FILENO);
    close(full);
    const std::vector<const char*> words = {"tessera", "run", file};
    const int status = run_command(static_cast<int>(words.size()), words.data());
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    clearerr(stderr);
    EXPECT_EQ(status, 2) << file;
  }
}

TEST_F(BadInput, FullStandardOutput) {
  ASSERT_TRUE(fs::exists("/dev/full"));
  for (const char* words : {"run %s/blur.forma %s/grey.png", "emit %s/blur.forma", "check %s/blur.forma"}) {
    testing::internal::CaptureStderr();
    fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    ASSERT_NE(freopen("/dev/full", "w", stdout), nullptr);
    std::vector<std::string> parts = {"tessera"};
    std::istringstream split(words);
    for (std::string word; split >> word;) parts.push_back(word.rfind("%s/", 0) == 0 ? path(word.substr(3)) : word);
    std::vector<const char*> arguments;
    for (const std::string& part : parts) arguments.push_back(part.c_str());
    const int status = run_command(static_cast<int>(arguments.size()), arguments.data());
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    clearerr(stdout);
    EXPECT_EQ(status, 2) << words;
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("tessera: error: cannot write standard output: no space left on the device"));
  }
}

// Results that fail half way, in a folder that takes no more than 64 KiB.
class FullDisk : public BadInput {
 protected:
  void SetUp() override {
    BadInput::SetUp();
    Array large(ElementType::f32, {300, 300});
    std::minstd_rand random(3);
    for (i64 i = 0; i < large.count(); ++i) large.as<float>()[i] = static_cast<float>(random() % 256);
    io::write_array(path("large.npy"), large);
    fs::create_directory(path("disk"));
  }
  void keeps_the_old_files(const std::string& reason) const {
    for (const char* name : {"old.png", "old.tif", "old.npy", "old.pfm", "old.bmp"}) {
      file(std::string("disk/") + name, "what was there before");
      refuses({"run", "blur.forma", "large.npy", "-o", std::string("disk/") + name}, 2, reason);
    }
  }
};

TEST_F(FullDisk, KeepsTheOldFiles) {
  if (mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "nothing can be mounted here";
  keeps_the_old_files("no space left on the device");
  umount(path("disk").c_str());
}

// Two outputs, the first fits and the second does not: neither replaces what was there.
TEST_F(FullDisk, SeveralOutputsAppearTogether) {
  if (mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "nothing can be mounted here";
  file("two.forma",
       "parameter M, N;\n"
       "stencil less(vector#2 float X) { return X@[(0,200),(0,200)]; }\n"
       "stencil same(vector#2 float X) { return X; }\n"
       "vector#2 float image[M,N];\n"
       "return small = less(image), large = same(image);\n");
  file("disk/small.npy", "what was there before");
  refuses({"run", "two.forma", "large.npy", "-o", "disk/small.npy", "-o", "disk/large.npy"}, 2, "no space left");
  refuses({"run", "two.forma", "large.npy", "-o", "disk/small.npy", "-o", "absent/large.npy"}, 2, "there is no folder");
  umount(path("disk").c_str());
}

TEST_F(FullDisk, LimitOfFileSizesKeepsTheOldFiles) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{64 << 10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  keeps_the_old_files("large");
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
}

}  // namespace
}  // namespace tessera::cli
