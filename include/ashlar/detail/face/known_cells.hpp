// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fit of an object in the cells of a pool, as far as the type of the pool tells.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Whether a `T` may be in a cell of `R`: false if the cells are too small by the type of `R`.
template <class T, class R>
inline constexpr bool may_be_in_cell_of = true;
template <class T, class R>
inline constexpr bool may_be_in_cell_of<T, resource_ref<R>> = may_be_in_cell_of<T, R>;
template <class T, std::size_t CellBytes, std::size_t CellAlignment, class Upstream>
inline constexpr bool may_be_in_cell_of<T, fixed_block_pool<CellBytes, CellAlignment, Upstream>> =
    sizeof(T) <= align_up(CellBytes, CellAlignment) && alignof(T) <= CellAlignment;

}  // namespace ashlar::ASHLAR_ABI::detail
