// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All heaps of the process, at the levels that check: it knows whose a block is without reading it.
#pragma once

#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/list.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// A heap's line in the registry. It lies in the heap, so that nothing is allocated for it.
struct registered_heap : list_node<registered_heap> {
  const void* heap = nullptr;
  const page_map* windows = nullptr;
};

/// The heaps that are entered.
///
///   free of p -> the heap does not know p -> registry: the windows of each heap -> has p? that heap : nobody's
///
/// A heap reads its own windows without the lock, and changes them under it, for others may look through them.
/// Thread safety: any thread. Complexity: O(heaps) to find, O(1) else, under one lock.
class heap_registry {
public:
  void enter(registered_heap& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    heaps_.push_back(&line);
  }

  /// Expects: it was entered.
  void leave(registered_heap& line) noexcept {
    const check_scope<spin_lock> held(lock_);
    heaps_.erase(&line);
  }

  /// Returns: the heap that has memory at `p`, the one with the smallest extent where they lie in each other, or null.
  /// `p` is not read.
  [[nodiscard]] const void* find(const void* p) const noexcept {
    const check_scope<spin_lock> held(lock_);
    const window* innermost = nullptr;
    const void* owner = nullptr;
    for (const registered_heap* line = heaps_.front(); line != nullptr; line = line->next) {
      const window* const found = line->windows->find(p);
      if (found == nullptr || (innermost != nullptr && innermost->bytes() <= found->bytes())) continue;
      innermost = found;
      owner = line->heap;
    }
    return owner;
  }

  /// Effects: holds all windows as they are. Expects: for a moment; `find` and all changes wait for it.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

private:
  mutable spin_lock lock_;
  list<registered_heap> heaps_;
};

static_assert(std::is_trivially_destructible_v<heap_registry>, "usable after main");

/// The registry of the process, constant-initialised and never destroyed: usable before `main` and after it.
constinit inline heap_registry process_heaps;

/// What a heap keeps for the registry: its line at the levels that check, nothing at `fast`.
class heap_registration {
public:
  /// While one lives, windows may be changed. Nothing that may look through them, as an upstream, is called meanwhile.
  using change = lock_scope<heap_registry>;

  heap_registration() = default;
  heap_registration(const heap_registration&) = delete;  // others point to it
  heap_registration& operator=(const heap_registration&) = delete;
  ~heap_registration() {
    if (line_.windows != nullptr) process_heaps.leave(line_);
  }

  /// Effects: sets the heap named in reports, whose addresses another registration enters.
  void name(const void* heap) noexcept { line_.heap = heap; }

  /// Effects: enters the heap. From now on a fork waits until no thread looks at the registry.
  void enter(const void* heap, const page_map& windows) noexcept {
    fork_participants::enter(participant_);
    line_.heap = heap;
    line_.windows = &windows;
    process_heaps.enter(line_);
  }

  [[nodiscard]] static heap_registry& lock() noexcept { return process_heaps; }
  [[nodiscard]] const void* heap() const noexcept { return line_.heap; }

private:
  // Windows are changed under whatever lock keeps the threads of a heap apart, so it is held last.
  static inline constinit fork_participant participant_{.before =
                                                            [](void*, fork_step step) noexcept {
                                                              if (step == fork_step::last_locks) process_heaps.lock();
                                                            },
                                                        .in_parent = [](void*) noexcept { process_heaps.unlock(); },
                                                        .in_child = [](void*) noexcept { process_heaps.unlock(); }};

  registered_heap line_;
};

/// The same at `fast`: no bytes and no code.
struct no_heap_registration {
  using change = lock_scope<null_lock>;

  void name(const void*) noexcept {}
  void enter(const void*, const page_map&) noexcept {}
  [[nodiscard]] static null_lock& lock() noexcept { return nothing; }
  [[nodiscard]] static const void* heap() noexcept { return nullptr; }

private:
  static inline constinit null_lock nothing{};
};

using heap_registration_if_checked =
    std::conditional_t<checking_level >= checking::checked, heap_registration, no_heap_registration>;

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
