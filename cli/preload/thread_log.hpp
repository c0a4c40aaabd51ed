// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread's records until they are written: a plain array to which only its owner appends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/trace/record.hpp>

#include "cli/preload/known_stacks.hpp"
#include "cli/preload/settings.hpp"
#include "cli/preload/sleeping_lock.hpp"

namespace ashlar::recorder {

/// Room for the allocations of signal handlers that interrupt a thread between filling its log and writing it.
inline constexpr std::uint32_t spare_records = 16;

/// The owner appends without a lock. The writer of records to the file, which is the owner or the thread that ends the
/// process, holds `lock` and moves `written`.
struct thread_log {
  std::atomic<std::uint32_t> count = 0;  ///< Records appended: released by the owner, acquired by the writer.
  std::uint32_t written = 0;             ///< Of them, those in the file.
  sleeping_lock lock;
  std::uint32_t thread = 0;     ///< The stream's id in the file.
  std::uint32_t sequence = 0;   ///< Of its next chunk.
  std::uint64_t last_time = 0;  ///< Of its last record in the file.
  thread_log* next = nullptr;   ///< Of all logs; they are recycled, never given back.
  thread_log* next_free = nullptr;
  bool in_use = false;
  detail::trace_io::record records[log_records + spare_records];
  known_stacks stacks;  ///< Of the owner; stacks of owners before it do no harm.

  /// Effects: appends `r`. Returns: whether the log is full now.
  [[nodiscard]] ASHLAR_INLINE bool append(const detail::trace_io::record& r) noexcept {
    const std::uint32_t n = count.load(std::memory_order_relaxed);
    records[n] = r;
    count.store(n + 1, std::memory_order_release);  // pairs with the acquire in unwritten()
    return n + 1 >= log_records;
  }

  /// Effects: becomes the empty log of a new stream.
  void restart() noexcept {
    count.store(0, std::memory_order_relaxed);
    written = sequence = 0;
    last_time = 0;
  }

  [[nodiscard]] std::span<const detail::trace_io::record> unwritten() const noexcept {
    const std::uint32_t n = count.load(std::memory_order_acquire);
    return std::span(records).subspan(written, n - written);
  }
};

}  // namespace ashlar::recorder
