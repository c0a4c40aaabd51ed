// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An array of plain values that starts inside its owner and doubles in memory of an upstream.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The first `Inline` values need no allocation. Values beyond the written ones are zero bytes. The owner passes the
/// upstream, always the same one, and gives the memory back. Thread safety: none.
template <class T, std::size_t Inline>
class grown_array {
  static_assert(std::is_trivially_copyable_v<T> && is_power_of_two(Inline));

public:
  grown_array() = default;
  grown_array(const grown_array&) = delete;  // it may point into itself
  grown_array& operator=(const grown_array&) = delete;

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t upstream_bytes() const noexcept { return data_ != inside_ ? capacity_ * sizeof(T) : 0; }

  /// Returns: the bytes that `grow` takes from the upstream, before it gives the former ones back.
  [[nodiscard]] std::size_t doubled_bytes() const noexcept { return 2 * capacity_ * sizeof(T); }

  /// Effects: doubles the capacity; all values stay. Returns: false, without an effect, when memory has run out.
  template <resource R>
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool grow(R& upstream) noexcept {
    const std::size_t half = capacity_ * sizeof(T), doubled = 2 * capacity_;
    void* const wide = try_allocate_from(upstream, doubled_bytes(), alignof(T));
    if (wide == nullptr) return false;
    std::memcpy(wide, data_, half);
    std::memset(static_cast<std::byte*>(wide) + half, 0, half);
    give_back(upstream);
    data_ = static_cast<T*>(wide);
    capacity_ = doubled;
    return true;
  }

  /// Effects: gives the memory back; the array is as newly made.
  template <resource R>
  void give_back(R& upstream) noexcept {
    if (data_ != inside_) upstream.deallocate(data_, capacity_ * sizeof(T), alignof(T));
    data_ = inside_;
    capacity_ = Inline;
  }

private:
  T inside_[Inline] = {};
  T* data_ = inside_;
  std::size_t capacity_ = Inline;
};

}  // namespace ashlar::ASHLAR_ABI::detail
