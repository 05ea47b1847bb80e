// Recursive descent over the tokens of one file. Each function has its piece of the grammar above it.
//
// A syntax error is reported with what was expected and parsing goes on behind the next `;`. Nesting is limited, so
// that no input can exhaust the stack.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lang/syntax/ast.hpp"
#include "lang/syntax/token.hpp"

namespace tessera::lang {

class Parser {
 public:
  // Roles are written into `tokens` for the formatter. A text of more than `max_nodes` expressions is an error, and
  // Stop.
  Parser(std::shared_ptr<const Source>, TokenList& tokens, Report&, i64 max_nodes);
  std::unique_ptr<Module> run();

 private:
  static constexpr int max_nesting = 200;
  enum class Where { point, image };  // what an expression may hold; between images there are versions and modes

  // ---- parse_program.cpp: items
  void item();
  void import_item();
  void struct_item();
  void stencil_item();
  void vector_function_item();
  void scalar_function_item();
  void parameter_item();
  void vector_input_item();
  void scalar_input_item();
  void table_item();
  void table_values(TableDeclaration&, int depth);
  void return_item();
  void function_rest(Function, Function::Kind);
  std::vector<FunctionArgument> function_arguments();
  const Expr* largest();
  void point_names(Function&);
  TypeName type_name(bool vector_allowed);
  bool starts_basic_type() const;

  // ---- parse_statements.cpp
  const Statement* statement();
  const Statement* loop(Where, const Statement* (Parser::*inner)());
  const Statement* test_loop();
  void loop_head(Statement&);
  void loop_body(Statement&, std::string_view end, const Statement* (Parser::*inner)());
  const Statement* local();
  void refuse_choice(bool at_a_point);
  [[noreturn]] void refuse_test_loop();
  void skip_choice();
  std::string condition() const;

  // ---- parse_comments.cpp
  std::string comment_text(std::size_t begin, std::size_t end) const;
  std::string file_description() const;
  std::string description_of(std::size_t first) const;

  // ---- parse_expression.cpp
  const Expr* expression(Where);
  const Expr* select_expression();
  const Expr* binary_expression(int min_precedence);
  const Expr* unary_expression();
  const Expr* postfix_expression();
  const Expr* primary_expression();
  const Expr* number();
  const Expr* cast_expression(bool saturate);
  const Expr* record_expression();
  bool has_number(const Expr&) const;
  bool begins_reduction() const;
  const Expr* reduce_expression();
  void chosen(Expr&);
  void reduced_block(Expr&);
  const Expr* compose_expression();
  const Expr* stack_expression();
  std::vector<const Expr*> versions(const Name&);
  std::vector<CallArgument> call_arguments();
  Modes modes();
  std::vector<IndexItem> index_items(bool pairs, bool ranges);
  IndexItem index_item(bool pairs, bool ranges);
  Range range();
  Range window_range();
  bool paren_holds_pair() const;
  bool holds_version() const;

  // ---- parse_tokens.cpp
  Token& peek(std::size_t ahead = 0) { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token& next();
  bool accept(std::string_view symbol);
  Token& expect(std::string_view symbol, const std::string& after);
  Name expect_name(const std::string& what);
  [[noreturn]] void expected(const std::string& what, Advice = {});
  std::string found() const;
  Span previous() const { return tokens_[at_ == 0 ? 0 : at_ - 1].span; }
  bool touches(std::size_t ahead) const;  // token `ahead` begins where the one before it ends
  // After an error.
  void skip(std::size_t begin, bool inside_block);
  void recover(bool inside_block);

  Expr& make(ExprKind, Span begin);
  const Expr* finish(Expr&);

  struct Nest {  // one level of nesting, for as long as it lives
    explicit Nest(Parser&);
    ~Nest() { --parser.nesting_; }
    Parser& parser;
  };

  std::shared_ptr<const Source> source_;
  std::vector<Token>& tokens_;
  const std::vector<Comment>& comments_;
  Report& report_;
  std::unique_ptr<Module> module_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  i64 max_nodes_ = 0;
  Where where_ = Where::point;
};

}  // namespace tessera::lang
