// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: a model calls the steps of a fork itself.
#pragma once

#include <ashlar/base/config.hpp>

namespace ashlar::ASHLAR_ABI::detail {

enum class fork_step : unsigned char { outer_locks, inner_locks, shared_locks, last_locks };

struct fork_participant {
  void (*before)(void* self, fork_step step) noexcept = nullptr;
  void (*in_parent)(void* self) noexcept = nullptr;
  void (*in_child)(void* self) noexcept = nullptr;
  void* self = nullptr;
};

template <class Lock>
[[nodiscard]] constexpr fork_participant at_last_step(Lock&) noexcept {
  return {};
}

struct fork_participants {
  struct callback_scope {
    callback_scope() noexcept {}  // not trivial, as that of the library: a variable of it is in use
  };
  static void enter(fork_participant&, const fork_participant& = {}) noexcept {}
  static void leave(fork_participant&) noexcept {}
  static void leave_in_child(fork_participant&) noexcept {}
};

}  // namespace ashlar::ASHLAR_ABI::detail
