// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A counted pointer of one word to an object of a pool; the object needs no counter of its own.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>  // std::hash
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/ref_counts.hpp>
#include <ashlar/detail/support/expects.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/face/count_placement.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

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

}  // namespace detail

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
    if constexpr (checking_level >= checking::checked)
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
  if constexpr (checking_level >= checking::checked) counts::check_address(object);
  counts::retain(const_cast<std::remove_cv_t<T>*>(object));
}

/// Effects: counts one less, as the destructor of a `ref_ptr` does.
template <policy::threads Threads = one_thread, class Placement = count::by_padding, class T>
void drop_reference(T* object) noexcept {
  using counts = detail::ref_counts<std::remove_cv_t<T>, Threads, Placement>;
  if constexpr (checking_level >= checking::checked) counts::check_address(object);
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
