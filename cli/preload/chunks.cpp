// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a chunk in a workspace and appends it to the file. Threads borrow a few workspaces, so that memory does not
// grow with their number.
#include "cli/preload/chunks.hpp"

#include <algorithm>
#include <atomic>

#include <sys/mman.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <ashlar/base/trace_source.hpp>
#include <ashlar/detail/trace/decode.hpp>
#include <ashlar/trace/writer.hpp>

#include "cli/preload/clock.hpp"
#include "cli/preload/real.hpp"
#include "cli/preload/sleeping_lock.hpp"

namespace ashlar::recorder {

constinit trace_file file;

namespace {

/// Packs with a context in its own memory: zstd must not call malloc here.
class static_packer {
public:
  static constexpr trace::codec_id id = trace::codec_id::zstd;
  static constexpr int level = 1;

  [[nodiscard]] static constexpr std::size_t bound(std::size_t n) noexcept { return ZSTD_COMPRESSBOUND(n); }

  [[nodiscard]] std::size_t pack(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
    if (context_ == nullptr) context_ = ZSTD_initStaticCCtx(memory_, sizeof memory_);
    if (context_ == nullptr) return 0;
    const std::size_t used = ZSTD_compressCCtx(context_, to.data(), to.size(), from.data(), from.size(), level);
    return ZSTD_isError(used) != 0 ? 0 : used;
  }

private:
  ZSTD_CCtx* context_ = nullptr;
  alignas(64) std::byte memory_[1536 * 1024];  // more than ZSTD_estimateCCtxSize(level); touched only as needed
};

static_assert(trace::packer<static_packer>);

constexpr std::size_t payload_bytes = detail::trace_io::record_encoder::bound(log_records);

struct workspace {
  sleeping_lock lock;
  detail::trace_io::record_encoder encoder;
  static_packer packer;
  std::byte payload[payload_bytes];
  std::byte chunk[detail::trace_io::chunk_bound<static_packer>(payload_bytes)];
};

/// Mapped at their first use, then kept.
constexpr std::size_t benches = 4;
constinit std::atomic<workspace*> bench[benches]{};
constinit std::atomic<std::size_t> waits{0};

/// Two threads may map the same one at once: the slower one unmaps its own.
workspace* fill(std::atomic<workspace*>& slot) noexcept {
  void* const memory = map_memory(sizeof(workspace));
  if (memory == nullptr) return nullptr;
  auto* const fresh = static_cast<workspace*>(memory);  // all zeros: an open lock, an empty encoder, no context
  workspace* present = nullptr;
  if (slot.compare_exchange_strong(present, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(memory, sizeof(workspace));
  return present;
}

/// Returns: the workspace, or null if there is no memory for it.
workspace* at(std::atomic<workspace*>& slot) noexcept {
  workspace* const w = slot.load(std::memory_order_acquire);
  return w != nullptr ? w : fill(slot);
}

/// Effects: waits for a workspace. Returns: it, locked, or null if there is no memory for one.
workspace* borrow_workspace() noexcept {
  workspace* any = nullptr;
  for (auto& slot : bench) {
    workspace* const w = at(slot);
    if (w != nullptr && w->lock.try_lock()) return w;
    if (w != nullptr) any = w;
  }
  if (any == nullptr) return nullptr;
  workspace* const next = at(bench[waits.fetch_add(1, std::memory_order_relaxed) % benches]);  // a queue for each
  workspace* const mine = next != nullptr ? next : any;
  mine->lock.lock();
  return mine;
}

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

void reset_workspaces() noexcept {
  for (auto& slot : bench)
    if (workspace* w = slot.load(std::memory_order_relaxed)) w->lock.unlock();
}

}  // namespace ashlar::recorder
