// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of counted objects that need no counter of their own.
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
#include <ashlar/resource/default_upstream.hpp>

namespace ashlar::ASHLAR_ABI {

/// As `std::make_shared`, without control blocks: an object costs its size and 4 bytes, often in its padding, and a
/// pointer to it is one word.
///
///     ashlar::ref_pool<shape> shapes;
///     ashlar::ref_ptr<shape> a = shapes.make(3, 4);
///     ashlar::ref_ptr<drawable> b = a;      // a base; two references to one object
///
/// Grows without bound, by slabs; nothing is allocated before the first object or `reserve`. See `counted_objects`.
template <class T, policy::threads Threads, class Placement, resource Upstream>
class ref_pool
    : public detail::counted_objects<T, construct_on_acquire, throw_when_exhausted, Threads, Placement, Upstream> {
public:
  ref_pool()
    requires std::default_initializable<Upstream>
      : ref_pool(Upstream()) {}
  explicit ref_pool(Upstream upstream) : ref_pool::counted_objects({}, std::move(upstream)) {}
};

}  // namespace ashlar::ASHLAR_ABI
