// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads /proc/PID/status.
#include "cli/record/memory_watch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/index.hpp>
#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/memory_use.hpp"
#include "cli/preload/thread_log.hpp"
#include "cli/record/append_chunk.hpp"

namespace ashlar::cli {

namespace {

namespace trace_io = detail::trace_io;

recorder::memory_use memory_of(std::int32_t process) {
  std::ifstream from("/proc/" + std::to_string(process) + "/status", std::ios::binary);
  std::array<char, recorder::process_status_bytes> text;
  from.read(text.data(), text.size());
  return recorder::memory_in({text.data(), static_cast<std::size_t>(from.gcount())});
}

/// Returns: the figures that the trace has itself.
trace_io::memory_figures figures_in(trace::byte_source& source, const trace_io::chunk_index& index) {
  trace_io::memory_figures known;
  for (const trace_io::chunk_entry& entry : index.chunks(trace_io::chunk_kind::memory)) {
    std::vector<std::byte> payload(entry.header.stored_bytes);
    if (entry.header.codec == trace::codec_id::raw && source.read(entry.offset + trace_io::chunk_header_bytes, payload))
      static_cast<void>(trace_io::get_memory(payload, entry.header.count, known));
  }
  return known;
}

}  // namespace

std::chrono::milliseconds memory_watch::look() {
  using namespace std::chrono_literals;
  if (page_ == nullptr) return 1h;
  const auto start = std::chrono::steady_clock::now();
  for (const recorder::recorded_process& process : page_->unfinished)
    if (process.id.load(std::memory_order_acquire) != 0) look_at(process);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  return std::max<std::chrono::milliseconds>(10ms, 100 * took);
}

void memory_watch::look_at(const recorder::recorded_process& process) {
  const identity who(process.id.load(), process.start_ns.load(std::memory_order_acquire));
  const recorder::memory_use now = memory_of(who.first);
  if (now.peak == 0) return;
  trace_io::memory_figures& known = seen_[who];
  known.resident = std::max(known.resident, now.peak);
  known.anonymous = std::max(known.anonymous, now.anonymous);
  const std::uint64_t logs = process.threads.load() * std::uint64_t{sizeof(recorder::thread_log)};
  known.foreign = std::max({known.foreign, process.inherited.load(), logs});
}

void memory_watch::append_to(const std::string& path) const {
  trace::byte_source source(path);
  if (source.refusal() != nullptr) return;
  const trace_io::chunk_index index(source);
  const trace_io::file_header& h = index.header();
  const auto seen = seen_.find({static_cast<std::int32_t>(h.process), h.start_ns});
  if (seen == seen_.end() || index.error() || h.write_error != 0) return;
  const trace_io::memory_figures own = figures_in(source, index);
  if (seen->second.resident <= own.resident && seen->second.anonymous <= own.anonymous) return;
  trace_io::memory_figures told = seen->second;
  if (own.resident != 0) told.foreign = own.foreign;  // which the process knows better
  const auto count = static_cast<std::uint32_t>(index.chunks(trace_io::chunk_kind::memory).size());
  std::array<std::byte, trace_io::memory_figure_count * trace_io::max_varint_bytes> payload;
  const auto n = static_cast<std::size_t>(trace_io::put_memory(payload.data(), told) - payload.data());
  append_chunk(path, {.kind = trace_io::chunk_kind::memory, .sequence = count, .count = trace_io::memory_figure_count},
               std::span(payload).first(n));
}

}  // namespace ashlar::cli
