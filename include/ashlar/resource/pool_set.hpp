// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pools for blocks of all sizes: one pool per size class, made at the first request of its class.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/slab/pool_set_base.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/block_pool.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// Any size, one thread: a counterpart of `std::pmr::unsynchronized_pool_resource`.
///
///     ashlar::pool_set<> pools;                                  // over pages of its own
///     std::list<int, ashlar::allocator<int, ashlar::pool_set<>>> numbers(pools);
///
///   allocate(bytes, alignment) -> size class -> block_pool of that class -> slabs --+-> upstream
///                              \-> above 32 KiB, or alignment above 256 bytes ------/   in a list, for release()
///
/// A request is rounded up to its alignment and then to its size class: multiples of 8 bytes up to 128 bytes, above
/// that at most an eighth more (`fine_size_classes`). Nothing is allocated before the first `allocate`.
///
/// Growth: a class asks for one slab, or for an eighth of its held bytes once that is more, up to 4 MiB. An empty slab
/// goes back as in `block_pool`. `release` and the destructor give all upstream memory back, the pools included.
/// Exceptions: strong guarantee; an exception of the upstream passes through and changes nothing but cached memory.
/// Thread safety: none.
template <resource Upstream>
class pool_set {
  using base = detail::pool_set_base<Upstream, null_lock>;

public:
  using pool_type = detail::basic_block_pool<detail::dynamic_geometry, typename base::class_upstream_type>;

  constexpr pool_set()
    requires std::default_initializable<Upstream>
      : pool_set(pool_set_options{}) {}
  /// Effects: makes the upstream from the arguments.
  template <class... Args>
    requires std::constructible_from<Upstream, Args...>
  constexpr explicit pool_set(const pool_set_options& options, Args&&... upstream)
      : base_(options, std::forward<Args>(upstream)...) {}

  pool_set(const pool_set&) = delete;  // live blocks point into it
  pool_set& operator=(const pool_set&) = delete;
  /// Effects: as `release()`; from level `checked` on, reports live blocks as leaks first.
  constexpr ~pool_set() {
    if constexpr (checking_level >= checking::checked) report_live();
    release();
  }

  /// Returns: a block. Throws: `std::bad_alloc`, or as the upstream. Expects: `alignment` is a power of two.
  /// Complexity: amortised O(1), as the pools; a large block takes one upstream call.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    if (pool_type* const pool = pool_for(bytes, alignment); ASHLAR_LIKELY(pool != nullptr))
      return from(*pool, bytes, alignment);
    return allocate_slow<or_throw>(bytes, alignment);
  }

  /// As `allocate`, but returns null when the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (pool_type* const pool = pool_for(bytes, alignment); ASHLAR_LIKELY(pool != nullptr))
      return try_from(*pool, bytes, alignment);
    return allocate_slow<or_null>(bytes, alignment);
  }

  /// As `allocate`. Returns: also the size of the block: the size of the whole cell, except at level `hardened`, which
  /// watches the excess bytes. `deallocate` accepts any size from `bytes` to that.
  [[nodiscard]] block allocate_at_least(std::size_t bytes, std::size_t alignment) {
    const std::size_t size_class = base_.class_with_cells(bytes, alignment);
    if (size_class == base::classes::none) return {base_.allocate_large(bytes, alignment, this), bytes};
    return made_pool<or_throw>(size_class)->allocate_at_least(bytes, alignment);
  }

  /// Effects: takes a block back. Expects: the same `bytes` and `alignment` as at its allocation, or the size that
  /// `allocate_at_least` returned.
  ASHLAR_INLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    pool_type* const pool = pool_for(bytes, alignment);
    if (ASHLAR_UNLIKELY(pool == nullptr)) return deallocate_slow(p, bytes, alignment);
    if constexpr (checking_level >= checking::checked) pool->deallocate(p, bytes, alignment);
    else pool->deallocate(p);
  }

  /// Returns: whether `p` points into a cell, live or free, or into a large block.
  /// Complexity: O(classes * log(slabs of a class) + large blocks).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    for (const pool_type* const pool : pools_)
      if (pool != nullptr && pool->owns(p)) return true;
    return base_.with_large([p, this](const auto& large) { return large.find(p, this) != nullptr; });
  }

  /// Returns: the number of live blocks. Complexity: O(classes).
  [[nodiscard]] std::size_t live() const noexcept {
    std::size_t blocks = base_.with_large([](const auto& large) { return large.count(); });
    for (const pool_type* const pool : pools_)
      if (pool != nullptr) blocks += pool->live();
    return blocks;
  }

  /// Effects: calls `f(const block_pool&)` for the pool of each used class, the smallest cells first.
  template <class F>
  void for_each_pool(F f) const {
    for (const pool_type* const pool : pools_)
      if (pool != nullptr) f(*pool);
  }

  /// Effects: gives empty slabs back; retains at most `retain_bytes` of them, slabs of small cells first.
  /// Returns: bytes given back.
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const std::size_t before = held_bytes();
    for (pool_type* const pool : pools_)
      if (pool != nullptr) static_cast<void>(base::trim_within(*pool, retain_bytes));
    return before - detail::min(before, held_bytes());
  }

  /// Effects: takes all blocks back, live and large ones included, and gives all memory back to the upstream.
  void release() noexcept {
    for (place* each = places_; each != nullptr; each = each->next) each->pool.release();
    end_pools();
    base_.release_large(this);
  }

  /// Returns: the bytes held from the upstream: slabs, large blocks, and the pools themselves. Complexity: O(1).
  [[nodiscard]] std::size_t held_bytes() const noexcept { return base_.upstream().held_bytes(); }
  [[nodiscard]] const pool_set_options& options() const noexcept { return base_.options(); }
  /// Returns: the bytes of the largest cells that there may be.
  [[nodiscard]] std::size_t max_cell_bytes() const noexcept { return base_.max_cell_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return base_.upstream().upstream(); }

  [[nodiscard]] friend bool operator==(const pool_set& a, const pool_set& b) noexcept { return &a == &b; }

  /// Complexity: O(slabs and their bitmap words, large blocks).
  [[nodiscard]] bool invariant() const noexcept {
    bool good = base_.invariant();
    for_each_pool([&](const pool_type& pool) { good = good && pool.invariant(); });
    return good;
  }

private:
  // Returns: the pool of the request's class; null if it has none so far, or never will.
  [[nodiscard]] ASHLAR_INLINE pool_type* pool_for(std::size_t bytes, std::size_t alignment) const noexcept {
    return ASHLAR_LIKELY(base::may_be_a_cell(bytes, alignment)) ? pools_[base::classes::of(bytes, alignment)] : nullptr;
  }

  [[nodiscard]] static ASHLAR_INLINE void* from(pool_type& pool, std::size_t bytes, std::size_t alignment) {
    if constexpr (base::watches_requests) return pool.allocate(bytes, alignment);
    else return pool.allocate();
  }

  [[nodiscard]] static ASHLAR_INLINE void* try_from(pool_type& pool, std::size_t bytes,
                                                    std::size_t alignment) noexcept {
    if constexpr (base::watches_requests) return pool.try_allocate(bytes, alignment);
    else return pool.try_allocate();
  }

  template <failure Failure>
  [[nodiscard]] ASHLAR_COLD void* allocate_slow(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    const std::size_t size_class = base_.class_with_cells(bytes, alignment);
    if (size_class == base::classes::none) return base_.template allocate_large<Failure>(bytes, alignment, this);
    pool_type* const pool = made_pool<Failure>(size_class);
    if (pool == nullptr) return nullptr;
    if constexpr (Failure == or_null) return try_from(*pool, bytes, alignment);
    else return from(*pool, bytes, alignment);
  }

  ASHLAR_COLD void deallocate_slow(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    base_.deallocate_large(p, bytes, alignment, this);
  }

  // Returns: the pool of the class, made on demand; null, or throws as the upstream, if that has no memory left.
  template <failure Failure>
  [[nodiscard]] pool_type* made_pool(std::size_t size_class) noexcept(Failure == or_null) {
    if (pools_[size_class] != nullptr) return pools_[size_class];
    const block_pool_options options = base_.pool_options_of(size_class);
    const detail::dynamic_geometry geometry = base_.template geometry_of<pool_type>(options);
    const std::size_t slab_bytes = geometry.get().short_bytes();
    const bool is_behind = slab_bytes == 0 && places_ != nullptr && places_->unused != 0;
    const std::size_t places = is_behind ? places_->unused : slab_bytes == 0 ? places_of_block : 1;
    const std::size_t bytes = is_behind ? 0 : places * sizeof(place) + slab_bytes;
    void* const at = is_behind ? places_ + 1 : ashlar::allocate_from<Failure>(base_.upstream(), bytes, alignof(place));
    if (at == nullptr) return nullptr;
    if (pools_[size_class] != nullptr) {  // the upstream used this set meanwhile
      base_.upstream().deallocate(at, bytes, alignof(place));
      return pools_[size_class];
    }
    places_ = ::new (at) place{pool_type(geometry, max_size, options.retain_slabs, base_.upstream_of(options)), places_,
                               static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(places - 1)};
    return pools_[size_class] = &places_->pool;
  }

  void end_pools() noexcept {
    if (places_ != nullptr) pools_ = {};
    while (places_ != nullptr) base_.end(std::exchange(places_, places_->next));
  }

  // Each pool reports its live cells when it is destroyed without a `release`.
  ASHLAR_COLD void report_live() noexcept {
    end_pools();
    base_.with_large([this](const auto& large) { large.report_leaks(this); });
  }

  using place = detail::pool_place<pool_type>;
  static constexpr std::size_t places_of_block = detail::max<std::size_t>(1, 1024 / sizeof(place));

  std::array<pool_type*, base::classes::count + 1> pools_ = {};  // by size class; class 0 has none
  place* places_ = nullptr;
  base base_;
};

static_assert(try_resource<pool_set<>> && owning_resource<pool_set<>> && releasable_resource<pool_set<>> &&
              at_least_resource<pool_set<>>);

}  // namespace ashlar::ASHLAR_ABI
