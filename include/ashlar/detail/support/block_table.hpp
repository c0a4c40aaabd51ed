// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Large tables of values that are zero at first, on huge pages where there are any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Values whose bytes are zero, in pages of their own: what is not touched costs nothing, and what is large has pages
/// of 2 MiB, since a table that is used at random otherwise waits for the translation of its addresses.
template <class T>
class zero_array {
public:
  zero_array() = default;
  /// Throws: `std::bad_alloc`.
  explicit zero_array(std::size_t size)
      : bytes_(os::pages::round_up(size * sizeof(T))), size_(size),
        values_(static_cast<T*>(block_or_throw(os::pages::map(bytes_, alignment()), bytes_, alignment()))) {
    if (bytes_ >= huge_page) os::pages::advise_huge(values_, bytes_);
  }
  zero_array(zero_array&& other) noexcept { swap(other); }
  ~zero_array() {
    if (values_ != nullptr) os::pages::release(values_, bytes_);
  }

  void swap(zero_array& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(values_, other.values_);
  }

  [[nodiscard]] T& operator[](std::size_t index) noexcept { return values_[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return values_[index]; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const T* begin() const noexcept { return values_; }
  [[nodiscard]] const T* end() const noexcept { return values_ + size_; }

private:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  [[nodiscard]] std::size_t alignment() const noexcept {
    return bytes_ >= huge_page ? huge_page : os::pages::page_bytes();
  }

  std::size_t bytes_ = 0;
  std::size_t size_ = 0;
  T* values_ = nullptr;
};

/// Values by index, in blocks that stay where they are: a table that grows copies none of them.
/// Complexity: O(1). Memory: the pages in use.
template <class T>
class block_table {
public:
  /// Returns: the value at `index`. Expects: `reach(index)` was called.
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return blocks_[index / block][index % block]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return blocks_[index / block][index % block]; }

  /// Effects: grows the table by new values, so that `index` is in it.
  void reach(std::size_t index) {
    while (index >= blocks_.size() * block) blocks_.emplace_back(block);
    size_ = std::max(size_, index + 1);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
  static constexpr std::size_t block = std::size_t{1} << 18;

  std::vector<zero_array<T>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
