// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a list of records for each thread of the model, which ends it explicitly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <checker.hpp>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

struct thread_cache_record {
  thread_cache_record* next = nullptr;
  std::uint64_t pool = 0;
  void* cache = nullptr;
  bool (*is_orphan)(thread_cache_record*) noexcept = nullptr;
  void (*retire)(thread_cache_record*) noexcept = nullptr;
};

/// The records of one thread.
struct thread_cache_directory {
  thread_cache_record* first = nullptr;
  void* found = nullptr;
  bool has_ended = false;
  const void* latest_owner = nullptr;  // found by `last_used_tls`
  void* latest = nullptr;
};

/// A model has one pool only.
class thread_caches {
public:
  [[nodiscard]] static std::uint64_t new_pool() noexcept { return 1; }
  [[nodiscard]] static void* find(std::uint64_t) noexcept { return mine().found; }
  [[nodiscard]] static thread_cache_record* find_unchanged(std::uint64_t) noexcept { return mine().first; }
  [[nodiscard]] static thread_cache_record* find_slow(std::uint64_t) noexcept {
    if (mine().first != nullptr && mine().first->is_orphan(mine().first)) retire();
    if (mine().first != nullptr) remember(*mine().first);
    return mine().first;
  }
  [[nodiscard]] static bool accepts() noexcept { return !mine().has_ended; }
  static void enter(thread_cache_record* fresh) noexcept {
    mine().first = fresh;
    remember(*fresh);
  }
  /// Effects: ends the records of the thread, as the system does at its end.
  static void end_thread() noexcept {
    mine().has_ended = true;
    if (mine().first != nullptr) retire();
  }
  /// Effects: forgets all records of all threads.
  static void begin() noexcept {
    for (thread_cache_directory& each : all_) each = {};
  }

  static thread_cache_directory& mine() noexcept { return all_[checker::this_thread()]; }

private:
  static void remember(const thread_cache_record& record) noexcept { mine().found = record.cache; }

  static void retire() noexcept {
    thread_cache_record* const leaving = std::exchange(mine().first, nullptr);
    mine().found = nullptr;
    leaving->retire(leaving);
  }

  static inline thread_cache_directory all_[8];
};

}  // namespace ashlar::ASHLAR_ABI::detail
