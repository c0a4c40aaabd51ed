// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Payloads into the trace file: the only way of the recorder's data to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/thread_log.hpp"
#include "cli/preload/trace_file.hpp"

namespace ashlar::recorder {

/// The file of this process.
extern constinit trace_file file;

/// Effects: packs and appends a chunk; fills in its clocks. Returns: false if recording is over.
bool write_chunk(detail::trace_io::chunk_header header, std::span<const std::byte> payload) noexcept;

/// Effects: encodes, packs and appends the log's unwritten records. Expects: `log.lock` is held.
/// Returns: the number of records that could not be written.
[[nodiscard]] std::uint64_t write_records(thread_log& log) noexcept;

/// Effects: in a forked child: frees the workspaces, which threads that it lacks may have held.
void reset_workspaces() noexcept;

}  // namespace ashlar::recorder
