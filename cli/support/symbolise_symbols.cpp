// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sweeps over the begins of the symbols, with a heap of those that span the position.
#include "cli/support/symbolise_symbols.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "cli/support/symbolise_ranges.hpp"

namespace ashlar::cli {

namespace {

struct symbol {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< Of a label: the end of its section.
  const char* name = nullptr;
  bool is_label = false;  ///< It has no size.
  bool is_local = false;
  int binding = 0;  ///< The stronger, the greater.
  int number = 0;   ///< In the table.
};

/// Returns: whether `b` names an address that both span.
struct is_worse {
  static auto rank(const symbol& s) { return std::tuple(s.is_local, ~s.begin, -s.binding, s.end - s.begin, s.number); }
  bool operator()(const symbol* a, const symbol* b) const { return rank(*a) > rank(*b); }
};

int strength(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL: return 3;
    case STB_WEAK: return 2;
    case STB_LOCAL: return 1;
    default: return 0;
  }
}

bool has_no_code(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE || type == STT_TLS;
}

/// Returns: the end of a section, as an address less the bias of its file; 0 if there is no such section.
std::uint64_t section_end(Elf* elf, std::size_t section) {
  GElf_Shdr header;
  Elf_Scn* const found = section >= SHN_LORESERVE ? nullptr : ::elf_getscn(elf, section);
  return found == nullptr || ::gelf_getshdr(found, &header) == nullptr ? 0 : header.sh_addr + header.sh_size;
}

std::vector<symbol> read_symbols(Dwfl_Module* module) {
  const int count = std::max(::dwfl_module_getsymtab(module), 0);
  std::vector<symbol> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i < count; ++i) {
    GElf_Sym entry;
    GElf_Addr begin = 0;
    GElf_Word section = 0;
    Elf* elf = nullptr;
    Dwarf_Addr bias = 0;
    const char* const name = ::dwfl_module_getsym_info(module, i, &entry, &begin, &section, &elf, &bias);
    if (name == nullptr || *name == '\0' || has_no_code(entry)) continue;
    const bool is_label = entry.st_size == 0;
    const std::uint64_t end = is_label ? section_end(elf, section) + bias : begin + entry.st_size;
    if (end > begin) all.push_back({begin, end, name, is_label, strength(entry) == 1, strength(entry), i});
  }
  std::sort(all.begin(), all.end(), [](const symbol& a, const symbol& b) {
    return std::tuple(a.begin, a.is_label, a.is_local, a.number) <
           std::tuple(b.begin, b.is_label, b.is_local, b.number);
  });
  return all;
}

/// Emits the ranges up to a position, with the symbols that begin before it.
template <class Emit>
class sweep {
public:
  explicit sweep(Emit emit) : emit_(emit) {}

  void add(const symbol& next) {
    advance(next.begin);
    if (next.is_label && next.begin < spanned_) return;
    if (next.is_label && label_ != nullptr && label_->begin == next.begin) return;
    label_ = next.is_label ? &next : nullptr;
    if (next.is_label) return;
    open_.push(&next);
    spanned_ = std::max(spanned_, next.end);
  }

  void advance(std::uint64_t to) {
    while (at_ < to && !open_.empty()) {
      const symbol& best = *open_.top();
      if (best.end <= at_) open_.pop();
      else emit_to(std::min(best.end, to), best.name);
    }
    if (at_ < to && label_ != nullptr && label_->end > at_) emit_to(std::min(label_->end, to), label_->name);
    at_ = std::max(at_, to);
  }

private:
  void emit_to(std::uint64_t end, const char* name) {
    emit_(at_, end, name);
    at_ = end;
  }

  Emit emit_;
  std::uint64_t at_ = 0;
  std::uint64_t spanned_ = 0;  // the greatest end so far: a label before it is inside of a symbol
  const symbol* label_ = nullptr;
  std::priority_queue<const symbol*, std::vector<const symbol*>, is_worse> open_;
};

}  // namespace

symbol_index::symbol_index(Dwfl_Module* module) {
  const std::vector<symbol> symbols = read_symbols(module);
  ranges_.reserve(symbols.size());
  sweep along(
      [this](std::uint64_t begin, std::uint64_t end, const char* name) { ranges_.push_back({begin, end, name}); });
  for (const symbol& each : symbols) along.add(each);
  along.advance(std::numeric_limits<std::uint64_t>::max());
}

const char* symbol_index::at(std::uint64_t address) const {
  const named_range* const found = range_with(ranges_, address);
  return found == nullptr ? nullptr : found->name;
}

}  // namespace ashlar::cli
