// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A machine that has set huge pages aside: mmap and its relatives, as this program calls them.
#pragma once

#include <cstddef>
#include <string>

namespace ashlar_test {

/// The stand-in maps ordinary pages in place of huge ones, and refuses what Linux refuses for those: sizes and
/// addresses that are not multiples of 2 MiB, and growth. Other mappings are the system's.
struct machine {
  static constexpr std::size_t page_bytes = std::size_t{2} << 20;

  /// Effects: sets pages aside; no mapping may have any.
  static void set_aside(std::size_t pages);
  [[nodiscard]] static std::size_t pages_left();
  /// Returns: the pages in mappings.
  [[nodiscard]] static std::size_t pages_used();
  /// Returns: the number of `madvise` calls for transparent huge pages since `set_aside`.
  [[nodiscard]] static std::size_t wishes();
  /// Returns: the calls since `set_aside` that no program may make for such pages, such as "munmap of 4096 bytes".
  [[nodiscard]] static std::string mistakes();
  /// Returns: whether the page at `p` is one of those set aside.
  [[nodiscard]] static bool has(const void* p);
};

}  // namespace ashlar_test
