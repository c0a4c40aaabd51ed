// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches from the directory of the executable, since installations are moved.
#include "cli/support/companion.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

std::string name_of_file(const std::string& path) { return fs::path(path).filename().string(); }

/// Also with a version behind its name.
bool is_own_malloc(const std::string& path) {
  if (name_of_file(path).starts_with(route_library)) return true;
  return std::any_of(malloc_libraries.begin(), malloc_libraries.end(),
                     [file = name_of_file(path)](const malloc_library& m) { return file.starts_with(m.file); });
}

void append(std::string& list, const std::string& path) { list += (list.empty() ? "" : ":") + path; }

}  // namespace

std::optional<std::string> find_companion(const std::string& file) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {".", "../lib", ASHLAR_LIBRARY_DIRECTORY}) {
    const fs::path folder = fs::weakly_canonical(here / place, error);
    for (const std::string& name : {file, file + ".1"})  // a distribution's packages have the first for linkers alone
      if (fs::exists(folder / name, error)) return (folder / name).string();
  }
  return std::nullopt;
}

std::string require_companion(const std::string& file) {
  const auto library = find_companion(file);
  if (!library) throw std::runtime_error(file + " is missing: it belongs beside ashlar or in ../lib");
  if (library->find_first_of(" :") != std::string::npos)
    throw std::runtime_error(*library + ": a path with blanks or colons cannot be preloaded");
  return *library;
}

std::string run_command_of(const std::string& library) {
  std::error_code ignored;
  for (const malloc_library& m : malloc_libraries)
    if (const auto own = find_companion(m.file); own && fs::equivalent(*own, library, ignored)) return m.command;
  return {};
}

std::string preload_list(const std::string& library, const char* before) {
  std::string recorders, others;
  const std::string all = before == nullptr ? "" : before;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find_first_of(" :", at), all.size());
    const std::string path = all.substr(at, end - at);
    at = end + 1;
    if (path.empty() || (is_own_malloc(library) && is_own_malloc(path))) continue;
    append(name_of_file(path) == recorder_library ? recorders : others, path);
  }
  append(recorders, library);
  if (!others.empty()) append(recorders, others);
  return recorders;
}

std::string preload_assignment(const std::string& library) {
  return "LD_PRELOAD=" + shell_word(preload_list(library, std::getenv("LD_PRELOAD")));
}

int become_with(const std::string& library, std::vector<std::string> program) {
  ::setenv("LD_PRELOAD", preload_list(library, std::getenv("LD_PRELOAD")).c_str(), 1);
  const std::vector<char*> words = pointers(program);
  ::execvp(words[0], words.data());
  return errno;
}

}  // namespace ashlar::cli
