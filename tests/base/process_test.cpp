// Progress, run-time libraries and Ctrl-C: the parts of base that talk to the process around them.
#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/process/dynamic_library.hpp"
#include "base/process/interrupt.hpp"
#include "base/progress.hpp"

namespace tessera::base {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Screen {
  std::string text;
  double now = 100;
  ProgressOptions options(bool terminal) {
    ProgressOptions o;
    o.label = "blur";
    o.terminal = terminal;
    o.write = [this](std::string_view s) { text += s; };
    o.clock = [this] { return now; };
    return o;
  }
};

TEST(Progress, draws_over_itself_on_a_terminal) {
  Screen screen;
  ProgressBar bar(200, screen.options(true));
  screen.now += 1;
  bar.update(50);
  EXPECT_EQ(screen.text, "\rblur  [#######......................]   25%  50/200 tiles  50 tiles/s  3 s left\x1b[K");
  screen.text.clear();
  screen.now += 0.05;
  bar.update(51);
  EXPECT_EQ(screen.text, "");  // ten times a second is enough
  screen.now += 2.95;
  bar.update(200);
  bar.finish();
  EXPECT_THAT(screen.text, HasSubstr("100%  200/200 tiles  50 tiles/s  4 s"));
  EXPECT_TRUE(screen.text.ends_with("\n"));
}

TEST(Progress, is_silent_for_short_work) {
  Screen screen;
  {
    ProgressBar bar(10, screen.options(true));
    for (int i = 0; i <= 10; ++i) {
      screen.now += 0.04;
      bar.update(i);
    }
    bar.finish();
  }
  EXPECT_EQ(screen.text, "");
}

TEST(Progress, prints_plain_lines_in_a_log) {
  Screen screen;
  ProgressOptions options = screen.options(false);
  options.bytes = true;
  ProgressBar bar(100 << 20, options);
  for (int second = 1; second <= 25; ++second) {
    screen.now += 1;
    bar.update(second << 20);
  }
  EXPECT_EQ(screen.text,
            "blur   10%  10 MiB/100 MiB  1 MiB/s  1m30s left\n"
            "blur   20%  20 MiB/100 MiB  1 MiB/s  1m20s left\n");
}

TEST(Progress, never_wraps_a_narrow_terminal) {
  Screen screen;
  ProgressOptions options = screen.options(true);
  options.columns = 20;
  ProgressBar bar(1000000, options);
  screen.now += 1;
  bar.update(500000);
  EXPECT_THAT(screen.text, Not(HasSubstr("\n")));
  EXPECT_EQ(screen.text.size(), 1 + 19 + 3u);
}

TEST(Progress, accepts_any_count) {
  Screen screen;
  ProgressBar bar(0, screen.options(true));
  screen.now += 1;
  bar.update(5);
  screen.now += 1;
  bar.update(-5);
  EXPECT_THAT(screen.text, HasSubstr("  0%  0/0 tiles"));
}

TEST(DynamicLibrary, finds_by_soname) {
  const DynamicLibrary library = DynamicLibrary::find({"the C library", "", {"libno-such-thing.so.9", "libm.so.6"}});
  ASSERT_TRUE(library.loaded()) << library.failure();
  EXPECT_EQ(library.name(), "libm.so.6");
  EXPECT_EQ(library.tried().size(), 1u);
  EXPECT_EQ(library.failure(), "");
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library.bind(cosine, "cos"));
  EXPECT_EQ(cosine(0), 1);
  int (*none)() = nullptr;
  EXPECT_FALSE(library.bind(none, "no_such_symbol"));
}

TEST(DynamicLibrary, says_what_was_tried) {
  const DynamicLibrary library = DynamicLibrary::find({"the driver", "", {"libnone-a.so", "libnone-b.so"}});
  EXPECT_FALSE(library);
  EXPECT_EQ(library.symbol("x"), nullptr);
  EXPECT_THAT(library.failure(), HasSubstr("the driver is not available\n  tried libnone-a.so"));
  EXPECT_THAT(library.failure(), HasSubstr("\n  tried libnone-b.so"));
}

TEST(DynamicLibrary, obeys_the_environment_alone) {
  ::setenv("TESSERA_TEST_LIBRARY", "/no/such/library.so", 1);
  const LibrarySearch search{"the library", "TESSERA_TEST_LIBRARY", {"libm.so.6"}};
  const DynamicLibrary refused = DynamicLibrary::find(search);
  EXPECT_FALSE(refused);
  EXPECT_THAT(refused.failure(), HasSubstr("(from $TESSERA_TEST_LIBRARY)"));
  ::setenv("TESSERA_TEST_LIBRARY", "libm.so.6", 1);
  EXPECT_TRUE(DynamicLibrary::find(search));
  ::unsetenv("TESSERA_TEST_LIBRARY");
  EXPECT_TRUE(DynamicLibrary::find(search));
}

TEST(DynamicLibrary, moves) {
  DynamicLibrary a = DynamicLibrary::find({"m", "", {"libm.so.6"}});
  DynamicLibrary b = std::move(a);
  EXPECT_TRUE(b);
  DynamicLibrary c;
  c = std::move(b);
  EXPECT_TRUE(c);
  EXPECT_FALSE(DynamicLibrary::open("no-such.so"));
}

TEST(Interrupt, sets_the_flag_once) {
  InterruptGuard guard;
  EXPECT_FALSE(guard.interrupted());
  ::raise(SIGINT);
  EXPECT_TRUE(guard.interrupted());
  const InterruptGuard nested;
  EXPECT_TRUE(nested.interrupted());
}

TEST(Interrupt, takes_what_ends_processes_and_bears_what_only_spoils_a_write) {
  for (const int number : {SIGTERM, SIGHUP, SIGXCPU}) {
    InterruptGuard guard;
    ::raise(number);
    EXPECT_TRUE(guard.interrupted());
    EXPECT_EQ(InterruptGuard::last_signal(), number);
  }
  InterruptGuard guard;
  for (const int number : {SIGPIPE, SIGXFSZ}) ::raise(number);
  EXPECT_FALSE(guard.interrupted());
}

TEST(Interrupt, restores_the_old_handler) {
  static std::atomic<int> seen{0};
  struct sigaction mine{}, old{};
  mine.sa_handler = [](int) { ++seen; };
  ::sigaction(SIGINT, &mine, &old);
  {
    InterruptGuard guard;
    ::raise(SIGINT);
  }
  EXPECT_EQ(seen, 0);
  ::raise(SIGINT);
  EXPECT_EQ(seen, 1);
  ::sigaction(SIGINT, &old, nullptr);
}

TEST(InterruptDeathTest, second_signal_kills) {
  EXPECT_EXIT(
      {
        InterruptGuard guard;
        ::raise(SIGINT);
        ::raise(SIGINT);
        std::exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(PatienceNote, SpeaksOnlyOfWorkThatTakesLong) {
  std::string written;
  ProgressOptions options;
  std::atomic<bool> spoke = false;
  options.write = [&](std::string_view text) {
    written += text;
    spoke = true;
  };
  options.terminal = true;
  options.delay = 3600;
  {
    const PatienceNote note("compiling blur ...", options);
  }
  EXPECT_EQ(written, "");
  options.delay = 0;
  {
    PatienceNote note("compiling blur ...", options);
    while (!spoke) std::this_thread::yield();
    note.end();
    note.end();
  }
  EXPECT_EQ(written, "\rcompiling blur ...\x1b[K\r\x1b[K");
  options.terminal = false;
  written.clear();
  {
    const PatienceNote note("compiling blur ...", options);
  }
  EXPECT_EQ(written, "");
}

}  // namespace
}  // namespace tessera::base
