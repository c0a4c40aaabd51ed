// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives the addresses of each symbol its name, the better symbols over the worse.
#include "cli/support/symbolise_symbols.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

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

/// Of two symbols that span an address, the one of the lower rank names it.
auto rank(const symbol& s) { return std::tuple(s.is_local, ~s.begin, -s.binding, s.end - s.begin, s.number); }

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

/// Effects: ends each label where the next symbol begins; one inside of a symbol, and the second one at its place, are
/// empty. Expects: `all` is in order.
void end_labels(std::vector<symbol>& all) {
  std::uint64_t spanned = 0, next = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = all.size(); i-- > 0;) {
    if (i + 1 != all.size() && all[i + 1].begin != all[i].begin) next = all[i + 1].begin;
    if (all[i].is_label) all[i].end = std::min(all[i].end, next);
  }
  for (symbol& each : all) {
    if (each.is_label && each.begin < spanned) each.end = each.begin;
    spanned = std::max(spanned, each.is_label ? each.begin + 1 : each.end);
  }
}

}  // namespace

symbol_index::symbol_index(Dwfl_Module* module) {
  std::vector<symbol> symbols = read_symbols(module);
  end_labels(symbols);
  std::sort(symbols.begin(), symbols.end(), [](const symbol& a, const symbol& b) {
    return std::pair(b.is_label, rank(b)) < std::pair(a.is_label, rank(a));
  });
  for (const symbol& each : symbols) {
    if (each.begin >= each.end) continue;
    const char* const behind = at(each.end);
    names_.erase(names_.lower_bound(each.begin), names_.upper_bound(each.end));
    names_[each.begin] = each.name;
    names_[each.end] = behind;
  }
}

const char* symbol_index::at(std::uint64_t address) const {
  const auto above = names_.upper_bound(address);
  return above == names_.begin() ? nullptr : std::prev(above)->second;
}

}  // namespace ashlar::cli
