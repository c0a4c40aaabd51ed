// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets a fork find the registry of slabs at rest: a child that hung for its lock could use no pool at all.
#pragma once

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/thread/fork.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// The registry is changed under the locks of pools, so it is held last.
class registry_at_fork {
public:
  /// Effects: from now on a fork waits until no thread looks at the registry or changes it. Nothing at level `fast`.
  /// Expects: no participant's lock is held. Whoever makes slabs calls it before their first.
  static ASHLAR_INLINE void enter() noexcept {
    if constexpr (checking_level >= checking::checked) fork_participants::enter(participant_);
  }

private:
  static inline constinit fork_participant participant_{.before =
                                                            [](void*, fork_step step) noexcept {
                                                              if (step == fork_step::last_locks) process_slabs.lock();
                                                            },
                                                        .in_parent = [](void*) noexcept { process_slabs.unlock(); },
                                                        .in_child = [](void*) noexcept { process_slabs.unlock(); }};
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
