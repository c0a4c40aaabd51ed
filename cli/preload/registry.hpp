// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All threads' logs: handed to new threads, taken back from those that end, found again when the process does.
#pragma once

#include <cstdint>

#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// Returns: an empty log for a new stream, or null if there is no memory.
[[nodiscard]] thread_log* take_log() noexcept;

/// Effects: `log`, written and its thread gone, may serve another.
void give_back_log(thread_log* log) noexcept;

/// Returns: the number of a new thread, 0 for the first.
[[nodiscard]] std::uint32_t new_thread_number() noexcept;

/// Returns: the log that comes after `log` among all that were ever made, the first after null; null at the end.
[[nodiscard]] thread_log* next_log(thread_log* log) noexcept;

/// Effects: in a forked child: every log is empty and free but `own`, which starts anew as the first thread's.
void reset_logs(thread_log* own) noexcept;

}  // namespace ashlar::recorder
