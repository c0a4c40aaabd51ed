// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registry of all heaps of the process from level checked on: it finds the owner of an address without reading it.
#pragma once

#include <cstddef>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar::ASHLAR_ABI::detail {

class page_map;

/// The entry of a heap. It lies in the heap, so that the registry allocates nothing.
struct registered_heap : list_node<registered_heap> {
  const void* heap = nullptr;
  const page_map* windows = nullptr;
};

/// The registered heaps.
///
///     free of p -> unknown to the heap -> registry: the page map of each heap -> the owner of p, or none
///
/// A heap reads its own page map without the lock and changes it under the lock, since other threads may search it.
/// Thread safety: any thread. Complexity: O(heaps) for `find`, O(1) otherwise, under one lock.
class heap_registry {
public:
  void enter(registered_heap& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    heaps_.push_back(&line);
  }

  /// Expects: the entry is registered.
  void leave(registered_heap& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    heaps_.erase(&line);
  }

  /// Returns: the heap with memory at an address, or null: of nested ones the one with the smallest extent there.
  /// `bytes_in(windows)`: the bytes of the extent of a heap, as `extent_at`.
  template <class F>
  [[nodiscard]] const void* find(F bytes_in) const noexcept {
    const check_scope<spin_lock> held(lock_);
    std::size_t least = 0;
    const void* owner = nullptr;
    for (const registered_heap* line = heaps_.front(); line != nullptr; line = line->next) {
      const std::size_t bytes = bytes_in(*line->windows);
      if (bytes == 0 || (owner != nullptr && least <= bytes)) continue;
      least = bytes;
      owner = line->heap;
    }
    return owner;
  }

  /// Effects: keeps all page maps unchanged. Expects: a short time; `find` and all changes wait for it.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

private:
  mutable spin_lock lock_;
  list<registered_heap> heaps_;
};

static_assert(std::is_trivially_destructible_v<heap_registry>, "usable after main");

/// The registry of the process, constant-initialised and never destroyed: usable before and after `main`.
constinit inline heap_registry process_heaps;

/// The registration of a heap: its entry from level `checked` on, nothing at `fast`.
class heap_registration {
public:
  /// The scope of a change of the page map. No call in it may search the registry, as calls of an upstream may.
  using change = lock_scope<heap_registry>;

  heap_registration() = default;
  heap_registration(const heap_registration&) = delete;  // the registry points to it
  heap_registration& operator=(const heap_registration&) = delete;
  ~heap_registration() {
    if (line_.windows != nullptr) process_heaps.leave(line_);
  }

  /// Effects: sets the heap named in reports, for addresses that another registration enters.
  constexpr void name(const void* heap) noexcept { line_.heap = heap; }

  /// Effects: registers the heap. From now on a fork waits until no thread holds the registry.
  void enter(const void* heap, const page_map& windows) noexcept {
    fork_participants::enter(participant_);
    line_.heap = heap;
    line_.windows = &windows;
    process_heaps.enter(line_);
  }

  [[nodiscard]] static heap_registry& lock() noexcept { return process_heaps; }
  [[nodiscard]] const void* heap() const noexcept { return line_.heap; }

private:
  // A page map changes under the lock of its heap, so a fork takes the registry's lock last.
  static inline constinit fork_participant participant_ = at_last_step(process_heaps);

  registered_heap line_;
};

/// The same at `fast`: no bytes and no code.
struct no_heap_registration {
  using change = lock_scope<null_lock>;

  constexpr void name(const void*) noexcept {}
  void enter(const void*, const page_map&) noexcept {}
  [[nodiscard]] static null_lock& lock() noexcept { return nothing; }
  [[nodiscard]] static const void* heap() noexcept { return nullptr; }

private:
  static inline constinit null_lock nothing{};
};

using heap_registration_if_checked =
    std::conditional_t<checking_level >= checking::checked, heap_registration, no_heap_registration>;

}  // namespace ashlar::ASHLAR_ABI::detail
