// Any bytes as the text of a stage graph and as the text of a loop nest.
//
// A text is refused with Error(compile), or it parses. What parses is well formed, or verify says Error(internal). What
// is well formed prints, and the print reads back, verifies and prints the same again.
//
// The third reader of bytes, the ELF loader of src/run/cpu, has no target: it reads what the compiler made in this
// process, or what the disk cache gives back, and the cache gives back nothing whose checksum does not fit its content
// (CacheTest.drops_damaged_entries, Compiler.CompilesAgainWhenTheCacheIsDamaged). Object.RefusesDamage hurts objects
// behind the checksum all the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ir/graph.hpp"
#include "ir/nest/nest.hpp"

namespace {

using namespace tessera;

[[noreturn]] void broken(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

// False where it throws Error of that class, the only one that it may throw.
template <class Step>
bool holds(ErrorClass refusal, const Step& step) {
  try {
    step();
    return true;
  } catch (const Error& e) {
    if (e.error_class() != refusal) broken("an error of another class", e.what());
    return false;
  }
}

template <class Parse>
void round_trip(const std::string& text, const Parse& parse) {
  decltype(parse(text)) first;
  if (!holds(ErrorClass::compile, [&] { first = parse(text); })) return;
  if (!holds(ErrorClass::internal, [&] { verify(first); })) return;
  const std::string printed = print(first);
  try {
    const auto again = parse(printed);
    verify(again);
    if (const std::string other = print(again); other != printed) broken("printing is no fixed point", printed + other);
  } catch (const Error& e) {
    broken("what was printed does not read back", printed + e.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1 << 14) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  round_trip(text, [](const std::string& t) { return ir::parse_graph(t); });
  round_trip(text, [](const std::string& t) { return ir::nest::parse_module(t); });
  return 0;
}
