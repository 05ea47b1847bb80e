// See key.hpp. Members are written one after the other, lists with their length ahead, so that no two differ in the
// text and not in the bytes.
#include "ir/nest/key.hpp"

#include <cstring>

namespace tessera::ir::nest {

namespace {

class Writer {
 public:
  std::string key(const Function& f) {
    put(f.essay), put(f.result), put(f.has_result), put(f.local);
    put(f.parameters.size());
    for (const Function::Parameter& p : f.parameters)
      put(p.name), put(p.type), put(p.constant_elements), put(p.pointers);
    put(f.body);
    return std::move(out_);
  }

 private:
  void number(std::uint64_t n) {
    // Most are small.
    while (n >= 0x80) out_ += static_cast<char>(n | 0x80), n >>= 7;
    out_ += static_cast<char>(n);
  }
  void put(bool b) { out_ += b ? '\1' : '\0'; }
  void put(std::size_t n) { number(n); }
  void put(tessera::i64 n) { number(static_cast<std::uint64_t>(n) << 1 ^ static_cast<std::uint64_t>(n >> 63)); }
  void put(const std::string& text) { number(text.size()), out_ += text; }
  void put(const Type& t) {
    out_ += static_cast<char>(static_cast<int>(t.lane) * 2 + (t.pointer ? 1 : 0));
    number(static_cast<std::uint64_t>(t.lanes));
  }
  void put(const Value& v) {
    if (v == nullptr) {
      out_ += '\xff';
      return;
    }
    out_ += static_cast<char>(v->kind), out_ += static_cast<char>(v->op);
    put(v->type), put(v->i), put(v->phase);
    if (v->kind == Kind::real) {
      char bytes[sizeof(double)];
      std::memcpy(bytes, &v->f, sizeof bytes);
      out_.append(bytes, sizeof bytes);
    }
    put(v->name);
    put(v->args.size());
    for (const Value& a : v->args) put(a);
  }
  void put(const std::vector<Statement>& list) {
    put(list.size());
    for (const Statement& s : list) {
      out_ += static_cast<char>(s.kind), put(s.streaming);
      put(s.name), put(s.type), put(s.i);
      put(s.values.size());
      for (const Value& v : s.values) put(v);
      put(s.body), put(s.orelse);
    }
  }

  std::string out_;
};

}  // namespace

std::string key_of(const Function& function) {
  return Writer().key(function);
}

}  // namespace tessera::ir::nest
