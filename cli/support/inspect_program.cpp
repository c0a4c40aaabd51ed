// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows scripts to their interpreters, and reads headers and symbols.
#include "cli/support/inspect_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <sys/stat.h>
#include <sys/xattr.h>

#include "cli/support/elf_file.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr int own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

/// Returns: the path of the dynamic loader; empty in a static program.
std::string loader_of(const elf_file& file) {
  for (const GElf_Phdr& header : file.headers()) {
    if (header.p_type != PT_INTERP) continue;
    const std::string_view path = file.contents(header);
    return std::string(path.substr(0, path.find('\0')));
  }
  return {};
}

/// Returns: whether `is_it(name, is_defined)` of a symbol that the loader sees.
template <typename Condition>
bool any_symbol(Elf* elf, Condition is_it) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
    Elf_Data* const data = elf_getdata(section, nullptr);
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr && i < count; ++i) {
      const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name != nullptr && is_it(std::string_view(name), symbol.st_shndx != SHN_UNDEF)) return true;
    }
  }
  return false;
}

bool is_executable(const fs::path& path) {
  std::error_code error;
  return access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path, error);
}

/// Searches as execvp does.
std::string find_in_path(const std::string& word) {
  if (word.find('/') != std::string::npos) return word;
  const char* const list = std::getenv("PATH");
  std::istringstream directories(list == nullptr ? "/bin:/usr/bin" : list);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const fs::path candidate = fs::path(directory.empty() ? "." : directory) / word;
    if (is_executable(candidate)) return candidate.string();
  }
  return word;
}

constexpr int most_scripts = 5;  // as many as the kernel follows

/// Returns: the interpreter in a script's first line, and what follows it as one word; empty if the file is not a
/// script.
std::vector<std::string> first_line_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  char mark[2] = {};
  if (!file.read(mark, 2) || mark[0] != '#' || mark[1] != '!' || !std::getline(file, line)) return {};
  std::istringstream words(line.substr(0, 4096));
  std::string interpreter, rest;
  words >> interpreter;
  std::getline(words >> std::ws, rest);
  rest.erase(rest.find_last_not_of(" \t") + 1);
  return rest.empty() ? std::vector{interpreter} : std::vector{interpreter, rest};
}

/// Returns: the words that a process has before the path of a script: its interpreter's, behind `env` if present; empty
/// if the file is not a script.
std::vector<std::string> words_before(const std::string& path) {
  std::vector<std::string> line = first_line_of(path);
  if (line.size() < 2 || fs::path(line.front()).filename() != "env") return line;
  std::vector<std::string> words;
  std::istringstream rest(line.back());
  for (std::string word; rest >> word;)
    if (!words.empty() || (!word.starts_with('-') && word.find('=') == std::string::npos)) words.push_back(word);
  return words;
}

bool is_privileged(const std::string& path) {
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) return false;
  if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid()) return true;
  if ((file.st_mode & S_ISGID) != 0 && file.st_gid != getgid()) return true;
  return getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

/// The runtime of a sanitizer is in the program, or in a library that must come before all others. Those without shadow
/// memory (leaks, undefined behaviour) take any malloc.
bool starts_sanitizer(std::string_view name) {
  constexpr std::string_view all[] = {"__asan_init", "__hwasan_init", "__msan_init", "__tsan_init"};
  return std::ranges::find(all, name) != std::end(all);
}

program_kind kind_of(const std::string& path) {
  const elf_file file(path);
  if (!file.is_elf()) return program_kind::ordinary;
  const std::string loader = loader_of(file);
  if (loader.empty()) return program_kind::is_static;
  if (gelf_getclass(file.get()) != own_class) return program_kind::other_class;
  if (is_privileged(path)) return program_kind::is_privileged;
  if (any_symbol(file.get(), [](auto name, bool) { return starts_sanitizer(name); })) return program_kind::is_sanitized;
  if (any_symbol(file.get(), [](auto name, bool is_defined) { return is_defined && name == "malloc"; }))
    return program_kind::own_malloc;
  return fs::path(loader).filename().string().starts_with("ld-musl-") ? program_kind::is_over_musl
                                                                      : program_kind::ordinary;
}

}  // namespace

std::vector<std::string> words_of_process(const std::vector<std::string>& command) {
  std::vector<std::string> words = command, line = words_before(find_in_path(command.front()));
  for (int i = 0; i < most_scripts && !line.empty(); ++i) {
    words.front() = find_in_path(words.front());
    words.insert(words.begin(), line.begin(), line.end());
    line = words_before(find_in_path(words.front()));
  }
  return words;
}

program_facts inspect_program(const std::string& word) {
  std::string path = find_in_path(word);
  for (int i = 0; i < most_scripts; ++i) {
    const std::vector<std::string> words = words_before(path);
    if (words.empty()) break;
    path = find_in_path(words.front());
  }
  return {kind_of(path), path};
}

std::string describe(const program_facts& facts, const preloaded_tool& tool) {
  const std::string name = tool.name;
  switch (facts.kind) {
    case program_kind::ordinary: break;
    case program_kind::is_static:
      return facts.path + " is statically linked, so " + name + " cannot be loaded into it: link it dynamically";
    case program_kind::is_privileged:
      return facts.path + " is set-uid, set-gid or has capabilities, so " + name +
             " is not loaded into it: " + tool.use + " a copy without them, or " + tool.use + " as its owner";
    case program_kind::other_class:
      return facts.path + " has another word size than " + name + ": build the program for 64 bits";
    case program_kind::own_malloc:
      return facts.path + " has a malloc of its own, whose calls do not pass " + name +
             ": link it without that one, or with that one as a shared library";
    case program_kind::is_sanitized:
      return facts.path + " is built with a sanitizer, which has a malloc of its own and no place for " + name + ": " +
             tool.use + " a build without -fsanitize";
    case program_kind::is_over_musl:
      if (!tool.needs_glibc) break;
      return facts.path + " is linked with musl, and " + name + " needs glibc: link it with glibc";
  }
  return {};
}

}  // namespace ashlar::cli
