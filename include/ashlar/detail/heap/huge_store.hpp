// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of a heap that are larger than a segment: extents of the upstream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/extent_table.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// An extent, which is a segment or a huge block, starts at a multiple of 4 MiB (a window) and shares no window. A
/// spare extent is free, retained for reuse, and goes back before a request is refused. Invariant: `held_bytes` is the
/// sum of all extents, spare ones included; the limit also counts the table and charged bytes. Thread safety: none.
/// Nothing is allocated before it is needed.
template <resource Upstream>
class extent_map : public extent_table {
  using pages = page_discard<Upstream>;

public:
  using guards = spare_guards<pages>;

  explicit constexpr extent_map(std::size_t max_bytes, Upstream upstream)
      : extent_table(max_bytes, calls), upstream_(std::move(upstream)) {}

  extent_map(const extent_map&) = delete;
  extent_map& operator=(const extent_map&) = delete;
  ~extent_map() { release(); }

  /// @{ As of `extent_table`, with the calls of the caller's code: the library that used the map before may be closed.
  template <class F>
  ASHLAR_INLINE auto retry_after_purge(F attempt) noexcept {
    return table().retry_after_purge(attempt);
  }
  [[nodiscard]] std::byte* take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    return table().take(bytes, alignment, is_segment);
  }
  /// Returns: a segment that heaps over the upstream keep, or that one has left behind, of at least `least` bytes; or
  /// an empty block. Its head is there, with the mask of its fresh slices.
  [[nodiscard]] block take_kept_segment(std::size_t least) noexcept {
    const block kept = kept_segment(least);
    if (!kept || add(kept.data, kept.size, window_bytes, true)) return kept;
    give_to_upstream(*this, window::of(static_cast<std::byte*>(kept.data), 0, kept.size, window_bytes, true), 0, 1);
    return {};
  }
  void give(const void* p) noexcept { table().give(p); }
  /// As `give`, of a segment whose heap ends.
  void leave(const void* p) noexcept { give_to_upstream(table(), remove(p), 0, 1); }
  [[nodiscard]] bool resize(const void* p, std::size_t bytes) noexcept { return table().resize(p, bytes); }
  [[nodiscard]] std::byte* move(const void* p, std::size_t bytes, std::size_t alignment) noexcept {
    return table().move(p, bytes, alignment);
  }
  void keep(const void* p) noexcept { table().keep(p); }
  [[nodiscard]] std::byte* take_spare(std::size_t bytes, std::size_t alignment) noexcept {
    return table().take_spare(bytes, alignment);
  }
  std::size_t give_spares(std::size_t most) noexcept { return table().give_spares(most); }
  void age_spares() noexcept { table().age_spares(); }
  [[nodiscard]] bool charge(std::size_t bytes) noexcept { return table().charge(bytes); }
  void release() noexcept { table().release(); }
  /// @}

  /// Effects: names the owner of the segment at `p`, null for none, where an address alone leads to it.
  void set_owner([[maybe_unused]] const void* p, [[maybe_unused]] segment_owner* owner) noexcept {
    if constexpr (finds_owners<Upstream>) upstream_.get().set_owner(p, owner);
  }

  /// Effects: doubles a table of the upstream's, charged. Returns: false, without an effect, when memory has run out.
  template <class Table>
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE bool grow(Table& table) noexcept {
    const std::size_t were = table.upstream_bytes(), wide = table.doubled_bytes();
    if (!charge(wide)) return false;
    const bool has_grown = table.grow(upstream_);
    uncharge(has_grown ? were : wide);
    return has_grown;
  }

  [[nodiscard]] constexpr Upstream& upstream() noexcept { return upstream_; }
  [[nodiscard]] constexpr const Upstream& upstream() const noexcept { return upstream_; }

private:
  static constexpr bool lends_segments =
      requires(Upstream& shared) { shared.get().try_allocate_segment(window_bytes); };
  static constexpr bool has_store = pages::has_store && !lends_segments;

  [[nodiscard]] extent_table& table() noexcept {
    use(calls);
    return *this;
  }
  [[nodiscard]] static extent_map& of(extent_table& table) noexcept { return static_cast<extent_map&>(table); }

  [[nodiscard]] static void* take_from_upstream(extent_table& table, [[maybe_unused]] const window& kind,
                                                std::size_t bytes, std::uintptr_t alignment) noexcept {
    if constexpr (lends_segments)
      if (kind.is_segment()) return of(table).upstream_.get().try_allocate_segment(bytes);
    if constexpr (pages::has_guards && !lends_segments)
      if (kind.is_segment()) return pages::map_closed(bytes, alignment, segment::head_bytes(bytes / slice_bytes));
    void* const p = try_allocate_from(of(table).upstream_, bytes, alignment);
    if constexpr (has_store)
      if (p == nullptr) return pages::store::trim(), try_allocate_from(of(table).upstream_, bytes, alignment);
    return p;
  }

  [[nodiscard]] ASHLAR_INLINE block kept_segment([[maybe_unused]] std::size_t least) noexcept {
    if constexpr (lends_segments) return upstream_.get().try_allocate_kept_segment(least);
    else if constexpr (has_store) return pages::store::take_segment(least);
    else return {};
  }

  // `ends`: since the heap ends.
  static void* give_to_upstream(extent_table& table, const window& extent, std::size_t,
                                [[maybe_unused]] std::uintptr_t ends) noexcept {
    if (extent.is_segment()) of(table).set_owner(extent.start, nullptr);
    if constexpr (lends_segments)
      if (extent.is_segment())
        return of(table).upstream_.get().deallocate_segment(extent.start, extent.bytes(), ends != 0), nullptr;
    if constexpr (has_store)  // a longer one has cost more than its mapping
      if (ends != 0 && extent.is_segment() && extent.bytes() <= segment_bytes / 2)
        return pages::store::give_segment(extent.start, extent.bytes()), nullptr;
    return of(table).upstream_.deallocate(extent.start, extent.bytes(), extent.alignment()), nullptr;
  }

  static void* give_table_to_upstream(extent_table& table, const window&, std::size_t bytes,
                                      std::uintptr_t entries) noexcept {
    return of(table).upstream_.deallocate(reinterpret_cast<void*>(entries), bytes, alignof(window)), nullptr;
  }

  [[nodiscard]] static void* expand_in_upstream(extent_table& table, const window& extent, std::size_t bytes,
                                                std::uintptr_t) noexcept {
    if constexpr (expanding_resource<Upstream>) {
      const std::size_t were = extent.bytes();
      if (bytes < were) mark_readable(extent.start + bytes, were - bytes);
      if (!of(table).upstream_.try_expand(extent.start, were, bytes, extent.alignment())) return nullptr;
      if (bytes > were) mark_live(extent.start + were, bytes - were);
      return extent.start;
    } else {
      return nullptr;
    }
  }

  [[nodiscard]] static std::byte* move_pages(extent_table& table, const window& was, std::size_t bytes,
                                             std::size_t alignment) noexcept {
    extent_map& in = of(table);
    if constexpr (!pages::can_move) {
      return nullptr;
    } else if constexpr (pages::is_shared) {
      if (!in.begin_move(was, bytes)) return nullptr;
      return in.end_move(was, in.retry_after_purge([&] { return in.call(&move_in_upstream, was, bytes, alignment); }),
                         bytes, alignment);
    } else {
      void* const place = in.retry_after_purge([&] { return in.call(&reserve, was, bytes, alignment); });
      if (place == nullptr) return nullptr;
      const bool has_room = in.begin_move(was, bytes);
      void* const moved = in.call(has_room ? &move_to_place : &give_place_back, was, bytes, address_of(place));
      return has_room ? in.end_move(was, moved, bytes, alignment) : nullptr;
    }
  }

  [[nodiscard]] static void* move_in_upstream(extent_table& table, const window& was, std::size_t bytes,
                                              std::uintptr_t alignment) noexcept
    requires(pages::is_shared)
  {
    return of(table).upstream_.get().try_move(was.start, bytes, alignment);
  }
  [[nodiscard]] static void* reserve(extent_table&, const window&, std::size_t bytes, std::uintptr_t alignment) noexcept
    requires(pages::can_move && !pages::is_shared)
  {
    return pages::reserve(bytes, alignment);
  }
  static void* give_place_back(extent_table&, const window&, std::size_t bytes, std::uintptr_t place) noexcept
    requires(pages::can_move && !pages::is_shared)
  {
    return pages::give_back(reinterpret_cast<void*>(place), bytes), nullptr;
  }
  [[nodiscard]] static void* move_to_place(extent_table&, const window& was, std::size_t bytes,
                                           std::uintptr_t place) noexcept
    requires(pages::can_move && !pages::is_shared)
  {
    auto* const p = reinterpret_cast<std::byte*>(place);
    mark_readable(was.start, was.bytes());  // all of it, since the next user of the address knows no marks
    if (!pages::move(was.start, was.bytes(), p, bytes)) return nullptr;
    mark_readable(p, was.bytes());
    mark_live(p + was.bytes(), bytes - was.bytes());
    return p;
  }

  static void split_in_upstream(extent_table& table, const window& extent, std::size_t head) noexcept {
    if constexpr (pages::is_shared) of(table).upstream_.get().split(extent.start, head);
  }

  [[nodiscard]] static void* guard(extent_table&, const window& extent, std::size_t, std::uintptr_t closes) noexcept {
    const bool is_done = closes != 0 ? guards::close(extent) : guards::open(extent);
    return is_done ? extent.start : nullptr;
  }

  static constexpr extent_calls calls = {.take = &take_from_upstream,
                                         .give = &give_to_upstream,
                                         .give_table = &give_table_to_upstream,
                                         .expand = expanding_resource<Upstream> ? &expand_in_upstream : nullptr,
                                         .move = pages::can_move ? &move_pages : nullptr,
                                         .split = pages::is_shared ? &split_in_upstream : nullptr,
                                         .guard = if_hardened<upstream_call>(guards::are_kept ? &guard : nullptr),
                                         .takes_back = pages::takes_back};

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

/// A huge block starts at a window (4 MiB); by that alignment its address differs from all others.
///
/// A freed block stays spare, with its pages unless it has `spare_guards`, for the next one, which takes it unchanged,
/// cut or grown: as long as `huge_retention` allows. An epoch ends with the next free. All spare blocks go back before
/// the upstream or the limit refuses a request. Thread safety: none, or a lock of the caller, which the calls of the
/// upstream are made without.
template <resource Upstream>
class huge_store {
public:
  /// `heap`: named in reports.
  explicit constexpr huge_store(extent_map<Upstream>& space, std::size_t retain_bytes = std::size_t{8} << 20,
                                std::uint32_t decay_ms = 0, const void* heap = nullptr) noexcept
      : space_(space), retention_(retain_bytes, decay_ms), heap_(heap) {}

  /// Effects: changes what stays spare.
  void set_retention(std::size_t retain_bytes, std::uint32_t decay_ms) noexcept {
    retention_.set(retain_bytes, decay_ms);
  }

  /// Returns: whole pages for one block, or null.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED fresh_block take(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t whole = pages_of(bytes), aligned = detail::max(alignment, window_bytes);
    if (whole == 0 || aligned > max_block_bytes - whole) return {};
    if (std::byte* const spare = space_.take_spare(whole, aligned)) {
      const std::size_t held = space_.find(spare)->bytes();
      if (!spares_are_zero) reused_bytes_ += held;
      return {add(spare, held), spares_are_zero};
    }
    std::byte* const p = space_.take(whole, aligned, false);
    return p != nullptr ? fresh_block{add(p, whole), page_discard<Upstream>::gives_zeroes} : fresh_block{};
  }

  /// Effects: frees a huge block. Expects: `p` is its start, which is verified at every level.
  ASHLAR_COLD void give(void* p) noexcept {
    const window* const found = space_.find(p);
    if (found == nullptr || found->start != p || found->is_segment())
      refuse(p, fault::invalid_free, "freed a pointer that is not of this heap");
    if (space_.is_spare(p)) refuse(p, fault::double_free, "freed a block that is free");
    --count_;
    bytes_ -= found->bytes();
    space_.keep(p);
    space_.give_spares(retention_.most(bytes_));
    age();
  }

  /// Returns: whether the block has room for `wanted` bytes now, in place, and at most a third more. It grows if the
  /// upstream has room after it, and gives its tail back when it shrinks.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED bool resize(void* p, std::size_t wanted) noexcept {
    const std::size_t held = space_.find(p)->bytes(), whole = pages_of(wanted);
    if (whole == 0) return false;
    if (whole <= held && whole >= held - held / 4) return true;
    if (!space_.resize(p, whole)) return false;
    add_bytes(whole - held);
    return true;
  }

  /// Returns: a block of `wanted` bytes with the contents of the one at `p`, moved by its pages without a copy; or null
  /// if the upstream cannot move pages or memory has run out, and `p` is unchanged. Expects: the block is smaller.
  [[nodiscard]] ASHLAR_COLD_FOR_SPEED void* reallocate(void* p, std::size_t wanted, std::size_t alignment) noexcept {
    const std::size_t held = space_.find(p)->bytes(), whole = pages_of(wanted);
    const std::size_t aligned = detail::max(alignment, window_bytes);
    if (whole < held || aligned > max_block_bytes - whole) return nullptr;
    std::byte* const moved = space_.move(p, whole, aligned);
    if (moved != nullptr) add_bytes(whole - held);
    return moved;
  }

  /// Effects: gives spare blocks back down to `keep` bytes. Returns: bytes given back.
  std::size_t trim(std::size_t keep) noexcept { return space_.give_spares(keep); }

  /// Effects: ends an epoch that has lasted long enough: gives back the blocks that were spare during all of it.
  void age() noexcept {
    if (retention_.ends_epoch(bytes_)) space_.age_spares();
  }

  /// Effects: calls `f(p, bytes)` for each block, in no order.
  template <class F>
  ASHLAR_INLINE void for_each(F f) const {
    space_.for_each([&](const window& each) {
      if (!each.is_segment() && !space_.is_spare(each.start)) f(each.start, each.bytes());
    });
  }

  /// Effects: forgets all blocks. Expects: the extent map forgets them too.
  void clear() noexcept {
    count_ = bytes_ = 0;
    retention_.clear();
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns: bytes reused since the heap was made, without a new mapping.
  [[nodiscard]] std::uint64_t reused_bytes() const noexcept { return reused_bytes_; }

  /// Complexity: O(windows).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t count = 0, bytes = 0;
    for_each([&](std::byte*, std::size_t size) { ++count, bytes += size; });
    return count == count_ && bytes == bytes_;
  }

private:
  static constexpr bool spares_are_zero = extent_map<Upstream>::guards::are_kept;  // without their pages
  static constexpr std::size_t step = 4096;  // the upstream rounds up to its own pages if they are larger

  // Returns: bytes rounded up to whole pages; 0 for impossible sizes.
  [[nodiscard]] static constexpr std::size_t pages_of(std::size_t bytes) noexcept {
    return bytes <= max_block_bytes - window_bytes ? align_up(detail::max<std::size_t>(bytes, 1), step) : 0;
  }

  [[nodiscard]] std::byte* add(std::byte* p, std::size_t held) noexcept {
    ++count_;
    add_bytes(held);
    return p;
  }

  void add_bytes(std::size_t more) noexcept {
    bytes_ += more;
    retention_.count(bytes_);
  }

  [[noreturn]] ASHLAR_COLD void refuse(const void* p, fault kind, const char* what) const noexcept {
    report({.kind = kind, .what = what, .pointer = p, .resource = heap_});
  }

  extent_map<Upstream>& space_;
  huge_retention retention_;
  const void* heap_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t reused_bytes_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
