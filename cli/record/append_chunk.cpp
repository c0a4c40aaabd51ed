// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Part of a chunk makes a trace cut off, so that it is truncated back.
#include "cli/record/append_chunk.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace ashlar::cli {

void append_chunk(const std::string& trace, detail::trace_io::chunk_header header, std::span<const std::byte> payload) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(trace, ignored)) return;
  trace::byte_source source(trace);
  if (source.refusal() == nullptr) append_chunk(trace, source, detail::trace_io::chunk_index(source), header, payload);
}

void append_chunk(const std::string& trace, const trace::byte_source& source,
                  const detail::trace_io::chunk_index& index, detail::trace_io::chunk_header header,
                  std::span<const std::byte> payload) {
  namespace io = detail::trace_io;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(trace, ignored) || index.error() || index.header().write_error != 0) return;
  header.raw_bytes = header.stored_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_sum = io::checksum(payload);
  std::vector<std::byte> chunk(io::chunk_header_bytes);
  io::put_header(chunk.data(), header);
  chunk.insert(chunk.end(), payload.begin(), payload.end());
  std::ofstream to(trace, std::ios::binary | std::ios::app);
  to.write(reinterpret_cast<const char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
  to.close();
  if (!to) std::filesystem::resize_file(trace, source.bytes(), ignored);
}

}  // namespace ashlar::cli
