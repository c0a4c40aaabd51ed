// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a demangled name from left to right; template arguments are read in their own turn.
#include "cli/support/function_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <utility>

#include <cxxabi.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t longest_arguments = 40;  // columns of a list that is shown
constexpr std::string_view lambda = "{lambda(";

/// Returns: the position of the bracket that closes the one at `from`; the last position if none does.
std::size_t closing(std::string_view text, std::size_t from) {
  const char open = text[from], close = open == '<' ? '>' : ')';
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && (i == 0 || text[i - 1] != '-') && --depth == 0) return i;
  }
  return text.size() - 1;
}

std::vector<std::string_view> arguments_in(std::string_view list) {
  std::vector<std::string_view> all;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i == list.size() ? ',' : list[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if ((c == '>' && list[i - 1] != '-') || c == ')' || c == '}') --depth;
    if (c != ',' || (depth != 0 && i != list.size())) continue;
    std::string_view each = list.substr(from, i - from);
    while (each.starts_with(' ')) each.remove_prefix(1);
    while (each.ends_with(' ')) each.remove_suffix(1);
    if (!each.empty()) all.push_back(each);
    from = i + 1;
  }
  return all;
}

/// The last arguments of the library's templates, where they are the usual ones.
bool is_usual(std::string_view argument) {
  static constexpr std::array<std::string_view, 6> usual = {
      "std::allocator<", "std::char_traits<", "std::less<", "std::hash<", "std::equal_to<", "std::default_delete<"};
  return std::ranges::any_of(usual, [&](std::string_view u) { return argument.starts_with(u); });
}

/// Returns: "string" for "basic_string" of char; empty if there is no such name.
std::string character_name(std::string_view name, std::string_view character) {
  constexpr std::string_view basic = "std::basic_";
  if (!name.starts_with(basic)) return "";
  const std::string rest(name.substr(basic.size()));
  return character == "char" ? "std::" + rest : character == "wchar_t" ? "std::w" + rest : "";
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
}

/// Returns: the text of a type as programs spell it.
std::string usual_type(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '<' || kept.ends_with("operator")) {
      kept += text[i];
      continue;
    }
    const std::size_t end = closing(text, i);
    std::vector<std::string> all;
    for (const std::string_view each : arguments_in(text.substr(i + 1, end - i - 1))) all.push_back(usual_type(each));
    while (all.size() > 1 && is_usual(all.back())) all.pop_back();
    const std::size_t name = kept.find_last_of(" ,(&*") + 1;  // 0 if there is none
    const std::string usual = all.size() == 1 ? character_name(kept.substr(name), all.front()) : "";
    if (usual.empty()) kept += "<" + joined(all, ", ") + ">";
    else kept.replace(name, kept.npos, usual);
    i = end;
  }
  return kept;
}

bool is_of_library(std::string_view name) { return name.starts_with("std::") || name.starts_with("__gnu_cxx::"); }

/// Reads a demangled function. `longest`: of template arguments that are shown.
class name_reader {
public:
  name_reader(std::string whole, std::size_t longest) : whole_(std::move(whole)), longest_(longest) {
    for (const std::string_view unnamed : {"__cxx11::", "__1::", "[abi:cxx11]", "(anonymous namespace)::"})
      replace_all(whole_, unnamed, "");
  }

  [[nodiscard]] std::string read() {
    std::size_t i = 0;
    while (i < whole_.size() && step(i)) {
    }
    return kept_;
  }

private:
  [[nodiscard]] bool is_operator() const { return kept_.ends_with("operator") || kept_.ends_with("operator<"); }

  /// Returns: whether the name goes on.
  bool step(std::size_t& i) {
    const char c = whole_[i];
    if (c == '<' && !is_operator()) return take_arguments(i), true;
    if (whole_.compare(i, lambda.size(), lambda) == 0) {
      i = closing(whole_, i + lambda.size() - 1) + 1;
      kept_ += "{lambda";
      return true;
    }
    if (c == '(' && whole_.compare(i, 2, "()") == 0 && is_operator()) {
      kept_ += "()";
      i += 2;
      return true;
    }
    if (c == '(' && (kept_ == "decltype" || kept_ == "decltype ")) {  // a return type
      i = closing(whole_, i) + 1;
      return true;
    }
    if (c == '(') return false;
    kept_ += c;
    const bool is_return_type = kept_ != "decltype " && kept_.find("operator") == kept_.npos;
    if (c == ' ' && is_return_type) kept_.clear();
    ++i;
    return true;
  }

  void take_arguments(std::size_t& i) {
    const std::size_t end = closing(whole_, i);
    const std::string list = usual_type(std::string_view(whole_).substr(i, end + 1 - i));
    const bool is_shown = list.size() <= longest_ && (longest_ != longest_arguments || !is_of_library(kept_));
    kept_ += is_shown ? list : "<…>";
    i = end + 1;
  }

  std::string whole_;
  std::size_t longest_;
  std::string kept_;
};

/// Returns: the name without the suffixes of copies that compilers make of a function, and without its version.
std::string without_copy(std::string name) {
  static constexpr std::array<std::string_view, 7> copies = {".isra.",     ".constprop.", ".part.", ".cold",
                                                             ".lto_priv.", ".llvm.",      "@"};
  for (const std::string_view copy : copies)
    if (const std::size_t at = name.find(copy); at != name.npos && at != 0) name.erase(at);
  return name;
}

/// Returns: the name without the hash that Rust's compiler ends it with.
std::string without_hash(std::string name) {
  constexpr std::size_t digits = 16;
  const std::size_t at = name.rfind("::h");
  if (at == name.npos || name.size() - at != digits + 3) return name;
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 3, name.end(), is_digit)) name.erase(at);
  return name;
}

/// Returns: the last part of a name in its namespaces, in lower case.
std::string last_part(const std::string& function) {
  std::string name = function_family(function);
  if (const std::size_t at = name.rfind("::"); at != name.npos) name.erase(0, at + 2);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

std::string whole_function_name(const char* symbol) {
  if (symbol[0] != '_') return symbol;  // a function of C; some names are types to the demangler
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

std::string function_family(const std::string& function) {
  const std::string kept = name_reader(function, 0).read();
  return kept.empty() ? function : kept;
}

std::string long_function_name(const std::string& whole) {
  const std::string kept = name_reader(whole, std::string::npos).read();
  return kept.empty() ? whole : kept;
}

std::string short_function_name(const std::string& whole) {
  const std::string original = without_hash(without_copy(whole));
  const std::string kept = name_reader(original, longest_arguments).read();
  return kept.empty() ? original : kept;
}

bool is_allocation_name(const std::string& function) {
  static constexpr std::array<std::string_view, 9> words = {"malloc",  "calloc", "realloc",   "zalloc",      "strdup",
                                                            "strndup", "memdup", "new_array", "operator new"};
  static constexpr std::array<std::string_view, 6> ends = {"alloc",    "alloc_",     "alloc0",
                                                           "allocate", "_alloc_mem", "newmem"};
  const std::string name = last_part(function);
  return std::ranges::any_of(words, [&](std::string_view w) { return name.find(w) != name.npos; }) ||
         (std::ranges::any_of(ends, [&](std::string_view e) { return name.ends_with(e); }) &&
          !name.ends_with("dealloc"));
}

}  // namespace ashlar::cli
