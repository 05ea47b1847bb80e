// What comments say about declarations: the one at the top of a file describes the file, the one above a parameter or
// table, or behind it on its line, describes that. Tools print them as help; the meaning of a program is without them.
#include <algorithm>

#include "base/text.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {

// The text of the comments [begin, end) in one line, up to an empty one.
std::string Parser::comment_text(std::size_t begin, std::size_t end) const {
  std::string all;
  for (std::size_t c = begin; c < end; ++c) {
    std::string_view text =
        std::string_view(source_->text).substr(comments_[c].begin, comments_[c].end - comments_[c].begin);
    text.remove_prefix(2);
    if (text.ends_with("*/")) text.remove_suffix(2);
    bool empty = true;
    for (const std::string_view word : base::split_words(text)) {
      if (!all.empty()) all += ' ';
      all += word;
      empty = false;
    }
    if (empty) break;
  }
  return all;
}

std::string Parser::file_description() const {
  const std::size_t limit = tokens_.size() > 1 ? tokens_[1].first_comment : comments_.size();
  std::size_t end = 0;
  while (end < limit && (end == 0 || !comments_[end].blank_before)) ++end;
  return comment_text(0, end);
}

// Of the item that begins with token `first` and ends before the next token.
std::string Parser::description_of(std::size_t first) const {
  const std::size_t behind = tokens_[at_].first_comment;
  if (behind < comments_.size() && !comments_[behind].own_line && comments_[behind].begin >= previous().end &&
      (peek().kind == TokenKind::end || comments_[behind].begin < peek().span.begin))
    return comment_text(behind, behind + 1);
  const Token& t = tokens_[first];
  const std::size_t lowest = t.first_comment, end = tokens_[first + 1].first_comment;
  if (t.blank_before || end == lowest) return {};
  std::size_t begin = end;
  while (begin > lowest && comments_[begin - 1].own_line) {
    --begin;
    if (comments_[begin].blank_before) break;
  }
  return begin == 0 && first == 0 ? std::string() : comment_text(begin, end);  // the file's own
}

}  // namespace tessera::lang
