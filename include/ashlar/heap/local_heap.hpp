// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size for one thread: hot cells by class in front, slabs, runs of slices and huge blocks behind.
#pragma once

#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/basic_local_heap.hpp>
#include <ashlar/detail/heap/heap_core.hpp>
#include <ashlar/detail/heap/heap_region.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/heap/heap_options.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

using detail::heap_region;
using detail::region_kind;

/// A heap of one thread.
///
///   deallocate(p) -> last_freed -> stack of the class -> sweep: bits of the slabs -> empty slabs: slices -> upstream
///   allocate(n)   <- last_freed <- stack of the class <- word of 64 cells <- slabs <- run of slices <- segment <-
///   upstream
///
/// Up to 32 KiB a block is a cell of one of 72 classes; up to 63 slices of 64 KiB a run of slices; else it is a block
/// of the upstream's own. Nothing is kept in a block: what is known of it stands at the head of its 4 MiB segment.
/// Every block is aligned by 16 at least. `deallocate(p)` finds the class by one load.
/// The last_freed holds the block that was freed last, so that a free followed by an allocation of the same class waits
/// for no store to be forwarded through a stack. Blocks that are live when the heap ends go with it. Thread safety:
/// none. Nothing is allocated before the first block.
template <resource Upstream>
class local_heap : public detail::basic_local_heap<detail::heap_core<Upstream>> {
  using base = detail::basic_local_heap<detail::heap_core<Upstream>>;

public:
  local_heap() : local_heap(heap_options{}) {}
  explicit local_heap(const heap_options& options, Upstream upstream = {}) : base(options, std::move(upstream)) {}
  explicit local_heap(Upstream upstream)
    requires(!std::is_empty_v<Upstream>)
      : local_heap(heap_options{}, std::move(upstream)) {}

  [[nodiscard]] friend bool operator==(const local_heap& a, const local_heap& b) noexcept { return &a == &b; }
};

static_assert(try_resource<local_heap<>> && owning_resource<local_heap<>> && releasable_resource<local_heap<>>);
static_assert(self_describing_resource<local_heap<>> && expanding_resource<local_heap<>>);
static_assert(at_least_resource<local_heap<>>);

}  // namespace ASHLAR_ABI
}  // namespace ashlar
