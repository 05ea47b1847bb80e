// Text tools and the rendering of errors: what users read, letter by letter.
#include "base/text.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "tessera/error.hpp"

namespace tessera::base {
namespace {

using testing::ElementsAre;

TEST(Text, trims_and_splits) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split_words("  one\ttwo \n three"), ElementsAre("one", "two", "three"));
  EXPECT_TRUE(split_words(" \n").empty());
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
}

TEST(Text, parses_whole_numbers_only) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("+7"), 7);
  EXPECT_EQ(parse_integer("+-7"), std::nullopt);
  EXPECT_EQ(parse_integer("9223372036854775808"), std::nullopt);
  EXPECT_EQ(parse_integer("12x"), std::nullopt);
  EXPECT_EQ(parse_integer(""), std::nullopt);
  EXPECT_EQ(parse_number("1.5e3"), 1500.0);
  EXPECT_EQ(parse_number("1,5"), std::nullopt);
  EXPECT_EQ(parse_number("1e999"), std::nullopt);
}

TEST(Text, measures_edit_distance) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("blru", "blur"), 1u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Text, suggests_only_what_is_close) {
  const std::vector<std::string> names = {"gaussian", "sobel", "Median", "x", "y"};
  EXPECT_EQ(nearest("gausian", names), "gaussian");
  EXPECT_EQ(nearest("median", names), "Median");
  EXPECT_EQ(nearest("sobel", names), std::nullopt);  // never itself
  EXPECT_EQ(nearest("z", names), std::nullopt);
  EXPECT_EQ(nearest("completely", names), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'a'), names), std::nullopt);
  EXPECT_EQ(did_you_mean("sobl", names), "did you mean 'sobel'?");
  EXPECT_EQ(did_you_mean("qqq", names), "");
  EXPECT_EQ(nearest("ab", {"AB", "ac"}), "AB");  // a difference of case is no edit
}

TEST(Text, formats_quantities) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1048575), "1 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{16} << 30), "16 GiB");
  EXPECT_EQ(format_bytes(9.3e18), "8.1 EiB");
  EXPECT_EQ(format_duration(350e-6), "350 us");
  EXPECT_EQ(format_duration(0.25), "250 ms");
  EXPECT_EQ(format_duration(1.25), "1.25 s");
  EXPECT_EQ(format_duration(125), "2m05s");
  EXPECT_EQ(format_duration(59.7), "1m00s");
  EXPECT_EQ(format_duration(11220), "3h07m");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "over 1000000h");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "0 us");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-123456), "-123,456");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(list_of({"a", "b", "c"}), "a, b or c");
  EXPECT_EQ(list_of({"a"}), "a");
  EXPECT_EQ(list_of({"a", "b"}, "and"), "a and b");
}

TEST(Text, quotes_without_control_characters) {
  EXPECT_EQ(quoted("plain"), "'plain'");
  EXPECT_EQ(quoted("\x1b[31m"), "'\\x1b[31m'");
  EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f"), "'gr\xc3\xbc\xc3\x9f'");
  EXPECT_EQ(quoted("\xc3("), "'\\xc3('");         // broken UTF-8
  EXPECT_EQ(quoted("\xc2\x9b"), "'\\xc2\\x9b'");  // C1 control
  EXPECT_EQ(quoted("\xed"), "'\\xed'");
  EXPECT_EQ(quoted("abcdef", 3), "'abc...'");
}

TEST(Diagnostic, renders_with_a_caret) {
  Diagnostic d;
  d.span = {"canny.forma", 3, 9, 3, "edges = mag > 0.3"};
  d.message = "unknown name 'mag'";
  d.notes = {"'mag2' is defined at line 2"};
  d.help = "did you mean 'mag2'?";
  EXPECT_EQ(d.render(),
            "canny.forma:3:9: error: unknown name 'mag'\n"
            "    3 | edges = mag > 0.3\n"
            "      |         ^~~\n"
            "note: 'mag2' is defined at line 2\n"
            "help: did you mean 'mag2'?\n");
}

TEST(Diagnostic, keeps_the_caret_under_its_character) {
  Diagnostic d;
  d.severity = Severity::warning;
  d.message = "m";
  d.span = {"f", 1, 3, 1, "\t\xc3\xa9x\x1b"};  // tab, e acute, x, escape
  EXPECT_EQ(d.render(), "f:1:3: warning: m\n    1 |   \xc3\xa9x?\n      |    ^\n");
}

TEST(Diagnostic, survives_spans_outside_the_line) {
  Diagnostic d;
  d.message = "m";
  d.span = {"f", 1, 4, 5, "abc"};
  EXPECT_EQ(d.render(), "f:1:4: error: m\n    1 | abc\n      |    ^\n");
  d.span = {"f", 1, 1000, -7, "abc"};
  EXPECT_EQ(d.render(), "f:1:1000: error: m\n    1 | abc\n      |    ^\n");
  d.span = {"f", 0, 0, 1, "abc"};
  EXPECT_EQ(d.render(), "f: error: m\n");
  d.span = {"", 0, 0, 1, ""};
  EXPECT_EQ(d.render(), "error: m\n");
}

TEST(Diagnostic, cuts_a_long_line_around_the_caret) {
  Diagnostic d;
  d.message = "m";
  d.span = {"f", 1, 5001, 2, std::string(5000, 'a') + "XY" + std::string(5000, 'b')};
  const std::string text = d.render();
  EXPECT_LT(text.size(), 450u);
  const std::size_t first = text.find("    1 | "), second = text.find("      | ");
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(text.find("XY") - first, text.find("^~") - second);
}

TEST(Error, renders_notes_and_help) {
  const Error e(ErrorClass::argument, "a", {"b", "c"}, "d");
  EXPECT_STREQ(e.what(), "a\nnote: b\nnote: c\nhelp: d");
  EXPECT_EQ(e.message(), "a");
  EXPECT_EQ(e.error_class(), ErrorClass::argument);
}

TEST(Error, of_diagnostics_takes_the_first_error_as_message) {
  Diagnostic warning, error;
  warning.severity = Severity::warning;
  warning.message = "w";
  error.message = "e";
  const Error e({warning, error});
  EXPECT_EQ(e.message(), "e");
  EXPECT_EQ(e.error_class(), ErrorClass::compile);
  EXPECT_STREQ(e.what(), "warning: w\nerror: e");
  EXPECT_EQ(e.diagnostics().size(), 2u);
  EXPECT_FALSE(Error(std::vector<Diagnostic>{}).message().empty());
}

}  // namespace
}  // namespace tessera::base
