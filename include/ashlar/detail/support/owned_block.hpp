// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that the resource which handed them out will know again, for adaptors that find the owner of a block.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// Returns: whether `r` would hand such a request on to an upstream of its own, so that asking it is in vain: a pool
/// owns its cells, not the larger blocks of its upstream.
template <owning_resource R>
[[nodiscard]] ASHLAR_INLINE bool hands_on([[maybe_unused]] const R& r, [[maybe_unused]] std::size_t bytes,
                                          [[maybe_unused]] std::size_t alignment) noexcept {
  if constexpr (run_resource<R>) return bytes > r.cell_bytes() || alignment > r.cell_alignment();
  else return false;
}

/// Effects: gives back a block that `r` does not know. Returns: null.
template <owning_resource R>
ASHLAR_COLD void* give_back_unknown(R& r, void* p, std::size_t bytes, std::size_t alignment) noexcept {
  r.deallocate(p, bytes, alignment);
  return nullptr;
}

/// Returns: a block of `r` that `r.owns` knows, or null where `r` has no memory left, or serves such a request with
/// memory that it does not know: freed by an owner test, that block would go astray.
template <owning_resource R>
[[nodiscard]] ASHLAR_INLINE void* try_allocate_owned(R& r, std::size_t bytes, std::size_t alignment) noexcept {
  if (hands_on(r, bytes, alignment)) return nullptr;
  void* const p = try_allocate_from(r, bytes, alignment);
  if constexpr (run_resource<R>) return p;
  if (p == nullptr || ASHLAR_LIKELY(r.owns(p))) return p;
  return give_back_unknown(r, p, bytes, alignment);
}

/// As `try_allocate_owned`, but never null. Throws: what `r.allocate` throws; `std::bad_alloc` where `r` serves such a
/// request with memory that it does not know.
template <owning_resource R>
[[nodiscard]] void* allocate_owned(R& r, std::size_t bytes, std::size_t alignment) {
  if (hands_on(r, bytes, alignment)) throw_bad_alloc(bytes, alignment);
  void* const p = r.allocate(bytes, alignment);
  if (ASHLAR_LIKELY(r.owns(p))) return p;
  give_back_unknown(r, p, bytes, alignment);
  throw_bad_alloc(bytes, alignment);
}

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
