// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fixed array over an allocator, correct except for a chosen flaw, which the test kit must catch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <ashlar/detail/support/poison.hpp>

namespace ashlar_test {

enum class flaw {
  none,
  steals,
  swaps_memory_only,
  forgets_n,
  other_type,
  frees_twice,
  frees_the_middle,
  leaks,
  overruns
};

template <class T, class Alloc, flaw Flaw = flaw::none>
class flawed_array {
  using traits = std::allocator_traits<Alloc>;
  using pointer = typename traits::pointer;

public:
  flawed_array(std::size_t n, const T& value, const Alloc& alloc)
      : alloc_(alloc), data_(traits::allocate(alloc_, n)), size_(n) {
    std::uninitialized_fill_n(std::to_address(data_), n, value);
    if constexpr (Flaw == flaw::overruns) {
      ashlar::detail::mark_readable(std::to_address(data_) + n, sizeof(T));
      *(std::to_address(data_) + n) = value;
    }
  }
  flawed_array(const flawed_array&) = delete;
  flawed_array& operator=(const flawed_array&) = delete;
  ~flawed_array() { free(); }

  flawed_array& operator=(flawed_array&& other) {
    const bool may_steal = traits::propagate_on_container_move_assignment::value || alloc_ == other.alloc_;
    if (Flaw == flaw::steals || may_steal) {
      free();
      if constexpr (traits::propagate_on_container_move_assignment::value) alloc_ = std::move(other.alloc_);
      data_ = std::exchange(other.data_, pointer());
      size_ = std::exchange(other.size_, 0);
    } else {
      flawed_array fresh(other.size_, T(), alloc_);
      std::move(std::to_address(other.data_), std::to_address(other.data_) + other.size_, std::to_address(fresh.data_));
      std::swap(data_, fresh.data_);
      std::swap(size_, fresh.size_);
    }
    return *this;
  }

  void swap(flawed_array& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    if constexpr (traits::propagate_on_container_swap::value && Flaw != flaw::swaps_memory_only)
      std::swap(alloc_, other.alloc_);
  }

  [[nodiscard]] const T& operator[](std::size_t i) const { return std::to_address(data_)[i]; }
  [[nodiscard]] std::size_t size() const { return size_; }

private:
  void free() noexcept {
    if (data_ == nullptr || Flaw == flaw::leaks) return;
    if constexpr (Flaw == flaw::forgets_n) {
      alloc_.deallocate(data_, 1);
    } else if constexpr (Flaw == flaw::other_type) {
      using bytes = typename traits::template rebind_alloc<char>;
      bytes(alloc_).deallocate(reinterpret_cast<char*>(std::to_address(data_)), size_ * sizeof(T));
    } else if constexpr (Flaw == flaw::frees_the_middle) {
      alloc_.deallocate(data_ + 1, size_ - 1);
    } else {
      alloc_.deallocate(data_, size_);
      if constexpr (Flaw == flaw::frees_twice) alloc_.deallocate(data_, size_);
    }
  }

  Alloc alloc_;
  pointer data_;
  std::size_t size_;
};

}  // namespace ashlar_test
