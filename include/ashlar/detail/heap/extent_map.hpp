// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extent map of a heap: extents of its upstream up to a limit, found by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/extent_table.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/span_header.hpp>
#include <ashlar/detail/heap/spare_guards.hpp>
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
  /// Returns: a whole segment that heaps over the upstream keep, or null.
  [[nodiscard]] void* take_kept_segment() noexcept {
    if constexpr (lends_segments) {
      if (!charge(window_bytes)) return nullptr;
      uncharge(window_bytes);
      void* const kept = upstream_.get().try_allocate_kept_segment();
      if (kept == nullptr || add(kept, window_bytes, window_bytes, true)) return kept;
      upstream_.get().deallocate_segment(kept, window_bytes);
    }
    return nullptr;
  }
  void give(const void* p) noexcept { table().give(p); }
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
    return try_allocate_from(of(table).upstream_, bytes, alignment);
  }

  static void* give_to_upstream(extent_table& table, const window& extent, std::size_t, std::uintptr_t) noexcept {
    if (extent.is_segment()) of(table).set_owner(extent.start, nullptr);
    if constexpr (lends_segments)
      if (extent.is_segment())
        return of(table).upstream_.get().deallocate_segment(extent.start, extent.bytes()), nullptr;
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
                                         .guard = guards::are_kept ? &guard : nullptr,
                                         .takes_back = pages::takes_back};

  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
