// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An arena: bump allocation in a few large chunks, freed all at once; the memory is retained for reuse.
#pragma once

#include <algorithm>
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
#include <ashlar/detail/stack/chunk_store.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/resource/page_store.hpp>

namespace ashlar::ASHLAR_ABI {

/// Growth of an arena. A block larger than the next chunk gets a chunk of its own size.
struct arena_options {
  std::size_t initial_bytes = 1024;  ///< of the first chunk
  /// Bytes of the largest chunk; each is twice the one before up to 64 KiB, then 1.5 times, up to this.
  std::size_t max_growth_bytes = 16 * 1024 * 1024;
  std::size_t max_bytes = max_size;  ///< limit of the bytes held from the upstream
};

/// Freeing a single block does nothing: `reset`, `rewind` and `release` free all at once. See docs/arenas.md.
///
///     buffer (if there is one) <- chunk <- chunk       spare chunks, retained
///                                          | block | block |  free  |
///
/// | | objects made here | memory | markers |
/// |---|---|---|---|
/// | `reset()` | are destroyed, the latest first | is retained, as one chunk | become invalid |
/// | `release()` | are destroyed | goes back upstream, as if newly made | become invalid |
/// | `rewind(m)` | made since `m` are destroyed | is retained | made since `m` become invalid |
///
/// A destructor that runs in this way may allocate and make objects here, which are destroyed in turn. It may rewind
/// to markers that it made itself; it must not reset or release the arena.
///
/// Fast path at level `fast`: 7 instructions if size and alignment are constants, 10 if the size is not;
/// one branch each. Freeing takes none.
/// Invariant: `used() + waste() <= capacity()`, `held_bytes() <= max_bytes`. Complexity: O(1); O(chunks) and at most
/// one upstream call if the chunk is full. Thread safety: none, except for `held_bytes`.
template <resource Upstream>
class arena {
  using store_type = detail::chunk_store<Upstream>;
  using bump = typename store_type::bump_type;
  using chunk = typename store_type::chunk_type;

public:
  /// Returns: the `initial_bytes` of a first chunk with room for one block of `bytes` bytes, aligned to at most the
  /// chunk. Expects: `bytes` is at most half of the address space.
  [[nodiscard]] static constexpr std::size_t chunk_bytes_for(std::size_t bytes) noexcept {
    return chunk::bytes_for(bytes);
  }

  /// A position to rewind to, any number of times. It is valid until the arena rewinds to an older position, resets or
  /// releases.
  class marker {
    friend class arena;
    using book = detail::marker_book;

    const void* arena_ = nullptr;
    chunk* chunk_ = nullptr;
    std::byte* top_ = nullptr;
    detail::finalizers::entry_type* objects_ = nullptr;
    std::size_t used_ = 0;
    ASHLAR_NO_UNIQUE_ADDRESS book::ticket ticket_;
  };

  constexpr arena() : arena(arena_options{}) {}
  constexpr explicit arena(const arena_options& options, Upstream upstream = Upstream())
      : store_(limits_of(options), std::move(upstream), this) {}
  constexpr explicit arena(Upstream upstream) : arena(arena_options{}, std::move(upstream)) {}

  /// Effects: uses up the buffer before the first upstream call. Lifetime: the buffer outlives the arena.
  explicit arena(std::span<std::byte> buffer, const arena_options& options = {}, Upstream upstream = Upstream())
      : bump_(buffer.data(), buffer.data() + buffer.size()), buffer_(buffer),
        store_(limits_of(options), std::move(upstream), this) {
    detail::mark_free(buffer_.data(), buffer_.size());
  }

  arena(const arena&) = delete;  // blocks point into it: what shall move holds it in a std::unique_ptr
  arena& operator=(const arena&) = delete;
  ~arena() {
    release();
    detail::mark_live(buffer_.data(), buffer_.size());
  }

  /// Throws: `std::bad_alloc` beyond the limit; as the upstream. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    const typename bump::place at = bump_.place_for(bytes, alignment);
    if (ASHLAR_UNLIKELY(!at.is_free)) return allocate_slow<or_throw>(bytes, alignment);
    return bump_.take(at, bytes);
  }

  /// Returns: a block, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const typename bump::place at = bump_.place_for(bytes, alignment);
    if (ASHLAR_UNLIKELY(!at.is_free)) return allocate_slow<or_null>(bytes, alignment);
    return bump_.take(at, bytes);
  }

  /// Effects: none but marks and checks. `reset`, `rewind` or `release` makes the bytes available again.
  ASHLAR_INLINE void deallocate([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes,
                                std::size_t /*alignment*/) noexcept {
    if (marks_) expect_owned(p);
    detail::mark_free(p, bytes);
  }

  /// Returns: whether the block now has `new_bytes`. Shrinking always succeeds; only the last block grows, into free
  /// bytes after it. Only bytes given up by the last block are reused.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t /*alignment*/) noexcept {
    if (is_last(p, bytes)) {
      note_high_water();
      return bump_.resize_last(p, bytes, new_bytes);
    }
    if (new_bytes > bytes) return false;
    detail::mark_free(static_cast<std::byte*>(p) + new_bytes, bytes - new_bytes);
    return true;
  }

  /// Returns: whether `p` points into used bytes. Complexity: O(chunks).
  [[nodiscard]] bool owns(const void* p) const noexcept {
    std::byte* top = bump_.top();
    for (const chunk* each = chunk_; each != nullptr; top = each->below_top, each = each->below) {
      if (lies_in(p, each->begin, top)) return true;
      each->expect_sound(this);
    }
    return lies_in(p, buffer_.data(), top);
  }

  /// Returns: an object that `reset`, `rewind`, `release` or the arena's destructor destroys, the latest first. An
  /// object with a trivial destructor costs its bytes only, any other two pointers more.
  /// Throws: as `allocate`; as the constructor, after its memory has been given back.
  template <class T, class... Args>
  [[nodiscard]] ASHLAR_INLINE T* make(Args&&... args) {
    if constexpr (std::is_trivially_destructible_v<T>) {
      return construct<T>(allocate(sizeof(T), alignof(T)), std::forward<Args>(args)...);
    } else {
      using held = detail::finalizers::object<T>;
      held* const made = construct<held>(allocate(sizeof(held), alignof(held)), std::forward<Args>(args)...);
      objects_.push(made->entry);
      return std::addressof(made->object);
    }
  }

  /// As `make`, but the arena does not run the destructor; that is up to the caller.
  template <class T, class... Args>
  [[nodiscard]] ASHLAR_INLINE T* make_unowned(Args&&... args) {
    return construct<T>(allocate(sizeof(T), alignof(T)), std::forward<Args>(args)...);
  }

  /// Returns: `count` objects made by `T()`, destroyed as objects of `make`, the last element first.
  /// Throws: as `make`; `std::bad_array_new_length` if their size overflows.
  template <class T>
  [[nodiscard]] std::span<T> make_array(std::size_t count) {
    constexpr bool is_plain = std::is_trivially_destructible_v<T>;
    using held = detail::finalizers::array<T>;
    constexpr std::size_t before = is_plain ? 0 : held::offset();
    if (count > (max_block_bytes - before) / sizeof(T)) throw_bad_array_new_length();
    const std::size_t bytes = before + count * sizeof(T);
    void* const p = allocate(bytes, is_plain ? alignof(T) : std::max(alignof(T), alignof(held)));
    unbuilt until_built{*this, p, bytes};
    if constexpr (is_plain) std::uninitialized_value_construct_n(static_cast<T*>(p), count);
    else (::new (p) held)->build(count);
    until_built.memory = nullptr;
    if constexpr (is_plain) return {static_cast<T*>(p), count};
    else {
      objects_.push(static_cast<held*>(p)->entry);
      return {static_cast<held*>(p)->elements(), count};
    }
  }

  /// Effects: destroys the objects, takes all blocks back and retains the memory. Several chunks become one of their
  /// total size, so a program with a steady peak makes no further upstream calls.
  void reset() noexcept {
    end_all_objects();
    note_high_water();
    if (marks_) marks_->close_all();
    if (chunk_ != nullptr) chunk_->expect_sound(this);
    if (is_in_one_piece()) return bump_.rewind(begin_of(chunk_));
    while (chunk_ != nullptr) store_.keep(leave_chunk());
    bump_.rewind(buffer_.data());
    store_.consolidate();
    if (buffer_.empty())
      if (chunk* const kept = store_.take_spare()) enter_chunk(kept);
  }

  /// Effects: destroys the objects and gives all memory back; the arena returns to its initial state.
  void release() noexcept {
    end_all_objects();
    if (marks_) marks_->close_all();
    while (chunk_ != nullptr) store_.give_back(leave_chunk());
    bump_.rewind(buffer_.data());
    store_.release();
    high_water_ = 0;
  }

  [[nodiscard]] marker mark() noexcept {
    marker here;
    here.arena_ = this;
    here.chunk_ = chunk_;
    here.top_ = bump_.top();
    here.objects_ = objects_.first();
    here.used_ = used();
    if (marks_) *here.ticket_ = marks_->open();
    return here;
  }

  /// Effects: destroys the objects made since `to`; takes back the blocks made since, and the growth of older ones.
  /// Blocks that have shrunk stay so. The memory is retained. Expects: `to` is a valid marker of this arena.
  void rewind(const marker& to) noexcept {
    if (marks_) expect_good(to);
    ASHLAR_REQUIRE(to.used_ >= ending_from_, "a destructor rewound the arena to a marker older than its object");
    end_objects_down_to(to.objects_);
    note_high_water();
    if (marks_) marks_->close_after(*to.ticket_);
    while (chunk_ != to.chunk_) store_.keep(leave_chunk());
    bump_.rewind(std::min(to.top_, bump_.top()));  // the top is lower if the block under the marker shrank since
  }

  /// Bytes of blocks with padding, freed ones included, since the last `reset` or `release`.
  [[nodiscard]] std::size_t used() const noexcept { return left_used_ + size_of(begin_of(chunk_), bump_.top()); }
  /// The largest `used()` since construction or the last `release`.
  [[nodiscard]] std::size_t high_water() const noexcept { return std::max(high_water_, used()); }
  /// Bytes left unused at the ends of chunks because a block did not fit.
  [[nodiscard]] std::size_t waste() const noexcept { return waste_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return buffer_.size() + store_.usable(); }
  /// Bytes of chunks. Thread safety: any thread may ask, also while another one allocates.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return store_.held(); }

  [[nodiscard]] Upstream& upstream_resource() noexcept { return store_.upstream_resource(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return store_.upstream_resource(); }
  [[nodiscard]] arena_options options() const noexcept {
    const auto& [initial_bytes, max_growth_bytes, max_bytes] = store_.limits();
    return {initial_bytes, max_growth_bytes, max_bytes};
  }
  [[nodiscard]] bool invariant() const noexcept;

  [[nodiscard]] friend bool operator==(const arena& a, const arena& b) noexcept { return &a == &b; }

private:
  [[nodiscard]] static constexpr typename store_type::limits_type limits_of(const arena_options& options) noexcept {
    return {options.initial_bytes, options.max_growth_bytes, options.max_bytes};
  }

  /// Gives a block back unless an object was constructed in it.
  struct unbuilt {
    arena& from;
    void* memory;
    std::size_t bytes;
    ~unbuilt() {
      if (memory == nullptr || !from.is_last(memory, bytes)) return;
      from.note_high_water();
      from.bump_.take_back(memory, bytes);
    }
  };

  template <class T, class... Args>
  ASHLAR_INLINE T* construct(void* p, Args&&... args) {
    unbuilt until_built{*this, p, sizeof(T)};
    T* const made = ::new (p) T(std::forward<Args>(args)...);
    until_built.memory = nullptr;
    return made;
  }

  [[nodiscard]] static std::size_t size_of(const std::byte* begin, const std::byte* end) noexcept {
    return static_cast<std::size_t>(end - begin);
  }
  [[nodiscard]] static bool lies_in(const void* p, std::byte* begin, std::byte* end) noexcept {
    return block{begin, size_of(begin, end)}.contains(p);
  }
  [[nodiscard]] std::byte* begin_of(const chunk* at) const noexcept {
    return at != nullptr ? at->begin : buffer_.data();
  }
  [[nodiscard]] std::byte* end_of(const chunk* at) const noexcept {
    return at != nullptr ? at->end() : buffer_.data() + buffer_.size();
  }

  /// Whether all held memory is one chunk, and all blocks lie in it.
  [[nodiscard]] bool is_in_one_piece() const noexcept {
    if (chunk_ == nullptr) return store_.count() <= 1;
    return store_.count() == 1 && buffer_.empty();
  }

  // The last block of a buffer may end where an emptied chunk begins; it does not lie in that chunk.
  [[nodiscard]] bool is_last(const void* p, std::size_t bytes) const noexcept {
    return bump_.is_last(p, bytes) && address_of(p) >= address_of(begin_of(chunk_));
  }

  void note_high_water() noexcept { high_water_ = high_water(); }

  template <failure Failure>
  ASHLAR_COLD void* allocate_slow(std::size_t bytes, std::size_t alignment) noexcept(Failure == or_null) {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    chunk* const fresh = store_.template take<Failure>(bytes, alignment);
    if (fresh == nullptr) return nullptr;
    enter_chunk(fresh);
    return bump_.take(bump_.place_for(bytes, alignment), bytes);
  }

  void enter_chunk(chunk* fresh) noexcept {
    left_used_ += size_of(begin_of(chunk_), bump_.top());
    waste_ += bump_.rest();
    fresh->put_on(chunk_, bump_.top());
    chunk_ = fresh;
    bump_ = bump(fresh->begin, fresh->end());
  }

  /// Returns: the chunk, now owned by the caller.
  [[nodiscard]] chunk* leave_chunk() noexcept {
    chunk_->expect_sound(this);
    chunk* const leaving = std::exchange(chunk_, chunk_->below);
    if (chunk_ != nullptr) chunk_->expect_sound(this);
    bump_ = bump(leaving->below_top, end_of(chunk_));
    left_used_ -= size_of(begin_of(chunk_), bump_.top());
    waste_ -= bump_.rest();
    return leaving;
  }

  void end_all_objects() noexcept {
    ASHLAR_REQUIRE(ending_from_ == 0, "a destructor reset or released the arena that destroys its object");
    end_objects_down_to(nullptr);
  }

  // The destructors run before any memory is taken back, so that they can allocate.
  void end_objects_down_to(detail::finalizers::entry_type* last) noexcept {
    if (objects_.first() == last) return;
    const std::size_t outer = std::exchange(ending_from_, std::max(used(), std::size_t{1}));
    objects_.run_down_to(last, this);
    ending_from_ = outer;
  }

  ASHLAR_COLD void expect_owned(const void* p) const noexcept {
    if (owns(p)) return;
    report(fault::invalid_free, "freed a pointer that is not of this arena", p, this);
  }

  [[nodiscard]] bool is_in_use(const chunk* sought) const noexcept {
    const chunk* each = chunk_;
    for (; each != nullptr && each != sought; each = each->below) each->expect_sound(this);
    return each == sought;
  }

  ASHLAR_COLD void expect_good(const marker& to) const noexcept {
    const bool is_mine = to.arena_ == this;
    if (is_mine && marks_->is_good(*to.ticket_) && is_in_use(to.chunk_)) return;
    report(fault::bad_marker,
           is_mine ? "rewound to a marker that is no longer valid" : "rewound to a marker of another arena", to.top_,
           this);
  }

  bump bump_;
  chunk* chunk_ = nullptr;
  detail::finalizers objects_;
  std::span<std::byte> buffer_;
  std::size_t left_used_ = 0;  // in the chunks below this one
  std::size_t waste_ = 0;
  std::size_t high_water_ = 0;
  std::size_t ending_from_ = 0;  // 0, or `used()` when the destructors began to run
  ASHLAR_NO_UNIQUE_ADDRESS typename marker::book marks_;
  store_type store_;
};

template <resource Upstream>
bool arena<Upstream>::invariant() const noexcept {
  std::size_t used_below = 0, waste = 0, bytes = 0, count = 0;
  for (const chunk* each = chunk_; each != nullptr; each = each->below, ++count) {
    used_below += size_of(begin_of(each->below), each->below_top);
    waste += size_of(each->below_top, end_of(each->below));
    bytes += each->bytes;
    if (!each->is_sound()) return false;
  }
  for (const chunk* each = store_.spares(); each != nullptr; each = each->below, ++count) bytes += each->bytes;
  return bump_.invariant() && begin_of(chunk_) <= bump_.top() && bump_.end() == end_of(chunk_) &&
         used_below == left_used_ && waste == waste_ && bytes == held_bytes() && count == store_.count() &&
         held_bytes() <= store_.limits().max_bytes && used() + waste_ <= capacity();
}

static_assert(try_resource<arena<>> && owning_resource<arena<>>);
static_assert(releasable_resource<arena<>> && expanding_resource<arena<>>);

}  // namespace ashlar::ASHLAR_ABI
