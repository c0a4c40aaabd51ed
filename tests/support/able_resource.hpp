// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource with all abilities of the concepts, over one that counts and fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/poison.hpp>

#include "tests/support/counting_resource.hpp"

namespace ashlar_test {

/// Blocks are multiples of 64 bytes, and may be resized within them. `owns` is true for live blocks only. With
/// `SaysNull` false it refuses by throwing only.
template <bool SaysNull = true>
class able_resource {
public:
  explicit able_resource(counting_resource<>& below) noexcept : below_(&below) {}
  able_resource(const able_resource&) = delete;
  able_resource& operator=(const able_resource&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return allocate_at_least(bytes, alignment).data;
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires SaysNull
  {
    ASHLAR_REQUIRE(ashlar::is_power_of_two(alignment), "alignment is not a power of two");
    if (!ashlar::is_valid_request(bytes, alignment)) return nullptr;
    void* const p = below_->try_allocate(rounded(bytes), alignment);
    if (p != nullptr) live_[ashlar::address_of(p)] = {rounded(bytes), alignment};
    return p;
  }

  [[nodiscard]] ashlar::block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    ashlar::expect_request(bytes, alignment);
    void* const p = below_->allocate(rounded(bytes), alignment);
    live_[ashlar::address_of(p)] = {rounded(bytes), alignment};
    return {p, rounded(bytes)};
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    live_.erase(ashlar::address_of(p));
    below_->deallocate(p, rounded(bytes), alignment);
  }

  void deallocate(void* p) noexcept {
    if (p == nullptr) return;
    const extent was = live_.at(ashlar::address_of(p));
    deallocate(p, was.bytes, was.alignment);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept {
    const auto above = live_.upper_bound(ashlar::address_of(p));
    return above != live_.begin() && ashlar::address_of(p) - std::prev(above)->first < std::prev(above)->second.bytes;
  }

  // The marks of adaptors in blocks that were never freed end with the blocks.
  void release() noexcept {
    while (!live_.empty()) {
      void* const p = reinterpret_cast<void*>(live_.begin()->first);
      ashlar::detail::mark_live(p, live_.begin()->second.bytes);
      deallocate(p);
    }
  }

  [[nodiscard]] bool try_expand(void*, std::size_t bytes, std::size_t new_bytes, std::size_t) noexcept {
    return new_bytes <= ashlar::max_block_bytes && rounded(bytes) == rounded(new_bytes);
  }

  void prefault(void*, std::size_t) noexcept {}

  [[nodiscard]] std::size_t live() const noexcept { return live_.size(); }  ///< blocks
  [[nodiscard]] friend bool operator==(const able_resource& a, const able_resource& b) noexcept { return &a == &b; }

private:
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };

  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
    return bytes == 0 ? 64 : ashlar::align_up(bytes, 64);
  }

  counting_resource<>* below_;
  std::map<std::uintptr_t, extent> live_;
};

static_assert(ashlar::try_resource<able_resource<>> && !ashlar::try_resource<able_resource<false>>);
static_assert(ashlar::owning_resource<able_resource<>> && ashlar::at_least_resource<able_resource<>>);

}  // namespace ashlar_test
