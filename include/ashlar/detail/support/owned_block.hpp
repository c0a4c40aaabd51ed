// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocation of blocks that `owns` of their resource recognises, for adaptors that find the owner of a block.
#pragma once

#include <cstddef>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Returns: whether `r` would forward the request to its upstream, so that `r.owns` would not recognise the block: a
/// pool owns its cells, but not the larger blocks of its upstream.
template <owning_resource R>
[[nodiscard]] ASHLAR_INLINE bool hands_on([[maybe_unused]] const R& r, [[maybe_unused]] std::size_t bytes,
                                          [[maybe_unused]] std::size_t alignment) noexcept {
  if constexpr (run_resource<R>) return bytes > r.cell_bytes() || alignment > r.cell_alignment();
  else return false;
}

/// Effects: deallocates a block that `r.owns` does not recognise. Returns: null.
template <owning_resource R>
ASHLAR_COLD void* give_back_unknown(R& r, void* p, std::size_t bytes, std::size_t alignment) noexcept {
  r.deallocate(p, bytes, alignment);
  return nullptr;
}

/// Returns: a block of `r` that `r.owns` recognises, or null. Null means that `r` is exhausted or serves the request
/// with a block that it does not recognise: an owner test would free such a block to the wrong resource.
template <owning_resource R>
[[nodiscard]] ASHLAR_INLINE void* try_allocate_owned(R& r, std::size_t bytes, std::size_t alignment) noexcept {
  if (hands_on(r, bytes, alignment)) return nullptr;
  void* const p = try_allocate_from(r, bytes, alignment);
  if constexpr (run_resource<R>) return p;
  if (p == nullptr || ASHLAR_LIKELY(r.owns(p))) return p;
  return give_back_unknown(r, p, bytes, alignment);
}

/// As `try_allocate_owned`, but never null. Throws: any exception of `r.allocate`; `std::bad_alloc` if `r` serves the
/// request with a block that it does not recognise.
template <owning_resource R>
[[nodiscard]] void* allocate_owned(R& r, std::size_t bytes, std::size_t alignment) {
  if (hands_on(r, bytes, alignment)) throw_bad_alloc(bytes, alignment);
  void* const p = r.allocate(bytes, alignment);
  if (ASHLAR_LIKELY(r.owns(p))) return p;
  give_back_unknown(r, p, bytes, alignment);
  throw_bad_alloc(bytes, alignment);
}

}  // namespace ashlar::ASHLAR_ABI::detail
