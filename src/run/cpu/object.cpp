// The linker for one relocatable x86-64 object. Order of work: check the header, place the sections by permission,
// give every symbol an address, apply the relocations, then set the permissions.
#include "run/cpu/object.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/process/fork.hpp"
#include "tessera/error.hpp"

namespace tessera::run::cpu {
namespace {

constexpr std::size_t max_image = std::size_t{1} << 30;  // far below what 32-bit displacements reach
constexpr std::size_t jump_bytes = 8;                    // jmp *displacement(%rip), padded

[[noreturn]] void malformed(std::string_view what) {
  throw Error(ErrorClass::internal, fmt::format("compiled object cannot be linked: {}", what));
}

std::size_t round_up(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

// The three kinds of pages, in the order in which they lie in the mapping.
enum Kind { code, constant, writable, kinds };

struct Place {
  bool used = false;
  Kind kind = code;
  std::size_t offset = 0;  // from the start of the mapping
};

class Linker {
 public:
  Linker(std::string_view object, const LinkedObject::Resolve& resolve) : object_(object), resolve_(resolve) {
    read_header();
    place_sections();
  }

  std::size_t size() const { return size_; }

  void fill(std::byte* base) {
    base_ = base;
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (places_[i].used && sections_[i].sh_type != SHT_NOBITS && sections_[i].sh_size != 0)
        std::memcpy(base + places_[i].offset, bytes(sections_[i]).data(), sections_[i].sh_size);
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (sections_[i].sh_type == SHT_RELA && sections_[i].sh_info < sections_.size() &&
          places_[sections_[i].sh_info].used)
        relocate(sections_[i]);
  }

  void protect() const {
    constexpr int permission[kinds] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int k = 0; k < kinds; ++k)
      if (begin_[k + 1] > begin_[k] && mprotect(base_ + begin_[k], begin_[k + 1] - begin_[k], permission[k]) != 0)
        malformed("the system refuses executable memory");
  }

  std::map<std::string, void*, std::less<>> globals() const {
    std::map<std::string, void*, std::less<>> result;
    for (const Elf64_Sym& s : symbols_)
      if (ELF64_ST_BIND(s.st_info) != STB_LOCAL && s.st_shndx != SHN_UNDEF && s.st_name != 0)
        result.emplace(name(s), base_ + defined_offset(s));
    return result;
  }

 private:
  // A table of `count` records at `offset`, copied out because nothing promises alignment.
  template <class T>
  std::vector<T> table(std::uint64_t offset, std::uint64_t size) const {
    if (offset > object_.size() || size > object_.size() - offset || size % sizeof(T) != 0)
      malformed("a table lies outside of the file");
    std::vector<T> result(size / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), object_.data() + offset, size);
    return result;
  }

  std::string_view bytes(const Elf64_Shdr& s) const {
    if (s.sh_offset > object_.size() || s.sh_size > object_.size() - s.sh_offset)
      malformed("a section lies outside of the file");
    return object_.substr(s.sh_offset, s.sh_size);
  }

  void read_header() {
    Elf64_Ehdr header;
    if (object_.size() < sizeof header) malformed("the file is shorter than its header");
    std::memcpy(&header, object_.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL || header.e_machine != EM_X86_64 ||
        header.e_shentsize != sizeof(Elf64_Shdr))
      malformed("not a relocatable x86-64 ELF object");
    sections_ = table<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      if (s.sh_link >= sections_.size()) malformed("the symbol table names no string table");
      symbols_ = table<Elf64_Sym>(s.sh_offset, s.sh_size);
      names_ = bytes(sections_[s.sh_link]);
      if (names_.empty() || names_.back() != '\0') malformed("the string table does not end");
    }
  }

  const char* name(const Elf64_Sym& s) const {
    if (s.st_name >= names_.size()) malformed("a symbol's name lies outside of the string table");
    return names_.data() + s.st_name;
  }

  // Unwind tables are left out: nothing throws through a kernel.
  static bool wanted(const Elf64_Shdr& s) {
    return (s.sh_flags & SHF_ALLOC) != 0 && s.sh_type != SHT_X86_64_UNWIND && s.sh_type != SHT_NOTE;
  }

  void place_sections() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    places_.resize(sections_.size());
    for (const Elf64_Shdr& s : sections_)
      if (wanted(s) && (s.sh_flags & SHF_TLS) != 0) malformed("thread-local variables are not supported");
    std::size_t at = 0;
    for (int kind = code; kind < kinds; ++kind) {
      begin_[kind] = at;
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        const Elf64_Shdr& s = sections_[i];
        const Kind own = (s.sh_flags & SHF_EXECINSTR) != 0 ? code : (s.sh_flags & SHF_WRITE) != 0 ? writable : constant;
        if (!wanted(s) || own != kind) continue;
        const std::uint64_t align = s.sh_addralign == 0 ? 1 : s.sh_addralign;
        if (align > page || s.sh_size > max_image) malformed("a section is too large");
        at = round_up(at, align);
        places_[i] = {true, own, at};
        at += s.sh_size;
        if (at > max_image) malformed("the image is too large");
      }
      // Every symbol may need a jump behind the code and an address behind the constants.
      if (kind == code) {
        jumps_ = at = round_up(at, jump_bytes);
        at += symbols_.size() * jump_bytes;
      } else if (kind == constant) {
        addresses_ = at = round_up(at, sizeof(void*));
        at += symbols_.size() * sizeof(void*);
      }
      at = round_up(at, page);
    }
    begin_[kinds] = size_ = at;
  }

  std::size_t defined_offset(const Elf64_Sym& s) const {
    if (s.st_shndx >= sections_.size() || !places_[s.st_shndx].used)
      malformed(fmt::format("symbol '{}' lies in no loaded section", name(s)));
    if (s.st_value > sections_[s.st_shndx].sh_size)
      malformed(fmt::format("symbol '{}' lies outside of its section", name(s)));
    return places_[s.st_shndx].offset + s.st_value;
  }

  std::uint64_t address_of(std::size_t index) const {
    const Elf64_Sym& s = symbols_[index];
    if (s.st_shndx == SHN_ABS) return s.st_value;
    if (s.st_shndx != SHN_UNDEF) return reinterpret_cast<std::uint64_t>(base_) + defined_offset(s);
    const void* found = resolve_(name(s));
    if (found == nullptr && ELF64_ST_BIND(s.st_info) != STB_WEAK)
      malformed(fmt::format("'{}' is not known to this process", name(s)));
    return reinterpret_cast<std::uint64_t>(found);
  }

  // Where the address of a symbol is stored.
  std::uint64_t slot_of(std::size_t index) const {
    const std::uint64_t value = address_of(index);
    std::byte* slot = base_ + addresses_ + index * sizeof(void*);
    std::memcpy(slot, &value, sizeof value);
    return reinterpret_cast<std::uint64_t>(slot);
  }

  // A jump to a function that may lie anywhere.
  std::uint64_t jump_of(std::size_t index) const {
    std::byte* jump = base_ + jumps_ + index * jump_bytes;
    const std::int64_t displacement = static_cast<std::int64_t>(slot_of(index)) -
                                      static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(jump) + 6);
    const auto low = static_cast<std::int32_t>(displacement);
    const unsigned char opcode[2] = {0xff, 0x25};
    std::memcpy(jump, opcode, sizeof opcode);
    std::memcpy(jump + 2, &low, sizeof low);
    return reinterpret_cast<std::uint64_t>(jump);
  }

  void relocate(const Elf64_Shdr& section) {
    const Elf64_Shdr& target = sections_[section.sh_info];
    for (const Elf64_Rela& r : table<Elf64_Rela>(section.sh_offset, section.sh_size)) {
      const std::size_t index = ELF64_R_SYM(r.r_info);
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info));
      if (type == R_X86_64_NONE) continue;
      if (index >= symbols_.size()) malformed("a relocation names no symbol");
      const std::size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
      if (target.sh_type == SHT_NOBITS || r.r_offset > target.sh_size || target.sh_size - r.r_offset < width)
        malformed("a relocation lies outside of its section");
      std::byte* at = base_ + places_[section.sh_info].offset + r.r_offset;
      const auto here = reinterpret_cast<std::uint64_t>(at);
      const auto addend = static_cast<std::uint64_t>(r.r_addend);
      const bool outside = symbols_[index].st_shndx == SHN_UNDEF;
      std::uint64_t value = 0;
      switch (type) {
        case R_X86_64_64:
          value = address_of(index) + addend;
          break;
        case R_X86_64_PC64:
          value = address_of(index) + addend - here;
          break;
        case R_X86_64_PC32:  // of data, which may not lie far away: it is read through its address, below
          value = address_of(index) + addend - here;
          break;
        case R_X86_64_PLT32:
          value = (outside ? jump_of(index) : address_of(index)) + addend - here;
          break;
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
          value = slot_of(index) + addend - here;
          break;
        default:
          malformed(fmt::format("relocation kind {} is not one of position-independent code", type));
      }
      if (width == 4) {
        const auto wide = static_cast<std::int64_t>(value);
        const auto narrow = static_cast<std::int32_t>(wide);
        if (narrow != wide) malformed("a displacement does not fit 32 bits");
        std::memcpy(at, &narrow, sizeof narrow);
      } else {
        std::memcpy(at, &value, sizeof value);
      }
    }
  }

  std::string_view object_, names_;
  const LinkedObject::Resolve& resolve_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<Place> places_;
  std::size_t begin_[kinds + 1] = {};
  std::size_t jumps_ = 0, addresses_ = 0, size_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace

bool LinkedObject::supported() {
#if defined(__x86_64__) && defined(__linux__)
  return true;
#else
  return false;
#endif
}

LinkedObject::LinkedObject(std::string_view object, const Resolve& resolve) {
  if (!supported()) malformed("objects are linked on x86-64 Linux only");
  Linker linker(object, resolve);
  size_ = linker.size();
  if (size_ == 0) malformed("the object is empty");
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) malformed(fmt::format("no memory for {} bytes of code", size_));
  base_ = static_cast<std::byte*>(memory);
  try {
    linker.fill(base_);
    linker.protect();
    symbols_ = linker.globals();
  } catch (...) {
    munmap(base_, size_);
    throw;
  }
}

LinkedObject::~LinkedObject() {
  munmap(base_, size_);
}

void* LinkedObject::symbol(std::string_view name) const {
  auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : found->second;
}

// One row per function, so that a kernel finds them even where the process exports nothing (a static build, a module
// opened privately by an interpreter). The rest (helpers of the compiler's run-time library) is asked of the process.
// clang-format off
#define TESSERA_UNARY(X)                                                                                          \
  X(exp) X(exp2) X(log) X(log2) X(log10) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh)     \
  X(sqrt) X(cbrt) X(fabs) X(floor) X(ceil) X(round) X(trunc) X(rint) X(nearbyint)
#define TESSERA_BINARY(X) X(pow) X(atan2) X(fmod) X(fmin) X(fmax) X(hypot)
// clang-format on

void* process_symbol(const char* name) {
  static constinit base::Once<std::map<std::string_view, void*>> made;
  const std::map<std::string_view, void*>& known = made.get([] {
    std::map<std::string_view, void*> m;
    const auto add = [&](std::string_view n, auto* f) { m.emplace(n, reinterpret_cast<void*>(f)); };
    add("memcpy", static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memcpy));
    add("memmove", static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memmove));
    add("memset", static_cast<void* (*)(void*, int, std::size_t)>(&std::memset));
    add("memcmp", static_cast<int (*)(const void*, const void*, std::size_t)>(&std::memcmp));
    add("malloc", static_cast<void* (*)(std::size_t)>(&std::malloc));
    add("free", static_cast<void (*)(void*)>(&std::free));
    add("fma", static_cast<double (*)(double, double, double)>(&::fma));
    add("fmaf", static_cast<float (*)(float, float, float)>(&::fmaf));
#define TESSERA_ADD(function)                                   \
  add(#function, static_cast<double (*)(double)>(&::function)); \
  add(#function "f", static_cast<float (*)(float)>(&::function##f));
    TESSERA_UNARY(TESSERA_ADD)
#undef TESSERA_ADD
#define TESSERA_ADD(function)                                           \
  add(#function, static_cast<double (*)(double, double)>(&::function)); \
  add(#function "f", static_cast<float (*)(float, float)>(&::function##f));
    TESSERA_BINARY(TESSERA_ADD)
#undef TESSERA_ADD
    return m;
  });
  auto found = known.find(name);
  return found != known.end() ? found->second : dlsym(RTLD_DEFAULT, name);
}

}  // namespace tessera::run::cpu
