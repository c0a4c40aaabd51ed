// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks too large for a pool, with a note after each; the notes form a list, to give all blocks back at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The number of blocks of a pool that no cell can hold, and the report of a pool with too small cells. Thread safety:
/// any thread if `IsShared`, else none.
template <class Upstream, bool IsShared>
class outsized_count {
public:
  [[nodiscard]] std::size_t get() const noexcept { return count_.load(memory_order_relaxed); }

  /// Returns: a block of `upstream` that no cell of `pool` can hold, counted. Null if it has no memory left and
  /// `Failure` is `or_null`; else throws as the upstream.
  template <failure Failure, class Pool>
  [[nodiscard]] ASHLAR_COLD void* take(Pool& pool, const slab_geometry& geometry, Upstream& upstream, std::size_t bytes,
                                       std::size_t alignment) noexcept(Failure == or_null) {
    void* p = nullptr;
    if constexpr (Failure == or_throw) p = allocate_upstream(upstream, bytes, alignment);
    else p = try_allocate_upstream(upstream, bytes, alignment);
    if (p != nullptr) add(pool, geometry, bytes, alignment);
    return p;
  }

  /// As `take`, with the actual size of the block.
  template <class Pool>
  [[nodiscard]] ASHLAR_COLD block take_at_least(Pool& pool, const slab_geometry& geometry, Upstream& upstream,
                                                std::size_t bytes, std::size_t alignment) {
    const block got = allocate_upstream_at_least(upstream, bytes, alignment);
    add(pool, geometry, bytes, alignment);
    return got;
  }

private:
  // From level `checked` on, the 64th is reported if the pool has no live cell: then its cells serve nothing.
  template <class Pool>
  void add(Pool& pool, [[maybe_unused]] const slab_geometry& geometry, [[maybe_unused]] std::size_t bytes,
           [[maybe_unused]] std::size_t alignment) noexcept {
    std::size_t count = get() + 1;
    if constexpr (IsShared) count = count_.fetch_add(1, memory_order_relaxed) + 1;
    else count_.store(count, memory_order_relaxed);
    if constexpr (checking_level >= checking::checked) {
      if (count != outsized_blocks::first_reported || pool.live() != 0) return;
      report_outsized({.resource = &pool,
                       .count = count,
                       .cell_bytes = geometry.cell_bytes(),
                       .cell_alignment = geometry.cell_alignment(),
                       .bytes = bytes,
                       .alignment = alignment});
    }
  }

  atomic<std::size_t> count_ = 0;
};

/// The note after a large block. Its caller may have overwritten it, so no field is read and no link followed before
/// the seal matches.
struct large_block : list_node<large_block> {
  void* start;
  std::size_t bytes;      ///< as requested
  std::size_t alignment;  ///< as requested
  std::uintptr_t seal = 0;

  [[nodiscard]] bool is_sound() const noexcept { return seal == right_seal(); }
  void set_seal() noexcept { seal = right_seal(); }

private:
  [[nodiscard]] std::uintptr_t right_seal() const noexcept {
    return seal_of(this, next, previous, start, bytes, alignment);
  }
};

/// A list of large blocks, in the order of allocation. The owner asks its upstream for `extent`, which includes the
/// note, and gives the same extent back.
///
///     block of the upstream   | canary | the caller's bytes | canary, rounding | note |
///                              hardened                       8 bytes at checked
///
/// Every level reports a damaged note; the reporting call neither reads nor unlinks it. That call is a free of this
/// block or of a neighbour in the list, or the release of all. The canaries of a block are checked when it goes.
/// Thread safety: none. Complexity: O(1) unless stated.
class large_blocks {
public:
  /// Size and alignment of an upstream request.
  struct extent {
    std::size_t bytes;
    std::size_t alignment;
  };

  /// Returns: the extent of a request. Expects: the request is valid (`is_valid_request`), so nothing overflows.
  [[nodiscard]] static constexpr extent extent_of(std::size_t bytes, std::size_t alignment) noexcept {
    return {front_bytes(alignment) + note_offset(bytes) + sizeof(large_block),
            alignment < alignof(large_block) ? alignof(large_block) : alignment};
  }

  /// Returns: the start of the upstream's block around the caller's block at `p`.
  [[nodiscard]] static std::byte* whole_of(void* p, std::size_t alignment) noexcept {
    return static_cast<std::byte*>(p) - front_bytes(alignment);
  }

  /// Effects: adds a block of `extent_of(bytes, alignment)` to the list. Returns: the caller's part of it.
  void* add(void* whole, std::size_t bytes, std::size_t alignment, const void* resource) noexcept {
    std::byte* const p = static_cast<std::byte*>(whole) + front_bytes(alignment);
    if (blocks_.back() != nullptr) expect_sound(blocks_.back(), resource);
    auto* const note = ::new (note_of(p, bytes)) large_block{{}, p, bytes, alignment};
    blocks_.push_back(note);
    note->set_seal();
    if (note->previous != nullptr) note->previous->set_seal();
    write_canaries(p, bytes);
    ++count_, bytes_ += bytes;
    return p;
  }

  /// Effects: removes a block from the list. Reports a damaged note or canary.
  /// Expects: the block was added with the same size.
  void remove(void* p, std::size_t bytes, const void* resource) noexcept {
    remove(static_cast<large_block*>(note_of(p, bytes)), p, resource);
  }

  /// Effects: as `remove`. Returns: the note of the first block; an empty one if the list is empty.
  [[nodiscard]] large_block remove_first(const void* resource) noexcept {
    if (blocks_.empty()) return {{}, nullptr, 0, 1};
    expect_sound(blocks_.front(), resource);
    const large_block first = *blocks_.front();
    remove(blocks_.front(), first.start, resource);
    return first;
  }

  /// Returns: the note of the block that contains `p`, or null. Complexity: O(blocks).
  [[nodiscard]] const large_block* find(const void* p, const void* resource) const noexcept {
    return find_if(resource, [p](const large_block& each) {
      return address_of(p) - address_of(each.start) < each.bytes || p == each.start;
    });
  }

  /// Effects: reports a free of anything but a live block with this size and alignment. Complexity: O(blocks).
  void check(const void* p, std::size_t bytes, std::size_t alignment, const void* resource) const noexcept {
    const large_block* const known = find_if(resource, [p](const large_block& each) { return each.start == p; });
    if (known == nullptr)
      report({.kind = fault::invalid_free,
              .what = "freed a large block that is not live in this pool set",
              .pointer = p,
              .resource = resource,
              .size = bytes});
    const bool is_size = known->bytes == bytes;
    if (!is_size || known->alignment != alignment)
      report({.kind = fault::size_mismatch,
              .what = "freed a large block with another size or alignment than it was allocated with",
              .pointer = p,
              .resource = resource,
              .size = known->bytes,
              .expected = is_size ? known->alignment : known->bytes,
              .got = is_size ? alignment : bytes});
  }

  /// Effects: reports the blocks, if there are any, as a leak.
  ASHLAR_COLD void report_leaks(const void* resource) const noexcept {
    if (count_ == 0) return;
    expect_sound(blocks_.front(), resource);
    const std::array<const void*, 1> first = {blocks_.front()->start};
    report_leak({.resource = resource,
                 .count = count_,
                 .block_bytes = blocks_.front()->bytes,
                 .bytes = bytes_,
                 .first = first});
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Returns: the total of the requested bytes.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Complexity: O(blocks).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t blocks = 0;
    std::size_t bytes = 0;
    for (const large_block* each = blocks_.front(); each != nullptr; each = each->next) {
      if (!each->is_sound()) return false;
      ++blocks, bytes += each->bytes;
    }
    return blocks_.invariant() && blocks == count_ && bytes == bytes_;
  }

private:
  static constexpr std::size_t canary_bytes = checking_level >= checking::checked ? 8 : 0;  // minimum after a block
  static constexpr std::size_t bytes_before = front_guard;                                  // minimum in front of it

  // A multiple of the alignment, so that the caller's part is aligned, too.
  [[nodiscard]] static constexpr std::size_t front_bytes(std::size_t alignment) noexcept {
    return bytes_before != 0 ? detail::max(alignment, bytes_before) : 0;
  }

  [[nodiscard]] static constexpr std::size_t note_offset(std::size_t bytes) noexcept {
    return align_up(bytes + canary_bytes, alignof(large_block));
  }

  [[nodiscard]] static void* note_of(void* p, std::size_t bytes) noexcept {
    return static_cast<std::byte*>(p) + note_offset(bytes);
  }

  template <class Predicate>
  [[nodiscard]] const large_block* find_if(const void* resource, Predicate is_sought) const noexcept {
    for (const large_block* each = blocks_.front(); each != nullptr; each = each->next) {
      expect_sound(each, resource);
      if (is_sought(*each)) return each;
    }
    return nullptr;
  }

  // `p` is the block of the note, from a trusted source; the note itself gives it only if it is intact.
  void remove(large_block* note, void* p, const void* resource) noexcept {
    expect_sound(note, resource, p);
    expect_canaries(*note, resource);
    large_block* const next = note->next;
    large_block* const previous = note->previous;
    if (next != nullptr) expect_sound(next, resource);
    if (previous != nullptr) expect_sound(previous, resource);
    blocks_.erase(note);
    note->seal = 0;
    if (next != nullptr) next->set_seal();
    if (previous != nullptr) previous->set_seal();
    --count_, bytes_ -= note->bytes;
  }

  static void expect_sound(const large_block* note, const void* resource, const void* p = nullptr) noexcept {
    if (ASHLAR_LIKELY(note->is_sound())) return;
    report(
        {.kind = fault::overflow,
         .what = p != nullptr
                     ? "bytes past the end of a large block were written to, over its record"
                     : "bytes past the end of a large block were written to, over its record, which is at this pointer",
         .pointer = p != nullptr ? p : note,
         .resource = resource});
  }

  static void write_canaries(std::byte* p, std::size_t bytes) noexcept {
    if constexpr (canary_bytes != 0) {
      fill_slack(p, bytes, note_offset(bytes));
      mark_free(p + bytes, note_offset(bytes) - bytes);
    }
    if constexpr (bytes_before != 0) {
      fill_slack(p - bytes_before, 0, bytes_before);
      mark_free(p - bytes_before, bytes_before);
    }
  }

  static void expect_canaries(const large_block& note, const void* resource) noexcept {
    auto* const p = static_cast<std::byte*>(note.start);
    if constexpr (canary_bytes != 0) expect_canary_behind(p, note.bytes, resource);
    if constexpr (bytes_before != 0) expect_canary_before(p, note.bytes, resource);
  }

  static void expect_canary_behind(std::byte* p, std::size_t bytes, const void* resource) noexcept {
    const std::size_t end = note_offset(bytes);
    mark_readable(p + bytes, end - bytes);
    const slack_state behind = look_at_slack(p, bytes, end);
    if (ASHLAR_LIKELY(behind.is_intact)) return;
    report_write_behind(p, bytes, bytes, behind.written_to, resource);
  }

  static void expect_canary_before(std::byte* p, std::size_t bytes, const void* resource) noexcept {
    mark_readable(p - bytes_before, bytes_before);
    if (ASHLAR_UNLIKELY(!look_at_slack(p - bytes_before, 0, bytes_before).is_intact))
      report_write_before(p, bytes, resource);
  }

  list<large_block> blocks_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
