// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The storage of an object_pool's objects, by its capacity: inside the pool, in one block, in slabs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/flat_slots.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_run.hpp>
#include <ashlar/detail/slots/slot_slabs.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// As `slot_run`, with a capacity given at run time.
///
///     block
///     | registration, if checked | front guard, if hardened | slot 0 | slot 1 | ...      | word 0 ... word n-1 |
///
/// The slots start at a cache line, or with the block from the size of a page on. Nothing is written before a slot is
/// taken, except atomic words. Thread safety: none, except as `Word` provides.
template <std::size_t Bytes, std::size_t Alignment, class Word, resource Upstream>
class allocated_slots {
public:
  using slot_type = slot_memory<Bytes, Alignment>;
  static constexpr std::size_t slot_bytes = Bytes;  ///< without the guard
  static constexpr bool opens = true;

  /// Effects: stores the capacity; allocates nothing.
  constexpr explicit allocated_slots(std::size_t capacity, Upstream upstream = {})
      : capacity_(capacity), upstream_(std::move(upstream)) {}

  allocated_slots(const allocated_slots&) = delete;  // objects lie in it
  allocated_slots& operator=(const allocated_slots&) = delete;
  ~allocated_slots() {
    if (slots_ != nullptr) close();
  }

  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] ASHLAR_INLINE slot_type* first_slot() const noexcept { return slots_; }
  [[nodiscard]] ASHLAR_INLINE Word* words() const noexcept { return words_; }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Returns: the bytes of the block. Expects: `is_open()`.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    std::size_t bytes = 0;
    static_cast<void>(block_bytes(bytes));
    return bytes;
  }
  /// Returns: whether the block is allocated.
  [[nodiscard]] ASHLAR_INLINE bool is_open() const noexcept { return slots_ != nullptr; }

  /// Effects: allocates the block. Throws: as the upstream; `std::bad_array_new_length` for a block that is too large
  /// or more than 2^30 - 2 slots. Expects: `!is_open()`.
  void open(const void* owner) {
    std::size_t bytes = 0;
    if (!block_bytes(bytes)) throw_bad_array_new_length();
    adopt(static_cast<std::byte*>(upstream_.allocate(bytes, alignment)), owner);
  }

  /// As `open`, but returns false instead of throwing.
  [[nodiscard]] bool try_open(const void* owner) noexcept {
    std::size_t bytes = 0;
    void* const block = block_bytes(bytes) ? try_allocate_from(upstream_, bytes, alignment) : nullptr;
    if (block != nullptr) adopt(static_cast<std::byte*>(block), owner);
    return block != nullptr;
  }

private:
  static constexpr bool is_registered = !std::is_empty_v<slab_registration>;
  static constexpr std::size_t alignment =
      std::max({Alignment, std::size_t{64}, alignof(Word), alignof(slab_registration)});
  static constexpr std::size_t stride = sizeof(slot_type);
  static constexpr std::size_t front = is_registered ? align_up(sizeof(slab_registration) + front_guard, alignment) : 0;

  [[nodiscard]] static constexpr std::size_t words_offset(std::size_t slot_count) noexcept {
    return align_up(front + slot_count * stride, alignof(Word));
  }

  [[nodiscard]] bool block_bytes(std::size_t& bytes) const noexcept {
    std::size_t product = 0;
    if (capacity_ > most_slots || !checked_mul(capacity_, stride + sizeof(Word), product)) return false;
    bytes = words_offset(capacity_) + capacity_ * sizeof(Word);
    return product <= max_block_bytes - front - 2 * alignment;
  }

  void adopt(std::byte* block, const void* owner) noexcept {
    words_ = static_cast<Word*>(static_cast<void*>(block + words_offset(capacity_)));
    slots_ = static_cast<slot_type*>(static_cast<void*>(block + front));
    if constexpr (!std::is_trivially_default_constructible_v<Word>)
      std::uninitialized_value_construct_n(words_, capacity_);
    if constexpr (is_registered)
      enter_slots(*std::construct_at(registration()), owner, block + front, capacity_ * stride, Bytes);
    mark_free(block + front - front_guard, front_guard + capacity_ * stride);
  }

  void close() noexcept {
    if constexpr (is_registered) registration()->leave();
    std::byte* const block = static_cast<std::byte*>(static_cast<void*>(slots_)) - front;
    const std::size_t bytes = held_bytes();
    mark_live(block + front - front_guard, front_guard + capacity_ * stride);
    upstream_.deallocate(block, bytes, alignment);
  }

  [[nodiscard]] slab_registration* registration() const noexcept {
    void* const block = static_cast<std::byte*>(static_cast<void*>(slots_)) - front;
    return static_cast<slab_registration*>(block);
  }

  slot_type* slots_ = nullptr;
  Word* words_ = nullptr;
  std::size_t capacity_;
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
};

/// The `Ends` of slabs with objects kept in free slots: they are destroyed when the memory of the slab goes back.
template <policy::threads Threads, bool Keeps, class Destroy>
struct kept_ends {
  using slab_type = slot_slab<Threads>;
  static constexpr bool is_plain = true;

  static void object(slab_type& slab, std::uint32_t index) noexcept {
    slot_pool_core<Threads>::give(slab, index, slot_word::raw_mark, slab.word_at(index));
  }
  static void slab(slab_type& slab) noexcept {
    if constexpr (Keeps) for_each_kept(slab);
  }

private:
  static void for_each_kept(slab_type& slab) noexcept {
    for (std::uint32_t i = 0; i < slab.free.used(); ++i) {
      const std::uint32_t word = slab.word_at(i).load();
      if (!slot_word::is_free(word) || slot_word::is_raw(word)) continue;
      mark_readable(slab.slot_at(i), slab.slot_bytes);
      Destroy()(slab.slot_at(i));
    }
  }
};

/// `slot_slabs` with the members of `flat_slots`; see there.
template <std::size_t Bytes, std::size_t Alignment, policy::threads Threads, resource Upstream, bool Keeps,
          class Destroy>
class growing_slots {
  using layout = slot_layout<Threads, Bytes, Alignment, (Alignment <= alignof(std::uint32_t))>;
  using slabs_type = slot_slabs<layout, Threads, Upstream, kept_ends<Threads, Keeps, Destroy>>;
  using slab_type = typename layout::slab_type;

public:
  static constexpr std::size_t slot_bytes = Bytes;
  static constexpr std::uint32_t raw_mark = slot_word::raw_mark;

  explicit growing_slots(std::in_place_t, const object_pool_options& options = {}, Upstream upstream = {})
      : slabs_(options, std::move(upstream)) {}

  [[nodiscard]] ASHLAR_INLINE taken_place take() {
    const taken_place got = place_of(slabs_.take());
    if (ASHLAR_UNLIKELY(got.slot == nullptr)) throw_bad_alloc(Bytes, Alignment);
    return got;
  }
  [[nodiscard]] ASHLAR_INLINE taken_place try_take() noexcept { return place_of(slabs_.try_take()); }

  ASHLAR_INLINE void give(void* slot, std::uint32_t marks) noexcept {
    if constexpr (keeps_canaries) layout::guard::expect(slot, this);
    retire_slot<Threads::is_shared>(slot, Bytes, marks);
    slab_type& slab = *slab_type::around(slot);
    const std::uint32_t index = layout::index_of(slab, slot);
    slot_pool_core<Threads>::give(slab, index, marks, layout::word_at(slab, index));
  }

  template <class End>
  void destroy_iteratively(void* slot, End end) noexcept {
    if constexpr (keeps_canaries) layout::guard::expect(slot, this);
    slab_type& slab = *slab_type::around(slot);
    ashlar::detail::destroy_iteratively(slab, layout::index_of(slab, slot), [&end](slab_type& in, std::uint32_t index) {
      void* const ending = layout::slot_at(in, index);
      const std::uint32_t marks = end(ending);
      retire_slot<Threads::is_shared>(ending, Bytes, marks);
      return marks;
    });
  }

  /// Complexity: O(log slabs of the process); O(slabs) if a slab has one slot.
  ASHLAR_NOINLINE void check(const void* p) noexcept {
    slab_type* const slab = slab_around(p);
    if (slab == nullptr) report_foreign_slot(p, this, Bytes);
    const std::size_t offset = address_of(p) - address_of(slab->first_slot);
    if (offset % layout::slot_bytes != 0) report_slot(fault::misaligned_free, inside_an_object, p, this, Bytes);
    const auto index = static_cast<std::uint32_t>(offset / layout::slot_bytes);
    auto& word = layout::word_at(*slab, index);
    if (!slabs_.was_used(*slab, index) || slot_word::is_free(word.load()) ||
        slot_word::is_free(word.exchange(slot_word::free_mark | slot_word::none)))
      report_slot(fault::double_free, freed_before, p, this, Bytes);
  }

  [[nodiscard]] bool is_free(const void* slot) noexcept { return slot_word::is_free(layout::word_of(slot).load()); }

  void reserve(std::size_t slot_count) { slabs_.reserve(slot_count); }
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return slabs_.trim(retain_bytes); }

  template <class F>
  void for_each_taken(F f) {
    slabs_.for_each_live([&](slab_type& slab, std::uint32_t index) { f(layout::slot_at(slab, index)); });
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return slabs_.capacity(); }
  [[nodiscard]] std::size_t max_slots() const noexcept { return slabs_.max_slots(); }
  [[nodiscard]] std::size_t live() const noexcept { return slabs_.live(); }
  [[nodiscard]] bool is_exhausted() const noexcept { return live() == max_slots(); }
  [[nodiscard]] bool owns(const void* p) const noexcept { return slabs_.owns(p); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return slabs_.held_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return slabs_.upstream_resource(); }
  [[nodiscard]] bool invariant() const noexcept { return slabs_.invariant(); }

private:
  // Reads no memory except slabs of this pool.
  [[nodiscard]] slab_type* slab_around(const void* p) const noexcept {
    if constexpr (layout::slots_per_slab == 1) return slabs_.find(p);
    const void* const owner = process_slabs.find(p).owner;
    return owner != nullptr && owner == slabs_.registered_owner() ? slab_type::around(p) : nullptr;
  }

  [[nodiscard]] ASHLAR_INLINE static taken_place place_of(const typename slabs_type::place& got) noexcept {
    if (ASHLAR_UNLIKELY(!got)) return {};
    void* const slot = got.memory();
    mark_slot<Threads::is_shared>(slot, Bytes, got.is_raw);
    return {slot, got.is_raw};
  }

  slabs_type slabs_;
};

template <class T>
struct destroy_in_slot {
  void operator()(void* slot) const noexcept { std::destroy_at(std::launder(static_cast<T*>(slot))); }
};

template <class T, std::size_t Capacity, class Lifetime, policy::threads Threads, resource Upstream>
struct choose_slots {
  using word = std::conditional_t<Threads::is_shared, shared_slot_word<>, plain_slot_word>;
  static constexpr bool marks_taken = Lifetime::keeps || Threads::is_shared || checking_level >= checking::checked;
  using type = flat_slots<slot_run<sizeof(T), alignof(T), Capacity, word>, Threads, marks_taken>;
};

template <class T, class Lifetime, policy::threads Threads, resource Upstream>
struct choose_slots<T, dynamic_capacity, Lifetime, Threads, Upstream> {
  using any = choose_slots<T, 1, Lifetime, Threads, Upstream>;
  using type =
      flat_slots<allocated_slots<sizeof(T), alignof(T), typename any::word, Upstream>, Threads, any::marks_taken>;
};

template <class T, class Lifetime, policy::threads Threads, resource Upstream>
struct choose_slots<T, growing, Lifetime, Threads, Upstream> {
  static constexpr bool keeps = Lifetime::keeps && !std::is_trivially_destructible_v<T>;
  using type = growing_slots<sizeof(T), alignof(T), Threads, Upstream, keeps, destroy_in_slot<T>>;
};

template <class T, std::size_t Capacity, class Lifetime, policy::threads Threads, resource Upstream>
using object_pool_slots = typename choose_slots<T, Capacity, Lifetime, Threads, Upstream>::type;

}  // namespace ashlar::ASHLAR_ABI::detail
