// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: the parts of each thread of the model, which ends it explicitly, and the part last used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <checker.hpp>

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

struct thread_entry {
  thread_entry* next_of_thread = nullptr;
  std::uint64_t number = 0;
  void* found = nullptr;
  struct functions {
    bool (*is_orphan)(thread_entry*) noexcept;
    void (*retire)(thread_entry*) noexcept;
  };
  const functions* calls = nullptr;
};

/// The part of one thread: a model has one owner only.
struct thread_parts {
  thread_entry* first = nullptr;
  bool has_ended = false;
  const void* latest_owner = nullptr;  // found by `last_used_tls`
  void* latest = nullptr;
};

class thread_directory {
public:
  [[nodiscard]] static std::uint64_t new_number() noexcept { return 1; }
  [[nodiscard]] static void* find(std::uint64_t) noexcept {
    return mine().first != nullptr ? mine().first->found : nullptr;
  }
  [[nodiscard]] static thread_entry* find_unchanged(std::uint64_t) noexcept { return mine().first; }
  [[nodiscard]] static thread_entry* find_slow(std::uint64_t) noexcept {
    if (mine().first != nullptr && mine().first->calls->is_orphan(mine().first)) retire();
    return mine().first;
  }
  [[nodiscard]] static bool accepts() noexcept { return !mine().has_ended; }
  static void enter(thread_entry* fresh) noexcept { mine().first = fresh; }
  static void remember(const thread_entry&) noexcept {}
  /// Effects: ends the parts of the thread, as the system does at its end.
  static void end_thread() noexcept {
    mine().has_ended = true;
    if (mine().first != nullptr) retire();
  }
  /// Effects: forgets all parts of all threads.
  static void begin() noexcept {
    for (thread_parts& each : all_) each = {};
  }

  static thread_parts& mine() noexcept { return all_[checker::this_thread()]; }

private:
  static void retire() noexcept {
    thread_entry* const leaving = std::exchange(mine().first, nullptr);
    leaving->calls->retire(leaving);
  }

  static inline thread_parts all_[8];
};

template <class Owner, class Found>
class last_used_tls {
public:
  using place = thread_parts*;

  [[nodiscard]] static Found* of(const Owner* owner) noexcept {
    return thread_directory::mine().latest_owner == owner ? found() : nullptr;
  }
  [[nodiscard]] static Found* found() noexcept { return static_cast<Found*>(thread_directory::mine().latest); }
  static place remember(const Owner* owner, Found* what) noexcept {
    thread_directory::mine().latest_owner = owner;
    thread_directory::mine().latest = what;
    return &thread_directory::mine();
  }
  [[nodiscard]] static bool is_here(place at) noexcept { return at == &thread_directory::mine(); }
  static void forget(place at, const Owner* owner, Found* what) noexcept {
    if (at == nullptr || at->latest_owner != owner || at->latest != what) return;
    at->latest_owner = nullptr;
    at->latest = nullptr;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
