// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A counted pointer of one word to an object of a pool; the object needs no counter of its own.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>  // std::hash
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

/// The places of a count in a slab of objects:
///
///     in_slab      | header | count 0 | count 1 | ... | object 0 | object 1 | ...
///     beside       | header | object 0 | count 0 | object 1 | count 1 | ...
///     in_member    | header | ... | object 0 { ... count ... } | object 1 { ... count ... } | ...
///
/// At level `hardened` guards follow the objects, so `beside` places the counts as `in_slab` does.
namespace count {

/// Placement: an array of counts in front of the slots of each slab; 4 bytes for each object, for any alignment.
struct in_slab {};
/// Placement: right after the object. It costs the padding to the next object, and an access touches one cache line
/// less.
struct beside {};
/// Placement: a member of the object. `Count` is a `std::uint32_t`, or a `std::atomic<std::uint32_t>` if any thread
/// counts; its value after the construction of an object does not matter.
template <auto Member>
struct in_member {};
/// Placement, the default: in the object if `ref_count(object)` is found by argument-dependent lookup and returns a
/// reference to such a count; else beside it if its padding leaves room; else in the slab.
struct by_padding {};

}  // namespace count

namespace detail {

/// Whether a `T*` points to an object of exactly that type, so that the place of its count is a constant.
template <class T>
inline constexpr bool is_exact_type = !std::is_class_v<T> || std::is_final_v<T>;

template <class T>
concept has_ref_count = requires(T& object) { ref_count(object); };

// Whether a slot with its word costs no more bytes than the two apart.
template <class T>
inline constexpr bool has_room_beside =
    align_up(sizeof(T) + 4, std::max<std::size_t>(alignof(T), 4)) <= align_up(sizeof(T), alignof(T)) + 4;

template <class T, class Placement>
struct placement_traits;
template <class T>
struct placement_traits<T, count::in_slab> {
  static constexpr bool is_beside = false;
  static constexpr bool is_own = false;
};
template <class T>
struct placement_traits<T, count::beside> {
  static constexpr bool is_beside = true;
  static constexpr bool is_own = false;
};
// The slot's own word marks the slot as free or taken, and counts nothing.
template <class T, auto Member>
struct placement_traits<T, count::in_member<Member>> {
  static constexpr bool is_beside = has_room_beside<T>;
  static constexpr bool is_own = true;
  [[nodiscard]] static auto& own(T& object) noexcept { return object.*Member; }
};
template <class T>
struct placement_traits<T, count::by_padding> {
  static constexpr bool is_beside = has_room_beside<T>;
  static constexpr bool is_own = has_ref_count<T>;
  [[nodiscard]] static auto& own(T& object) noexcept
    requires has_ref_count<T>
  {
    return ref_count(object);
  }
};

/// The layout of a pool of `T`.
template <class T, policy::threads Threads, class Placement>
using layout_of = slot_layout<Threads, sizeof(T), alignof(T), placement_traits<T, Placement>::is_beside>;

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI

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
    count_up(count);
  }

  /// Effects: counts one less; the last release ends or recycles the object, and gives its slot back.
  static ASHLAR_INLINE void release(T* p) noexcept {
    auto& count = count_of(p);
    check_live(p, count);
    if (ASHLAR_UNLIKELY(count_down(count))) end(p);
  }

  [[nodiscard]] static ASHLAR_INLINE std::uint32_t use_count(T* p) noexcept { return count_value(count_of(p)); }

  /// Effects: reports an address without a live object of a pool. `p` is not read before its pool is known.
  static void check_address([[maybe_unused]] const T* p) noexcept {
    if constexpr (checking_level >= checking::checked) expect_object(p);
  }
  static void expect_object(const T* p) noexcept {
    const cell_place place = process_slabs.find(p);
    if (place.owner == nullptr)
      report_reference(fault::invalid_free, "referred to a pointer that is not of an object of a pool", p);
    slab_type& slab = *slab_type::around(p);
    const std::uint32_t index = slab.index_of(p);
    if (is_exact_type<T> && slab.slot_at(index) != p)
      report_reference(fault::misaligned_free, "referred to a pointer into the middle of an object", p);
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
  struct traits : placement_traits<T, Placement> {};

  template <class Count>
  static ASHLAR_INLINE void check_live(const T* p, const Count& count) noexcept {
    if constexpr (checking_level >= checking::checked) {
      const std::uint32_t now = count_value(count);
      if (ASHLAR_UNLIKELY(now == 0 || slot_word::is_free(now)))
        report_reference(fault::double_free, "referred to an object that was destroyed", p);
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

// Declared before `ref_ptr` makes it a friend: clang 16 reports different constraints of a later declaration.
template <class T, class Lifetime, class Exhausted, policy::threads Threads, class Placement, resource Upstream>
class counted_objects;

template <class T, class Placement>
inline constexpr bool has_own_count = placement_traits<std::remove_cv_t<T>, Placement>::is_own;

// A pointer that finds the count by the slab's header finds the count of any object; others need the same placement.
template <class From, class FromPlacement, class To, class ToPlacement>
concept same_count =
    std::convertible_to<From*, To*> &&
    ((std::same_as<std::remove_cv_t<From>, std::remove_cv_t<To>> &&
      std::same_as<FromPlacement, ToPlacement>) ||  // first: the rest requires complete types
     (has_own_count<To, ToPlacement> ? has_own_count<From, FromPlacement> && std::same_as<FromPlacement, ToPlacement>
                                     : !has_own_count<From, FromPlacement> && !is_exact_type<To>));

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// As `std::shared_ptr` without weak pointers and deleters: the last owner ends the object, in any pool.
///
///     ref_ptr -> object in a slab -> header of the slab, found from the address alone -> count, pool
///
/// It converts to a pointer to any base, the first or another; bases need no virtual destructor. Thread safety:
/// `one_thread` counts without atomics. `any_thread` counts as `std::shared_ptr` does: each `ref_ptr` belongs to one
/// thread at a time, the object and its count to all.
template <class T, policy::threads Threads, class Placement>
class ref_ptr {
  using counts = detail::ref_counts<std::remove_cv_t<T>, Threads, Placement>;

public:
  using element_type = T;
  using placement_type = Placement;

  constexpr ref_ptr() noexcept = default;
  constexpr ref_ptr(std::nullptr_t) noexcept {}
  ASHLAR_INLINE ref_ptr(const ref_ptr& other) noexcept : object_(other.object_) { retain(); }
  ASHLAR_INLINE ref_ptr(ref_ptr&& other) noexcept : object_(other.release()) {}

  // Implicit, as a pointer to a base.
  template <class U, class P>
    requires detail::same_count<U, P, T, Placement>
  ref_ptr(const ref_ptr<U, Threads, P>& other) noexcept : object_(other.get()) {
    retain();
  }
  template <class U, class P>
    requires detail::same_count<U, P, T, Placement>
  ref_ptr(ref_ptr<U, Threads, P>&& other) noexcept : object_(other.release()) {}

  ASHLAR_INLINE ~ref_ptr() { drop(); }

  ASHLAR_INLINE ref_ptr& operator=(const ref_ptr& other) noexcept {
    ref_ptr(other).swap(*this);
    return *this;
  }
  ASHLAR_INLINE ref_ptr& operator=(ref_ptr&& other) noexcept {
    ref_ptr(std::move(other)).swap(*this);
    return *this;
  }
  ref_ptr& operator=(std::nullptr_t) noexcept {
    reset();
    return *this;
  }

  /// Returns: a pointer that takes over the caller's reference, which `release` of a pointer of this type returned.
  /// Expects: a live object of a pool, or null.
  [[nodiscard]] static ref_ptr adopt(T* object) noexcept {
    if (object != nullptr) counts::check_address(object);
    return ref_ptr(made_object(), object);
  }

  /// Effects: makes the pointer null. Returns: the object with its reference, which is the caller's now.
  [[nodiscard]] ASHLAR_INLINE T* release() noexcept { return std::exchange(object_, nullptr); }
  ASHLAR_INLINE void reset() noexcept { ref_ptr().swap(*this); }
  ASHLAR_INLINE void swap(ref_ptr& other) noexcept { std::swap(object_, other.object_); }
  friend void swap(ref_ptr& a, ref_ptr& b) noexcept { a.swap(b); }

  [[nodiscard]] ASHLAR_INLINE T* get() const noexcept { return object_; }
  [[nodiscard]] ASHLAR_INLINE std::add_lvalue_reference_t<T> operator*() const noexcept {
    ASHLAR_EXPECTS(object_ != nullptr, "dereferenced a null ref_ptr");
    return *object_;
  }
  [[nodiscard]] ASHLAR_INLINE T* operator->() const noexcept {
    ASHLAR_EXPECTS(object_ != nullptr, "dereferenced a null ref_ptr");
    return object_;
  }
  [[nodiscard]] ASHLAR_INLINE explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Returns: the number of pointers to the object; 0 for null. With `any_thread` it may be outdated.
  [[nodiscard]] std::uint32_t use_count() const noexcept {
    return object_ != nullptr ? counts::use_count(mutable_object()) : 0;
  }

  template <class U, class P>
  [[nodiscard]] friend bool operator==(const ref_ptr& a, const ref_ptr<U, Threads, P>& b) noexcept {
    return a.get() == b.get();
  }
  template <class U, class P>
  [[nodiscard]] friend std::strong_ordering operator<=>(const ref_ptr& a, const ref_ptr<U, Threads, P>& b) noexcept {
    return std::compare_three_way()(a.get(), b.get());
  }
  [[nodiscard]] friend bool operator==(const ref_ptr& a, std::nullptr_t) noexcept { return a.object_ == nullptr; }

private:
  template <class U, class Lifetime, class Exhausted, policy::threads OfThreads, class P, resource Upstream>
  friend class detail::counted_objects;

  struct made_object {};
  ASHLAR_INLINE ref_ptr(made_object, T* object) noexcept : object_(object) {}

  [[nodiscard]] ASHLAR_INLINE std::remove_cv_t<T>* mutable_object() const noexcept {
    return const_cast<std::remove_cv_t<T>*>(object_);
  }
  ASHLAR_INLINE void retain() const noexcept {
    if (object_ != nullptr) counts::retain(mutable_object());
  }
  ASHLAR_INLINE void drop() const noexcept {
    if (object_ != nullptr) counts::release(mutable_object());
  }

  T* object_ = nullptr;
};

static_assert(sizeof(ref_ptr<int>) == sizeof(int*), "a counted pointer is one word");

/// Effects: counts one more reference to an object of a pool, as a copy of a `ref_ptr` does: for other smart pointers.
template <policy::threads Threads = one_thread, class Placement = count::by_padding, class T>
void add_reference(T* object) noexcept {
  using counts = detail::ref_counts<std::remove_cv_t<T>, Threads, Placement>;
  counts::check_address(object);
  counts::retain(const_cast<std::remove_cv_t<T>*>(object));
}

/// Effects: counts one less, as the destructor of a `ref_ptr` does.
template <policy::threads Threads = one_thread, class Placement = count::by_padding, class T>
void drop_reference(T* object) noexcept {
  using counts = detail::ref_counts<std::remove_cv_t<T>, Threads, Placement>;
  counts::check_address(object);
  counts::release(const_cast<std::remove_cv_t<T>*>(object));
}

/// Returns: a pointer to the same object as a `U`, by `static_cast`. Expects: the object is a `U`, and its pool has the
/// placement of a `ref_ptr<U>`.
template <class U, class T, policy::threads Threads, class Placement>
[[nodiscard]] ref_ptr<U, Threads> static_pointer_cast(ref_ptr<T, Threads, Placement> from) noexcept {
  using from_counts = detail::ref_counts<std::remove_cv_t<T>, Threads, Placement>;
  using to_counts = detail::ref_counts<std::remove_cv_t<U>, Threads, count::by_padding>;
  U* const object = static_cast<U*>(from.get());
  if (object == nullptr) return {};
  const void* const counted = &from_counts::count_of(const_cast<std::remove_cv_t<T>*>(from.get()));
  ASHLAR_REQUIRE(counted == &to_counts::count_of(const_cast<std::remove_cv_t<U>*>(object)),
                 "cast a pointer to a class with another placement of the count");
  static_cast<void>(from.release());
  return ref_ptr<U, Threads>::adopt(object);
}

/// Returns: a pointer to the same object that allows writes.
template <class U, class T, policy::threads Threads, class Placement>
  requires std::same_as<U, std::remove_cv_t<T>>
[[nodiscard]] ref_ptr<U, Threads, Placement> const_pointer_cast(ref_ptr<T, Threads, Placement> from) noexcept {
  return ref_ptr<U, Threads, Placement>::adopt(const_cast<U*>(from.release()));
}

}  // namespace ashlar::ASHLAR_ABI

template <class T, class Threads, class Placement>
struct std::hash<ashlar::ref_ptr<T, Threads, Placement>> {
  [[nodiscard]] std::size_t operator()(const ashlar::ref_ptr<T, Threads, Placement>& p) const noexcept {
    return std::hash<T*>()(p.get());
  }
};
