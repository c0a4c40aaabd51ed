// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the file of an address, and the program's part of a stack.
#include "cli/support/symbolise.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/support/symbolise_file.hpp"

namespace ashlar::cli {

std::string source_place::str() const {
  if (line != 0) return fmt::format("{} ({}:{})", function, file, line);
  return function.find("+0x") == function.npos ? fmt::format("{} ({})", function, module) : function;
}

bool is_library_place(const source_place& place) {
  static constexpr std::array<std::string_view, 24> functions = {
      "malloc",         "calloc",     "realloc",         "reallocarray",      "aligned_alloc",  "memalign",
      "posix_memalign", "valloc",     "pvalloc",         "operator new",      "operator new[]", "free",
      "cfree",          "free_sized", "operator delete", "operator delete[]", "__libc_malloc",  "__libc_calloc",
      "__libc_realloc", "strdup",     "__strdup",        "strndup",           "__strndup",      "vasprintf"};
  const std::string& f = place.function;
  if (f.starts_with("std::") || f.starts_with("__gnu_cxx::")) return true;
  if (place.module.starts_with("libstdc++.") || place.module.starts_with("libc++.")) return true;
  if (place.module.starts_with("libashlar") && place.module.ends_with(".so")) return true;
  return std::find(functions.begin(), functions.end(), f) != functions.end();
}

symboliser::symboliser() = default;
symboliser::~symboliser() = default;

const std::vector<source_place>& symboliser::places(const std::string& path, const std::string& build_id,
                                                    std::uint64_t return_address) {
  std::unique_ptr<named_file>& file = files_[{path, build_id}];
  if (file == nullptr) file = std::make_unique<named_file>(path, build_id);
  return file->places(return_address);
}

std::vector<const source_place*> symboliser::calls(std::span<const std::uint64_t> frames,
                                                   std::span<const trace::mapped_module> modules) {
  std::vector<const source_place*> all;
  for (const std::uint64_t frame : frames) {
    const trace::mapped_module* const in = trace::find_module(modules, frame);
    for (const source_place& place :
         in == nullptr ? places("", "", frame) : places(in->path, in->build_id, frame - in->bias))
      all.push_back(&place);
  }
  const auto request = std::ranges::find_if_not(all, [](const source_place* p) { return is_library_place(*p); });
  if (request != all.end()) all.erase(all.begin(), request);
  return all;
}

std::vector<std::string> symboliser::notes() const {
  std::vector<std::string> all;
  for (const auto& [key, file] : files_)
    if (std::string note = file->note(); !note.empty()) all.push_back(std::move(note));
  return all;
}

}  // namespace ashlar::cli
