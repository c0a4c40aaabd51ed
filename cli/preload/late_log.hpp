// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One shared log for threads that have none of their own: past their last destructor, or out of memory for one.
#pragma once

#include <cstdint>

#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/thread_log.hpp"

namespace ashlar::recorder {

/// The stream's number in the file; its records say themselves which thread they are of.
inline constexpr std::uint32_t late_stream = 0xffff'ffff;

using log_writer = void (*)(thread_log&) noexcept;

/// Effects: notes `r` of `thread`, after writing the log if it is full. Returns: how many records were lost.
std::uint64_t append_late(std::uint32_t thread, const detail::trace_io::record& r, log_writer write) noexcept;

/// Effects: writes what is there.
void write_late_log(log_writer write) noexcept;

/// Effects: in a forked child: it is empty.
void reset_late_log() noexcept;

}  // namespace ashlar::recorder
