// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that adds a resource of the same kind when all are full, and destroys those that become empty.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/support/owned_block.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

struct chain_options {
  std::size_t max_count = max_size;  ///< resources at once; at least 1
  std::size_t retain_count = 1;      ///< empty resources that are retained; `max_size`: all, until `trim`
  std::size_t room_bytes = 0;        ///< bytes beside each resource, which its maker may use
  /// Whether a resource with `release` is released when its last block is freed. Right for buffers and arenas, which
  /// lose blocks that are not freed in order; wasted on pools, which would give their slabs back.
  bool renew_empty = false;
};

/// The default maker of a chain's resources: from the room beside each if `R` can be made from bytes, otherwise by
/// default. Any callable will do: `R maker(std::span<std::byte> room)` or `R maker()`.
template <class R>
struct constructed {
  [[nodiscard]] R operator()() const
    requires(std::default_initializable<R> && !std::constructible_from<R, std::span<std::byte>>)
  {
    return R();
  }
  [[nodiscard]] R operator()(std::span<std::byte> room) const
    requires std::constructible_from<R, std::span<std::byte>>
  {
    return R(room);
  }
};

/// A growing sequence of `R`s, each made by `Maker` in memory of `Upstream` and followed by its room:
///
///      serving_ -> [ links | R | live | room ] <-> [ links | R | live | room ] <-> …
///
///     ashlar::chain<ashlar::buffer_resource> bytes({.max_count = 16, .room_bytes = 64 * 1024});
///
/// The resource that served last is asked first, then the others. An empty one that refuses is released, if it can be,
/// and asked again. If all refuse, one more is made. A block is freed to its owner; when a resource becomes empty and
/// more than `retain_count` are, it ends. A request that no `R` can serve is refused, and the `R` made for it ends at
/// once. `R` serves only blocks that it owns afterwards (`try_allocate_owned`).
///
/// Refinements: `owns`; try, releasable, self-describing, expanding and prefaulting if `R` has them. Not at-least,
/// which could only be asked for by exceptions; neither thread-safe nor divisible. Invariant: `count() <= max_count`,
/// and the owner of every live block counts it.
/// Complexity: as `R` while one resource serves and takes all calls; otherwise O(count).
/// Thread safety: none.
template <owning_resource R, resource Upstream, class Maker>
class chain {
  static constexpr bool takes_room = requires(Maker& make, std::span<std::byte> room) {
    { make(room) } -> std::same_as<R>;
  };
  static constexpr bool takes_nothing = requires(Maker& make) {
    { make() } -> std::same_as<R>;
  };
  static_assert(takes_room || takes_nothing, "a maker returns an R, and takes no argument or the room");

public:
  /// Allocates nothing before the first request. Expects: `max_count` is not 0, and `room_bytes` is less than half of
  /// the address space.
  chain() : chain(chain_options{}) {}
  explicit chain(const chain_options& options, Maker maker = {}, Upstream upstream = {})
      : options_(options), maker_(std::move(maker)), upstream_(std::move(upstream)) {
    ASHLAR_REQUIRE(options.max_count != 0, "made a chain with a max_count of 0");
    ASHLAR_REQUIRE(options.room_bytes <= max_block_bytes / 2, "room_bytes is larger than any block");
  }

  chain(const chain&) = delete;  // live blocks point into it
  chain& operator=(const chain&) = delete;
  /// Effects: ends all resources; each reports its own live blocks.
  ~chain() { end_all(); }

  /// Throws: `std::bad_alloc` if there may be no more resources; otherwise the exceptions of the upstream, of the maker
  /// and of a new `R`. Expects: `alignment` is a power of two.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    void* const p = serving_ != nullptr ? serve(*serving_, bytes, alignment) : nullptr;
    return ASHLAR_LIKELY(p != nullptr) ? p : allocate_cold(bytes, alignment);
  }

  /// As `allocate`, but null if memory has run out.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    void* const p = serving_ != nullptr ? serve(*serving_, bytes, alignment) : nullptr;
    return ASHLAR_LIKELY(p != nullptr) ? p : try_allocate_cold(bytes, alignment);
  }

  /// Effects: frees the block to its owner. Expects: it has one here; checked at every level.
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    link& home = owner_of(p);
    home.resource.deallocate(p, bytes, alignment);
    uncount(home);
  }

  /// As above; the owner finds the size. Effects: none if `p` is null.
  void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    if (p == nullptr) return;
    link& home = owner_of(p);
    home.resource.deallocate(p);
    uncount(home);
  }

  [[nodiscard]] bool owns(const void* p) const noexcept { return find(p) != nullptr; }

  /// Returns: whether the owner resized the block. A block never moves to another resource.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    return owner_of(p).resource.try_expand(p, bytes, new_bytes, alignment);
  }

  void prefault(void* p, std::size_t bytes) noexcept
    requires prefaulting_resource<R>
  {
    owner_of(p).resource.prefault(p, bytes);
  }

  /// Effects: takes back all blocks, ends all resources and frees their memory.
  void release() noexcept
    requires releasable_resource<R>
  {
    for (link* each = links_.front(); each != nullptr; each = each->next) each->resource.release();
    end_all();
  }

  /// Effects: ends empty resources except for the youngest of them, at most `retain_bytes` in all. Memory that a
  /// resource took from its own upstream is not counted. Returns: bytes given back to the upstream. Complexity:
  /// O(count).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    std::size_t retained = retain_bytes / link_bytes();
    const std::size_t before = count_;
    for (link* each = links_.front(); each != nullptr;) {
      link* const next = each->next;
      if (each->live == 0 && retained == 0) end(*each);
      else if (each->live == 0) --retained;
      each = next;
    }
    return (before - count_) * link_bytes();
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }  ///< resources in the chain
  [[nodiscard]] std::size_t empty() const noexcept { return empty_; }  ///< resources without a live block
  [[nodiscard]] std::size_t max_count() const noexcept { return options_.max_count; }
  /// Returns: the bytes held from the upstream: the resources and their rooms. Complexity: O(1).
  [[nodiscard]] std::size_t held_bytes() const noexcept { return count_ * link_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Effects: calls `f(R&)` for each resource, youngest first.
  template <class F>
  void for_each_resource(F f) {
    for (link* each = links_.front(); each != nullptr; each = each->next) f(each->resource);
  }

  [[nodiscard]] friend bool operator==(const chain& a, const chain& b) noexcept { return &a == &b; }

  /// Complexity: O(count).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t count = 0, empty = 0;
    bool knows_serving = serving_ == nullptr, knows_freed = freed_ == nullptr;
    for (const link* each = links_.front(); each != nullptr; each = each->next) {
      ++count;
      empty += each->live == 0 ? 1 : 0;
      knows_serving = knows_serving || each == serving_;
      knows_freed = knows_freed || each == freed_;
    }
    return links_.invariant() && knows_serving && knows_freed && count == count_ && empty == empty_ &&
           count_ <= options_.max_count;
  }

private:
  struct link : detail::list<link>::node {
    link(Maker& maker, std::span<std::byte> room) : resource(make(maker, room)) {}

    [[nodiscard]] static R make(Maker& maker, [[maybe_unused]] std::span<std::byte> room) {
      if constexpr (takes_room) return maker(room);
      else return maker();
    }

    R resource;
    std::size_t live = 1;  // blocks; it starts with the one that the resource was made for
  };

  static constexpr std::size_t link_alignment = alignof(link) > alignof(std::max_align_t) ? alignof(link)
                                                                                          : alignof(std::max_align_t);
  static constexpr std::size_t room_offset = align_up(sizeof(link), alignof(std::max_align_t));

  [[nodiscard]] std::size_t link_bytes() const noexcept { return room_offset + options_.room_bytes; }

  // Holds a place in the count and memory for a link, so that a maker or an upstream that uses this chain cannot exceed
  // the limit. Gives both back unless a link was built there.
  struct building_site {
    explicit building_site(chain& c) noexcept : owner(c) { ++c.count_; }
    building_site(const building_site&) = delete;
    building_site& operator=(const building_site&) = delete;
    ~building_site() {
      if (is_built) return;
      --owner.count_;
      if (memory != nullptr) owner.upstream_.deallocate(memory, owner.link_bytes(), link_alignment);
    }

    chain& owner;
    void* memory = nullptr;
    bool is_built = false;
  };

  // The first block of a new resource is counted beforehand; without that block the resource ends.
  struct probation {
    probation(chain& c, link& l) noexcept : owner(c), fresh(l) {}
    probation(const probation&) = delete;
    probation& operator=(const probation&) = delete;
    ~probation() {
      if (has_served) owner.serving_ = &fresh;
      else if (--fresh.live == 0) ++owner.empty_, owner.end(fresh);
    }

    chain& owner;
    link& fresh;
    bool has_served = false;
  };

  [[nodiscard]] ASHLAR_INLINE void* serve(link& from, std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = detail::try_allocate_owned(from.resource, bytes, alignment);
    if (ASHLAR_LIKELY(p != nullptr)) count_block(from);
    return p;
  }

  ASHLAR_INLINE void count_block(link& home) noexcept {
    if (home.live++ == 0) --empty_;
  }

  ASHLAR_INLINE void uncount(link& home) noexcept {
    if (ASHLAR_UNLIKELY(--home.live == 0)) keep_or_end(home);
  }

  void keep_or_end(link& idle) noexcept {
    if (++empty_ > options_.retain_count) return end(idle);
    if constexpr (releasable_resource<R>)
      if (options_.renew_empty) idle.resource.release();
  }

  [[nodiscard]] ASHLAR_INLINE link& owner_of(const void* p) noexcept {
    if (ASHLAR_LIKELY(freed_ != nullptr && freed_->resource.owns(p))) return *freed_;
    return find_owner(p);
  }

  [[nodiscard]] link* find(const void* p) const noexcept {
    link* each = links_.front();
    while (each != nullptr && !each->resource.owns(p)) each = each->next;
    return each;
  }

  [[nodiscard]] ASHLAR_COLD link& find_owner(const void* p) noexcept {
    freed_ = find(p);
    if (freed_ == nullptr) report(fault::invalid_free, "freed a pointer that no resource of this chain owns", p, this);
    return *freed_;
  }

  [[nodiscard]] ASHLAR_COLD void* allocate_cold(std::size_t bytes, std::size_t alignment) {
    expect_request(bytes, alignment);
    if (void* const p = serve_by_any(bytes, alignment)) return p;
    if (count_ >= options_.max_count) throw_bad_alloc(bytes, alignment);
    building_site site(*this);
    site.memory = upstream_.allocate(link_bytes(), link_alignment);
    probation trial(*this, build(site));
    void* const p = detail::allocate_owned(trial.fresh.resource, bytes, alignment);
    trial.has_served = true;
    return p;
  }

  [[nodiscard]] ASHLAR_COLD void* try_allocate_cold(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) return nullptr;
    if (void* const p = serve_by_any(bytes, alignment)) return p;
    link* const fresh = count_ < options_.max_count ? try_build() : nullptr;
    if (fresh == nullptr) return nullptr;
    probation trial(*this, *fresh);
    void* const p = detail::try_allocate_owned(fresh->resource, bytes, alignment);
    trial.has_served = p != nullptr;
    return p;
  }

  // An empty resource may still be full: a buffer with blocks freed out of order.
  [[nodiscard]] void* serve_by_any(std::size_t bytes, std::size_t alignment) noexcept {
    for (link* each = links_.front(); each != nullptr; each = each->next) {
      void* p = each != serving_ ? serve(*each, bytes, alignment) : nullptr;
      if constexpr (releasable_resource<R>)
        if (p == nullptr && each->live == 0) {
          each->resource.release();
          p = serve(*each, bytes, alignment);
        }
      if (p == nullptr) continue;
      serving_ = each;
      return p;
    }
    return nullptr;
  }

  // The maker may use this chain: nothing is linked before it returns.
  [[nodiscard]] link& build(building_site& site) {
    auto* const room = static_cast<std::byte*>(site.memory) + room_offset;
    auto* const fresh = ::new (site.memory) link(maker_, {room, options_.room_bytes});
    site.is_built = true;
    links_.push_front(fresh);
    return *fresh;
  }

  [[nodiscard]] link* try_build() noexcept {
    building_site site(*this);
    site.memory = ashlar::try_allocate_from(upstream_, link_bytes(), link_alignment);
    if (site.memory == nullptr) return nullptr;
    ASHLAR_TRY { return &build(site); }
    ASHLAR_CATCH_ALL { return nullptr; }
  }

  // Expects: it has no live block, or all of them may go.
  void end(link& old) noexcept {
    links_.erase(&old);
    --count_;
    if (old.live == 0) --empty_;
    if (freed_ == &old) freed_ = nullptr;
    if (serving_ == &old) serving_ = links_.front();
    std::destroy_at(&old);
    upstream_.deallocate(&old, link_bytes(), link_alignment);
  }

  void end_all() noexcept {
    while (links_.front() != nullptr) end(*links_.front());
  }

  chain_options options_;
  detail::list<link> links_;
  link* serving_ = nullptr;  // the last to allocate
  link* freed_ = nullptr;    // the last to free
  std::size_t count_ = 0;
  std::size_t empty_ = 0;
  ASHLAR_NO_UNIQUE_ADDRESS Maker maker_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

template <std::invocable Maker, class Upstream>
chain(chain_options, Maker, Upstream) -> chain<std::invoke_result_t<Maker&>, Upstream, Maker>;
template <std::invocable<std::span<std::byte>> Maker, class Upstream>
chain(chain_options, Maker, Upstream) -> chain<std::invoke_result_t<Maker&, std::span<std::byte>>, Upstream, Maker>;

}  // namespace ashlar::ASHLAR_ABI
