// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets a fork find the registry of slabs at rest: a child that hung for its lock could use no pool at all.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/base/hints.hpp>
#include <ashlar/os/fork.hpp>
#include <ashlar/part/slab_registry.hpp>

namespace ashlar::inline ASHLAR_ABI {

/// The registry is changed under the locks of pools, so it is held last.
class registry_at_fork {
public:
  /// Effects: from now on a fork waits until no thread looks at the registry or changes it. Nothing at level `fast`.
  /// Expects: no participant's lock is held. Whoever makes slabs calls it before their first.
  static ASHLAR_INLINE void enter() noexcept {
    if constexpr (checking_level >= checking::checked) os::fork_participants::enter(participant_);
  }

private:
  static inline constinit os::fork_participant participant_{.before =
                                                                [](void*, os::fork_step step) noexcept {
                                                                  if (step == os::fork_step::last_locks)
                                                                    process_slabs.lock();
                                                                },
                                                            .in_parent = [](void*) noexcept { process_slabs.unlock(); },
                                                            .in_child = [](void*) noexcept { process_slabs.unlock(); }};
};

}  // namespace ashlar::inline ASHLAR_ABI
