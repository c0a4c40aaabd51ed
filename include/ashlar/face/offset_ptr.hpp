// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pointer that holds the distance to its target: valid wherever the memory of both is mapped.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::interprocess {

/// For pointers inside shared memory or a mapped file, which each process has at another address. The distance counts
/// from the pointer's own address:
///
///     process A   0x7f10'0000 | ... [+48] ... target ... |      process B   0x5a80'0000 | ... [+48] ... target ... |
///
/// Meets the standard's requirements of an allocator's `pointer`, and of a random access iterator. Converts like `T*`:
/// implicitly to `const T`, `void` and bases, explicitly from and to `T*`. A copy byte by byte points to a wrong
/// address, as does one whose target is in other memory that the other process maps at another distance.
/// Complexity: O(1); `get` is an addition and a test for null. Thread safety: as `T*`; never atomic.
template <class T>
class offset_ptr {
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

  offset_ptr() noexcept = default;
  offset_ptr(std::nullptr_t) noexcept {}
  explicit offset_ptr(T* target) noexcept { set(target); }
  offset_ptr(const offset_ptr& other) noexcept { set(other.get()); }
  template <class U>
    requires(!std::same_as<U, T> && requires(U* from) { static_cast<T*>(from); })
  explicit(!std::convertible_to<U*, T*>) offset_ptr(const offset_ptr<U>& other) noexcept {
    set(static_cast<T*>(other.get()));
  }
  offset_ptr& operator=(const offset_ptr& other) noexcept {
    set(other.get());
    return *this;
  }
  ~offset_ptr() = default;

  [[nodiscard]] static offset_ptr pointer_to(object& target) noexcept
    requires(!is_void)
  {
    return offset_ptr(std::addressof(target));
  }

  [[nodiscard]] T* get() const noexcept {
    return distance_ == to_nothing ? nullptr : reinterpret_cast<T*>(ashlar::address_of(this) + distance_);
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

  offset_ptr& operator+=(difference_type n) noexcept
    requires(!is_void)
  {
    set(get() + n);
    return *this;
  }
  offset_ptr& operator-=(difference_type n) noexcept
    requires(!is_void)
  {
    return *this += -n;
  }
  offset_ptr& operator++() noexcept
    requires(!is_void)
  {
    return *this += 1;
  }
  offset_ptr& operator--() noexcept
    requires(!is_void)
  {
    return *this += -1;
  }
  offset_ptr operator++(int) noexcept
    requires(!is_void)
  {
    const offset_ptr before = *this;
    *this += 1;
    return before;
  }
  offset_ptr operator--(int) noexcept
    requires(!is_void)
  {
    const offset_ptr before = *this;
    *this += -1;
    return before;
  }

  [[nodiscard]] friend offset_ptr operator+(const offset_ptr& p, difference_type n) noexcept
    requires(!is_void)
  {
    return offset_ptr(p.get() + n);
  }
  [[nodiscard]] friend offset_ptr operator+(difference_type n, const offset_ptr& p) noexcept
    requires(!is_void)
  {
    return p + n;
  }
  [[nodiscard]] friend offset_ptr operator-(const offset_ptr& p, difference_type n) noexcept
    requires(!is_void)
  {
    return offset_ptr(p.get() - n);
  }
  [[nodiscard]] friend difference_type operator-(const offset_ptr& a, const offset_ptr& b) noexcept
    requires(!is_void)
  {
    return a.get() - b.get();
  }

  [[nodiscard]] friend bool operator==(const offset_ptr& a, const offset_ptr& b) noexcept { return a.get() == b.get(); }
  [[nodiscard]] friend bool operator==(const offset_ptr& a, std::nullptr_t) noexcept { return !a; }
  [[nodiscard]] friend std::strong_ordering operator<=>(const offset_ptr& a, const offset_ptr& b) noexcept {
    return ashlar::address_of(a.get()) <=> ashlar::address_of(b.get());
  }

private:
  static constexpr std::uintptr_t to_nothing = 1;  // the distance of a null pointer: into itself, no possible target

  void set(T* target) noexcept {
    distance_ = target == nullptr ? to_nothing : ashlar::address_of(target) - ashlar::address_of(this);
  }

  std::uintptr_t distance_ = to_nothing;
};

static_assert(std::random_access_iterator<offset_ptr<int>> && !std::is_trivially_copyable_v<offset_ptr<int>>);

}  // namespace ashlar::ASHLAR_ABI::interprocess
