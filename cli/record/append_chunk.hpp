// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `ashlar record` adds to a trace that its process has ended.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/index.hpp>

namespace ashlar::cli {

/// Effects: appends a chunk with this payload to a regular file that is a whole trace, without an error of its writer:
/// a reader stops at a torn chunk. Where there is no room for all of it, the trace is as before. `header`: sizes and
/// sums are set here.
void append_chunk(const std::string& trace, detail::trace_io::chunk_header header, std::span<const std::byte> payload);

/// The same, of a trace whose index has been read.
void append_chunk(const std::string& trace, const trace::byte_source& source,
                  const detail::trace_io::chunk_index& index, detail::trace_io::chunk_header header,
                  std::span<const std::byte> payload);

}  // namespace ashlar::cli
