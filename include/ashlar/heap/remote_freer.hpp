// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's side of remote frees: gathers the frees of other threads' blocks into parcels.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/parcel_sender.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// Gathers freed cells, of up to 32 KiB, into parcels, one for each owner, and sends a parcel with one atomic
/// operation. Larger blocks go back at once. Never allocates. From level `checked` on every block goes back at once, so
/// that the freeing call reports misuse. Lifetime: the heaps outlive it, or its last `flush`. Thread safety: one
/// thread, any number of heaps.
template <resource Upstream>
class remote_freer {
public:
  /// Bytes: the limit of cells that are not sent, exceeded by less than 72 KiB for each owner.
  static constexpr std::size_t most_held = detail::parcel_sender<Upstream>::most_held;

  remote_freer() = default;
  remote_freer(const remote_freer&) = delete;
  remote_freer& operator=(const remote_freer&) = delete;
  ~remote_freer() = default;  // sends the noted cells

  /// Effects: frees a block of `owner`; nothing for null. Complexity: O(1).
  ASHLAR_INLINE void defer_free(owner_heap<Upstream>& owner, void* p) noexcept { sender_.defer_free(owner.engine_, p); }

  /// Effects: sends the noted cells.
  void flush() noexcept { sender_.flush(); }

  /// Effects: flushes at the fourth call in a row without a free between them that began a parcel's carrier, of which
  /// there is one in fifteen frees: an active freer sends its parcels in time.
  void flush_if_quiet() noexcept { sender_.flush_if_quiet(); }

  /// Effects: forgets the noted cells, which stay taken.
  void forget() noexcept { sender_.forget(); }

  /// Returns: cells noted and not sent. Complexity: O(1), 33 entries.
  [[nodiscard]] std::size_t noted() const noexcept { return sender_.noted(); }

  [[nodiscard]] bool invariant() const noexcept { return sender_.invariant(); }

private:
  detail::parcel_sender<Upstream> sender_;
};

}  // namespace ashlar::ASHLAR_ABI
