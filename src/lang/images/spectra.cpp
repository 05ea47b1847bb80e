// Fourier transforms of whole images: fft(a), ifft(F), with the dimensions behind the image, and the struct `complex`
// that they give.
//
// A program that declares no `complex` has one, whose fields are as wide as what it is made of: floats, or doubles
// where a double is among them. One that declares it has what it says, and transforms are computed in the type of its
// fields.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "lang/images/images.hpp"

namespace tessera::lang {

namespace {

constexpr const char* declaration = "struct complex { float re; float im; }";

// Two fields, re and im, of float or of double.
bool is_complex(const Format& format) {
  const auto& f = format.fields;
  if (f.size() != 2 || f[0].name != "re" || f[1].name != "im" || f[0].type != f[1].type) return false;
  return f[0].type == ElementType::f32 || f[0].type == ElementType::f64;
}

StructType complex_of(ElementType type) {
  return {{{}, complex_name}, Format::record(std::string(complex_name), {{"re", type}, {"im", type}})};
}

}  // namespace

void declare_complex(Declarations& declared) {
  if (declared.structs.contains(complex_name)) return;
  declared.structs.emplace(complex_name, complex_of(ElementType::f32));
  declared.wide_complex = complex_of(ElementType::f64);
}

const StructType* Context::fitting(const StructType* type, ElementType number) const {
  if (!declared.wide_complex || !same_struct(type, &*declared.wide_complex)) return type;
  return number == ElementType::f64 ? &*declared.wide_complex : &declared.structs.find(complex_name)->second;
}

bool Context::same_struct(const StructType* a, const StructType* b) const {
  if (a == b) return true;
  const auto predeclared = [&](const StructType* t) {
    return t != nullptr && declared.wide_complex &&
           (t == &*declared.wide_complex || t == &declared.structs.find(complex_name)->second);
  };
  return predeclared(a) && predeclared(b);
}

bool ImageEvaluator::is_spectrum(const Expr& e) const {
  return e.kind == ExprKind::call && (e.name.text == "fft" || e.name.text == "ifft") &&
         context_.find_function(e.name.text) == nullptr;
}

Image ImageEvaluator::spectrum(const Expr& e) {
  const std::string name(e.name.text);
  if (e.arguments.empty())
    context_.report.fail(e.span, fmt::format("{} transforms an image: expected one between the parentheses", name),
                         {{}, fmt::format("write {}(a), or {}(a, 0) for one of its dimensions", name, name)});
  for (const CallArgument& a : e.arguments)
    if (a.modes)
      context_.report.fail(a.modes->span,
                           "a boundary mode has no meaning here: a transform continues its image periodically");
  const Expr& of = *e.arguments[0].value;
  const std::string text(base::quoted(of.span.text(), 40));
  if (is_scalar(of))
    context_.report.fail(of.span, fmt::format("{} transforms an image, found the scalar {}", name, text));
  const Image image = evaluate(of);
  if (image.record != nullptr && !is_complex(image.record->format))
    context_.report.fail(of.span,
                         fmt::format("{} takes an image of numbers or of {}, but {} is {}", name, declaration, text,
                                     describe_image(image)),
                         {{},
                          fmt::format("choose a field: {}({}.{})", name, std::string(of.span.text().substr(0, 40)),
                                      image.record->format.fields[0].name)});
  const ElementType given = graph_.stage(image.stages[0]).type;
  const StructType* result = context_.fitting(&context_.declared.structs.find(complex_name)->second, given);
  if (!is_complex(result->format))
    context_.report.fail(e.name.span,
                         fmt::format("{} gives images of struct 'complex', which this program declares with other "
                                     "fields: expected {}",
                                     name, declaration),
                         {{fmt::format("it is declared at {}", describe_place(result->name.span, e.span))}, {}});
  const ElementType type = result->format.fields[0].type;
  if (given == ElementType::f64 && type == ElementType::f32)
    context_.report.fail(of.span,
                         fmt::format("{} of doubles gives doubles, but this program's struct 'complex' has fields of "
                                     "float",
                                     name),
                         {{}, "declare struct complex { double re; double im; }, or none: there is one"});
  ir::Fourier how;
  how.inverse = name == "ifft";
  how.along = transformed_dimensions(e, domain(image).size());
  how.re = in_type(image.stages[0], type, e.span);
  if (image.record != nullptr) how.im = in_type(image.stages[1], type, e.span);
  return transform_pair(*result, how, e.span);
}

// Those that are named behind the image, else all.
std::vector<int> ImageEvaluator::transformed_dimensions(const Expr& e, std::size_t rank) {
  std::vector<int> along;
  for (std::size_t k = 1; k < e.arguments.size(); ++k) {
    const Expr& given = *e.arguments[k].value;
    const i64 d = extents_.constant(given, "the dimension");
    if (d < 0 || d >= static_cast<i64>(rank))
      context_.report.fail(given.span, fmt::format("there is no dimension {}: expected 0 to {}", d, rank - 1));
    if (std::find(along.begin(), along.end(), d) != along.end())
      context_.report.fail(given.span, fmt::format("dimension {} is named twice", d));
    along.push_back(static_cast<int>(d));
  }
  std::sort(along.begin(), along.end());
  if (along.empty())
    for (std::size_t d = 0; d < rank; ++d) along.push_back(static_cast<int>(d));
  return along;
}

// The stage itself, or its numbers in another type.
ir::StageId ImageEvaluator::in_type(ir::StageId s, ElementType type, Span at) {
  if (graph_.stage(s).type == type) return s;
  const Domain where = graph_.stage(s).domain;
  const std::size_t rank = where.size();
  const ir::ExprId own = ir::access(graph_, s, std::vector<ir::Index>(rank), std::vector<Border>(rank));
  const std::vector<i64> none(rank, 0);
  return add_point(graph_.stage(s).name, type, where, ir::convert(graph_, type, own), none, none, at);
}

Image ImageEvaluator::transform_pair(const StructType& result, const ir::Fourier& how, Span at) {
  Image out{&result, {}, {}};
  for (const bool imaginary : {false, true}) {
    ir::Stage s;
    s.kind = ir::StageKind::fourier;
    s.name = std::string(how.inverse ? "ifft" : "fft") + (imaginary ? ".im" : ".re");
    s.type = result.format.fields[0].type;
    s.domain = graph_.stage(how.re).domain;
    s.fourier = how;
    s.fourier.imaginary = imaginary;
    out.stages.push_back(add(std::move(s), at));
  }
  return out;
}

}  // namespace tessera::lang
