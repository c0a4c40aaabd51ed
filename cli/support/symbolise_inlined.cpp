// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks the scopes around an address inwards, from its function.
#include "cli/support/symbolise_inlined.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "cli/support/symbolise_name.hpp"

namespace ashlar::cli {

namespace {

std::string attribute_text(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* text = ::dwarf_formstring(::dwarf_attr_integrate(die, name, &attribute));
  return text == nullptr ? "" : text;
}

/// Returns: the declaration of an inlined function.
Dwarf_Die declaration_of(Dwarf_Die die) {
  for (const unsigned name : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if (::dwarf_formref_die(::dwarf_attr(&die, name, &attribute), &next) != nullptr) die = next;
  }
  return die;
}

/// Returns: the name in its namespaces, classes and functions. GCC leaves out the symbol of a function that it only
/// inlines.
std::string qualified_name(Dwarf_Die* inlined) {
  Dwarf_Die declaration = declaration_of(*inlined);
  Dwarf_Die* found = nullptr;
  const int count = ::dwarf_getscopes_die(&declaration, &found);
  const std::unique_ptr<Dwarf_Die, void (*)(void*)> scopes(found, std::free);
  std::string name = attribute_text(inlined, DW_AT_name);
  if (name.empty() || count <= 0) return name;
  for (Dwarf_Die& scope : std::span(scopes.get(), static_cast<std::size_t>(count)).subspan(1)) {
    const int tag = ::dwarf_tag(&scope);
    const bool is_function = tag == DW_TAG_subprogram;  // around a lambda
    if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type && !is_function) continue;
    const char* const outer = ::dwarf_diename(&scope);
    name = std::string(outer == nullptr ? "(anonymous namespace)" : outer) + "::" + name;
  }
  return name;
}

void name_inlined(source_place& place, Dwarf_Die* die) {
  std::string symbol = attribute_text(die, DW_AT_linkage_name);
  if (symbol.empty()) symbol = qualified_name(die);
  if (symbol.empty()) symbol = "(inlined)";
  place.function = short_function_name(symbol.c_str());
  place.whole = whole_function_name(symbol.c_str());
}

/// Effects: gives `place` the line at which the function of `die` is inlined.
void place_call(source_place& place, Dwarf_Die* die, Dwarf_Die* unit) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0, file = 0;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  place.line = 0;
  if (::dwarf_formudata(::dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0) return;
  if (::dwarf_formudata(::dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0) return;
  if (::dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return;
  const char* path = ::dwarf_filesrc(files, file, nullptr, nullptr);
  if (path == nullptr) return;
  place.file = std::filesystem::path(path).filename().string();
  place.line = static_cast<int>(line);
}

/// Returns: the scope directly in `parent` with machine code at `pc`.
std::optional<Dwarf_Die> scope_in(Dwarf_Die* parent, std::uint64_t pc) {
  Dwarf_Die die;
  for (int status = ::dwarf_child(parent, &die); status == 0; status = ::dwarf_siblingof(&die, &die)) {
    const int tag = ::dwarf_tag(&die);
    const bool is_scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                          tag == DW_TAG_catch_block;
    if (is_scope && ::dwarf_haspc(&die, pc) > 0) return die;
  }
  return std::nullopt;
}

}  // namespace

std::vector<source_place> with_inlined(debug_units& units, const debug_unit& unit, std::uint64_t address,
                                       const source_place& outermost) {
  std::vector<Dwarf_Die> inlined;  // outermost first
  Dwarf_Die* const function = units.function_at(unit, address);
  std::optional<Dwarf_Die> scope;
  if (function != nullptr) scope = *function;
  while (scope && (scope = scope_in(&*scope, address - unit.bias)))
    if (::dwarf_tag(&*scope) == DW_TAG_inlined_subroutine) inlined.push_back(*scope);
  std::vector<source_place> all = {outermost};
  for (auto die = inlined.rbegin(); die != inlined.rend(); ++die) {
    name_inlined(all.back(), &*die);
    all.push_back(outermost);
    place_call(all.back(), &*die, units.functions_of(unit));
  }
  return all;
}

}  // namespace ashlar::cli
