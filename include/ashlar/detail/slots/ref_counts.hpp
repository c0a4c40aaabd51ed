// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counting the references to an object by its address alone.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/deferred_destruction.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/slots/slot_watch.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/count_placement.hpp>

namespace ashlar::ASHLAR_ABI::detail {

// A member counted by any thread: an `atomic<std::uint32_t>`, or an object with the same operations.
template <class Count>
concept shared_count = std::same_as<typename Count::value_type, std::uint32_t> && requires(Count& own) {
  own.fetch_add(1, memory_order_relaxed);
  own.fetch_sub(1, memory_order_acq_rel);
};

// One interface for all counts: words of slots, and members of objects.
template <class Word>
ASHLAR_INLINE void count_up(Word& word) noexcept {
  word.retain();
}
ASHLAR_INLINE void count_up(std::uint32_t& own) noexcept {
  if (ASHLAR_UNLIKELY(++own > slot_word::max_count)) slot_word::count_overflow();
}
template <shared_count Count>
ASHLAR_INLINE void count_up(Count& own) noexcept {
  if (ASHLAR_UNLIKELY(own.fetch_add(1, memory_order_relaxed) >= slot_word::max_count)) slot_word::count_overflow();
}

template <class Word>
[[nodiscard]] ASHLAR_INLINE bool count_down(Word& word) noexcept {
  return word.release();
}
[[nodiscard]] ASHLAR_INLINE bool count_down(std::uint32_t& own) noexcept { return --own == 0; }
template <shared_count Count>
[[nodiscard]] ASHLAR_INLINE bool count_down(Count& own) noexcept {
  return own.fetch_sub(1, memory_order_acq_rel) == 1;  // pairs with itself, as in `shared_slot_word`
}

template <class Word>
[[nodiscard]] ASHLAR_INLINE std::uint32_t count_value(const Word& word) noexcept {
  return word.load();
}
[[nodiscard]] ASHLAR_INLINE std::uint32_t count_value(const std::uint32_t& own) noexcept { return own; }
template <shared_count Count>
[[nodiscard]] ASHLAR_INLINE std::uint32_t count_value(const Count& own) noexcept {
  return own.load(memory_order_relaxed);
}

ASHLAR_INLINE void count_start(std::uint32_t& own) noexcept { own = 1; }
template <shared_count Count>
ASHLAR_INLINE void count_start(Count& own) noexcept {
  own.store(1, memory_order_relaxed);  // no other thread has the object yet
}

[[noreturn]] ASHLAR_COLD inline void report_reference(fault kind, const char* what, const void* p) noexcept {
  report({.kind = kind, .what = what, .pointer = p});
}

/// The operations of a reference to a `T` of some pool on its count. `T` may be incomplete until a member is used.
///
/// An object of a non-final class may be larger than a `T`, and the pointer may point into its middle: the header of
/// the slab then leads to its slot. For an exact type arithmetic suffices. An object's own count needs neither. Thread
/// safety: by `Threads`, as a `std::shared_ptr` or as an `int`.
template <class T, policy::threads Threads, class Placement>
struct ref_counts {
  using slab_type = slot_slab<Threads>;

  static ASHLAR_INLINE void retain(T* p) noexcept {
    auto& count = count_of(p);
    check_live(p, count);
    detail::count_up(count);
  }

  /// Effects: counts one less; the last release ends or recycles the object, and gives its slot back.
  static ASHLAR_INLINE void release(T* p) noexcept {
    auto& count = count_of(p);
    check_live(p, count);
    if (ASHLAR_UNLIKELY(detail::count_down(count))) end(p);
  }

  [[nodiscard]] static ASHLAR_INLINE std::uint32_t use_count(T* p) noexcept { return detail::count_value(count_of(p)); }

  /// Effects: reports an address without a live object of a pool. `p` is not read before its pool is known.
  static void check_address(const T* p) noexcept {
    const cell_place place = process_slabs.find(p);
    if (place.owner == nullptr)
      detail::report_reference(fault::invalid_free, "referred to a pointer that is not of an object of a pool", p);
    slab_type& slab = *slab_type::around(p);
    const std::uint32_t index = slab.index_of(p);
    if (is_exact_type<T> && slab.slot_at(index) != p)
      detail::report_reference(fault::misaligned_free, "referred to a pointer into the middle of an object", p);
    check_live(p, slab.word_at(index));
  }

  [[nodiscard]] static ASHLAR_INLINE auto& count_of(T* p) noexcept {
    if constexpr (traits::is_own) {
      return traits::own(*p);
    } else if constexpr (is_exact_type<T>) {
      return layout_of<T, Threads, Placement>::word_of(p);
    } else {
      const slab_type& slab = *slab_type::around(p);
      return slab.word_at(slab.index_of(p));
    }
  }

private:
  // In a separate class, since its members need a complete `T` and this one does not.
  struct traits : detail::placement_traits<T, Placement> {};

  template <class Count>
  static ASHLAR_INLINE void check_live(const T* p, const Count& count) noexcept {
    if constexpr (checking_level >= checking::checked) {
      const std::uint32_t now = detail::count_value(count);
      if (ASHLAR_UNLIKELY(now == 0 || slot_word::is_free(now)))
        detail::report_reference(fault::double_free, "referred to an object that was destroyed", p);
    }
  }

  // The common cases are handled here; the rest by the pool's function.
  static ASHLAR_INLINE void end(T* p) noexcept {
    slab_type& slab = *slab_type::around(p);
    if constexpr (is_exact_type<T>) end_exact(slab, p);
    else end_any(slab, slab.index_of(p));
  }

  static ASHLAR_INLINE void end_exact(slab_type& slab, T* p) noexcept {
    using layout = layout_of<T, Threads, Placement>;
    const std::uint32_t index = layout::index_of(slab, p);
    if (ASHLAR_UNLIKELY(!slab.ends_by_destroying)) return slab.home->end_object(slab, index);
    if constexpr (keeps_canaries) layout::guard::expect(p, nullptr);
    if constexpr (std::is_trivially_destructible_v<T>) {
      poison_slot<Threads::is_shared>(p, sizeof(T));
      slot_pool_core<Threads>::give(slab, index, slot_word::raw_mark, layout::word_at(slab, index));
    } else {
      const auto destroy = [](slab_type& in, std::uint32_t which) noexcept {
        T* const object = std::launder(static_cast<T*>(layout::slot_at(in, which)));
        std::destroy_at(object);
        poison_slot<Threads::is_shared>(object, sizeof(T));
        return slot_word::raw_mark;
      };
      destroy_iteratively(slab, index, destroy, &layout::word_at);
    }
  }

  static ASHLAR_INLINE void end_any(slab_type& slab, std::uint32_t index) noexcept {
    if (marks_memory || keeps_canaries || ASHLAR_UNLIKELY(!slab.ends_plainly))
      return slab.home->end_object(slab, index);
    slot_pool_core<Threads>::give(slab, index, slot_word::raw_mark, slab.word_at(index));
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
