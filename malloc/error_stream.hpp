// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where text goes: a second descriptor of the error stream, since many programs have closed the first at their end.
#pragma once

#include <cstddef>
#include <string_view>

namespace ashlar::drop_in {

/// Effects: duplicates the error stream, once; the copy is closed by `exec`.
void keep_error_stream() noexcept;

/// Returns: the copy, or 2 if that is the same file or nothing was kept; -1 if the program has other files by both
/// numbers.
[[nodiscard]] int kept_error_stream() noexcept;

/// Effects: writes the text to a descriptor as `detail::write_quietly` does, unless it is negative; allocates nothing.
/// At the first failure `descriptor` becomes the negated number of the error, so that no later text waits again.
void write_to(int& descriptor, std::string_view text) noexcept;

/// A sink of text: one type for all writers, so that their code exists once.
struct text_output {
  void (*write)(const char* text, std::size_t bytes, void* argument);
  void* argument;

  void operator()(std::string_view text) const { write(text.data(), text.size(), argument); }
};

/// Returns: a sink as `write_to`. Lifetime: the descriptor outlives it.
[[nodiscard]] text_output output_to(int& descriptor) noexcept;

}  // namespace ashlar::drop_in
