// The standard layout of a program.
//
// Works on tokens, not on the tree, so that nothing the author wrote is lost: the parser runs first and leaves a role
// on every token whose spacing its text does not settle (is `<` a comparison or a version?). One statement a line, two
// blanks a level, operators set apart but for indices and versions. Some choices stay with the author: a body or a
// composition on one line, products without blanks, line breaks inside an expression and the columns after them, the
// distance of a comment behind code; empty lines shrink to one. Everything printed is a function of tokens, comments
// and of these choices, which the result keeps: so formatting twice is formatting once.
#include <algorithm>
#include <memory>

#include "lang/compile.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {
namespace {

constexpr std::size_t widest = 120;
constexpr int indent_width = 2, rightmost = 80;

bool opens_block(const Token& t) {
  return t.role == Role::block_open || t.role == Role::value_open;
}
bool closes_block(const Token& t) {
  return t.role == Role::block_close || t.role == Role::value_close;
}
bool one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// What must be taken back when a block turns out too long for one line.
struct State {
  const Token* previous = nullptr;
  int indent = 0;
  std::vector<Role> brackets;             // the open ones of the statement, innermost last; plain for ( and {
  std::vector<std::vector<Role>> around;  // those around blocks in expressions
  bool in_head = false;                   // between `for` and the body
  bool at_statement = true;               // the next token begins a statement
  bool at_block_start = false;            // nothing stands in the block yet: no empty line
  bool break_next = false;                // a comment up to the line's end came last
  bool after_comment = false;
  int one_line = 0;  // open blocks of one that stays on one line
};

class Formatter {
 public:
  Formatter(const Source& source, const TokenList& list)
      : source_(source), tokens_(list.tokens), comments_(list.comments) {}

  std::string run() {
    State saved;
    std::size_t saved_size = 0, begin = 0, broken = tokens_.size();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      if (opens_block(t) && now_.one_line > 0) {
        ++now_.one_line;
      } else if (opens_block(t) && i != broken && fits_one_line(i)) {
        saved = now_;
        saved_size = out_.size();
        begin = i;
        now_.one_line = 1;
      }
      const bool last = i + 1 == tokens_.size();
      const std::size_t end = last ? comments_.size() : tokens_[i + 1].first_comment;
      for (std::size_t c = t.first_comment; c < end; ++c) comment(comments_[c]);
      if (last) break;
      if (closes_block(t) || t.is_word("endfor") || t.is_word("while")) --now_.indent;
      separate(i);
      out_ += t.text();
      after(t);
      now_.previous = &t;
      if (!closes_block(t) || now_.one_line == 0 || --now_.one_line > 0) continue;
      if (column() > widest) {  // the same again, a statement a line
        now_ = saved;
        out_.resize(saved_size);
        broken = begin;
        i = begin - 1;
      }
    }
    while (!out_.empty() && (out_.back() == '\n' || out_.back() == ' ')) out_.pop_back();
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  std::size_t column() const {
    const std::size_t newline = out_.rfind('\n');
    return newline == std::string::npos ? out_.size() : out_.size() - newline - 1;
  }

  // A block that the author wrote on one line, with nothing in it that takes lines of its own.
  bool fits_one_line(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open + 1; i + 1 < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      if (t.newline_before || t.role == Role::block_open || t.is_word("for") || t.is_word("do")) return false;
      if (tokens_[i + 1].first_comment != t.first_comment) return false;
      if (t.role == Role::value_open) ++depth;
      if (closes_block(t) && depth-- == 0) return true;
    }
    return false;
  }

  void new_line(bool blank, int blanks) {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    if (blank && !out_.empty() && !now_.at_block_start) out_ += '\n';
    out_.append(static_cast<std::size_t>(std::max(blanks, 0)), ' ');
  }
  // Where a line begins whose first text stands at `at` in the source: a statement at its level, the rest of one where
  // the author put it, but to the right of its beginning.
  int margin(std::size_t at) const {
    const int level = now_.indent * indent_width;
    if (now_.at_statement) return level;
    const std::size_t newline = at == 0 ? std::string::npos : source_.text.rfind('\n', at - 1);
    const std::size_t column = newline == std::string::npos ? at : at - newline - 1;
    return std::clamp(static_cast<int>(std::min<std::size_t>(column, rightmost)), level + indent_width,
                      std::max(level + indent_width, rightmost));
  }

  void comment(const Comment& c) {
    std::string_view text = std::string_view(source_.text).substr(c.begin, c.end - c.begin);
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    const bool to_line_end = text.starts_with("//");
    if (c.own_line || out_.empty()) {
      new_line(c.blank_before, margin(c.begin));
    } else if (out_.back() != '\n' && out_.back() != ' ') {
      std::size_t distance = to_line_end ? 2 : 1;
      if (to_line_end && now_.previous != nullptr && !now_.after_comment)
        distance = std::max<std::size_t>(distance, c.begin - now_.previous->span.end);
      out_.append(distance, ' ');
    }
    out_ += text;
    now_.at_block_start = false;
    now_.break_next = to_line_end || c.own_line || (now_.break_next && now_.at_statement);
    now_.after_comment = true;
  }

  // What stands between the previous token and this one.
  void separate(std::size_t i) {
    const Token& t = tokens_[i];
    const bool statement = now_.at_statement && now_.previous != nullptr && !t.is(";");
    if (now_.previous == nullptr && !now_.after_comment) {
      // the first token stands at the very beginning
    } else if (now_.break_next || (statement && now_.one_line == 0)) {
      const bool blank = t.blank_before && now_.at_statement && !closes_block(t);
      new_line(blank, closes_block(t) ? now_.indent * indent_width : margin(t.span.begin));
    } else if (statement) {
      out_ += ' ';
    } else if (t.newline_before && may_start_line(t)) {
      new_line(false, margin(t.span.begin));
    } else if (!t.is(";") && !t.is(",") && (now_.previous == nullptr || now_.after_comment || blank_before(i))) {
      out_ += ' ';
    }
    now_.break_next = now_.after_comment = now_.at_block_start = now_.at_statement = false;
  }

  static bool may_start_line(const Token& t) {
    if (t.kind == TokenKind::symbol && one_of(t.text(), {",", ";", ")", "]", "@", "."})) return false;
    switch (t.role) {
      case Role::block_open:
      case Role::block_close:
      case Role::value_open:
      case Role::value_close:
      case Role::glued:
      case Role::call_open:
      case Role::index_open:
      case Role::offset_open:
      case Role::angle_open:
      case Role::angle_close:
        return false;
      default:
        return true;
    }
  }

  void after(const Token& t) {
    const bool begins_block = opens_block(t) || t.role == Role::loop_head_end;
    if (t.role == Role::value_open) now_.around.push_back(now_.brackets);
    if (begins_block) {
      ++now_.indent;
      now_.at_block_start = true;
      now_.in_head = false;
    }
    if (t.is_word("for") || t.is_word("do")) now_.in_head = true;
    if (t.role == Role::stack_colon) now_.in_head = false;
    const bool ends_block = (t.role == Role::block_close && t.is("}")) || t.is_word("endfor");
    now_.at_statement = begins_block || ends_block || (t.is(";") && t.role != Role::bounds_end);
    if (t.role == Role::value_close) {
      now_.brackets = std::move(now_.around.back());
      now_.around.pop_back();
    } else if (now_.at_statement) {
      now_.brackets.clear();
    } else if (t.is("(") || t.is("[") || t.is("{") || t.role == Role::angle_open) {
      now_.brackets.push_back(t.role);
    } else if ((t.is(")") || t.is("]") || t.is("}") || t.role == Role::angle_close) && !now_.brackets.empty()) {
      now_.brackets.pop_back();
    }
  }

  bool inside(Role role) const {
    return std::find(now_.brackets.begin(), now_.brackets.end(), role) != now_.brackets.end();
  }
  static bool is_arithmetic(const Token& t) {
    return t.kind == TokenKind::symbol && t.role == Role::plain && one_of(t.text(), {"+", "-", "*", "/", "%"});
  }
  // * / % without blanks, where the author wrote them so.
  bool written_tight(std::size_t i) const {
    const Token& t = tokens_[i];
    return is_arithmetic(t) && !t.is("+") && !t.is("-") && i > 0 && tokens_[i - 1].span.end == t.span.begin &&
           t.span.end == tokens_[i + 1].span.begin;
  }

  bool blank_before(std::size_t i) const {
    const Token &a = tokens_[i - 1], &b = tokens_[i];
    const std::string_view x = a.text(), y = b.text();
    // 2. and .. are other tokens than 2..., and a field of a number is none of its digits.
    const bool number = a.kind == TokenKind::integer || a.kind == TokenKind::real || a.kind == TokenKind::real_float;
    if (y.starts_with('.') && (x.ends_with('.') || (number && y == "."))) return true;
    if (a.is(",") && !one_of(y, {";", ")", "]"})) return !inside(Role::offset_open) && !inside(Role::angle_open);
    if (b.kind == TokenKind::symbol && one_of(y, {",", ";", ")", "]", ".", "#", "..", "@"}))
      return y == "@" && a.role == Role::block_open;
    if (a.kind == TokenKind::symbol && one_of(x, {"(", "[", "@", ".", "#", ".."})) return false;
    if (b.role == Role::stack_colon) return false;
    if (a.role == Role::prefix || a.role == Role::mode_colon || b.role == Role::mode_colon) return false;
    if (a.role == Role::angle_open || b.role == Role::angle_open || b.role == Role::angle_close) return false;
    if (b.role == Role::call_open || b.role == Role::index_open || b.role == Role::offset_open) return false;
    if (b.role == Role::glued || a.role == Role::table_open || b.role == Role::table_close) return false;
    const bool tight =
        inside(Role::index_open) || inside(Role::offset_open) || inside(Role::angle_open) || now_.in_head;
    if (tight && (is_arithmetic(a) || is_arithmetic(b))) return false;
    return !written_tight(i) && !written_tight(i - 1);
  }

  const Source& source_;
  const std::vector<Token>& tokens_;
  const std::vector<Comment>& comments_;
  std::string out_;
  State now_;
};

}  // namespace

std::string format_source(std::string_view text, std::string_view file_name) {
  Report report;
  const auto source = std::make_shared<Source>(Source{std::string(file_name), std::string(text), {}, {}});
  TokenList tokens;
  try {
    tokens = tokenize(*source, report);
    Parser(source, tokens, report, Limits{}.syntax_nodes).run();
  } catch (const Stop&) {
  }
  if (report.errors() > 0) throw Error(report.take());
  return Formatter(*source, tokens).run();
}

}  // namespace tessera::lang
