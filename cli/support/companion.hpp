// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shared libraries that are installed with this command: their files, and their place among preloaded ones.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar::cli {

inline constexpr const char* recorder_library = "libashlar-record.so";
inline constexpr const char* route_library = "libashlar-route.so";  ///< The malloc that follows a plan of routes.

/// A build of the preloadable malloc.
struct malloc_library {
  std::string_view level;
  const char* file;
  const char* command;  ///< Runs a program under it.
};
inline constexpr std::array<malloc_library, 3> malloc_libraries{{
    {"fast", "libashlar.so", "ashlar run"},
    {"checked", "libashlar-checked.so", "ashlar run --level checked"},
    {"hardened", "libashlar-hardened.so", "ashlar run --level hardened"},
}};

/// Returns: the path of the library beside the executable, or in the folder of libraries; nothing if there is none.
[[nodiscard]] std::optional<std::string> find_companion(const std::string& file);

/// Returns: the same. Throws: `std::runtime_error` if there is none, or if its path cannot be preloaded.
[[nodiscard]] std::string require_companion(const std::string& file);

/// Returns: the command that runs a program under this library; empty if no `ashlar run` takes it.
[[nodiscard]] std::string run_command_of(const std::string& library);

/// Returns: the value of LD_PRELOAD with `library` before the libraries of `before`, which may be null. Only the
/// recorder stays in front: it hands calls on to the next malloc. A build of the malloc for another level is left out.
[[nodiscard]] std::string preload_list(const std::string& library, const char* before);

/// Returns: the words of a shell line that preload the library in front of what is preloaded now.
[[nodiscard]] std::string preload_assignment(const std::string& library);

/// Effects: becomes the program with the library preloaded. Returns: the errno, if it cannot be started.
[[nodiscard]] int become_with(const std::string& library, std::vector<std::string> program);

}  // namespace ashlar::cli
