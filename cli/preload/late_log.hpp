// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One shared log for threads without a log: past their last destructor, or out of memory for one.
#pragma once

#include <cstdint>

#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// The stream's number in the file; each record of it names its thread.
inline constexpr std::uint32_t late_stream = 0xffff'ffff;

using log_writer = void (*)(thread_log&) noexcept;

/// Effects: notes `r` of `thread`, after writing the log if it is full. Returns: the number of lost records.
std::uint64_t append_late(std::uint32_t thread, const detail::trace_io::record& r, log_writer write) noexcept;

/// Effects: writes the records.
void write_late_log(log_writer write) noexcept;

/// Effects: in a forked child: empties the log.
void reset_late_log() noexcept;

}  // namespace ashlar::recorder
