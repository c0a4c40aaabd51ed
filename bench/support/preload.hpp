// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts a peer's malloc under this process: finds the library, restarts the program with it preloaded, verifies it.
#pragma once

#if !defined(_WIN32)
#include <dlfcn.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peers.hpp"

namespace bench {

inline constexpr int exit_skipped = 77;  // "not run" to test runners: the peer is not installed
inline constexpr int exit_usage = 2;

[[noreturn]] inline void fail(int code, const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(code);
}

#if defined(_WIN32)

// No malloc is put under a program of Windows.
inline std::string malloc_version() { return ""; }

inline std::string choose_malloc(std::string_view peer, char** /*argv*/) {
  if (find_malloc_library(peer) != nullptr) fail(exit_skipped, "skipped: no malloc is preloaded on Windows");
  return "the system's";
}

#else

// Returns: the file whose malloc this process calls.
inline std::filesystem::path malloc_file() {
  Dl_info info{};
  void* const address = ::dlsym(RTLD_DEFAULT, "malloc");
  if (address == nullptr || ::dladdr(address, &info) == 0) return {};
  return std::filesystem::weakly_canonical(info.dli_fname);
}

// Returns: the file of this process's `printf`: the C library, beside which other libraries lie.
inline std::filesystem::path libc_file() {
  Dl_info info{};
  if (::dladdr(::dlsym(RTLD_DEFAULT, "printf"), &info) == 0) return {};
  return std::filesystem::weakly_canonical(info.dli_fname);
}

// Returns: the version of this process's malloc; empty if it reports none.
inline std::string malloc_version() {
  const char* text = nullptr;
  if (void* const mimalloc = ::dlsym(RTLD_DEFAULT, "mi_version")) {
    const int version = reinterpret_cast<int (*)()>(mimalloc)();
    const int base = version >= 10'000 ? 100 : 10;  // digits of minor and patch version: two each, or one
    return std::to_string(version / base / base) + "." + std::to_string(version / base % base) + "." +
           std::to_string(version % base);
  }
  if (void* const tcmalloc = ::dlsym(RTLD_DEFAULT, "tc_version"))
    text = reinterpret_cast<const char* (*)(int*, int*, const char**)>(tcmalloc)(nullptr, nullptr, nullptr);
  std::size_t length = sizeof text;
  if (void* const jemalloc = ::dlsym(RTLD_DEFAULT, "mallctl"))
    reinterpret_cast<int (*)(const char*, void*, std::size_t*, void*, std::size_t)>(jemalloc)("version", &text, &length,
                                                                                              nullptr, 0);
  std::string version = text != nullptr ? text : "";  // "gperftools 2.10", "5.3.0-0-g54ea"
  version.erase(0, version.rfind(' ') + 1);
  return version.substr(0, version.find('-'));
}

// Returns: ASHLAR_BENCH_LIBRARIES (directories with your own builds, colon-separated), then the system's.
inline std::vector<std::filesystem::path> library_directories() {
  std::vector<std::filesystem::path> directories;
  const char* const own = std::getenv("ASHLAR_BENCH_LIBRARIES");
  for (std::string rest = own != nullptr ? own : ""; !rest.empty();) {
    const std::size_t end = rest.find(':');
    directories.emplace_back(rest.substr(0, end));
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  directories.push_back(libc_file().parent_path());
  for (const char* usual : {"/usr/lib64", "/usr/lib", "/usr/local/lib"}) directories.emplace_back(usual);
  return directories;
}

// Returns: the installed library of a peer, or an empty path.
inline std::filesystem::path find_library_file(const malloc_library& library) {
  for (const auto& directory : library_directories())
    for (const char* file : library.files)
      if (file != nullptr && std::filesystem::exists(directory / file))
        return std::filesystem::canonical(directory / file);
  return {};
}

[[noreturn]] inline void restart_with(const std::filesystem::path& file, const malloc_library& library, char** argv) {
  if (std::getenv("ASHLAR_BENCH_PRELOADED") != nullptr) fail(1, "could not preload " + file.string());
  ::setenv("ASHLAR_BENCH_PRELOADED", "1", 1);
  ::setenv("LD_PRELOAD", file.c_str(), 1);
  if (library.tunables != nullptr) ::setenv("GLIBC_TUNABLES", library.tunables, 1);
  ::execv("/proc/self/exe", argv);
  std::perror("execv");
  std::exit(1);
}

// Effects: returns in a process with the malloc of the peer (the C library's, unless the peer is a malloc library).
// Restarts the program if necessary; exits with 77 and the reason if the library is not installed. Returns: the name of
// the file that provides malloc.
inline std::string choose_malloc(std::string_view peer, char** argv) {
  const malloc_library* const library = find_malloc_library(peer);
  const std::filesystem::path wanted = library != nullptr ? find_library_file(*library) : libc_file();
  if (wanted.empty()) fail(exit_skipped, "skipped: no " + std::string(library->files[0]) + " on this machine");
  if (malloc_file() == wanted) return wanted.filename().string();
  if (library == nullptr) fail(exit_usage, "malloc is not the C library's: unset LD_PRELOAD");
  restart_with(wanted, *library, argv);
}

#endif

}  // namespace bench
