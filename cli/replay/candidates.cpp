// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches for allocators by their names and directories in distributions.
#include "cli/replay/candidates.hpp"

#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "cli/support/companion.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

struct known {
  const char* name;
  bool usual;  ///< Replayed by default.
  replay_stand stand;
  std::array<const char*, 4> files;  ///< Shared libraries, the best first.
  const char* package;               ///< Debian's.
};

using stand = replay_stand;
constexpr std::array<known, 17> table = {{
    {"glibc", true, stand::system, {}, ""},
    {"mimalloc", true, stand::system, {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"}, "libmimalloc2.0"},
    {"jemalloc", true, stand::system, {"libjemalloc.so.2", "libjemalloc.so"}, "libjemalloc2"},
    {"tcmalloc", true, stand::system, {"libtcmalloc_minimal.so.4", "libtcmalloc_minimal.so"}, "libtcmalloc-minimal4"},
    {"libashlar.so", true, stand::system, {"libashlar.so"}, ""},
    {"ashlar", true, stand::ashlar, {}, ""},
    {"local_heap", true, stand::local_heap, {}, ""},
    {"heap", true, stand::heap, {}, ""},
    {"tiered_heap", false, stand::tiered_heap, {}, ""},
    {"libashlar-checked.so", false, stand::system, {"libashlar-checked.so"}, ""},
    {"libashlar-hardened.so", false, stand::system, {"libashlar-hardened.so"}, ""},
    {"tcmalloc-full", false, stand::system, {"libtcmalloc.so.4", "libtcmalloc.so"}, "libgoogle-perftools4"},
    {"mimalloc-secure", false, stand::system, {"libmimalloc-secure.so.2", "libmimalloc-secure.so"}, ""},
    {"snmalloc", false, stand::system, {"libsnmallocshim.so"}, ""},
    {"rpmalloc", false, stand::system, {"librpmallocwrap.so", "librpmalloc.so"}, ""},
    {"hoard", false, stand::system, {"libhoard.so"}, ""},
    {"null", false, stand::null, {}, ""},
}};

std::vector<fs::path> library_directories() {
  std::vector<fs::path> all;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty()) all.emplace_back(part);
  }
  for (const char* root : {"/usr/local/lib", "/usr/lib", "/lib"}) {
    all.emplace_back(root);
    for (const char* machine : {"x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "i386-linux-gnu"})
      all.push_back(fs::path(root) / machine);
  }
  all.insert(all.end(), {"/usr/local/lib64", "/usr/lib64", "/lib64"});
  return all;
}

/// Returns: whether it is installed with this command. A file of that name in another place may be of another version.
bool is_own(const known& k) { return std::string_view(k.name).starts_with("libashlar"); }

std::optional<std::string> find_library(const known& k) {
  if (is_own(k)) return find_companion(k.files[0]);
  std::error_code ignored;
  for (const char* file : k.files)
    for (const fs::path& directory : library_directories())
      if (file != nullptr && fs::exists(directory / file, ignored)) return (directory / file).string();
  return std::nullopt;
}

bool needs_library(const known& k) { return k.files[0] != nullptr; }

candidate preloaded(const std::string& name, const std::string& library) {
  return {name, replay_stand::system, library, run_command_of(library)};
}

candidate by_path(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  if (error) throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
  return preloaded(fs::path(path).filename().string(), whole.string());
}

std::string known_names(bool libraries) {
  std::string all;
  for (const known& k : table)
    if (needs_library(k) || !libraries) all += (all.empty() ? "" : ", ") + std::string(k.name);
  return all;
}

candidate by_name(const std::string& name, bool libraries) {
  for (const known& k : table) {
    if (name != k.name) continue;
    if (!needs_library(k) && libraries) throw usage_error(name + " cannot be preloaded: it is not a library");
    if (!needs_library(k)) return {k.name, k.stand, ""};
    if (const auto library = find_library(k)) return preloaded(k.name, *library);
    if (is_own(k)) throw std::runtime_error(name + " is missing: it belongs beside ashlar or in ../lib");
    const std::string package = *k.package != '\0' ? fmt::format(" (Debian: apt install {})", k.package) : "";
    throw std::runtime_error(fmt::format("{} is not on this machine: no {}{}", name, k.files[0], package));
  }
  throw usage_error(
      fmt::format("there is no allocator '{}'; known are {}, or the path of a library", name, known_names(libraries)));
}

std::vector<candidate> all_named(const std::vector<std::string>& names, bool libraries) {
  std::vector<candidate> all;
  for (const std::string& name : names)
    all.push_back(name.find('/') != name.npos ? by_path(name) : by_name(name, libraries));
  return all;
}

}  // namespace

std::string known_allocators() { return known_names(false); }

std::vector<candidate> named_candidates(const std::vector<std::string>& names) { return all_named(names, false); }

std::vector<candidate> named_libraries(const std::vector<std::string>& names) { return all_named(names, true); }

std::vector<candidate> installed_candidates(bool everything, std::vector<std::string>& missing) {
  std::vector<candidate> all;
  for (const known& k : table) {
    if (k.stand == replay_stand::null || !(k.usual || everything)) continue;
    if (!needs_library(k)) all.push_back({k.name, k.stand, ""});
    else if (const auto library = find_library(k)) all.push_back(preloaded(k.name, *library));
    else missing.emplace_back(k.name);
  }
  return all;
}

}  // namespace ashlar::cli
