// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of any size in constant time, with immediate coalescing: in a buffer, on an upstream, or both.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/growth.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_block.hpp>
#include <ashlar/detail/tlsf/tlsf_check.hpp>
#include <ashlar/detail/tlsf/tlsf_index.hpp>
#include <ashlar/detail/tlsf/tlsf_region.hpp>
#include <ashlar/detail/tlsf/tlsf_space.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

struct tlsf_resource_options {
  /// Bytes of an upstream request: half of the held bytes, from 64 KiB to 4 MiB; more for a larger block.
  proportional_growth growth = {.smallest = 64 * 1024, .largest = 4 * 1024 * 1024, .divisor = 2};
  /// Empty regions to retain; also `release_now`, `never_release`. Only `never_release` retains one above
  /// `growth.largest`.
  retain_policy retain_regions = 1;
};

/// Two-level segregated fit: a block of any size at any power-of-two alignment in a bounded number of instructions,
/// regardless of the number of blocks and the history (figures: docs/tlsf.md).
///
///     std::array<std::byte, 65536> memory;
///     ashlar::tlsf_resource<ashlar::null_resource> buffer(memory);     // no upstream: fails when full
///     ashlar::tlsf_resource<> growing;                                 // regions from the system
///
/// A live block costs a header of 8 bytes (4 on 32 bits; 8 from level `checked` on) and is rounded up to a granule of
/// 16 bytes (8). The smallest takes 32 bytes (16) in all, 24 of them (12) for the caller. `Scale` limits the size of a
/// block and of a region: 1 TiB (2 GiB), or 1 MiB by `tlsf_small`, which has a smaller index.
///
/// Complexity: O(1) within the held regions; growing and giving back cost an upstream call. From level `checked` on,
/// calls look regions up, by a table or in O(log regions). Thread safety: none; see `synchronized`.
template <resource Upstream, class Scale>
class tlsf_resource {
  using space_type = detail::tlsf_space<Scale>;
  using block_type = typename space_type::block_type;
  using region_type = typename space_type::region_type;
  using slack = typename space_type::slack;

public:
  /// In bytes; larger requests fail.
  static constexpr std::size_t most_bytes = space_type::most - 2 * block_type::granule - slack::bytes;

  /// The bytes of a block beside its caller's, before it is rounded up to a granule.
  static constexpr std::size_t bytes_beside = block_type::header_bytes + slack::bytes;

  /// Returns: the largest gap that an alignment may need in front of a block, in bytes.
  [[nodiscard]] static constexpr std::size_t slack_for(std::size_t alignment) noexcept {
    return alignment > block_type::granule ? alignment + block_type::least : 0;
  }

  tlsf_resource() : tlsf_resource(tlsf_resource_options{}) {}
  explicit tlsf_resource(const tlsf_resource_options& options, Upstream upstream = {})
      : upstream_(std::move(upstream)), options_(options) {
    expect_growth(options.growth);
  }
  explicit tlsf_resource(Upstream upstream) : tlsf_resource(tlsf_resource_options{}, std::move(upstream)) {}

  /// Effects: uses `buffer` first, then the upstream. A buffer is not used if it has no room for the record of a
  /// region and a block, about 100 bytes; nor are its bytes beyond the limit of `Scale`.
  /// Lifetime: the buffer outlives the resource and every block.
  explicit tlsf_resource(std::span<std::byte> buffer, const tlsf_resource_options& options = {}, Upstream upstream = {})
      : upstream_(std::move(upstream)), options_(options), buffer_{buffer.data(), buffer.size()} {
    expect_growth(options.growth);
    add_buffer();
  }

  tlsf_resource(const tlsf_resource&) = delete;  // blocks belong to one instance
  tlsf_resource& operator=(const tlsf_resource&) = delete;

  /// Effects: gives all memory back. From level `checked` on, reports live blocks to the leak handler.
  ~tlsf_resource() {
    if constexpr (block_type::is_sealed) report_leaks();
    drop_all();
  }

  /// Throws: `std::bad_alloc`, or as the upstream. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    void* const p = take(bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : allocate_fresh<or_throw>(bytes, alignment);
  }

  /// Returns: a block, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    void* const p = take(bytes, alignment);
    return ASHLAR_LIKELY(p != nullptr) ? p : allocate_fresh<or_null>(bytes, alignment);
  }

  /// Returns: a block with its actual size. At `hardened` that is the requested size, and the excess bytes are
  /// watched.
  /// Throws: as `allocate`.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    void* const p = allocate(bytes, alignment);
    if constexpr (slack::is_kept) return {p, bytes};
    const std::size_t usable = space_.room_of(p);
    detail::mark_live(static_cast<std::byte*>(p) + bytes, usable - bytes);
    return {p, usable};
  }

  /// Expects: the same size and alignment as at the allocation of `p`. From level `checked` on, this is checked as far
  /// as the block's own size allows, and exactly at `hardened`.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (block_type::is_sealed) check(p, bytes, alignment);
    give(p);
  }

  /// Effects: takes a block back; nothing for null. Expects: `p` was allocated here.
  void deallocate(void* p) noexcept {
    if (ASHLAR_UNLIKELY(p == nullptr)) return;
    if constexpr (block_type::is_sealed) check_unsized(p);
    give(p);
  }

  /// Effects: grows a block into a free neighbour, or shrinks it, in place; its contents stay.
  /// Returns: whether its size is now `new_bytes`; if not, nothing has changed.
  /// Expects: as `deallocate`.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept {
    if constexpr (block_type::is_sealed) check(p, bytes, alignment);
    const std::size_t room = space_.room_of(p);
    if constexpr (detail::keeps_canaries) space_.verify_growth(p, std::min(new_bytes, most_bytes) + slack::bytes, this);
    if (new_bytes > most_bytes || !space_.resize(p, new_bytes + slack::bytes)) {
      if constexpr (slack::is_kept) slack::fill(static_cast<std::byte*>(p), bytes, room);
      return false;
    }
    mark_resized(static_cast<std::byte*>(p), bytes, new_bytes, room);
    return true;
  }

  /// Returns: the usable bytes at `p`; at `hardened`, the requested bytes. Expects: `p` was allocated here; checked
  /// from level `checked` on.
  [[nodiscard]] std::size_t usable_size(void* p) const noexcept {
    if constexpr (block_type::is_sealed) static_cast<void>(check_live(p, space_.site(this)));
    if constexpr (slack::is_kept) return slack::wanted(static_cast<std::byte*>(p), space_.room_of(p));
    const std::size_t room = space_.room_of(p);
    detail::mark_readable(p,
                          room);  // memory tools permit the reported bytes and keep their state of the rest
    return room;
  }

  /// Returns: whether `p` points into a region. Complexity: O(log regions).
  [[nodiscard]] bool owns(const void* p) const noexcept { return space_.site(this).find(p) != nullptr; }

  /// Effects: takes all blocks back and gives all regions back.
  void release() noexcept {
    drop_all();
    add_buffer();
  }

  /// Effects: gives empty regions back; retains at most `retain_bytes` of them. Returns: bytes given back.
  /// Complexity: O(regions) for each of them, and at `hardened` O(bytes of free blocks).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    std::size_t given = 0;
    check_regions();
    for (region_type* region = find_empty(retain_bytes); region != nullptr; region = find_empty(retain_bytes)) {
      given += region->memory.size;
      give_region(region);
    }
    return given;
  }

  /// Effects: makes sure that the next block of `bytes` bytes needs no upstream call. Throws: as `allocate`.
  void reserve(std::size_t bytes) {
    if (bytes > most_bytes) throw_bad_alloc(bytes, 1);
    if (largest_free() < bytes) static_cast<void>(grow<or_throw>(bytes, 1));
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return space_.capacity(); }  ///< bytes, headers included
  /// Returns: the bytes held from the upstream: regions, without the buffer. Complexity: O(1).
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  [[nodiscard]] std::size_t used() const noexcept { return space_.used(); }     ///< bytes of live blocks, with headers
  [[nodiscard]] std::size_t regions() const noexcept { return space_.lent(); }  ///< regions lent by the upstream

  /// Returns: the largest request that is sure to succeed without an upstream call, exact to 1/32.
  [[nodiscard]] std::size_t largest_free() const noexcept {
    const std::size_t room = std::min(space_.largest_free(), most_bytes + slack::bytes);
    return room > slack::bytes ? room - slack::bytes : 0;
  }

  /// Effects: calls `f(block, is_free)` for each block, free and live, region by region, in ascending addresses.
  /// Complexity: O(blocks). Expects: `f` neither allocates nor frees here.
  template <class F>
  void for_each_block(F f) const {
    space_.regions().for_each([&](region_type& region) {
      region.walk([&](const auto& each, auto h) {
        f(block{each.data(), h.stride() - block_type::header_bytes}, h.is_free());
        return true;
      });
    });
  }

  [[nodiscard]] Upstream& upstream_resource() noexcept { return upstream_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Complexity: O(blocks).
  [[nodiscard]] bool invariant() const noexcept { return space_.invariant(); }

  [[nodiscard]] friend bool operator==(const tlsf_resource& a, const tlsf_resource& b) noexcept { return &a == &b; }

private:
  static constexpr std::size_t region_alignment = block_type::granule;

  [[nodiscard]] ASHLAR_INLINE void* take(std::size_t bytes, std::size_t alignment) noexcept {
    if (ASHLAR_UNLIKELY(bytes > most_bytes)) return nullptr;
    std::byte* const p = space_.take(bytes + slack::bytes, alignment, this);
    if (ASHLAR_LIKELY(p != nullptr)) {
      detail::mark_live(p, bytes);
      if constexpr (slack::is_kept) slack::fill(p, bytes, space_.room_of(p));
    }
    return p;
  }

  ASHLAR_INLINE void give(void* p) noexcept {
    if constexpr (detail::marks_memory) detail::mark_free(p, space_.room_of(p));
    region_type* const emptied = space_.give(p);
    if (ASHLAR_UNLIKELY(emptied != nullptr)) retain_or_give(emptied);
  }

  // Informs the memory tools and the canary of a new size. Bytes that stay in use keep their state.
  void mark_resized(std::byte* p, std::size_t bytes, std::size_t new_bytes, std::size_t room) noexcept {
    if (new_bytes > bytes) detail::mark_live(p + bytes, new_bytes - bytes);
    const std::size_t usable = space_.room_of(p);
    if (room > new_bytes) detail::mark_free(p + new_bytes, room - new_bytes);  // the bytes given up, and the slack
    if constexpr (slack::is_kept) slack::fill(p, new_bytes, usable);
  }

  void check(void* p, std::size_t bytes, std::size_t alignment) const noexcept {
    const auto site = space_.site(this);
    const auto live = check_live(p, site);
    if constexpr (slack::is_kept) slack::check(live.data(), bytes, space_.room_of(p), site);
    else check_size(live, bytes, site);
    check_alignment(live, alignment, site);
  }

  void check_unsized(void* p) const noexcept {
    const auto site = space_.site(this);
    const auto live = check_live(p, site);
    if constexpr (slack::is_kept) {
      const std::size_t room = space_.room_of(p);
      slack::check(live.data(), slack::wanted(live.data(), room), room, site);
    }
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* allocate_fresh(std::size_t bytes,
                                                 std::size_t alignment) noexcept(Failure == or_null) {
    if (!is_possible(bytes, alignment)) return failed<Failure>(bytes, alignment);
    return grow<Failure>(bytes, alignment) ? take(bytes, alignment) : nullptr;
  }

  // Effects: adds a region with room for the block: a whole growth step, or if that is refused, just enough. Returns:
  // whether the upstream had one.
  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD bool grow(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    const std::size_t least = region_bytes_for(bytes, alignment);
    const std::size_t step = step_for(least);
    void* const stepped = step != least ? try_allocate_from(upstream_, step, region_alignment) : nullptr;
    void* const memory = stepped != nullptr ? stepped : allocate_from<Failure>(upstream_, least, region_alignment);
    if (memory == nullptr) return false;
    add_region({memory, stepped != nullptr ? step : least});
    return true;
  }

  [[nodiscard]] static bool is_possible(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= most_bytes && alignment <= most_bytes && slack_for(alignment) <= most_bytes - bytes;
  }

  [[nodiscard]] static std::size_t region_bytes_for(std::size_t bytes, std::size_t alignment) noexcept {
    constexpr std::size_t page = 4096;
    const std::size_t stride = block_type::stride_for(bytes + slack::bytes) + slack_for(alignment);
    return align_up(stride + region_type::overhead(), page);
  }

  [[nodiscard]] std::size_t step_for(std::size_t least) const noexcept {
    const std::size_t step = options_.growth.next(space_.capacity());
    return std::max(least, std::min(step, std::size_t{space_type::most}));
  }

  void add_region(const block& memory) noexcept {
    space_.add(region_type::make(memory, space_.most, true));
    held_bytes_ += memory.size;
  }

  void add_buffer() noexcept {
    if (region_type* const region = region_type::make(buffer_, space_.most, false)) space_.add(region);
  }

  // Effects: retains a region that has become empty, or gives it back.
  ASHLAR_COLD void retain_or_give(region_type* region) noexcept {
    if (!region->goes_upstream || options_.retain_regions == never_release) return;
    const std::size_t kept = options_.retain_regions.retained(space_.lent() - space_.empty());
    if (space_.empty() > kept || region->memory.size > options_.growth.largest) give_region(region);
  }

  void give_region(region_type* region) noexcept {
    if constexpr (detail::keeps_canaries) check_region(*region, space_.site(this));
    else if constexpr (detail::tlsf_block::is_sealed) check_member(region->first().data(), space_.site(this));
    space_.remove(region);
    hand_over(*region);
  }

  void hand_over(const region_type& region) noexcept {
    const block memory = region.memory;
    const bool goes_upstream = region.goes_upstream;
    detail::mark_live(memory.data, memory.size);
    if (!goes_upstream) return;
    upstream_.deallocate(memory.data, memory.size, region_alignment);
    held_bytes_ -= memory.size;
  }

  void check_regions() const noexcept {
    if constexpr (detail::keeps_canaries)
      space_.regions().for_each([this](region_type& region) { check_region(region, space_.site(this)); });
  }

  void drop_all() noexcept {
    check_regions();
    space_.regions().for_each([this](region_type& region) {
      // In retained memory no header may outlive its block: an old pointer would pass for a live one.
      if constexpr (block_type::is_sealed) region.forget_headers();
      hand_over(region);
    });
    space_.clear();
  }

  [[nodiscard]] region_type* find_empty(std::size_t retain_bytes) const noexcept {
    region_type* found = nullptr;
    if (space_.empty() == 0) return found;
    space_.regions().for_each([&](region_type& region) {
      if (!region.goes_upstream || !region.is_empty()) return;
      if (region.memory.size <= retain_bytes) retain_bytes -= region.memory.size;
      else found = &region;
    });
    return found;
  }

  ASHLAR_COLD void report_leaks() const noexcept {
    std::array<const void*, leaked_blocks::most_shown> first{};
    std::size_t count = 0;
    for_each_block([&](const block& each, bool is_free) {
      if (is_free) return;
      if (count < first.size()) first[count] = each.data;
      ++count;
    });
    if (count != 0)
      report_leak(
          {.resource = this, .count = count, .bytes = used(), .first = {first.data(), std::min(count, first.size())}});
  }

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  tlsf_resource_options options_;
  std::size_t held_bytes_ = 0;
  block buffer_;
  space_type space_;
};

static_assert(try_resource<tlsf_resource<>> && owning_resource<tlsf_resource<>> && expanding_resource<tlsf_resource<>>);
static_assert(releasable_resource<tlsf_resource<>> && self_describing_resource<tlsf_resource<>>);
static_assert(at_least_resource<tlsf_resource<>>);

}  // namespace ashlar::ASHLAR_ABI
