// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes identifiers, and finds those that collide.
#include "cli/plan/output.hpp"

#include <map>
#include <stdexcept>
#include <string_view>

namespace ashlar::cli {

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
