// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extent map that the thread heaps of one heap share: one page map, one limit, one lock, a cache of segments.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/heap_parts.hpp>
#include <ashlar/detail/heap/page_discard.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/purge.hpp>
#include <ashlar/detail/heap/retention_limit.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// An `extent_map` for any thread, and a resource. Blocks aligned to a window are extents; the others are tables and
/// records, which the limit counts too.
///
///     thread heap: free segment -> segment cache, at most two -> next thread heap, pages included
///                                                              -> upstream, called without the lock
///
/// Heaps over it share one `retain_bytes`, which includes the segment cache.
template <thread_safe_resource Upstream>
class shared_extent_map {
  using segment = typename heap_parts<Upstream>::segment;
  using range_of = detail::range_of<Upstream>;

public:
  static constexpr bool is_thread_safe = true;
  /// Whether an address alone leads to the owner of its segment.
  static constexpr bool finds_owners = range_of::is_known;

  /// `heap`: named in reports about blocks in here; null: the requesting heap. A constant-initialised map enters the
  /// registry of heaps later.
  constexpr shared_extent_map(std::size_t max_bytes, Upstream upstream, std::size_t retain_bytes = std::size_t{8} << 20,
                              void* heap = nullptr)
      : space_(max_bytes, std::move(upstream)), budget_(retain_bytes), heap_(heap) {
    space_.unlocked().share(lock_);
    if (!std::is_constant_evaluated() && heap != nullptr) enter_registry();
  }

  /// Effects: enters the registry of heaps, at the first call. No effect at level `fast`.
  void enter_registry() noexcept {
    if (!is_registered_.exchange(true, memory_order_relaxed)) space_.enter_registry(heap_);
  }

  /// Effects: changes the limits. What is held or retained beyond them stays until it is freed.
  void set_limits(std::size_t max_bytes, std::size_t retain_bytes) noexcept {
    const scope held(lock_);
    space_.set_max_bytes(max_bytes);
    budget_.set(retain_bytes);
  }

  /// Effects: registers `run_short(self)`, called before each request for an extent; it may free memory.
  constexpr void before_growth(void* self, void (*run_short)(void* self) noexcept) noexcept {
    self_ = self;
    run_short_ = run_short;
  }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment < window_bytes) return try_allocate_charged(bytes, alignment);
    if (run_short_ != nullptr) run_short_(self_);
    return take(bytes, alignment, false);
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = try_allocate(bytes, alignment);
    if (p == nullptr) throw_bad_alloc(bytes, alignment);
    return p;
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (alignment >= window_bytes) {
      const scope held(lock_);
      return space_.give(p);
    }
    auto&& tables = tables_beside(space_.upstream());
    tables.deallocate(p, bytes, alignment);
    const scope held(lock_);
    space_.uncharge(bytes);
  }

  /// Returns: memory for a segment, or null. A cached segment keeps its head and contents.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE void* try_allocate_segment(std::size_t bytes) noexcept {
    void* const kept = bytes == segment_bytes ? take_whole() : nullptr;
    return kept != nullptr ? kept : take(bytes, segment_bytes, true);
  }
  /// Returns: a segment that is there: a whole one of the cache or of another thread's heap, or one of at least `least`
  /// bytes of an ended heap; or an empty block.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE block try_allocate_kept_segment([[maybe_unused]] std::size_t least) noexcept {
    if (void* const whole = take_whole()) return {whole, segment_bytes};
    if constexpr (page_discard<Upstream>::has_store) return take_left(least);
    else return {};
  }

  /// Effects: caches a segment, or gives it back. `ends`: since its heap ends.
  ASHLAR_INLINE_FOR_SIZE void deallocate_segment(void* p, std::size_t bytes, bool ends = false) noexcept {
    const scope held(lock_);
    const bool has_room = space_.spare_bytes() + bytes <= most_cached_segments(kept_.left(), wanted_);
    if constexpr (page_discard<Upstream>::has_store)
      if (ends && bytes != segment_bytes) return space_.leave(p);
    if (bytes != segment_bytes || !has_room) return space_.give(p);
    space_.keep(p);
    count_cached();
  }

  /// Effects: empties the segment cache. Returns: bytes given back.
  std::size_t trim() noexcept {
    const scope held(lock_);
    const std::size_t given = space_.give_spares(0);
    count_cached();
    return given;
  }

  /// Expects: as the upstream; the block is an extent.
  [[nodiscard]] bool try_expand(void* p, std::size_t, std::size_t new_bytes, std::size_t) noexcept
    requires expanding_resource<Upstream>
  {
    const scope held(lock_);
    return space_.resize(p, new_bytes);
  }

  /// Returns: the new address of an extent of `new_bytes` bytes, moved by its pages; or null, and it is unchanged.
  /// Expects: it starts at `p` and is smaller.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE std::byte* try_move(void* p, std::size_t new_bytes,
                                                           std::size_t alignment) noexcept {
    const scope held(lock_);
    return space_.move(p, new_bytes, alignment);
  }

  /// Effects: as `extent_map::split`.
  void split(void* p, std::size_t head) noexcept {
    const scope held(lock_);
    space_.split(p, head);
  }

  /// Returns: whether the address lies in an extent in use. `p` is not read.
  [[nodiscard]] bool has(const void* p) const noexcept {
    const scope held(lock_);
    const auto* const found = space_.find(p);
    return found != nullptr && !space_.is_spare(found->start);
  }

  /// @{ Without a lock; `p` is not read. Effects: names the owner of the segment at `p`; null: none.
  static void set_owner(const void* p, segment_owner* owner) noexcept
    requires(finds_owners)
  {
    range_of::range().set_owner(p, owner);
  }
  /// Returns: whether `owner` owns the segment of the address; false is a hint only, for segments outside of the range.
  /// Expects: `owner` is not null.
  [[nodiscard]] static ASHLAR_INLINE bool is_of(const segment_owner* owner, const void* p) noexcept
    requires(finds_owners)
  {
    return range_of::range().is_of(owner, p);
  }
  /// @}

  /// Returns: the owner of the segment of the address; null outside of segments in use. In a range without a lock: the
  /// owner may belong to another heap. Otherwise it reads the head of that segment only, which the lock keeps alive.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE segment_owner* owner_of(void* p) const noexcept {
    if constexpr (finds_owners) {
      segment_owner* const found = range_of::range().owner_of(p);
      if (found != nullptr || range_of::range().has(p)) return found;
    }
    const scope held(lock_);
    const auto* const found = space_.find(p);
    const bool is_there = found != nullptr && found->is_segment() && !space_.is_spare(found->start);
    return is_there ? segment::heap_of(p) : nullptr;
  }

  /// Effects: calls `f(start, bytes)` for each cached segment.
  void for_each_cached(function_ref<const std::byte*, std::size_t> f) const {
    const scope held(lock_);
    space_.for_each([&](const auto& each) {
      if (space_.is_spare(each.start)) f(static_cast<const std::byte*>(each.start), each.bytes());
    });
  }

  /// Returns: bytes of extents, cached ones too.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    const scope held(lock_);
    return space_.held_bytes();
  }

  /// Returns: bytes from the upstream that are not extents: tables and records.
  [[nodiscard]] std::size_t table_bytes() const noexcept {
    const scope held(lock_);
    return space_.table_bytes() + space_.charged_bytes();
  }

  [[nodiscard]] bool invariant() const noexcept {
    const scope held(lock_);
    return space_.invariant();
  }

  [[nodiscard]] constexpr retention_limit& budget() noexcept { return budget_; }
  [[nodiscard]] constexpr const void* reported_heap() const noexcept { return heap_; }
  /// Returns: as above; `otherwise` where no heap is named. A constant-initialised map names one: to g++ with UBSan its
  /// comparison with null is no constant.
  [[nodiscard]] constexpr const void* reported_heap(const void* otherwise) const noexcept {
    return std::is_constant_evaluated() || heap_ != nullptr ? heap_ : otherwise;
  }
  [[nodiscard]] const Upstream& upstream() const noexcept { return space_.upstream(); }
  [[nodiscard]] Upstream& upstream() noexcept { return space_.upstream(); }

  /// Effects: holds the lock over a fork, with no call of the upstream under way.
  void before_fork() noexcept { space_.unlocked().begin_fork(); }
  void after_fork() noexcept { space_.unlocked().end_fork(); }

  [[nodiscard]] friend bool operator==(const shared_extent_map& a, const shared_extent_map& b) noexcept {
    return &a == &b;
  }

private:
  using scope = check_scope<spin_lock>;  // spare extents are verified when taken or given back

  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment, bool is_segment) noexcept {
    const scope held(lock_);
    void* const p = space_.take(bytes, alignment, is_segment);
    count_cached();  // cached segments go before a request is refused
    return p;
  }

  [[nodiscard]] bool charge(std::size_t bytes) noexcept {
    const scope held(lock_);
    const bool has_room = space_.charge(bytes);
    count_cached();
    return has_room;
  }

  void count_cached() noexcept { kept_.count(space_.spare_bytes()); }

  [[nodiscard]] void* try_allocate_charged(std::size_t bytes, std::size_t alignment) noexcept {
    if (!charge(bytes)) return nullptr;
    auto&& tables = tables_beside(space_.upstream());
    void* const p = try_allocate_from(tables, bytes, alignment);
    if (p != nullptr) return p;
    const scope held(lock_);
    space_.uncharge(bytes);
    return nullptr;
  }

  // Returns: a whole segment that is there, of the cache or of another thread's heap, or null.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE void* take_whole() noexcept {
    void* const cached = take_cached();
    return cached != nullptr ? cached : take_handed_over();
  }

  // Returns: a segment of a heap that has ended, or an empty block.
  [[nodiscard]] block take_left(std::size_t least) noexcept {
    const scope held(lock_);
    return space_.take_kept_segment(least);
  }

  [[nodiscard]] void* take_cached() noexcept {
    const scope held(lock_);
    if (space_.spare_bytes() == 0) return nullptr;
    std::byte* const p = space_.take_spare(segment_bytes, segment_bytes);
    count_cached();
    if (p != nullptr) mark_readable(&segment::of(p)->head, sizeof(typename segment::header));
    return p;
  }

  // Returns: a segment that another heap gave for this request, or null.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE void* take_handed_over() noexcept {
    if (run_short_ == nullptr) return nullptr;
    want(1);
    run_short_(self_);
    void* const handed = take_cached();
    want(std::size_t{0} - 1);
    return handed;
  }

  void want(std::size_t more) noexcept {
    const scope held(lock_);
    wanted_ += more;
  }

  mutable spin_lock lock_;
  std::size_t wanted_ = 0;  // segments, by requests under way: the cache has room for these
  typename heap_parts<Upstream>::space space_;
  retention_limit budget_;
  retention_share kept_{budget_};  // of the segment cache
  const void* heap_;
  atomic<bool> is_registered_ = false;
  void* self_ = nullptr;
  void (*run_short_)(void* self) noexcept = nullptr;
};

/// The upstream of a thread heap.
template <class Upstream>
using extent_resource = resource_ref<shared_extent_map<Upstream>>;

/// Extents are as fresh as the upstream's, except cached segments. The shared map moves their pages.
template <class Upstream>
struct page_discard<shared_extent_map<Upstream>> : page_discard<Upstream> {
  static constexpr bool is_shared = true;
};

}  // namespace ashlar::ASHLAR_ABI::detail
