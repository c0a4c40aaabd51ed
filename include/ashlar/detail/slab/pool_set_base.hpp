// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The base of the pools for many sizes: the upstream, divided if necessary, and the blocks too large for a cell.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/large_blocks.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/slab/slab.hpp>
#include <ashlar/detail/support/intrusive.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A divisible resource over any upstream that keeps no blocks, so that the pools above may grow by regions
/// (`slab_source`). If `Upstream` does not take the parts back, a note after each region holds its size and alignment;
/// the region goes back when all its parts are back.
///
///     block of the upstream   | part | part | part | part | note |
///
/// Parts have the alignment of their region and a multiple of it as size. Blocks with a size that is not a multiple of
/// `least_part_bytes` have no note. Neighbouring parts may come back as one.
/// The count of bytes needs no lock, since it orders no other memory.
/// Thread safety: as the upstream if `Lock` is a real lock, else none.
template <resource Upstream, basic_lockable Lock = null_lock>
class set_upstream {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<Upstream> && !std::same_as<Lock, null_lock>;
  static constexpr std::size_t least_part_bytes = keeps_blocks<Upstream> ? 0 : largest_page;

  /// Effects: makes the upstream from the arguments.
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  constexpr explicit set_upstream(Args&&... args) : upstream_(std::forward<Args>(args)...) {}
  set_upstream(const set_upstream&) = delete;  // regions would go back twice
  set_upstream& operator=(const set_upstream&) = delete;

  /// Throws: as the upstream.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return take<or_throw>(bytes, alignment); }
  /// As `allocate`, but returns null when the upstream has no memory left.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return take<or_null>(bytes, alignment);
  }

  /// Expects: a block, or a part of one. Complexity: expected O(log regions).
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if (!is_noted(bytes, alignment)) return give(p, bytes, alignment);
    if (const note whole = take_back(p, bytes); whole.out == 0)
      give(whole.start, whole.bytes + sizeof(note), whole.alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Upstream>
  {
    upstream_.prefault(p, bytes);
  }

  /// Returns: bytes held from the upstream. Thread safety: any thread, if this is thread-safe.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_.load(memory_order_relaxed); }
  [[nodiscard]] const Upstream& upstream() const noexcept { return upstream_; }
  static constexpr bool has_parts = divisible_resource<Upstream>;
  /// Returns: the lock of the notes, which must be free across a fork.
  [[nodiscard]] Lock& lock() noexcept { return lock_; }

  [[nodiscard]] friend bool operator==(const set_upstream& a, const set_upstream& b) noexcept { return &a == &b; }

  /// Complexity: O(regions).
  [[nodiscard]] bool invariant() const noexcept {
    bool good = notes_.invariant();
    notes_.for_each([&](const note& each) {
      good =
          good && each.out != 0 && each.out <= each.bytes && address_of(&each) == address_of(each.start) + each.bytes;
    });
    return good;
  }

private:
  struct note : tree_node<note> {
    std::byte* start;
    std::size_t bytes;
    std::size_t out;        // bytes not yet back
    std::size_t alignment;  // of the upstream's block
  };

  [[nodiscard]] static bool is_noted(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (keeps_blocks<Upstream>) return false;
    else if (takes_parts_of<Upstream>(least_part_bytes) || takes_parts_of<Upstream>(alignment)) return false;
    else return bytes != 0 && bytes % least_part_bytes == 0;
  }

  template <failure Failure>
  [[nodiscard]] void* take(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    if (!is_noted(bytes, alignment)) return counted(allocate_from<Failure>(upstream_, bytes, alignment), bytes);
    const std::size_t whole = bytes + sizeof(note), aligned = detail::max(alignment, alignof(note));
    void* const p = counted(allocate_from<Failure>(upstream_, whole, aligned), whole);
    if (p != nullptr) enter({{}, static_cast<std::byte*>(p), bytes, bytes, aligned});
    return p;
  }

  void give(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    upstream_.deallocate(p, bytes, alignment);
    add(std::size_t{0} - bytes);
  }

  [[nodiscard]] void* counted(void* p, std::size_t bytes) noexcept {
    if (p != nullptr) add(bytes);
    return p;
  }

  void add(std::size_t bytes) noexcept {
    if constexpr (is_thread_safe) held_.fetch_add(bytes, memory_order_relaxed);
    else held_.store(held_bytes() + bytes, memory_order_relaxed);
  }

  void enter(const note& fresh) noexcept {
    note* const made = ::new (static_cast<void*>(fresh.start + fresh.bytes)) note(fresh);
    const check_scope<Lock> held(lock_);
    notes_.insert(made);
  }

  // Returns: a copy of the updated note. The region can go back once no byte is out.
  [[nodiscard]] note take_back(void* p, std::size_t bytes) noexcept {
    const check_scope<Lock> held(lock_);
    note* const found = notes_.find_above(p);
    found->out -= bytes;
    if (found->out == 0) notes_.erase(found);
    return *found;
  }

  address_tree<note> notes_;
  atomic<std::size_t> held_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS Lock lock_ = {};
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

/// The size classes of a `pool_set`: they include 24 and 40 bytes, common sizes of nodes.
using pool_classes = fine_size_classes;

/// The largest alignment of cells, in bytes: a larger one would leave no room for slab colours.
inline constexpr std::size_t largest_cell_alignment = 256;

/// Returns: the size of a slab of at most `most_cells` cells, a power of two up to `wanted`; 0 if there is none.
[[nodiscard]] constexpr std::size_t bounded_slab_bytes(std::size_t cell_bytes, std::size_t alignment,
                                                       std::size_t most_cells, std::size_t wanted) noexcept {
  if (most_cells == max_size) return wanted;
  for (std::size_t slab_bytes = wanted; slab_bytes > sizeof(slab) && slab_bytes > cell_bytes; slab_bytes /= 2) {
    const slab_geometry geometry({.cell_bytes = cell_bytes,
                                  .cell_alignment = alignment,
                                  .slab_bytes = slab_bytes,
                                  .header_bytes = sizeof(slab)});
    if (geometry.least_capacity() == 0) return 0;
    if (geometry.capacity(nullptr) <= most_cells) return slab_bytes;  // the gap is 0 at address 0: the largest capacity
  }
  return 0;
}

/// Returns: the options of the pool of a class; `slab_bytes` is 0 if the class can have no slabs. An upstream that is
/// divisible or keeps blocks is of pages, and touched ones alone are backed, so slabs have the size of `block_pool`'s.
/// From other upstreams slabs start smaller: 64 KiB unless the cells are large.
template <resource Upstream>
[[nodiscard]] constexpr block_pool_options options_of_class(std::size_t size_class,
                                                            const pool_set_options& options) noexcept {
  const std::size_t cell_bytes = pool_classes::bytes_of(size_class);
  const std::size_t alignment = pool_classes::alignment_of(size_class, largest_cell_alignment);
  constexpr bool has_pages_below = divisible_resource<Upstream> || keeps_blocks<Upstream>;
  const std::size_t wanted = has_pages_below ? default_slab_bytes(cell_bytes, least_part<Upstream>)
                                             : std::max(largest_page, std::bit_ceil(8 * cell_bytes));
  return {.cell_bytes = cell_bytes,
          .cell_alignment = alignment,
          .slab_bytes = bounded_slab_bytes(cell_bytes, alignment, options.max_growth_count, wanted),
          .retain_slabs = options.retain_slabs};
}

/// Returns: the largest class that may have cells.
[[nodiscard]] constexpr std::size_t largest_class_of(const pool_set_options& options) noexcept {
  const std::size_t wanted = options.max_cell_bytes;
  return wanted == 0 || wanted >= pool_classes::largest ? pool_classes::count : pool_classes::of(wanted);
}

/// The slab source of one class: the source of the set, with a limit on the bytes of a region.
template <resource Source>
class class_upstream {
public:
  static constexpr bool is_thread_safe = thread_safe_resource<Source>;
  static constexpr std::size_t least_part_bytes = least_part<Source>;

  constexpr class_upstream(Source& source, const block_pool_options& options, std::size_t most_cells) noexcept
      : source_(&source), most_bytes_(most_bytes(options, most_cells)) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) { return source_->allocate(bytes, alignment); }

  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= most_bytes_ ? try_allocate_from(*source_, bytes, alignment) : nullptr;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    source_->deallocate(p, bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<Source>
  {
    source_->prefault(p, bytes);
  }

  [[nodiscard]] friend bool operator==(const class_upstream& a, const class_upstream& b) noexcept {
    return a.source_ == b.source_;
  }

private:
  [[nodiscard]] static constexpr std::size_t most_bytes(const block_pool_options& options,
                                                        std::size_t most_cells) noexcept {
    std::size_t bytes = 0;
    return checked_mul(options.cell_bytes, most_cells, bytes) ? std::max(bytes, options.slab_bytes) : max_size;
  }

  Source* source_;
  std::size_t most_bytes_;
};

/// A pool of a set at the start of a block of the upstream, before its first slab if that is short; else three more
/// places for pools without one may follow.
///
///     | pool, next | first slab                  |      | pool, next | pool, next | unused     | unused     |
template <class Pool>
struct alignas(detail::max(alignof(Pool), slab_geometry::short_alignment)) pool_place {
  Pool pool;
  pool_place* next;
  std::uint32_t block_bytes;  ///< 0 for a place behind another one
  std::uint32_t unused;       ///< places behind this one
};

/// The base of `pool_set` (`null_lock`) and `shared_pool_set` (`spin_lock`).
/// Thread safety: any thread with a lock and a thread-safe upstream, else none.
template <resource Upstream, basic_lockable Lock>
class pool_set_base {
public:
  using upstream_type = set_upstream<Upstream, Lock>;
  using class_upstream_type = class_upstream<upstream_type>;
  using classes = pool_classes;

  /// Whether a pool needs the size of each request, to watch the bytes behind it.
  static constexpr bool watches_requests = watches_slack || marks_memory;
  /// Returns: the bytes of a block of a class that a request may use.
  [[nodiscard]] static constexpr std::size_t usable_bytes(std::size_t bytes, std::size_t size_class) noexcept {
    return watches_slack || size_class == classes::none ? bytes : classes::bytes_of(size_class);
  }

  template <class... Args>
  constexpr explicit pool_set_base(const pool_set_options& options, Args&&... upstream)
      : upstream_(std::forward<Args>(upstream)...), options_(options) {}

  [[nodiscard]] const pool_set_options& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t max_cell_bytes() const noexcept { return classes::bytes_of(largest_class_of(options_)); }

  /// Returns: the upstream of all requests, which counts them.
  [[nodiscard]] upstream_type& upstream() noexcept { return upstream_; }
  [[nodiscard]] const upstream_type& upstream() const noexcept { return upstream_; }

  /// Returns: whether a request has a class; the class may still have no cells.
  [[nodiscard]] static ASHLAR_INLINE bool may_be_a_cell(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= pool_classes::largest && alignment <= largest_cell_alignment && is_power_of_two(alignment);
  }

  /// Returns: the class of a request that cells can serve, else `none`. Complexity: a dozen divisions.
  [[nodiscard]] std::size_t class_with_cells(std::size_t bytes, std::size_t alignment) const noexcept {
    if (!may_be_a_cell(bytes, alignment)) return pool_classes::none;
    const std::size_t size_class = pool_classes::of(bytes, alignment);
    if (size_class > largest_class_of(options_) || pool_options_of(size_class).slab_bytes == 0)
      return pool_classes::none;
    return size_class;
  }

  [[nodiscard]] block_pool_options pool_options_of(std::size_t size_class) const noexcept {
    return options_of_class<Upstream>(size_class, options_);
  }

  /// Returns: the layout of the slabs of a `pool_place<Pool>`.
  template <class Pool>
  [[nodiscard]] dynamic_geometry geometry_of(const block_pool_options& options) const noexcept {
    const bool starts_short = !upstream_type::has_parts && options_.max_growth_count >= 64;
    return dynamic_geometry(options, 0, starts_short ? sizeof(pool_place<Pool>) : 0);
  }

  [[nodiscard]] class_upstream_type upstream_of(const block_pool_options& options) noexcept {
    return {upstream_, options, options_.max_growth_count};
  }

  /// Effects: ends a pool, and gives its block back.
  template <class Pool>
  void end(pool_place<Pool>* leaving) noexcept {
    const std::size_t bytes = leaving->block_bytes;
    std::destroy_at(leaving);
    if (bytes != 0) upstream().deallocate(leaving, bytes, alignof(pool_place<Pool>));
  }

  /// Effects: trims `pool`, and subtracts its retained bytes from `retain_bytes`. Returns: bytes given back.
  template <class Pool>
  static std::size_t trim_within(Pool& pool, std::size_t& retain_bytes) noexcept {
    const std::size_t given = pool.trim(retain_bytes);
    retain_bytes -= std::min(retain_bytes, pool.retained_bytes());
    return given;
  }

  /// Returns: a large block; null, or throws as the upstream, if that has no memory left.
  template <failure Failure = or_throw>
  [[nodiscard]] void* allocate_large(std::size_t bytes, std::size_t alignment,
                                     const void* resource) noexcept(Failure == or_null) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) return failed<Failure>(bytes, alignment);
    const auto whole = large_blocks::extent_of(bytes, alignment);
    if (!is_valid_request(whole.bytes, whole.alignment)) return failed<Failure>(whole.bytes, whole.alignment);
    void* const p = allocate_from<Failure>(upstream(), whole.bytes, whole.alignment);
    return p != nullptr ? keep(p, bytes, alignment, resource) : nullptr;
  }

  /// Effects: takes a large block back; reports misuse in the name of `resource`.
  void deallocate_large(void* p, std::size_t bytes, std::size_t alignment, const void* resource) noexcept {
    {
      const large_scope held(lock_);
      if constexpr (checking_level >= checking::checked) {
        check_is_large(p, bytes, alignment, resource);
        large_.check(p, bytes, alignment, resource);
      }
      large_.remove(p, bytes, resource);
    }
    give_back(p, bytes, alignment);
  }

  /// Effects: gives all large blocks back. Expects: no other thread uses them.
  void release_large(const void* resource) noexcept {
    for (large_block first = large_.remove_first(resource); first.start != nullptr;
         first = large_.remove_first(resource))
      give_back(first.start, first.bytes, first.alignment);
  }

  /// Returns: `f(large_blocks)`, called under the lock.
  template <class F>
  auto with_large(F f) const noexcept {
    const large_scope held(lock_);
    return f(large_);
  }

  [[nodiscard]] bool invariant() const noexcept {
    return upstream_.invariant() && with_large([](const large_blocks& large) { return large.invariant(); });
  }

  /// Effects: holds the locks, so that a fork finds them free.
  void before_fork() noexcept {
    lock_.lock();
    upstream_.lock().lock();
  }

  void after_fork() noexcept {
    upstream_.lock().unlock();
    lock_.unlock();
  }

private:
  // Every level reports damaged notes, outside the lock.
  using large_scope = std::conditional_t<std::same_as<Lock, null_lock>, lock_scope<Lock>, report_scope<Lock>>;

  // The class has cells, but no pool so far.
  void check_is_large(const void* p, std::size_t bytes, std::size_t alignment, const void* resource) const noexcept {
    if (class_with_cells(bytes, alignment) == pool_classes::none) return;
    report({.kind = fault::invalid_free,
            .what = "freed a block of a size that this pool set never allocated",
            .pointer = p,
            .resource = resource,
            .size = bytes});
  }

  [[nodiscard]] void* keep(void* p, std::size_t bytes, std::size_t alignment, const void* resource) noexcept {
    const large_scope held(lock_);
    return large_.add(p, bytes, alignment, resource);
  }

  void give_back(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    const auto whole = large_blocks::extent_of(bytes, alignment);
    upstream().deallocate(large_blocks::whole_of(p, alignment), whole.bytes, whole.alignment);
  }

  upstream_type upstream_;
  large_blocks large_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable Lock lock_ = {};
  pool_set_options options_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
