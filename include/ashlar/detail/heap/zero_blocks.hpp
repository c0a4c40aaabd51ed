// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of 0 bytes from level checked on: addresses without memory, where every access is a fault.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/cell_faults.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/os/pages.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Blocks of 0 bytes in a range of inaccessible address space, one in 16 bytes, each with a bit that is set while it is
/// live. The next address is the one after the last in turn: an address comes again after all others. The first request
/// reserves the range and, behind it, the bits: an object that never serves one has no memory for them.
///
///     base                               range_bytes             bits_offset()       reserved_bytes()
///     | addresses of blocks, no memory   | inaccessible page     | bits             |
///
/// Thread safety: any thread, without a lock. Invariant: a set bit is a live block.
template <std::size_t Blocks>
class zero_block_range {
public:
  static constexpr std::size_t granule = size_classes::granule;

  /// Returns: a block, or null if there is no range or the next `most_tries` addresses are live.
  [[nodiscard]] void* take() noexcept {
    const std::uintptr_t base = base_.load(memory_order_acquire);
    return ASHLAR_LIKELY(base != 0) ? take_from(base) : take_from(reserve());
  }

  /// Returns: whether the address lies in the range.
  [[nodiscard]] ASHLAR_INLINE bool has(const void* p) const noexcept {
    const std::uintptr_t base = base_.load(memory_order_relaxed);
    return base != 0 && address_of(p) - base < range_bytes;
  }

  /// Effects: reports an address in the range that is not a live block. `heap`: named in the report.
  void expect(const void* p, const block_use& use, const void* heap) const noexcept {
    if (!is_aligned(p, granule)) refuse(p, fault::misaligned_free, use.inside, heap);
    const std::size_t at = index_of(p);
    if ((word_of(at).load(memory_order_relaxed) & bit_of(at)) == 0) refuse(p, fault::double_free, use.dead, heap);
  }

  /// Effects: frees a block. Reports an address in the range that is none. Expects: `has(p)`.
  void give(const void* p, const void* heap) noexcept {
    expect(p, freeing_block, heap);
    const std::size_t at = index_of(p);
    if ((word_of(at).fetch_and(~bit_of(at), memory_order_relaxed) & bit_of(at)) == 0)
      refuse(p, fault::double_free, freeing_block.dead, heap);  // another thread was first
  }

  /// As above; reports a size other than 0.
  void give(const void* p, std::size_t bytes, const void* heap) noexcept {
    expect(p, freeing_block, heap);
    if (bytes != 0)
      report({.kind = fault::size_mismatch, .what = freeing_block.size, .pointer = p, .resource = heap, .got = bytes});
    give(p, heap);
  }

private:
  static constexpr std::size_t range_bytes = Blocks * granule;
  static constexpr std::size_t most_tries = 4096;
  static_assert(Blocks % 64 == 0 && is_power_of_two(Blocks));

  [[nodiscard]] static std::size_t bits_offset() noexcept {
    return os::pages::round_up(range_bytes) + os::pages::page_bytes();
  }
  [[nodiscard]] static std::size_t bits_bytes() noexcept { return os::pages::round_up(Blocks / 8); }
  [[nodiscard]] static std::size_t reserved_bytes() noexcept { return bits_offset() + bits_bytes(); }

  [[nodiscard]] static std::uint64_t bit_of(std::size_t at) noexcept { return std::uint64_t{1} << (at % 64); }
  [[nodiscard]] std::size_t index_of(const void* p) const noexcept {
    return (address_of(p) - base_.load(memory_order_relaxed)) / granule;
  }
  // Expects: there is a range.
  [[nodiscard]] atomic<std::uint64_t>& word_of(std::size_t at) const noexcept {
    return reinterpret_cast<atomic<std::uint64_t>*>(base_.load(memory_order_relaxed) + bits_offset())[at / 64];
  }

  [[nodiscard]] void* take_from(std::uintptr_t base) noexcept {
    for (std::size_t tries = base != 0 ? most_tries : 0; tries != 0; --tries) {
      const std::size_t at = next_.fetch_add(1, memory_order_relaxed) % Blocks;
      if ((word_of(at).fetch_or(bit_of(at), memory_order_relaxed) & bit_of(at)) == 0)
        return reinterpret_cast<void*>(base + at * granule);
    }
    return nullptr;
  }

  // Of two threads at once the second gives its range back.
  [[nodiscard]] ASHLAR_COLD std::uintptr_t reserve() noexcept {
    auto* const made = static_cast<std::byte*>(os::pages::reserve(reserved_bytes(), os::pages::page_bytes()));
    if (made == nullptr) return 0;
    std::uintptr_t base = 0;
    const bool is_ready = os::pages::commit(made + bits_offset(), bits_bytes());
    // Pairs with take(): a thread that sees the base sees nothing else of this one but the pages of the bits.
    if (is_ready && base_.compare_exchange_strong(base, address_of(made), memory_order_acq_rel, memory_order_acquire))
      return address_of(made);
    os::pages::release(made, reserved_bytes());
    return base;
  }

  [[noreturn]] ASHLAR_COLD static void refuse(const void* p, fault kind, const char* what, const void* heap) noexcept {
    report({.kind = kind, .what = what, .pointer = p, .resource = heap});
  }

  atomic<std::uintptr_t> base_ = 0;
  atomic<std::size_t> next_ = 0;
};

template <class Threads>
struct zero_blocks_by {
  using type = part_if<false, zero_block_range<64>>;  // they are cells
};
template <class Threads>
  requires requires { typename Threads::zero_blocks; }
struct zero_blocks_by<Threads> {
  using type = typename Threads::zero_blocks;
};
/// The blocks of 0 bytes that a threads policy wishes.
template <class Threads>
using zero_blocks_of = typename zero_blocks_by<Threads>::type;

}  // namespace ashlar::ASHLAR_ABI::detail
