// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled trace in a temporary file: written once, then read by every replay in its own process.
#pragma once

#include <cstdint>
#include <vector>

#include <ashlar/study/replay_op.hpp>
#include <ashlar/study/window_compiler.hpp>

#include "cli/support/temporary.hpp"

namespace ashlar::cli {

/// The start of the file. Each window: a `window_head`, each lane's number of operations in 4 bytes, the operations.
struct window_file_head {
  std::uint64_t operations = 0;
  std::uint64_t windows = 0;
  std::uint64_t largest_window = 0;  ///< Bytes of counts and operations.
  std::uint32_t slots = 0;
  std::uint32_t lanes = 0;
};

struct window_head {
  std::uint32_t lanes = 0;  ///< Even: the last count may be padding.
  std::uint32_t operations = 0;
};

/// The sink of a `window_compiler`.
class window_writer {
public:
  explicit window_writer(temporary_file& file);
  void operator()(const detail::replay_window& window);
  /// Effects: writes the head; the file is ready.
  void finish(const detail::replay_counts& counts);

private:
  temporary_file* file_;
  std::uint64_t largest_ = 0;
  std::vector<std::uint32_t> counts_;
};

/// Reads windows into its own memory, mapped and populated in advance: the allocator under test has no part in it.
class window_reader {
public:
  /// Throws: `std::runtime_error`, as does `next`.
  explicit window_reader(int descriptor);

  [[nodiscard]] const window_file_head& head() const noexcept { return head_; }
  /// Returns: whether there was another window.
  [[nodiscard]] bool next();
  /// Returns: the operations of the window for `lane`.
  [[nodiscard]] std::span<const detail::replay_op> lane(std::uint32_t lane) const noexcept;

private:
  void read(void* to, std::size_t bytes);

  int descriptor_;
  std::uint64_t offset_ = 0;
  std::uint64_t windows_left_ = 0;
  window_file_head head_;
  window_head window_;
  std::byte* buffer_ = nullptr;
  std::span<std::size_t> first_;  // lane i has operations first_[i] .. first_[i + 1]
};

/// Returns: fresh zeroed pages, populated; they stay until the process ends. Throws: `std::runtime_error`.
[[nodiscard]] std::byte* map_pages(std::size_t bytes);
/// Returns: bytes that `map_pages` has provided.
[[nodiscard]] std::size_t mapped_pages_bytes() noexcept;

}  // namespace ashlar::cli
