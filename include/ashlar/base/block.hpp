// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A non-owning range of raw bytes: pointer and size.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/bits.hpp>

namespace ashlar::ASHLAR_ABI {

struct block {
  void* data = nullptr;
  std::size_t size = 0;  ///< bytes

  [[nodiscard]] explicit operator bool() const noexcept { return data != nullptr; }
  [[nodiscard]] friend bool operator==(const block&, const block&) noexcept = default;

  /// Returns: whether `p` points to a byte of the block.
  [[nodiscard]] bool contains(const void* p) const noexcept {
    return detail::address_of(p) - detail::address_of(data) < size;  // unsigned: an address below wraps past the size
  }
};

}  // namespace ashlar::ASHLAR_ABI
