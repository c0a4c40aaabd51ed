// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The logs of all threads: handed to new threads, taken back from ending ones, and listed at the end of the process.
#pragma once

#include <cstdint>

#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// Returns: an empty log for a new stream, or null if there is no memory.
[[nodiscard]] thread_log* take_log() noexcept;

/// Effects: makes `log` available to another thread. Expects: it is written, and its thread has ended.
void give_back_log(thread_log* log) noexcept;

/// Returns: the number of a new thread, 0 for the first.
[[nodiscard]] std::uint32_t new_thread_number() noexcept;

/// Returns: the log after `log` among all that were ever made, the first after null; null at the end.
[[nodiscard]] thread_log* next_log(thread_log* log) noexcept;

/// Effects: in a forked child: empties and frees every log.
void reset_logs() noexcept;

}  // namespace ashlar::recorder
