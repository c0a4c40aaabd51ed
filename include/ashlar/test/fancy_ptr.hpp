// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pointer class that holds the distance to its target, as pointers into shared memory do.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::test {

/// Meets the standard's requirements of an allocator's `pointer`. Code that assumes `T*` does not compile with it. A
/// copy byte by byte points to a wrong address, because the distance counts from the pointer's own address. Converts
/// like `T*`: implicitly to `const T`, `void` and bases, explicitly back.
template <class T>
class fancy_ptr {
  static constexpr bool is_void = std::is_void_v<T>;
  struct no_object {};
  using object = std::conditional_t<is_void, no_object, T>;

public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = std::add_lvalue_reference_t<T>;
  using iterator_category = std::random_access_iterator_tag;

  fancy_ptr() noexcept = default;
  fancy_ptr(std::nullptr_t) noexcept {}
  explicit fancy_ptr(T* target) noexcept { set(target); }
  fancy_ptr(const fancy_ptr& other) noexcept { set(other.get()); }
  template <class U>
    requires(!std::same_as<U, T> && requires(U* from) { static_cast<T*>(from); })
  explicit(!std::convertible_to<U*, T*>) fancy_ptr(const fancy_ptr<U>& other) noexcept {
    set(static_cast<T*>(other.get()));
  }
  fancy_ptr& operator=(const fancy_ptr& other) noexcept {
    set(other.get());
    return *this;
  }
  ~fancy_ptr() = default;

  [[nodiscard]] static fancy_ptr pointer_to(object& target) noexcept
    requires(!is_void)
  {
    return fancy_ptr(std::addressof(target));
  }

  [[nodiscard]] T* get() const noexcept {
    return distance_ == to_nothing ? nullptr : reinterpret_cast<T*>(detail::address_of(this) + distance_);
  }
  [[nodiscard]] explicit operator bool() const noexcept { return distance_ != to_nothing; }
  [[nodiscard]] T* operator->() const noexcept { return get(); }
  [[nodiscard]] reference operator*() const noexcept
    requires(!is_void)
  {
    return *get();
  }
  [[nodiscard]] reference operator[](difference_type n) const noexcept
    requires(!is_void)
  {
    return get()[n];
  }

  fancy_ptr& operator+=(difference_type n) noexcept
    requires(!is_void)
  {
    set(get() + n);
    return *this;
  }
  fancy_ptr& operator-=(difference_type n) noexcept
    requires(!is_void)
  {
    return *this += -n;
  }
  fancy_ptr& operator++() noexcept
    requires(!is_void)
  {
    return *this += 1;
  }
  fancy_ptr& operator--() noexcept
    requires(!is_void)
  {
    return *this += -1;
  }
  fancy_ptr operator++(int) noexcept
    requires(!is_void)
  {
    const fancy_ptr before = *this;
    *this += 1;
    return before;
  }
  fancy_ptr operator--(int) noexcept
    requires(!is_void)
  {
    const fancy_ptr before = *this;
    *this += -1;
    return before;
  }

  [[nodiscard]] friend fancy_ptr operator+(const fancy_ptr& p, difference_type n) noexcept
    requires(!is_void)
  {
    return fancy_ptr(p.get() + n);
  }
  [[nodiscard]] friend fancy_ptr operator+(difference_type n, const fancy_ptr& p) noexcept
    requires(!is_void)
  {
    return p + n;
  }
  [[nodiscard]] friend fancy_ptr operator-(const fancy_ptr& p, difference_type n) noexcept
    requires(!is_void)
  {
    return fancy_ptr(p.get() - n);
  }
  [[nodiscard]] friend difference_type operator-(const fancy_ptr& a, const fancy_ptr& b) noexcept
    requires(!is_void)
  {
    return a.get() - b.get();
  }

  [[nodiscard]] friend bool operator==(const fancy_ptr& a, const fancy_ptr& b) noexcept { return a.get() == b.get(); }
  [[nodiscard]] friend bool operator==(const fancy_ptr& a, std::nullptr_t) noexcept { return !a; }
  [[nodiscard]] friend std::strong_ordering operator<=>(const fancy_ptr& a, const fancy_ptr& b) noexcept {
    return detail::address_of(a.get()) <=> detail::address_of(b.get());
  }

private:
  static constexpr std::uintptr_t to_nothing = 1;  // the distance of a null pointer: into itself, no possible target

  void set(T* target) noexcept {
    distance_ = target == nullptr ? to_nothing : detail::address_of(target) - detail::address_of(this);
  }

  std::uintptr_t distance_ = to_nothing;
};

static_assert(std::random_access_iterator<fancy_ptr<int>> && !std::is_trivially_copyable_v<fancy_ptr<int>>);

}  // namespace ashlar::ASHLAR_ABI::test
