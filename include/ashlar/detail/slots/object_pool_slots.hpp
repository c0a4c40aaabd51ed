// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The storage of an object_pool's objects, by its capacity: inside the pool, in one block, in slabs.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/allocated_slots.hpp>
#include <ashlar/detail/slots/flat_slots.hpp>
#include <ashlar/detail/slots/growing_slots.hpp>
#include <ashlar/detail/slots/slot_run.hpp>
#include <ashlar/detail/slots/slot_slabs.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <class T>
struct destroy_in_slot {
  void operator()(void* slot) const noexcept { std::destroy_at(std::launder(static_cast<T*>(slot))); }
};

template <class T, std::size_t Capacity, class Lifetime, policy::threads Threads, resource Upstream>
struct choose_slots {
  using word = std::conditional_t<Threads::is_shared, shared_slot_word<>, plain_slot_word>;
  static constexpr bool marks_taken = Lifetime::keeps || Threads::is_shared || checking_level >= checking::checked;
  using type = flat_slots<slot_run<sizeof(T), alignof(T), Capacity, word>, Threads, marks_taken>;
};

template <class T, class Lifetime, policy::threads Threads, resource Upstream>
struct choose_slots<T, dynamic_capacity, Lifetime, Threads, Upstream> {
  using any = choose_slots<T, 1, Lifetime, Threads, Upstream>;
  using type =
      flat_slots<allocated_slots<sizeof(T), alignof(T), typename any::word, Upstream>, Threads, any::marks_taken>;
};

template <class T, class Lifetime, policy::threads Threads, resource Upstream>
struct choose_slots<T, growing, Lifetime, Threads, Upstream> {
  static constexpr bool keeps = Lifetime::keeps && !std::is_trivially_destructible_v<T>;
  using type = growing_slots<sizeof(T), alignof(T), Threads, Upstream, keeps, destroy_in_slot<T>>;
};

template <class T, std::size_t Capacity, class Lifetime, policy::threads Threads, resource Upstream>
using object_pool_slots = typename choose_slots<T, Capacity, Lifetime, Threads, Upstream>::type;

}  // namespace ashlar::ASHLAR_ABI::detail
