// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Borrows a workspace, makes a chunk in it, appends it to the file.
#include "cli/preload/chunks.hpp"

#include <algorithm>

#include "cli/preload/clock.hpp"
#include "cli/preload/workspace.hpp"

namespace ashlar::recorder {

constinit trace_file file;

namespace {

bool pack_and_write(workspace& w, detail::trace_io::chunk_header header, std::span<const std::byte> payload) noexcept {
  header.sync_ticks = ticks() - file.start_ticks();
  header.sync_ns = clock_ns(CLOCK_MONOTONIC);
  return file.write(detail::trace_io::pack_chunk(w.packer, header, payload, w.chunk));
}

bool encode_and_write(workspace& w, thread_log& log, std::span<const detail::trace_io::record> records) noexcept {
  const std::uint64_t first = std::max({records.front().time, log.last_time, file.start_ticks()});
  const std::size_t bytes = w.encoder.encode(records, first, w.payload);
  log.last_time = w.encoder.last_time();
  return pack_and_write(w,
                        {.stream = log.thread,
                         .sequence = log.sequence++,
                         .count = static_cast<std::uint32_t>(records.size()),
                         .events = w.encoder.events(),
                         .first_time = first - file.start_ticks(),
                         .last_time = log.last_time - file.start_ticks()},
                        {w.payload, bytes});
}

}  // namespace

bool write_chunk(detail::trace_io::chunk_header header, std::span<const std::byte> payload) noexcept {
  workspace* const w = file.failed() ? nullptr : borrow_workspace();
  if (w == nullptr) return false;
  const bool written = pack_and_write(*w, header, payload);
  w->lock.unlock();
  return written;
}

std::uint64_t write_records(thread_log& log) noexcept {
  const auto records = log.unwritten();
  log.written += static_cast<std::uint32_t>(records.size());
  if (records.empty()) return 0;
  workspace* const w = file.failed() ? nullptr : borrow_workspace();
  if (w == nullptr) return records.size();
  const bool written = encode_and_write(*w, log, records);
  w->lock.unlock();
  return written ? 0 : records.size();
}

}  // namespace ashlar::recorder
