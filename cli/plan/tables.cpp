// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan as tables that a program compiles in, and as figures.
#include <stdexcept>

#include <fmt/format.h>

#include "cli/plan/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

std::uint64_t base_alignment(const plan::problem& p) {
  std::uint64_t most = 1;
  for (const plan::buffer& b : p.buffers) most = std::max(most, b.alignment);
  return most;
}

std::string rows(const plan::problem& p, const plan::layout& l) {
  std::string out;
  for (std::size_t i = 0; i < p.buffers.size(); ++i)
    out += "    {" + std::to_string(p.buffers[i].id) + "u, " + std::to_string(l.offsets[i]) + "u, " +
           std::to_string(p.buffers[i].size) + "u},\n";
  return out;
}

/// Numbers in braces, several in a line.
std::string list(const std::vector<std::uint64_t>& numbers, const char* end = ",\n") {
  std::string out = "    {";
  std::size_t line = out.size();
  for (const std::uint64_t n : numbers) {
    if (line > 100) out += "\n     ", line = 5;
    const std::string text = std::to_string(n) + "u, ";
    out += text;
    line += text.size();
  }
  if (!numbers.empty()) out.resize(out.size() - 2);
  return out + "}" + end;
}

std::string constants(const plan_names& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += "inline constexpr std::size_t " + identifier_of(names[i]) + " = " + std::to_string(i) + ";\n";
  return out;
}

std::string enumerator(const std::string& name, std::size_t value) {
  return "  " + name + " = " + std::to_string(value) + ",\n";
}

std::string enumerators(const plan_names& names, const std::string& prefix) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string identifier = identifier_of(names[i]);
    if (identifier.front() == '_') identifier.erase(0, 1);  // after the prefix a digit may begin the rest
    out += enumerator(prefix + identifier, i);
  }
  return out;
}

}  // namespace

std::string plan_as_header(const plan::problem& p, const plan::layout& l, const plan_names& names,
                           const std::string& name, bool steps) {
  const std::string count = std::to_string(p.buffers.size());
  std::vector<std::uint64_t> ids, sizes, codes;
  for (const plan::buffer& b : p.buffers) {
    ids.push_back(b.id);
    sizes.push_back(b.size);
  }
  std::string out =
      std::string("// Planned by `ashlar plan`. Do not edit: plan again when sizes or lives change.\n#pragma once\n\n"
                  "#include <array>\n") +
      (names.empty() ? "" : "#include <cstddef>\n") + "#include <cstdint>\n\nnamespace " + name +
      " {\n\nstruct table {\n  std::array<std::uint64_t, " + count + "> ids, offsets, sizes;\n" +
      "  std::uint64_t height, alignment;\n};\n\n" + "inline constexpr table layout{\n" + list(ids) + list(l.offsets) +
      list(sizes) + "    " + std::to_string(l.height) + "u, " + std::to_string(base_alignment(p)) + "u};\n";
  if (steps) {
    for (const plan::step s : plan::steps_of(p.buffers)) codes.push_back(s.code);
    out += "\n// Position of the buffer times two, one more where it dies.\n"
           "inline constexpr std::array<std::uint32_t, " +
           std::to_string(codes.size()) + "> steps{\n" + list(codes, "") + "};\n";
  }
  if (!names.empty())
    out += "\n// Positions by name.\nnamespace buffer {\n" + constants(names) + "}  // namespace buffer\n";
  return out + "\n}  // namespace " + name + "\n";
}

std::string plan_as_c(const plan::problem& p, const plan::layout& l, const plan_names& names, const std::string& name) {
  return "/* Planned by `ashlar plan`. Do not edit: plan again when sizes or lives change. */\n#include <stdint.h>\n\n"
         "enum { " +
         name + "_count = " + std::to_string(p.buffers.size()) + " };\n" + "static const uint64_t " + name +
         "_height = " + std::to_string(l.height) + "u;\nstatic const uint64_t " + name +
         "_alignment = " + std::to_string(base_alignment(p)) + "u;\n" +
         "static const struct {\n  uint64_t id, offset, size;\n} " + name + "_rows[] = {\n" +
         (p.buffers.empty() ? "    {0u, 0u, 0u},\n" : rows(p, l)) + "};\n" +
         (names.empty() ? "" : "/* Positions by name. */\nenum {\n" + enumerators(names, name + "_buffer_") + "};\n");
}

std::string plan_figures(const plan::problem& p, const plan::layout& l) {
  std::uint64_t sum = 0;
  for (const plan::buffer& b : p.buffers) sum += b.size;
  const double ratio = l.lower_bound == 0 ? 1 : static_cast<double>(l.height) / static_cast<double>(l.lower_bound);
  return fmt::format("buffers     {}\nbytes       {}\nheight      {}\nlower bound {} (height is {:.5f} of it)\n",
                     p.buffers.size(), sum, l.height, l.lower_bound, ratio) +
         fmt::format("status      {}, proof: {}\npeak        moment {}, {} live\n", name_of(l.status), name_of(l.proof),
                     l.peak_moment, counted(l.peak_live.size(), "buffer")) +
         fmt::format("greedy      {}\npartitions  {}\nsections    {}\nnodes       {}, known to fail: {}\n",
                     l.stats.greedy_height, l.stats.partitions, l.stats.sections, l.stats.nodes, l.stats.table_hits);
}

namespace {

// Each is surrounded by blanks.
constexpr std::string_view keywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
    "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
    "struct switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq NULL ";

// Macros that some compiler predefines for some system unless it keeps to the standard; and one of <cstddef>.
constexpr std::string_view macros =
    " i386 linux unix sun sparc mips MIPSEB MIPSEL hppa hpux sgi vax m68k mc68000 ultrix PPC MSDOS WIN32 WIN64 "
    "WINNT offsetof ";

bool is_among(std::string_view words, const std::string& word) {
  return words.find(' ' + word + ' ') != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string clash_of(const std::string& one, const std::string& other, const std::string& identifier) {
  return "\"" + one + "\" and \"" + other + "\" both become " + identifier + " in the tables: rename one";
}

}  // namespace

std::string name_of(const plan::problem& p, const std::vector<std::string>& names, std::size_t at) {
  return names.empty() ? std::to_string(p.buffers[at].id) : names[at];
}

bool is_taken_word(const std::string& word) { return is_among(keywords, word) || is_among(macros, word); }

std::string identifier_of(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (is_letter(c) || is_digit(c)) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  if (!out.empty() && out.back() == '_') out.pop_back();
  if (!out.empty() && is_digit(out.front())) out.insert(0, 1, '_');
  if (is_taken_word(out)) out += '_';
  return out;
}

void check_identifiers(const std::vector<std::string>& names) {
  std::map<std::string, std::string> taken;
  for (const std::string& name : names) {
    const std::string identifier = identifier_of(name);
    if (identifier.empty()) throw std::runtime_error("cannot make an identifier of \"" + name + "\"");
    const auto [other, fresh] = taken.emplace(identifier, name);
    if (!fresh) throw std::runtime_error(clash_of(other->second, name, identifier));
  }
}

}  // namespace ashlar::cli
