// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A range of free bytes with operations to fill it with poison, to intersect it and to find the first changed byte.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The bytes from `begin` up to `end`. After every operation they are free for tools, too.
struct poison_range {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;

  [[nodiscard]] bool is_empty() const noexcept { return begin == end; }
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }

  /// Returns: the intersection with the range from `from` up to `to`.
  [[nodiscard]] poison_range within(std::byte* from, std::byte* to) const noexcept {
    const poison_range cut = {std::max(begin, from), std::min(end, to)};
    return cut.begin < cut.end ? cut : poison_range{};
  }

  /// Effects: fills the range with poison. Complexity: O(bytes).
  void poison() const noexcept {
    if (is_empty()) return;
    poison_block(begin, bytes());
    mark_free(begin, bytes());
  }

  /// Returns: the first byte that is not poison, or null. Complexity: O(bytes).
  [[nodiscard]] const std::byte* first_changed() const noexcept {
    if (is_empty()) return nullptr;
    mark_readable(begin, bytes());
    const std::byte* changed = nullptr;
    if (ASHLAR_UNLIKELY(!is_poisoned(begin, bytes())))
      changed = std::find_if(begin, end, [](std::byte each) { return each != std::byte{poison_byte}; });
    mark_free(begin, bytes());
    return changed;
  }

  /// Effects: reports the first byte that is not poison. `held`: the size of the free block in bytes.
  void verify(std::size_t held, const void* resource) const noexcept {
    if (const std::byte* const changed = first_changed(); ASHLAR_UNLIKELY(changed != nullptr))
      report_poison(changed, held, resource);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
