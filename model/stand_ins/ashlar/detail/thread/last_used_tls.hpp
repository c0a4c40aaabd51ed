// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces the shipped file: one place for each thread of the model.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/detail/thread/thread_directory.hpp>

namespace ashlar::ASHLAR_ABI::detail {

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
