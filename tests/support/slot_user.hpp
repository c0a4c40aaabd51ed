// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots in slabs with trivial objects, for the tests of the layers below the pools of objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/slot_guard.hpp>
#include <ashlar/detail/slots/slot_layout.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/slots/slot_slabs.hpp>
#include <ashlar/detail/slots/slot_watch.hpp>
#include <ashlar/detail/slots/slot_word.hpp>

#include "tests/support/counting_resource.hpp"

namespace ashlar_test {

template <class Threads>
struct plain_ends {
  static constexpr bool is_plain = true;
  static inline std::size_t slabs = 0;  // ended slabs
  static void object(ashlar::detail::slot_slab<Threads>& slab, std::uint32_t index) noexcept {
    ashlar::detail::slot_pool_core<Threads>::give(slab, index, ashlar::detail::slot_word::raw_mark,
                                                  slab.word_at(index));
  }
  static void slab(ashlar::detail::slot_slab<Threads>&) noexcept { ++slabs; }
};

using counted_upstream = ashlar::resource_ref<counting_resource<>>;

/// Slots of `Bytes` bytes, aligned to 8, with their words in the slab.
template <class Threads, std::size_t Bytes = 1024>
using test_slots = ashlar::detail::slot_slabs<ashlar::detail::slot_layout<Threads, Bytes, 8, false>, Threads,
                                              counted_upstream, plain_ends<Threads>>;

/// Returns: the bytes of a slot of `test_slots` without the guard behind it.
template <class Slab>
[[nodiscard]] std::size_t object_bytes_in(const Slab& slab) {
  return slab.slot_bytes - ashlar::detail::slot_guard<8, 8>::bytes;
}

template <class Threads>
void retire(const ashlar::detail::slot_pool_core<Threads>&, void* slot, std::size_t bytes, std::uint32_t marks) {
  ashlar::detail::retire_slot<Threads::is_shared>(slot, bytes, marks);
}

/// Effects: gives a slot of `take` back.
template <class Place>
void give_back(const Place& at, std::uint32_t marks = ashlar::detail::slot_word::raw_mark) {
  using core = std::remove_pointer_t<decltype(at.in->home)>;
  retire(*at.in->home, at.memory(), object_bytes_in(*at.in), marks);
  core::give(*at.in, at.index, marks, at.in->word_at(at.index));
}

}  // namespace ashlar_test
