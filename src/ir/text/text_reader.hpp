// The words of a text form: one line at a time, a cursor inside it. Both text forms, of stage graphs and of loop nests,
// are read through it.
#pragma once

#include <string>
#include <string_view>

#include "tessera/array.hpp"

namespace tessera::ir::text {

// The string between double quotes; bytes below 32 and 127 become \xHH.
std::string quote(std::string_view);

class Reader {
 protected:
  // `what` begins messages: "stage graph".
  Reader(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  // Throws Error(compile) with line and column.
  [[noreturn]] void fail(std::string_view expected) const;

  // Goes to the next line that says something; false at the end of the text.
  bool next_line();
  void end_of_line();

  // All of these skip blanks first.
  void skip();
  bool peek(char);
  bool accept(char);
  void expect(char);
  std::string_view word();                    // letters, digits and _; may be empty
  bool accept_word(std::string_view wanted);  // puts another word back
  i64 integer();
  std::string string();  // what `quote` wrote

  std::string_view what_, text_, line_;
  int line_number_ = 0;
  std::size_t at_ = 0;  // in line_
};

}  // namespace tessera::ir::text
