// Items and statements, the token helpers, and recovery after an error.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lang/functions.hpp"
#include "lang/syntax/parser.hpp"

namespace tessera::lang {

Parser::Parser(std::shared_ptr<const Source> source, TokenList& tokens, Report& report, i64 max_nodes)
    : source_(std::move(source)),
      tokens_(tokens.tokens),
      comments_(tokens.comments),
      report_(report),
      module_(std::make_unique<Module>()),
      max_nodes_(max_nodes) {
  module_->source = source_;
  module_->description = file_description();
}

// program := { item } [ "return" ... ]
std::unique_ptr<Module> Parser::run() {
  while (peek().kind != TokenKind::end) {
    const std::size_t begin = at_;
    try {
      item();
    } catch (const Failed&) {
      skip(begin, false);
    }
  }
  module_->end = peek().span;
  return std::move(module_);
}

// ---- tokens --------------------------------------------------------------------------------------------------------

Token& Parser::next() {
  Token& t = peek();
  if (t.kind != TokenKind::end) ++at_;
  return t;
}

bool Parser::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  next();
  return true;
}

Token& Parser::expect(std::string_view symbol, const std::string& after) {
  if (!peek().is(symbol)) expected(fmt::format("'{}' after {}", symbol, after));
  return next();
}

bool Parser::touches(std::size_t ahead) const {
  return peek(ahead).span.begin == peek(ahead - 1).span.end;
}

std::string Parser::found() const {
  const Token& t = peek();
  return t.kind == TokenKind::end ? "the end of the text" : base::quoted(t.text(), 40);
}

// A missing ';' or ')' is shown where it should stand, behind the previous token, when the next one is on another line.
void Parser::expected(const std::string& what, Advice advice) {
  Span at = peek().span;
  if (at_ > 0 && (peek().newline_before || peek().kind == TokenKind::end)) {
    const Span before = previous();
    at = {before.source, before.end, before.end};
  }
  report_.fail(at, fmt::format("expected {}, found {}", what, found()), std::move(advice));
}

Name Parser::expect_name(const std::string& what) {
  if (peek().kind != TokenKind::name) expected(what);
  const Token& t = peek();
  if (is_keyword(t.text()))
    report_.fail(t.span, fmt::format("expected {}, found the keyword {}", what, base::quoted(t.text())),
                 {{}, "keywords cannot be names"});
  if (t.text().size() > 200) report_.fail(t.span, "expected a name of at most 200 characters");
  next();
  return {t.span, t.text()};
}

// After a syntax error in what began at `begin`: goes on behind it and remembers the names that it may have defined.
void Parser::skip(std::size_t begin, bool inside_block) {
  module_->complete = false;
  const std::size_t failed = at_;
  recover(inside_block);
  if (at_ == failed && at_ == begin) next();
  for (std::size_t i = begin; i < at_; ++i)
    if (tokens_[i].kind == TokenKind::name) module_->lost.push_back(tokens_[i].text());
}

// Goes behind the next ';' of this level (not of a compose), or behind a whole block; stops before what begins or ends
// a block.
void Parser::recover(bool inside_block) {
  static constexpr std::array<std::string_view, 5> beginnings = {"stencil", "vector", "parameter", "return", "struct"};
  int depth = 0;
  while (peek().kind != TokenKind::end) {
    const Token& t = peek();
    if (t.is("{")) ++depth;
    if (t.is("}")) {
      if (depth == 0 && inside_block) return;
      next();
      if (--depth <= 0) {
        if (!inside_block) accept(";");
        return;
      }
      continue;
    }
    if (depth == 0 && inside_block && (t.is_word("endfor") || t.is_word("while") || t.is_word("return"))) return;
    if (depth == 0 && t.newline_before && t.kind == TokenKind::name &&
        std::find(beginnings.begin(), beginnings.end(), t.text()) != beginnings.end() && at_ > 0)
      return;
    next();
    if (depth == 0 && t.is(";")) {
      const bool in_compose = peek().is("@") || (peek().is("[") && !inside_block) || peek().is(")");
      if (!in_compose) return;
    }
  }
}

// ---- items ---------------------------------------------------------------------------------------------------------

bool Parser::starts_basic_type() const {
  return peek().kind == TokenKind::name && find_type(peek().text()) && peek(1).kind == TokenKind::name;
}

// item := import | struct | stencil | vector function | function | parameter | input | table | statement | return
void Parser::item() {
  const Token& t = peek();
  const bool name_follows = peek(1).kind == TokenKind::name;
  if (t.is_word("stencil")) return stencil_item();
  if (t.is_word("vector")) return peek(1).is("#") ? vector_input_item() : vector_function_item();
  if (t.is_word("struct")) return struct_item();
  if (t.is_word("parameter")) return parameter_item();
  if (t.is_word("return")) return return_item();
  if (t.is_word("import") && peek(1).kind == TokenKind::string) return import_item();
  if (t.is_word("function") && name_follows) return scalar_function_item();
  if (t.is_word("table") && name_follows) return table_item();
  if (starts_basic_type()) return scalar_input_item();
  if (t.is_word("endfor")) {
    if (module_->complete) report_.error(t.span, "'endfor' without a 'for' before it");
    module_->complete = false;
    next();
    return;
  }
  if (t.is_word("while")) {
    const Span at = t.span;
    if (module_->complete) report_.error(at, "'while' without a 'do' before it");
    module_->complete = false;
    next();
    recover(false);
    return;
  }
  if (t.kind != TokenKind::name) {
    const Span at = t.span;
    const std::string what = found();
    while (peek().kind != TokenKind::name && peek().kind != TokenKind::end) next();
    module_->complete = false;
    report_.error(at, "expected a declaration or a statement, found " + what);
    return;
  }
  refuse_choice(false);
  if (name_follows && !is_keyword(t.text()))
    report_.fail(
        t.span, fmt::format("unknown word {} before {}", base::quoted(t.text()), base::quoted(peek(1).text())),
        {{"expected a declaration (stencil, vector, struct, parameter, table, function, import) or NAME = ..."},
         base::did_you_mean(t.text(), {"stencil", "vector", "struct", "parameter", "table", "function", "import",
                                       "return", "float", "double", "int", "for"})});
  module_->body.push_back(statement());
}

// import := "import" STRING ";"
void Parser::import_item() {
  next();
  const Token& path = next();
  std::string_view text = path.text();
  if (text.size() < 3) report_.fail(path.span, "expected the name of a file to import");
  module_->imports.push_back({path.span, text.substr(1, text.size() - 2)});
  expect(";", "the file to import");
}

// struct := "struct" NAME "{" { TYPE NAME { "," NAME } ";" } "}" [ ";" ]
void Parser::struct_item() {
  next();
  StructDeclaration s;
  s.name = expect_name("a name for the struct");
  expect("{", "the name of the struct").role = Role::block_open;
  while (!peek().is("}")) {
    const TypeName type = type_name(false);
    do s.fields.push_back({expect_name("a name for the field"), type});
    while (accept(","));
    expect(";", "the field");
  }
  next().role = Role::block_close;
  if (s.fields.empty()) report_.fail(s.name.span, fmt::format("struct {} has no field", base::quoted(s.name.text)));
  accept(";");
  module_->structs.push_back(std::move(s));
}

// type := TYPE | "struct" NAME | "vector" "#" INT type
TypeName Parser::type_name(bool vector_allowed) {
  TypeName t;
  t.span = peek().span;
  if (vector_allowed && peek().is_word("vector")) {
    next();
    expect("#", "'vector'").role = Role::glued;
    const Token& rank = peek();
    if (rank.kind != TokenKind::integer) expected("a rank from 1 to 4 after 'vector#'");
    const std::optional<std::int64_t> value = base::parse_integer(rank.text());
    next().role = Role::glued;
    t.rank_span = rank.span;
    t.rank = value && *value >= 1 && *value <= 4 ? static_cast<int>(*value) : -1;
    if (t.rank < 0)
      report_.fail(rank.span, fmt::format("vector#{} has no legal rank: expected 1 to 4", rank.text().substr(0, 20)));
  }
  if (peek().is_word("struct")) next();
  const Token& word = peek();
  if (word.kind != TokenKind::name || (is_keyword(word.text()) && !find_type(word.text())))
    expected("a type such as float");
  t.text = word.text();
  next();
  t.span = join(t.span, previous());
  return t;
}

// arguments := "(" [ type NAME { "," type NAME } ] ")"
std::vector<FunctionArgument> Parser::function_arguments() {
  std::vector<FunctionArgument> all;
  expect("(", "the name").role = Role::call_open;
  if (accept(")")) return all;
  do {
    FunctionArgument a;
    a.type = type_name(true);
    a.name = expect_name("a name for the argument");
    all.push_back(a);
  } while (accept(","));
  expect(")", "the arguments");
  return all;
}

void Parser::stencil_item() {
  next();
  function_rest({}, Function::stencil);
}

void Parser::vector_function_item() {
  next();
  function_rest({}, Function::vector);
}

void Parser::scalar_function_item() {
  next();
  Function f;
  f.result_type = type_name(false);
  function_rest(std::move(f), Function::scalar);
}

// rest := NAME arguments "{" { statement } "return" e ";" "}"
void Parser::function_rest(Function f, Function::Kind kind) {
  f.kind = kind;
  f.name = expect_name("a name for the function");
  f.arguments = function_arguments();
  expect("{", "the arguments").role = Role::block_open;
  while (!peek().is("}")) {
    if (peek().kind == TokenKind::end) expected(fmt::format("'}}' at the end of {}", base::quoted(f.name.text)));
    const std::size_t begin = at_;
    try {
      if (peek().is_word("return")) {
        next();
        f.result = expression(kind == Function::vector ? Where::image : Where::point);
        expect(";", "the returned value");
        if (!peek().is("}"))
          report_.fail(peek().span, fmt::format("expected '}}' after the return of {}, found {}",
                                                base::quoted(f.name.text), found()));
      } else {
        f.body.push_back(kind == Function::vector ? statement() : local());
      }
    } catch (const Failed&) {
      f.complete = false;
      skip(begin, true);
    }
  }
  const Span close = peek().span;
  next().role = Role::block_close;
  if (f.result == nullptr && f.complete) {
    f.complete = module_->complete = false;
    report_.error(close, fmt::format("expected 'return' at the end of {}", base::quoted(f.name.text)));
  }
  accept(";");
  module_->functions.push_back(std::move(f));
}

// parameter := "parameter" ( [ TYPE ] number { "," number } | "border" border { "," border } | "type" type { "," type }
// )
// ";"     number := NAME [ "=" e ]     border := NAME "=" modes     type := NAME "=" TYPE
void Parser::parameter_item() {
  const std::size_t first = at_, known = module_->parameters.size();
  next();
  ParameterDeclaration::Kind kind = ParameterDeclaration::number;
  TypeName type;
  if (peek().is_word("border") && peek(1).kind == TokenKind::name) kind = ParameterDeclaration::border;
  if (peek().is_word("type") && peek(1).kind == TokenKind::name) kind = ParameterDeclaration::type_choice;
  if (kind != ParameterDeclaration::number)
    next();
  else if (starts_basic_type())
    type = type_name(false);
  do {
    ParameterDeclaration p;
    p.kind = kind;
    p.type = type;
    p.name = expect_name("a name for the parameter");
    if (kind == ParameterDeclaration::border) {
      expect("=", "a boundary mode's name, and the mode");
      where_ = Where::point;
      Token& open = peek();
      p.modes = modes();
      if (p.modes->per_dimension) open.role = Role::plain;
    } else if (kind == ParameterDeclaration::type_choice) {
      expect("=", "a type's name, and the type");
      p.choice = type_name(false);
    } else if (accept("=")) {
      p.value = expression(Where::point);
    }
    module_->parameters.push_back(p);
  } while (accept(","));
  expect(";", "the parameter");
  const std::string description = description_of(first);
  for (std::size_t k = known; k < module_->parameters.size(); ++k) module_->parameters[k].description = description;
}

// input := "vector" "#" INT type NAME "[" e { "," e } "]" ";"
void Parser::vector_input_item() {
  InputDeclaration in;
  in.type = type_name(true);
  in.name = expect_name("a name for the input");
  if (!peek().is("["))
    expected(fmt::format("'[' and the extents of {}", base::quoted(in.name.text)),
             {{}, fmt::format("write {}[{}]", in.name.text, in.type.rank == 1 ? "N" : "M, N")});
  next().role = Role::offset_open;
  do in.extents.push_back(expression(Where::image));
  while (accept(","));
  expect("]", "the extents");
  expect(";", "the input");
  module_->inputs.push_back(std::move(in));
}

// input := TYPE NAME { "," NAME } ";"
void Parser::scalar_input_item() {
  const TypeName type = type_name(false);
  do {
    InputDeclaration in;
    in.type = type;
    in.name = expect_name("a name for the input");
    module_->inputs.push_back(std::move(in));
  } while (accept(","));
  expect(";", "the input");
}

// table := "table" TYPE NAME "[" dimension { "," dimension } "]" [ "=" ( values | e ) ] ";"     dimension := e | range
void Parser::table_item() {
  const std::size_t first = at_;
  next();
  TableDeclaration t;
  t.type = type_name(false);
  t.name = expect_name("a name for the table");
  if (!peek().is("[")) expected(fmt::format("'[' and the extents of table {}", base::quoted(t.name.text)));
  Token& open = next();
  open.role = Role::offset_open;
  where_ = Where::point;
  do {
    TableDeclaration::Dimension d;
    d.span = peek().span;
    if (peek().kind == TokenKind::name && peek(1).is("=")) {
      d.range = range();
      open.role = Role::index_open;
    } else {
      d.extent = binary_expression(9);
    }
    d.span = join(d.span, previous());
    t.dimensions.push_back(d);
  } while (accept(","));
  expect("]", "the extents of the table");
  t.given = peek().is(";");
  if (!t.given) {
    expect("=", "the extents of the table");
    t.values_span = peek().span;
    if (peek().is("{"))
      table_values(t, 0);
    else
      t.value = expression(Where::point);
    t.values_span = join(t.values_span, previous());
  }
  expect(";", "the table");
  t.description = description_of(first);
  module_->tables.push_back(std::move(t));
}

// values := "{" ( e | values ) { "," ( e | values ) } [ "," ] "}"
void Parser::table_values(TableDeclaration& t, int depth) {
  const Nest nest(*this);
  if (depth > 4) expected("at most four levels of '{'");
  next().role = Role::table_open;
  while (!peek().is("}")) {
    if (peek().is("{"))
      table_values(t, depth + 1);
    else
      t.values.push_back(expression(Where::point));
    if (!accept(",")) break;
  }
  expect("}", "the values").role = Role::table_close;
}

// return := "return" ( e | NAME "=" e { "," NAME "=" e } ) ";"
void Parser::return_item() {
  module_->result_span = next().span;
  if (module_->has_result) report_.fail(module_->result_span, "a program has one 'return', this is the second");
  module_->has_result = true;
  if (peek().kind == TokenKind::name && peek(1).is("=")) {
    do {
      ReturnItem r;
      r.name = expect_name("a name for the output");
      expect("=", "the name of the output");
      r.value = expression(Where::image);
      module_->results.push_back(r);
    } while (accept(","));
  } else {
    ReturnItem r;
    r.value = expression(Where::image);
    r.name.span = r.value->span;
    module_->results.push_back(r);
  }
  if (peek().is(","))
    expected("';' after the returned image", {{}, "name several outputs: return edges = e, grey = g;"});
  expect(";", "the returned image");
  if (peek().kind != TokenKind::end)
    report_.fail(peek().span, fmt::format("expected the end of the program after its return, found {}", found()));
}

// ---- statements ----------------------------------------------------------------------------------------------------

// The text between the parentheses that come next; "" where it is long.
std::string Parser::condition() const {
  int depth = 0;
  for (std::size_t k = 1;; ++k) {
    const Token& t = peek(k);
    if (t.kind == TokenKind::end) return "";
    if (t.is("(")) ++depth;
    if (t.is(")") && --depth == 0) {
      const Span inner{t.span.source, peek(1).span.end, t.span.begin};
      const std::string_view text = base::trim(inner.text());
      return text.size() <= 60 && text.find('\n') == std::string_view::npos ? std::string(text) : "";
    }
  }
}

// Goes to the last part of an `if` with all that belongs to it, so that recovery ends behind it.
void Parser::skip_choice() {
  const auto balanced = [&](std::string_view open, std::string_view close) {
    int depth = 0;
    do {
      if (peek().is(open)) ++depth;
      if (next().is(close)) --depth;
    } while (depth > 0 && peek().kind != TokenKind::end);
  };
  const auto branch = [&] {  // where it can be gone on from
    std::size_t at = at_;
    if (peek().is("{")) {
      balanced("{", "}");
      return at;
    }
    while (peek().kind != TokenKind::end && !peek().is(";") && !peek().is("}")) next();
    at = at_;
    accept(";");
    return at;
  };
  for (;;) {
    next();
    if (peek().is("(")) balanced("(", ")");
    std::size_t last = branch();
    if (peek().is_word("else")) {
      next();
      if (peek().is_word("if")) continue;
      last = branch();
    }
    at_ = last;
    return;
  }
}

// `if` and `switch` are no words of the language, and may be names. Written as in C they get help.
void Parser::refuse_choice(bool at_a_point) {
  const Token t = peek();
  if (!(t.is_word("if") || t.is_word("switch")) || !peek(1).is("(")) return;
  const std::string test = condition(), word(t.text());
  const std::string value = fmt::format("{} ? A : B", test.empty() || word == "switch" ? "CONDITION" : test);
  skip_choice();
  if (at_a_point)
    report_.fail(
        t.span,
        fmt::format("{} '{}' has no meaning inside a stencil or function: expected NAME = ...; or return",
                    word == "if" ? "an" : "a", word),
        {{"a name is given its value once, so what is chosen is the value"}, fmt::format("write NAME = {};", value)});
  report_.fail(t.span,
               fmt::format("{} '{}' has no meaning between images: expected a statement such as NAME = ...;",
                           word == "if" ? "an" : "a", word),
               {{"which images are computed is fixed before the program runs; values are chosen at every point"},
                fmt::format("write stencil choose(vector#2 float X, float t) {{ return {}; }}",
                            test.empty() ? "X > t ? A : B" : value)});
}

// statement := loop | test_loop | NAME [ "<" e ">" ] [ [ "@" ] "[" items "]" ] "=" e ";"
const Statement* Parser::statement() {
  if (peek().is_word("for")) return loop();
  if (peek().is_word("do")) return test_loop();
  refuse_choice(false);
  where_ = Where::image;
  Statement& s = module_->statements.emplace_back();
  s.span = peek().span;
  s.name = expect_name("a statement such as NAME = ...;");
  if (peek().is("<")) {
    next().role = Role::angle_open;
    s.version = binary_expression(9);
    expect(">", "the version of " + base::quoted(s.name.text)).role = Role::angle_close;
  }
  if (peek().is("@")) {
    next();
    s.kind = Statement::spread;
    s.place = index_items(true, false);
  } else if (peek().is("[")) {
    s.kind = Statement::paste;
    s.place = index_items(false, true);
  }
  expect("=", base::quoted(s.name.text));
  s.value = expression(Where::image);
  expect(";", "the statement");
  s.span = join(s.span, previous());
  return &s;
}

// loop := "for" NAME "=" e ".." e { statement } "endfor"
const Statement* Parser::loop() {
  const Nest nest(*this);
  Statement& s = module_->statements.emplace_back();
  s.kind = Statement::loop;
  loop_head(s);
  loop_body(s, "endfor");
  next();
  accept(";");
  return &s;
}

// test_loop := "do" NAME "=" e ".." e { statement } "while" "(" e ")" ";"
const Statement* Parser::test_loop() {
  const Nest nest(*this);
  Statement& s = module_->statements.emplace_back();
  s.kind = Statement::test_loop;
  loop_head(s);
  loop_body(s, "while");
  next();
  expect("(", "'while'");
  s.value = expression(Where::test);
  expect(")", "the test");
  expect(";", "the test");
  return &s;
}

void Parser::loop_head(Statement& s) {
  s.span = next().span;
  where_ = Where::image;
  try {
    s.range = range();
    tokens_[at_ - 1].role = Role::loop_head_end;
  } catch (const Failed&) {
    s.range.lo = s.range.hi = nullptr;
    skip(at_, true);
  }
  s.span = join(s.span, previous());
}

// Statements up to the word that ends them.
void Parser::loop_body(Statement& s, std::string_view end) {
  while (!peek().is_word(end)) {
    const bool other_end = peek().is_word("endfor") || peek().is_word("while");
    if (peek().kind == TokenKind::end || peek().is("}") || peek().is_word("return") || other_end)
      expected(base::quoted(end));
    const std::size_t begin = at_;
    try {
      s.body.push_back(statement());
    } catch (const Failed&) {
      skip(begin, true);
    }
  }
}

// local := NAME "=" e ";"
const Statement* Parser::local() {
  Statement& s = module_->statements.emplace_back();
  s.span = peek().span;
  refuse_choice(true);
  if (peek().is_word("for") || peek().is_word("do") || peek().is_word("while"))
    report_.fail(peek().span, "a loop has no meaning inside a stencil or function: expected NAME = ...; or return",
                 {{}, "for a sum over a window write sum(i = -1..1) ( X@[i] )"});
  s.name = expect_name("NAME = ...; or return");
  expect("=", base::quoted(s.name.text));
  s.value = expression(Where::point);
  expect(";", "the value of " + base::quoted(s.name.text));
  s.span = join(s.span, previous());
  return &s;
}

}  // namespace tessera::lang
