// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checked calls of an engine whose owner needs no lock: an address alone leads to the owner of a block.
#pragma once

#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/heap/block_canary.hpp>
#include <ashlar/detail/heap/cell_layout.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// At level `checked`, as calls of the `Engine` that derives from it:
///
///     free of p --> the segment of p is the caller's: try_put_own     live -> free list, without a lock
///               `-> otherwise: [ put_checked ]                        every check, report
///                     +- of the caller: onto a free list
///                     +- of another thread: into the bitmap
///
/// The lock of the engine guards all checks but those of a cell that is live for its owner.
template <class Engine>
class owner_checks {
public:
  /// Effects: frees a live cell. Returns: false, without an effect, for all else and for cells at sampled addresses.
  /// Expects: `p` lies in a segment of this engine. Thread safety: the owner.
  [[nodiscard]] ASHLAR_INLINE bool try_put_own(void* p) noexcept { return try_put_own(p, segment::owner_of(p)); }
  /// As above, only of the class.
  [[nodiscard]] ASHLAR_INLINE bool try_put_own(void* p, std::size_t size_class) noexcept {
    if (ASHLAR_UNLIKELY(is_sampled(p) || segment::owner_of(p) != size_class)) return false;
    if (ASHLAR_UNLIKELY(!self().stores_.checks().ends_own_cell(p, size_class))) return false;
    self().cache_cell(p, size_class);
    return true;
  }

  /// Effects: frees a block, or reports why it is none; `requested`: bytes, alignment and size class, or nothing.
  /// Expects: `p` is not null; `is_own`: the caller is the owner. Thread safety: any thread.
  template <class... Request>
  ASHLAR_NOINLINE void put_checked(void* p, bool is_own, Request... requested) noexcept {
    const auto in = self().sharing_.enter_whole();
    if (!is_own) return take_from_other(p, requested...);
    self().stores_.checks().end_life(p, requested...);
    take_own(p);
  }

  /// Returns: the usable bytes of a block. Reports any other address as a wrong `use`. Thread safety: any thread.
  [[nodiscard]] std::size_t checked_size_of(const void* p, const auto& use) noexcept {
    void* const at = const_cast<void*>(p);
    const bool is_mine = !is_aligned(p, window_bytes) && self().upstream().get().is_of(&self(), p);
    const std::size_t size_class = is_mine ? segment::owner_of(at) : size_classes::none;
    if (size_class != size_classes::none && segment::is_live(at)) return size_classes::bytes_of(size_class);
    const auto in = self().sharing_.enter_whole();
    self().stores_.checks(use).expect(p);
    return self().stores_.usable_size(p);
  }

  /// Effects: reports an address that is not a block of that request. Thread safety: any thread, at other levels as the
  /// caller.
  void expect_request(void* p, std::size_t bytes, std::size_t alignment, std::size_t size_class,
                      const auto& use) noexcept {
    const auto check = [&] { self().stores_.checks(use).expect(p, bytes, alignment, size_class); };
    if constexpr (!Engine::checks_owner) return check();
    const auto in = self().sharing_.enter_whole();
    check();
  }

  /// As `put(p, bytes, alignment)` of the engine, but false, without an effect, when the block may be of another heap
  /// or needs the slow path: at levels with a lock in every call. Thread safety: any thread.
  [[nodiscard]] ASHLAR_INLINE bool try_put_cell(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const auto call = self().sharing_.enter_call();
    const std::size_t size_class = class_of_request(bytes, alignment);
    if (is_sampled(p) || !self().stores_.checks().ends_known_cell(p, bytes, size_class)) return false;
    self().cache_cell(p, size_class);
    return true;
  }

protected:
  owner_checks() = default;
  ~owner_checks() = default;

private:
  [[nodiscard]] ASHLAR_INLINE Engine& self() noexcept { return static_cast<Engine&>(*this); }

  // Under the lock.
  template <class... Request>
  void take_from_other(void* p, Request... requested) noexcept {
    auto& stores = self().stores_;
    stores.checks().end_life_by_other(p, requested...);
    is_aligned(p, window_bytes) ? stores.give_huge(p) : stores.count_arrived(stores.give_block(p));
  }

  // The same.
  void take_own(void* p) noexcept {
    auto& stores = self().stores_;
    const std::size_t size_class = segment::owner_of(p);
    if (size_class == size_classes::none) return stores.give_run(p);
    if constexpr (marks_memory) mark_free(p, size_classes::bytes_of(size_class));
    stores.cache().push(size_class, p);
    if (is_sampled(p)) stores.count_freed(size_class);
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail
