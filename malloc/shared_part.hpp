// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads policy of a heap that is an object: no thread has a part of it, all share the common one under a lock.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar::drop_in {

/// In the place of `per_thread`: a heap without it needs no end of a thread, which would allocate inside libc. Forks
/// wait for its locks. Thread safety: any thread, unless stated otherwise.
template <class Owner, class T>
class shared_part {
public:
  static constexpr bool has_empty_part = false;

  explicit shared_part(Owner& owner) noexcept : owner_(owner) {}
  shared_part(const shared_part&) = delete;
  shared_part& operator=(const shared_part&) = delete;

  /// @{ Returns: null: a thread has no part.
  [[nodiscard]] static ASHLAR_INLINE T* recent() noexcept { return nullptr; }
  [[nodiscard]] static ASHLAR_INLINE T* latest() noexcept { return nullptr; }
  [[nodiscard]] static ASHLAR_INLINE bool is_latest() noexcept { return false; }
  [[nodiscard]] static T* known() noexcept { return nullptr; }
  [[nodiscard]] static T* obtain() noexcept { return nullptr; }
  /// @}
  [[nodiscard]] static T* attach(T* next) noexcept { return next; }

  /// Effects: calls `last()`. Expects: no other thread uses the owner.
  template <class F, class Last>
  void for_each(F, Last last) noexcept {
    last();
  }

  /// Effects: forks no longer wait for the owner. Expects: no thread uses it.
  void end() noexcept {
    if (at_fork_.entered.load(detail::memory_order_relaxed) != nullptr) detail::fork_participants::leave(at_fork_);
  }

  /// Effects: from now on a fork finds the locks of the owner free.
  void expect_forks() const noexcept {
    if (ASHLAR_UNLIKELY(at_fork_.entered.load(detail::memory_order_relaxed) == nullptr))
      detail::fork_participants::enter(at_fork_);
  }

private:
  [[nodiscard]] static Owner& owner_of(void* self) noexcept { return static_cast<shared_part*>(self)->owner_; }

  Owner& owner_;
  mutable detail::fork_participant at_fork_{
      .before = [](void* self, detail::fork_step step) noexcept { owner_of(self).before_fork(step); },
      .in_parent = [](void* self) noexcept { owner_of(self).after_fork_in_parent(); },
      .in_child = [](void* self) noexcept { owner_of(self).after_fork_in_child(nullptr); },
      .self = this};
};

struct threads_of_shared_heap {
  template <class Owner, class T>
  using parts = shared_part<Owner, T>;
};

}  // namespace ashlar::drop_in
