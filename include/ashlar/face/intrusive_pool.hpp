// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of counted objects, bounded or growing by steps, that may carry their own count and may be kept constructed.
#pragma once

#include <concepts>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/counted_objects.hpp>
#include <ashlar/detail/slots/slot_slabs.hpp>
#include <ashlar/face/count_placement.hpp>
#include <ashlar/face/exhausted.hpp>
#include <ashlar/face/lifetime.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_resource.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {

/// How many objects a pool may have, and by how many it grows.
using intrusive_pool_options = detail::slot_slabs_options;

/// As `ref_pool`, and as its policies say:
///
/// | policy | choices |
/// |---|---|
/// | `Lifetime` | `construct_on_acquire`; `keep_constructed<Reset>`, where `Reset` is the recycle hook |
/// | `Exhausted` | `throw_when_exhausted`; `null_when_exhausted` |
/// | `Threads` | `one_thread`; `any_thread<Lock>` |
/// | `Placement` | `count_by_padding`, `count_in_slab`, `count_beside`, `count_in_member<&T::count>` |
///
/// An object carries its own count where `ref_count(object)` is found by argument-dependent lookup or `Placement` says
/// so; no base class is asked for, nor RTTI. `add_reference` and `drop_reference` serve other intrusive pointers.
template <class T, class Lifetime, class Exhausted, threads_policy Threads, class Placement, resource Upstream>
class intrusive_pool : public detail::counted_objects<T, Lifetime, Exhausted, Threads, Placement, Upstream> {
  static_assert(lifetime_policy<Lifetime> && exhaustion_policy<Exhausted>);

public:
  /// Nothing is allocated before the first object or `reserve`.
  intrusive_pool()
    requires std::default_initializable<Upstream>
      : intrusive_pool(intrusive_pool_options{}) {}
  explicit intrusive_pool(const intrusive_pool_options& options)
    requires std::default_initializable<Upstream>
      : intrusive_pool(options, Upstream()) {}
  intrusive_pool(const intrusive_pool_options& options, Upstream upstream)
      : intrusive_pool::counted_objects(options, std::move(upstream)) {}
};

}  // namespace ASHLAR_ABI
}  // namespace ashlar
