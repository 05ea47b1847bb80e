// See sections.hpp. Each section is shown as a program is; what stands around it says what is repeated.
#include "explain/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "explain/words.hpp"

namespace tessera::explain {

namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), most); ++k) text += (k ? ", " : "") + names[k];
  return names.size() > most ? text + fmt::format(" and {} more", names.size() - most) : text;
}

std::string headline(const std::vector<SectionReport>& all, std::size_t k) {
  const SectionReport& s = all[k];
  if (s.loop.empty()) return fmt::format("section {} of {}, once", k + 1, all.size());
  return fmt::format(
      "section {} of {}, the body of the loop over {}: at most {} times, {} predicted in all; carries {}", k + 1,
      all.size(), s.loop, base::format_count(s.most), milliseconds(s.report.milliseconds * static_cast<double>(s.most)),
      list_of(s.carried));
}

// Of an attribute of the picture's own element, a number.
double size_of_picture(const std::string& svg, const std::string& attribute) {
  const std::size_t at = svg.find(" " + attribute + "=\"");
  return at == std::string::npos ? 0 : std::strtod(svg.c_str() + at + attribute.size() + 3, nullptr);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string to_text(const std::vector<SectionReport>& all) {
  std::string text;
  for (std::size_t k = 0; k < all.size(); ++k)
    text += (k ? "\n" : "") + headline(all, k) + "\n\n" + to_text(all[k].report);
  return text;
}

std::string to_json(const std::vector<SectionReport>& all) {
  using nlohmann::ordered_json;
  ordered_json sections = ordered_json::array();
  for (const SectionReport& s : all) {
    ordered_json section = {{"loop", nullptr}, {"report", ordered_json::parse(to_json(s.report))}};
    if (!s.loop.empty()) section["loop"] = {{"variable", s.loop}, {"most", s.most}, {"carried", s.carried}};
    sections.push_back(std::move(section));
  }
  return ordered_json{{"sections", sections}}.dump(2) + "\n";
}

// The pictures below each other, each under its headline.
std::string to_svg(const std::vector<SectionReport>& all) {
  constexpr double line = 28;
  double width = 0, height = 0;
  std::string inner;
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::string picture = to_svg(all[k].report);
    inner += fmt::format(
        "<text x=\"16\" y=\"{:.0f}\" font-family=\"sans-serif\" font-size=\"14\" font-weight=\"600\">{}</text>\n",
        height + 19, escaped(headline(all, k)));
    const std::size_t begin = picture.find("<svg ");
    picture.insert(begin + 5, fmt::format("y=\"{:.0f}\" ", height + line));
    inner += picture.substr(begin);
    width = std::max(width, size_of_picture(picture, "width"));
    height += line + size_of_picture(picture, "height");
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "role=\"img\">\n<title>{2}</title>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, fmt::format("a program of {} sections", all.size()), inner);
}

}  // namespace tessera::explain
