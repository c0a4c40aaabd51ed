// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of pools of objects: a limit and a growth step.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/slots/slot_word.hpp>

namespace ashlar::ASHLAR_ABI {

/// The limit and the growth of a growing `object_pool`, an `intrusive_pool` or a `buffer_pool`.
struct object_pool_options {
  std::size_t max_count = detail::slot_word::max_slots;  ///< objects at once; 0 counts as 1
  std::size_t growth_count = 0;                          ///< objects of one growth step; 0: as many as one slab has
};

}  // namespace ashlar::ASHLAR_ABI
