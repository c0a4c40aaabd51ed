// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fork participant of the slab registry: a child that waits for its lock forever could not use any pool.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Pools change the registry under their own locks, so a fork takes its lock last.
class registry_at_fork {
public:
  /// Effects: from now on a fork waits until no thread reads or changes the registry. Nothing at level `fast`.
  /// Expects: no participant's lock is held. Owners of slabs call it before they make their first slab.
  static ASHLAR_INLINE void enter() noexcept {
    if constexpr (checking_level >= checking::checked) fork_participants::enter(participant_);
  }

private:
  static inline constinit fork_participant participant_ = at_last_step(process_slabs);
};

}  // namespace ashlar::ASHLAR_ABI::detail
