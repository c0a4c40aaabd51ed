// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Deleters that give an object's memory back to a resource, with the size and alignment of its allocation.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A resource without bytes, of which any two objects are interchangeable.
template <class R>
concept stateless_resource =
    resource<R> && std::is_empty_v<R> && std::is_trivially_copyable_v<R> && std::is_nothrow_default_constructible_v<R>;

/// The link to a resource, which outlives it: one pointer, null in a default one.
template <resource R>
class resource_link {
public:
  constexpr resource_link() = default;
  constexpr explicit resource_link(R& r) noexcept : resource_(std::addressof(r)) {}

  [[nodiscard]] ASHLAR_INLINE R& get() const noexcept {
    ASHLAR_EXPECTS(resource_ != nullptr, "freed to a deleter that has no resource");
    return *resource_;
  }

private:
  R* resource_ = nullptr;
};

/// The same for a resource without state: no bytes.
template <stateless_resource R>
class resource_link<R> {
public:
  constexpr resource_link() = default;
  constexpr explicit resource_link(const R&) noexcept {}

  [[nodiscard]] ASHLAR_INLINE R get() const noexcept { return {}; }
};

template <class R>
struct resource_behind {
  using type = R;
};
template <class R>
struct resource_behind<resource_ref<R>> {
  using type = R;
};

/// The resource behind `R`: the one that a `resource_ref` refers to, or `R` itself.
template <resource R>
using referred_resource = typename resource_behind<R>::type;

/// The arguments from which a link can be made: an lvalue of a resource, a `resource_ref` to one, or a resource without
/// state.
template <class R>
concept resource_argument = resource<std::remove_cvref_t<R>> &&
                            (stateless_resource<std::remove_cvref_t<R>> ||
                             (std::is_lvalue_reference_v<R> && !std::is_const_v<std::remove_reference_t<R>>) ||
                             !std::same_as<referred_resource<std::remove_cvref_t<R>>, std::remove_cvref_t<R>>);

/// Returns: the link to `r`, or to the resource that `r` refers to.
template <class R>
[[nodiscard]] resource_link<referred_resource<std::remove_cv_t<R>>> link_to(R& r) noexcept {
  using target = referred_resource<std::remove_cv_t<R>>;
  if constexpr (std::same_as<target, std::remove_cv_t<R>>) return resource_link<target>(r);
  else return resource_link<target>(r.get());
}

template <class U, class T>
concept same_but_for_const = std::convertible_to<U*, T*> && std::same_as<std::remove_cv_t<U>, std::remove_cv_t<T>>;

/// Effects: destroys an object of exactly the type `T`, without a virtual call.
template <class T>
ASHLAR_INLINE void destroy_exactly(T* p) noexcept {
  static_assert(sizeof(T) > 0, "the type of the object is incomplete here");
  if constexpr (std::is_class_v<T>) p->T::~T();
  else p->~T();
}

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// Destroys an object of exactly the type `T` in memory of an `R`, and gives the memory back. One pointer, or nothing
/// if `R` has no state. It does not convert to the deleter of a base, since that would free with the size and at the
/// address of the base: `base_delete` does. Thread safety: as `R`.
template <class T, resource R>
class resource_delete {
public:
  constexpr resource_delete() = default;  ///< for null pointers only, unless `R` has no state
  explicit constexpr resource_delete(detail::resource_link<R> home) noexcept : home_(home) {}
  template <detail::same_but_for_const<T> U>
  constexpr resource_delete(const resource_delete<U, R>& other) noexcept : home_(other.home()) {}

  void operator()(T* p) const noexcept {
    detail::destroy_exactly(p);
    home_.get().deallocate(const_cast<std::remove_cv_t<T>*>(p), sizeof(T), alignof(T));
  }

  [[nodiscard]] constexpr detail::resource_link<R> home() const noexcept { return home_; }

private:
  ASHLAR_NO_UNIQUE_ADDRESS detail::resource_link<R> home_;
};

/// The same for an array of known length: destroys the last element first. It must not get a pointer to an array of
/// another length.
template <class T, resource R>
class resource_delete<T[], R> {
public:
  constexpr resource_delete() = default;  ///< for null pointers only
  constexpr resource_delete(detail::resource_link<R> home, std::size_t count) noexcept : home_(home), count_(count) {}
  template <detail::same_but_for_const<T> U>
  constexpr resource_delete(const resource_delete<U[], R>& other) noexcept
      : home_(other.home()), count_(other.count()) {}

  void operator()(T* p) const noexcept {
    for (std::size_t left = count_; left != 0; --left) detail::destroy_exactly(p + (left - 1));
    home_.get().deallocate(const_cast<std::remove_cv_t<T>*>(p), count_ * sizeof(T), alignof(T));
  }

  /// Returns: the number of elements.
  [[nodiscard]] constexpr std::size_t count() const noexcept { return count_; }
  [[nodiscard]] constexpr detail::resource_link<R> home() const noexcept { return home_; }

private:
  ASHLAR_NO_UNIQUE_ADDRESS detail::resource_link<R> home_;
  std::size_t count_ = 0;
};

/// Destroys an object through a pointer to its base. It stores one function for the original type, so `Base` needs no
/// virtual destructor and may lie anywhere in the object; a virtual base is refused, since there is no way back from
/// it. One pointer more than `resource_delete`. Thread safety: as `R`.
template <class Base, resource R>
class base_delete {
public:
  constexpr base_delete() = default;  ///< for null pointers only
  template <class T>
    requires(std::convertible_to<T*, Base*> &&
             requires(std::remove_cv_t<Base>* p) { static_cast<std::remove_cv_t<T>*>(p); })
  constexpr base_delete(const resource_delete<T, R>& exact) noexcept
      : home_(exact.home()), delete_(&delete_as<std::remove_cv_t<T>>) {}
  template <detail::same_but_for_const<Base> U>
  constexpr base_delete(const base_delete<U, R>& other) noexcept : home_(other.home_), delete_(other.delete_) {}

  void operator()(Base* p) const noexcept {
    ASHLAR_EXPECTS(delete_ != nullptr, "freed to a deleter that has no resource");
    delete_(home_, const_cast<std::remove_cv_t<Base>*>(p));
  }

private:
  template <class, resource>
  friend class base_delete;

  template <class T>
  static void delete_as(detail::resource_link<R> home, std::remove_cv_t<Base>* p) noexcept {
    resource_delete<T, R> exact(home);
    exact(static_cast<T*>(p));
  }

  ASHLAR_NO_UNIQUE_ADDRESS detail::resource_link<R> home_;
  void (*delete_)(detail::resource_link<R>, std::remove_cv_t<Base>*) noexcept = nullptr;
};

}  // namespace ashlar::ASHLAR_ABI
