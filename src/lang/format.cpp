// The standard layout of a program.
//
// Works on tokens, not on the tree, so that nothing the author wrote is lost: the parser runs first and leaves a role
// on every token whose spacing its text does not settle (is `<` a comparison or a version?). One statement a line, four
// blanks a level, operators set apart but for indices and versions; line breaks inside an expression stay where they
// are, empty lines shrink to one. Everything printed is a function of tokens, comments, and where lines broke, which
// the result keeps: so formatting twice is formatting once.
#include <algorithm>
#include <memory>

#include "lang/compile.hpp"
#include "lang/parser.hpp"

namespace tessera::lang {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

class Formatter {
 public:
  Formatter(const Source& source, const TokenList& list) : source_(source), list_(list) {}

  std::string run() {
    const std::vector<Token>& tokens = list_.tokens;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const Token& t = tokens[i];
      const std::size_t next_comment = t.first_comment + (i + 1 < tokens.size() ? count_comments(i) : tail_comments(i));
      // What stands before a closing brace belongs to the block, so comments come before the indent changes.
      for (std::size_t c = t.first_comment; c < next_comment; ++c) comment(list_.comments[c]);
      if (t.kind == TokenKind::end) break;
      if (t.role == Role::block_close || t.is_word("endfor")) --indent_;
      separate(t);
      out_ += t.text();
      after(t);
      previous_ = &t;
    }
    while (!out_.empty() && (out_.back() == '\n' || out_.back() == ' ')) out_.pop_back();
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  std::size_t count_comments(std::size_t i) const {
    return list_.tokens[i + 1].first_comment - list_.tokens[i].first_comment;
  }
  std::size_t tail_comments(std::size_t i) const { return list_.comments.size() - list_.tokens[i].first_comment; }

  void new_line(bool blank, int levels) {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    if (blank && !out_.empty() && !at_block_start_) out_ += '\n';
    out_.append(static_cast<std::size_t>(std::max(levels, 0)) * 4, ' ');
  }
  int levels() const { return indent_ + (at_statement_ ? 0 : 1); }

  void comment(const Comment& c) {
    std::string_view text = std::string_view(source_.text).substr(c.begin, c.end - c.begin);
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    const bool to_line_end = text.starts_with("//");
    if (c.own_line || out_.empty()) {
      new_line(c.blank_before, levels());
    } else if (out_.back() != '\n' && out_.back() != ' ') {
      out_ += to_line_end ? "  " : " ";
    }
    out_ += text;
    at_block_start_ = false;
    break_next_ = to_line_end || c.own_line || (break_next_ && at_statement_);
    after_comment_ = true;
  }

  void separate(const Token& t) {
    if (previous_ == nullptr && !after_comment_) {
      // the first token stands at the very beginning
    } else if (break_next_ || (at_statement_ && previous_ != nullptr && !t.is(";"))) {
      new_line(t.blank_before && at_statement_ && t.role != Role::block_close,
               t.role == Role::block_close ? indent_ : levels());
    } else if (t.newline_before && may_start_line(t)) {
      new_line(false, levels());
    } else if (previous_ == nullptr || after_comment_ || blank_between(*previous_, t)) {
      if (!t.is(";") && !t.is(",")) out_ += ' ';
    }
    break_next_ = after_comment_ = at_block_start_ = false;
    at_statement_ = false;
  }

  static bool may_start_line(const Token& t) {
    return t.role != Role::block_open && t.role != Role::block_close && t.role != Role::glued &&
           t.role != Role::call_open && t.role != Role::index_open && t.role != Role::angle_open &&
           t.role != Role::angle_close &&
           !(t.kind == TokenKind::symbol && one_of(t.text(), {",", ";", ")", "]", "@", "."}));
  }

  void after(const Token& t) {
    const bool word = t.kind == TokenKind::name;
    if (t.role == Role::block_open) {
      ++indent_;
      at_statement_ = at_block_start_ = true;
    }
    if (t.is(";") || (t.role == Role::block_close && t.is("}")) || (word && t.text() == "endfor")) at_statement_ = true;
    if (t.role == Role::loop_head_end) {
      ++indent_;
      at_statement_ = at_block_start_ = true;
      in_head_ = false;
    }
    if (word && t.text() == "for") in_head_ = true;
    if (t.role == Role::index_open || t.role == Role::angle_open) ++tight_;
    if (t.role == Role::angle_close || (t.is("]") && tight_ > 0)) --tight_;
    if (at_statement_) tight_ = 0;
  }

  bool blank_between(const Token& a, const Token& b) const {
    const std::string_view x = a.text(), y = b.text();
    if (a.is(",") && !one_of(y, {";", ")", "]"})) return true;
    if (b.kind == TokenKind::symbol && one_of(y, {",", ";", ")", "]", ".", "#", "..", "@"}))
      return y == "@" && a.role == Role::block_open;
    if (a.kind == TokenKind::symbol && one_of(x, {"(", "[", "@", ".", "#", ".."})) return false;
    if (a.role == Role::prefix || a.role == Role::mode_colon || b.role == Role::mode_colon) return false;
    if (a.role == Role::angle_open || b.role == Role::angle_open || b.role == Role::angle_close) return false;
    if (b.role == Role::call_open || b.role == Role::index_open || b.role == Role::glued) return false;
    if (a.role == Role::table_open || b.role == Role::table_close) return false;
    if (tight_ > 0 || in_head_) {
      const auto operation = [](const Token& t) {
        return t.kind == TokenKind::symbol && one_of(t.text(), {"+", "-", "*", "/", "%"});
      };
      if ((operation(a) && a.role == Role::plain) || (operation(b) && b.role == Role::plain)) return false;
    }
    return true;
  }

  const Source& source_;
  const TokenList& list_;
  std::string out_;
  const Token* previous_ = nullptr;
  int indent_ = 0, tight_ = 0;
  bool in_head_ = false;
  bool at_statement_ = true;     // the next token begins a statement
  bool at_block_start_ = false;  // nothing stands in the block yet: no empty line
  bool break_next_ = false;      // a comment up to the line's end came last
  bool after_comment_ = false;
};

}  // namespace

std::string format_source(std::string_view text, std::string_view file_name) {
  Report report;
  const auto source = std::make_shared<Source>(Source{std::string(file_name), std::string(text), {}});
  TokenList tokens;
  try {
    tokens = tokenize(*source, report);
    Parser(source, tokens, report).run();
  } catch (const Stop&) {
  }
  if (report.errors() > 0) throw Error(report.take());
  return Formatter(*source, tokens).run();
}

}  // namespace tessera::lang
