// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process has recorded and its trace still lacks: a file beside the trace that the process has mapped, so that
// it survives whichever way the process ends. `ashlar record` appends it to the trace then.
//
//     live_head | live_records of the first log | of the second | ...      each at a multiple of `page_bytes`
//
// Where the file system could run out of room under a mapping, or refuses, the same lies in private memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/status.hpp"

namespace ashlar::recorder {

/// Room for the allocations of signal handlers that interrupt a thread between filling its log and writing it.
inline constexpr std::uint32_t spare_records = 16;

/// A thread's records until they are written. All zeros are none.
struct live_records {
  std::atomic<std::uint32_t> count;  ///< Records appended: released by the owner, acquired by the writer.
  std::uint32_t thread;              ///< The stream's id in the file.
  std::uint64_t last_time;           ///< Of its last record in the file.
  /// The number of its next chunk, and the records that are in the file: one word, so that a kill finds them at one
  /// time.
  std::atomic<std::uint64_t> progress;
  detail::trace_io::record records[log_records + spare_records];

  [[nodiscard]] std::uint32_t sequence() const noexcept {
    return static_cast<std::uint32_t>(progress.load(std::memory_order_relaxed) >> 32);
  }
  [[nodiscard]] std::uint32_t written() const noexcept {
    return static_cast<std::uint32_t>(progress.load(std::memory_order_relaxed));
  }

  [[nodiscard]] std::span<const detail::trace_io::record> unwritten() const noexcept {
    const std::uint32_t n = count.load(std::memory_order_acquire), before = written();
    return n <= before ? std::span<const detail::trace_io::record>() : std::span(records).subspan(before, n - before);
  }

  /// Effects: notes that the next `n` records are in the file, as a chunk, or are lost, without one.
  void note_written(std::size_t n, bool is_chunk) noexcept {
    progress.fetch_add((std::uint64_t{is_chunk} << 32) + n, std::memory_order_release);
  }

  /// Effects: makes room: all records are in the file.
  void clear() noexcept {
    count.store(0, std::memory_order_release);
    progress.store(std::uint64_t{sequence()} << 32, std::memory_order_release);
  }

  /// Effects: becomes the empty log of a new stream.
  void restart() noexcept {
    count.store(0, std::memory_order_relaxed);
    progress.store(0, std::memory_order_relaxed);
    last_time = 0;
  }
};

/// Items of a table, as the payload of its next chunk.
template <std::size_t Bytes>
struct pending_items {
  /// Their bytes and their number, released when they are there: one word, as above.
  std::atomic<std::uint64_t> extent;
  std::uint32_t sequence;  ///< Of the next chunk.
  std::byte bytes[Bytes];

  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(extent.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t used() const noexcept {
    return static_cast<std::size_t>(extent.load(std::memory_order_relaxed) >> 32);
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return std::span(bytes).first(used()); }

  void extend_to(std::size_t end, std::uint32_t items) noexcept {
    extent.store(std::uint64_t{end} << 32 | items, std::memory_order_release);
  }
};

inline constexpr std::size_t pending_table_bytes = 64 * 1024;
inline constexpr std::size_t pending_name_bytes = 8192;
inline constexpr std::size_t max_header_bytes = 8192;

inline constexpr std::uint64_t live_magic = 0x3165'7669'4C68'7341;

struct live_head {
  std::atomic<std::uint64_t> magic;  ///< Released when the rest is set.
  std::uint32_t process;
  std::uint32_t page_bytes;
  std::uint64_t session;
  std::uint64_t start_ticks;
  std::atomic<std::uint64_t> dropped;  ///< Events that are lost.
  std::atomic<std::uint32_t> is_over;  ///< The program becomes another one and lacks nothing, or the trace has failed.
  std::uint32_t header_bytes;
  std::byte header[max_header_bytes];    ///< Of the trace, for one that was not begun.
  std::atomic<std::uint32_t> has_trace;  ///< Released when `trace` has its header.
  char trace[max_path_bytes + 32];
  pending_items<pending_table_bytes> modules;  ///< Of the program's start, until they are written.
  pending_items<pending_table_bytes> stacks;
  pending_items<pending_name_bytes> names;
};

/// Returns: the bytes of a part in the file.
[[nodiscard]] constexpr std::uint64_t live_part_bytes(std::uint64_t bytes, std::uint64_t page_bytes) noexcept {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// The end of the name, behind the name of the trace; more such files of one process have a number behind it.
inline constexpr char live_suffix[] = ".live";

}  // namespace ashlar::recorder
