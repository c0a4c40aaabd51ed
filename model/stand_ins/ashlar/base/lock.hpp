// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Wraps the shipped file: its spin lock becomes one of the checker's, since a search cannot spin, and its mark of an
// owner is always set.
#pragma once

#include <checker.hpp>

#pragma GCC system_header  // for include_next

#define spin_lock shipped_spin_lock
#define owner_mark shipped_owner_mark
#include_next <ashlar/base/lock.hpp>
#undef spin_lock
#undef owner_mark

namespace ashlar::ASHLAR_ABI {

using spin_lock = checker::mutex;

namespace detail {

struct owner_mark {
  struct waiting {
    explicit waiting(owner_mark&) noexcept {}
  };
  [[nodiscard]] static bool is_set() noexcept { return true; }
  static void let_in() noexcept {}
  static void forget() noexcept {}
};

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
