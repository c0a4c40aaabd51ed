// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Demangles and shortens function names.
#include "cli/support/symbolise_name.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>

#include <cxxabi.h>

namespace ashlar::cli {

namespace {

constexpr std::string_view anonymous = "(anonymous namespace)";

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

/// Returns: the position that closes the bracket opened at `from`.
std::size_t closing(const std::string& text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && text[i - 1] != '-' && --depth == 0) return i;
  }
  return text.size() - 1;
}

std::string without_arguments(const std::string& name) {
  std::string kept;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_operator = kept.ends_with("operator") || kept.ends_with("operator<");
    if (name[i] == '<' && !is_operator) {
      kept += "<…>";
      i = closing(name, i);
    } else if (name.compare(i, anonymous.size(), anonymous) == 0) {
      kept += "{anonymous}";
      i += anonymous.size() - 1;
    } else if (name.compare(i, 2, "()") == 0 && is_operator) {
      kept += "()";
      ++i;
    } else if (name[i] == '(') {
      break;
    } else {
      kept += name[i];
    }
  }
  return kept;
}

}  // namespace

std::string whole_function_name(const char* symbol) { return demangled(symbol); }

std::string short_function_name(const char* symbol) {
  std::string whole = demangled(symbol);
  std::string kept = without_arguments(whole);
  if (kept.empty()) return whole;
  const std::size_t return_type = kept.rfind(' ');
  if (return_type != kept.npos && kept.find("operator") == kept.npos) kept.erase(0, return_type + 1);
  return kept;
}

}  // namespace ashlar::cli
