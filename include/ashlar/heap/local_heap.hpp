// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for one thread: a thread cache in front of slabs, spans of slices and huge blocks.
#pragma once

#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/engine.hpp>
#include <ashlar/detail/heap/heap_api.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/heap_stores.hpp>
#include <ashlar/detail/heap/sharing.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar::ASHLAR_ABI {

using detail::heap_region;
using detail::region_kind;

/// A heap of one thread.
///
///     deallocate(p) -> free list -> sweep: bitmaps -> empty slabs -> slices -> upstream
///     allocate(n)   <- free list <- cell batch <- slab <- span of slices <- segment <- upstream
///
/// A block of up to 32 KiB is a cell of one of 76 size classes. A block of up to 63 slices of 64 KiB is a span. A
/// larger block is an extent of the upstream. Blocks hold no metadata: it stands in the head of their 4 MiB segment.
/// The alignment is at least 16 bytes. `deallocate(p)` finds the size class by one load. Live blocks end with
/// the heap. Thread safety: none. Nothing is allocated before the first block.
template <resource Upstream>
class local_heap : public detail::heap_api<local_heap<Upstream>>,
                   public detail::heap_contents_api<local_heap<Upstream>> {
public:
  local_heap() : local_heap(heap_options{}) {}
  explicit local_heap(const heap_options& options, Upstream upstream = {}) : engine_(options, std::move(upstream)) {}
  explicit local_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : local_heap(heap_options{}, std::move(upstream)) {}

  [[nodiscard]] friend bool operator==(const local_heap& a, const local_heap& b) noexcept { return &a == &b; }

private:
  friend detail::heap_api<local_heap>;
  friend detail::heap_contents_api<local_heap>;

  [[nodiscard]] ASHLAR_INLINE auto& primitives() noexcept { return engine_; }
  [[nodiscard]] ASHLAR_INLINE const auto& primitives() const noexcept { return engine_; }

  detail::local_engine<Upstream> engine_;
};

static_assert(try_resource<local_heap<>> && owning_resource<local_heap<>> && releasable_resource<local_heap<>>);
static_assert(self_describing_resource<local_heap<>> && expanding_resource<local_heap<>>);
static_assert(detail::at_least_resource<local_heap<>>);

}  // namespace ashlar::ASHLAR_ABI
