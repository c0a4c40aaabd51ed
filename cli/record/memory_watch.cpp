// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads /proc/PID/status.
#include "cli/record/memory_watch.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/format.hpp>
#include <ashlar/detail/trace/index.hpp>

#include "cli/preload/memory_use.hpp"
#include "cli/preload/thread_log.hpp"
#include "cli/record/run_note.hpp"

namespace ashlar::cli {

namespace {

namespace trace_io = detail::trace_io;

recorder::memory_use memory_of(std::int32_t process) {
  const int status = ::open(("/proc/" + std::to_string(process) + "/status").c_str(), O_RDONLY | O_CLOEXEC);
  if (status < 0) return {};
  const recorder::memory_use found = recorder::memory_from(status);
  ::close(status);
  return found;
}

/// Returns: that of this thread, which other processes do not prolong.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
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
  const clock::time_point start = clock::now();
  const std::chrono::nanoseconds before = processor_time();
  for (const recorder::recorded_process& process : page_->unfinished)
    if (process.id.load(std::memory_order_acquire) != 0) look_at(process, start);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(look_share * (processor_time() - before));
  return std::max<std::chrono::milliseconds>(least_wait, wait);
}

void memory_watch::look_at(const recorder::recorded_process& process, clock::time_point time) {
  const identity who(process.id.load(), process.start_ns.load(std::memory_order_acquire));
  watched& w = seen_.try_emplace(who, watched{.since = time, .next = time, .figures = {}}).first->second;
  if (time < w.next) return;
  w.next = time + (time - w.since) / life_share;
  const recorder::memory_use now = memory_of(who.first);
  trace_io::memory_figures& known = w.figures;
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
  if (seen == seen_.end()) return;
  const trace_io::memory_figures own = figures_in(source, index);
  trace_io::memory_figures told = seen->second.figures;
  if (told.resident <= own.resident && told.anonymous <= own.anonymous) return;
  if (own.resident != 0) told.foreign = own.foreign;  // which the process knows better
  const auto count = static_cast<std::uint32_t>(index.chunks(trace_io::chunk_kind::memory).size());
  std::array<std::byte, trace_io::memory_figure_count * trace_io::max_varint_bytes> payload;
  const auto n = static_cast<std::size_t>(trace_io::put_memory(payload.data(), told) - payload.data());
  append_chunk(path, source, index,
               {.kind = trace_io::chunk_kind::memory, .sequence = count, .count = trace_io::memory_figure_count},
               std::span(payload).first(n));
}

}  // namespace ashlar::cli
