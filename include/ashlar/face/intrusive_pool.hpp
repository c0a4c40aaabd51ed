// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of counted objects, bounded or growing, which may carry their own count and may be kept constructed.
#pragma once

#include <concepts>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/face/ref_pool.hpp>
#include <ashlar/face/ref_ptr.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// The limit of objects, and the number that one growth step adds.
using intrusive_pool_options = object_pool_options;

/// The choices of an `intrusive_pool`. To change one, derive and shadow it.
struct intrusive_pool_traits {
  /// The time of construction and destruction: `construct_on_acquire`, or `keep_constructed<Reset>` with `Reset` as the
  /// recycle hook.
  using lifetime = construct_on_acquire;
  /// The result of `make` when the pool is exhausted: `throw_when_exhausted`, or `null_when_exhausted`.
  using exhausted = throw_when_exhausted;
  /// `one_thread`, or `any_thread<Lock>`.
  using threads = one_thread;
  /// The place of the count: `count::by_padding`, `count::in_slab`, `count::beside`, `count::in_member<&T::count>`.
  using placement = count::by_padding;
  /// The source of memory.
  using upstream = default_upstream;
};

/// As `ref_pool`, bounded or growing by steps, with the choices of `Traits`.
///
/// An object carries its own count if `ref_count(object)` is found by argument-dependent lookup or the placement is
/// `count::in_member`; no base class is needed, nor RTTI. `add_reference` and `drop_reference` serve other intrusive
/// pointers.
template <class T, class Traits>
class intrusive_pool
    : public detail::counted_objects<T, typename Traits::lifetime, typename Traits::exhausted, typename Traits::threads,
                                     typename Traits::placement, typename Traits::upstream> {
  using calls = typename intrusive_pool::counted_objects;
  using upstream_type = typename Traits::upstream;
  static_assert(policy::lifetime<typename Traits::lifetime> && policy::exhaustion<typename Traits::exhausted>);

public:
  using traits_type = Traits;

  /// @{ As in `ref_pool`, in whose header their contracts stand; a pool without free objects acts by
  /// `Traits::exhausted`. With `keep_constructed`, `make` returns a free kept object, unchanged, and `trim` destroys
  /// the objects kept in the slabs that it gives back.
  using calls::bytes_per_object;
  using calls::capacity;
  using calls::clear;
  using calls::empty;
  using calls::for_each_live;
  using calls::growth_steps;
  using calls::held_bytes;
  using calls::invariant;
  using calls::live;
  using calls::make;
  using calls::make_for_overwrite;
  using calls::make_with;
  using calls::max_size;
  using calls::owns;
  using calls::reserve;
  using calls::spare;
  using calls::trim;
  using calls::try_make;
  using calls::upstream_resource;
  using typename calls::pointer;
  using typename calls::value_type;
  /// @}

  /// Nothing is allocated before the first object or `reserve`.
  intrusive_pool()
    requires std::default_initializable<upstream_type>
      : intrusive_pool(intrusive_pool_options{}) {}
  explicit intrusive_pool(const intrusive_pool_options& options)
    requires std::default_initializable<upstream_type>
      : intrusive_pool(options, upstream_type()) {}
  intrusive_pool(const intrusive_pool_options& options, upstream_type upstream)
      : intrusive_pool::counted_objects(options, std::move(upstream)) {}
};

}  // namespace ashlar::ASHLAR_ABI
