// A program and its items.
#include <fmt/format.h>

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

// arguments := "(" [ type NAME [ largest ] { "," type NAME [ largest ] } ] ")"     largest := "<=" e
std::vector<FunctionArgument> Parser::function_arguments() {
  std::vector<FunctionArgument> all;
  expect("(", "the name").role = Role::call_open;
  if (accept(")")) return all;
  do {
    FunctionArgument a;
    a.type = type_name(true);
    a.name = expect_name("a name for the argument");
    a.largest = largest();
    all.push_back(a);
  } while (accept(","));
  expect(")", "the arguments");
  return all;
}

const Expr* Parser::largest() {
  return accept("<=") ? expression(Where::point) : nullptr;
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

// points := "[" NAME { "," NAME } "]"
void Parser::point_names(Function& f) {
  constexpr std::size_t most = 4;
  if (f.kind != Function::stencil)
    report_.fail(peek().span, "the points of a result have names in stencils alone",
                 {{}, fmt::format("declare it as: stencil {}(...)[...]", f.name.text)});
  const Span begin = peek().span;
  next().role = Role::index_open;
  do {
    const Name name = expect_name("a name for an index of the result");
    for (const Name& other : f.points)
      if (other.text == name.text)
        report_.fail(name.span,
                     fmt::format("{} is the name of two indices: expected a new one", base::quoted(name.text)));
    for (const FunctionArgument& a : f.arguments)
      if (a.name.text == name.text)
        report_.fail(name.span, fmt::format("{} is an argument of {}: expected a new name for the index",
                                            base::quoted(name.text), base::quoted(f.name.text)));
    f.points.push_back(name);
  } while (accept(","));
  expect("]", "the names of the result's indices");
  if (f.points.size() > most)
    report_.fail(join(begin, previous()), fmt::format("{} has {} indices: expected {} at most",
                                                      base::quoted(f.name.text), f.points.size(), most));
}

// rest := NAME arguments [ points ] "{" { statement } "return" e ";" "}"
void Parser::function_rest(Function f, Function::Kind kind) {
  f.kind = kind;
  f.name = expect_name("a name for the function");
  f.arguments = function_arguments();
  if (peek().is("[")) point_names(f);
  expect("{", f.points.empty() ? "the arguments" : "the names of the indices").role = Role::block_open;
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

// input := TYPE NAME [ largest ] { "," NAME [ largest ] } ";"
void Parser::scalar_input_item() {
  const TypeName type = type_name(false);
  do {
    InputDeclaration in;
    in.type = type;
    in.name = expect_name("a name for the input");
    in.largest = largest();
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

}  // namespace tessera::lang
