// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options in effect, the calls that put others into effect, and the start of libashlar.
#pragma once

#include <cstddef>
#include <string_view>

#include <ashlar/base/config.hpp>

#include "malloc/option_words.hpp"

namespace ashlar::drop_in {

/// Returns: the options in effect, which stay as they are and where they are: a change puts others into effect. Thread
/// safety: any thread; async-signal-safe.
[[nodiscard]] const options& settings() noexcept;

/// Effects: sets one option and puts it into effect. Thread safety: any thread; changes follow each other.
[[nodiscard]] word_result change_setting(std::string_view name, std::string_view value) noexcept;
/// As `change_setting` of `retain`.
[[nodiscard]] word_result retain_at_most(std::size_t bytes) noexcept;
/// Effects: writes the heap profile, if the options name a file for it. Async-signal-safe.
void write_wanted_profile() noexcept;

/// Effects: installs the handlers of forks and opens the fast paths, once. The first constructor calls it, in a static
/// program an entry before all constructors.
ASHLAR_OF_THIS_LIBRARY void start() noexcept;

/// Effects: chooses between `abort`, which leaves a core file, and `_exit(134)`.
void end_misuse_by(bool aborts) noexcept;

}  // namespace ashlar::drop_in
