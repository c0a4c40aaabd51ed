// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of a pool that its slabs share with its handle, and with its objects after the handle has ended.
#pragma once

#include <cstdint>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/return_queue.hpp>
#include <ashlar/detail/slots/slot_directory.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/list.hpp>

namespace ashlar::ASHLAR_ABI::detail {

struct deferred_destruction;

/// With one thread, a freed slot returns to its slab at once.
struct no_return_queue {};

/// Lives from the pool's first slot until the handle and all objects have ended. The handle or the last release,
/// whichever comes last, ends it.
template <policy::threads Threads>
struct slot_pool_core {
  using slab_type = slot_slab<Threads>;
  using home_type = std::conditional_t<Threads::is_shared, return_queue<>, no_return_queue>;

  /// Called after the last release of an object: ends or recycles it and gives its slot back.
  void (*end_object)(slab_type&, std::uint32_t index) noexcept = nullptr;
  /// Called when all slots are back after the handle has ended: frees all memory.
  void (*end_core)(slot_pool_core&) noexcept = nullptr;
  deferred_destruction* ending = nullptr;  ///< the object that is ending, if one thread uses the pool
  std::uint32_t shift = 0;                 ///< slots of slab n have the numbers from n << shift
  std::uint32_t busy_slabs = 0;            ///< slabs with live objects, after the handle has ended; 0 before
  list<slab_type> available;               ///< slabs with free slots, except the current one
  slot_directory<slab_type> directory;
  /// All threads write its cache line.
  alignas(Threads::is_shared ? 64 : alignof(void*)) home_type home;

  /// A slot by its number.
  struct place {
    slab_type& slab;
    std::uint32_t index;
  };
  [[nodiscard]] place find(std::uint32_t number) const noexcept {
    return {*directory.at(number >> shift), number & ((std::uint32_t{1} << shift) - 1)};
  }

  /// Effects: notes that a slab has a free slot again, or, after the end of the handle, that its last object has ended.
  ASHLAR_COLD void hear_from(slab_type& slab) noexcept {
    if (busy_slabs != 0) {
      if (--busy_slabs == 0) end_core(*this);
    } else if (!slab.is_current) {
      available.push_back(&slab);
    }
  }

  /// Effects: puts a slot into its slab. Expects: one thread at a time.
  ASHLAR_INLINE static void put(slab_type& slab, std::uint32_t index, std::uint32_t marks,
                                slot_word_of<Threads>& word) noexcept {
    slab.free.give(index, marks, [&word](std::uint32_t) -> slot_word_of<Threads>& { return word; });
    if (ASHLAR_UNLIKELY(slab.live-- == slab.signal_at)) slab.home->hear_from(slab);
  }

  /// Effects: gives a slot back, and frees all memory if it was the last one and the handle has ended. The slab may be
  /// freed when this returns. `marks` as for `slot_stack::give`. Expects: `retire_slot` was called for the slot, with
  /// the same marks.
  ASHLAR_INLINE static void give(slab_type& slab, std::uint32_t index, std::uint32_t marks,
                                 slot_word_of<Threads>& word) noexcept {
    if constexpr (Threads::is_shared) {
      slot_pool_core& core = *slab.home;
      if (ASHLAR_UNLIKELY(core.home.give(slab.first_number + index, marks, word))) core.end_core(core);
    } else {
      put(slab, index, marks, word);
    }
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
