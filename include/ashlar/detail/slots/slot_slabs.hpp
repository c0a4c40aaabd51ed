// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A growing supply of slots for objects, in slabs that outlive it while objects live.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The core of a pool together with its upstream, which it takes over from the handle. See `slot_slabs`. Thread safety:
/// none, except as `slot_pool_core` provides.
template <class Layout, policy::threads Threads, resource Upstream, class Ends>
class pool_control_block : public slot_pool_core<Threads> {
public:
  using slab_type = slot_slab<Threads>;
  using core_type = slot_pool_core<Threads>;

  static_assert(std::is_nothrow_move_constructible_v<Upstream>, "the upstream follows the last object");

  pool_control_block() noexcept {
    this->end_object = &Ends::object;
    this->end_core = &end_block;
    this->shift = static_cast<std::uint32_t>(std::bit_width(std::size_t{Layout::slots_per_slab} - 1));
  }

  /// Effects: makes `add` possible. Returns: false if `request` returns null or there are too many slabs.
  template <class Request>
  [[nodiscard]] bool make_room(Request request) {
    const std::uint32_t number = this->directory.vacancy();
    if ((std::uint64_t{number} + 1) << this->shift > most_slots) return false;
    if (!this->directory.needs_segment(number)) return true;
    void* const memory = request(this->directory.segment_bytes(number), alignof(void*));
    if (memory != nullptr) this->directory.add_segment(number, memory);
    return memory != nullptr;
  }

  /// Effects: makes a slab in the memory, with room for `slots` slots and none yet. Returns: it. Expects: `make_room`
  /// returned true; `memory` is aligned and large enough.
  [[nodiscard]] slab_type* add(void* memory, std::uint32_t slot_count) noexcept {
    const std::uint32_t number = this->directory.vacancy();
    slab_type* const made = format(static_cast<std::byte*>(memory), slot_count);
    made->first_number = number << this->shift;
    this->directory.add(number, made);
    return made;
  }

  /// Effects: makes `slots` more slots of a slab available. Expects: it has room for them.
  void extend(slab_type& slab, std::uint32_t slot_count) noexcept {
    const bool was_full = slab.live == slab.capacity;
    slab.capacity += slot_count;
    slab.signal_at = slab.capacity;
    if (was_full && !slab.is_current) this->available.push_back(&slab);
  }

  /// Effects: takes the upstream over. Returns: whether no slot is out, so that the caller calls `end_core`; otherwise
  /// the thread that gives the last slot back calls it.
  [[nodiscard]] bool abandon(Upstream&& upstream) noexcept {
    upstream_.emplace(std::move(upstream));
    if constexpr (Threads::is_shared) return this->home->abandon(count_out(this->home->close()));
    std::uint32_t busy = 0;
    this->directory.for_each([&](slab_type& slab) {
      slab.signal_at = 1;
      busy += slab.live != 0 ? 1 : 0;
    });
    this->busy_slabs = busy;
    return busy == 0;
  }

  /// Effects: gives the memory of a slab back. Returns: its bytes.
  static std::size_t free_slab(slab_type& slab, Upstream& upstream) noexcept {
    Ends::slab(slab);
    slab.registration.leave();
    std::byte* const start = slab.start();
    const std::size_t bytes = slab.bytes;
    mark_readable(start, bytes);
    upstream.deallocate(start, bytes, slot_slab_alignment);
    return bytes;
  }

private:
  [[nodiscard]] slab_type* format(std::byte* start, std::uint32_t slot_count) noexcept {
    auto* const made = ::new (static_cast<void*>(slab_type::in(start))) slab_type;
    made->home = this;
    made->first_slot = Layout::slots_of(made);
    made->words = Layout::words_of(made);
    made->factor = slab_type::factor_for(Layout::slot_bytes, Layout::slots_per_slab);
    made->slot_bytes = static_cast<std::uint32_t>(Layout::slot_bytes);
    made->word_stride = static_cast<std::uint32_t>(Layout::is_beside ? Layout::slot_bytes : Layout::word_bytes);
    made->capacity = made->signal_at = 0;
    made->room = slot_count;
    made->live = 0;
    made->ends_plainly = Ends::is_plain;
    made->ends_by_destroying = false;
    if constexpr (requires { Ends::destroys; }) made->ends_by_destroying = Ends::destroys;
    made->is_current = false;
    made->next = made->previous = nullptr;
    made->bytes = Layout::slab_bytes(slot_count);
    made->registration.enter(this, made->first_slot, slot_count * Layout::slot_bytes,
                             Layout::slot_bytes - Layout::guard::bytes);
    if constexpr (marks_memory) mark_slots(*made, slot_count);
    return made;
  }

  static void mark_slots(slab_type& slab, std::uint32_t slot_count) noexcept {
    mark_free(slab.first_slot - front_guard, front_guard);
    for (std::uint32_t i = 0; i < slot_count; ++i)
      mark_free(slab.slot_at(i), Layout::object_bytes + Layout::guard::bytes);
  }

  // Slots in the chain are not out, although they still count as live.
  [[nodiscard]] std::uint32_t count_out(std::uint32_t chain) const noexcept {
    std::uint32_t out = 0;
    this->directory.for_each([&](const slab_type& slab) { out += slab.live; });
    for (; chain != slot_word::none; --out) {
      const auto at = this->find(chain);
      chain = slot_word::number(Layout::word_at(at.slab, at.index).load());
    }
    return out;
  }

  static void end_block(core_type& base) noexcept {
    auto& block = static_cast<pool_control_block&>(base);
    Upstream upstream = std::move(*block.upstream_);
    block.directory.for_each([&](slab_type& slab) { free_slab(slab, upstream); });
    block.directory.for_each_segment(
        [&](void* memory, std::size_t bytes) { upstream.deallocate(memory, bytes, alignof(void*)); });
    std::destroy_at(&block);
    upstream.deallocate(&block, sizeof(pool_control_block), alignof(pool_control_block));
  }

  std::optional<Upstream> upstream_;
};

/// Slots for objects, in slabs of `Layout`, each with its word. A slot is taken here and given back by
/// `slot_pool_core::give`, at the end of its object in any thread.
///
///     one_thread     take <- current slab <- slabs with free slots <- new slabs <- upstream               give -> slab
///     any_thread     take <- current slab <- inbox <- slabs with free slots <- new slabs <- upstream      give -> inbox
///
/// `Ends` is the pool's part: `Ends::object(slab, index)` after the last release of an object, `Ends::slab(slab)`
/// before a slab's memory goes back. If slots are taken when the pool ends, the upstream moves into the control block,
/// and the thread that gives the last slot back frees all memory.
///
/// Slabs are retained until `trim`. Nothing is allocated before the first `take` or `reserve`. Thread safety: none with
/// `one_thread`; otherwise any thread may call every member except the destructor, under the lock of the policy. The
/// upstream is called under it, too, and at the end by the thread that gives the last slot back.
template <class Layout, policy::threads Threads, resource Upstream, class Ends>
class slot_slabs {
public:
  using slab_type = slot_slab<Threads>;

  /// A taken slot; none if `in` is null. At this size the ABI returns it in memory, so that inlined calls split it up.
  /// Packed into a register with the mark, the index would wait for the load of the word: 2 ns for a take and a give.
  struct place {
    slab_type* in = nullptr;
    void* slot = nullptr;
    std::uint32_t index = 0;
    bool is_raw = true;  ///< whether it holds no kept object

    [[nodiscard]] explicit operator bool() const noexcept { return in != nullptr; }
    [[nodiscard]] ASHLAR_INLINE void* memory() const noexcept { return slot; }
  };

  explicit slot_slabs(const object_pool_options& options, Upstream upstream)
      : upstream_(std::move(upstream)), max_slots_(std::clamp<std::size_t>(options.max_count, 1, most_slots)),
        step_(options.growth_count != 0 ? std::min<std::size_t>(options.growth_count, most_slots)
                                        : Layout::slots_per_slab) {}

  slot_slabs(const slot_slabs&) = delete;  // slots point into it
  slot_slabs& operator=(const slot_slabs&) = delete;
  ~slot_slabs() {
    if (control_block_ != nullptr) leave();
  }

  /// Returns: a slot with a count of 1; none when `max_count` are live. Throws: `std::bad_alloc`, or as the upstream.
  /// Complexity: O(1) amortised.
  [[nodiscard]] ASHLAR_INLINE place take() {
    const scope held(lock_);
    if (const place got = take_current(); ASHLAR_LIKELY(got.in != nullptr)) return got;
    return take_cold([this](std::size_t bytes, std::size_t alignment) { return upstream_.allocate(bytes, alignment); });
  }

  /// As `take`, but none when the upstream has no memory left.
  [[nodiscard]] ASHLAR_INLINE place try_take() noexcept {
    const scope held(lock_);
    if (const place got = take_current(); ASHLAR_LIKELY(got.in != nullptr)) return got;
    return take_cold([this](std::size_t bytes, std::size_t alignment) noexcept {
      return try_allocate_from(upstream_, bytes, alignment);
    });
  }

  /// Effects: makes `slots` live slots possible without a request to the upstream, until `trim`. Throws: as `take`;
  /// `std::bad_alloc` above `max_count`. Memory gained so far is retained.
  void reserve(std::size_t slot_count) {
    const scope held(lock_);
    if (slot_count > max_slots_) throw_bad_alloc(max_size, Layout::alignment);
    while (capacity_ < slot_count)
      grow(slot_count - capacity_,
           [this](std::size_t bytes, std::size_t alignment) { return upstream_.allocate(bytes, alignment); });
  }

  /// Effects: gives empty slabs back; retains at most `retain_bytes` of them. Returns: bytes given back. Complexity:
  /// O(slabs + slots in the inbox).
  std::size_t trim(std::size_t retain_bytes = 0) noexcept {
    const scope held(lock_);
    if (control_block_ == nullptr) return 0;
    absorb();
    verify_dead();
    std::size_t bytes = 0;
    core().directory.for_each([&](slab_type& slab) {
      if (slab.live != 0) return;
      if (slab.bytes <= retain_bytes) retain_bytes -= slab.bytes;
      else bytes += give_back(slab);
    });
    return bytes;
  }

  [[nodiscard]] std::size_t max_slots() const noexcept { return max_slots_; }
  /// Returns: the number of slots.
  [[nodiscard]] std::size_t capacity() const noexcept {
    const scope held(lock_);
    return capacity_;
  }
  /// Returns: the number of taken slots. Complexity: O(slabs + slots in the inbox).
  [[nodiscard]] std::size_t live() const noexcept {
    const scope held(lock_);
    return control_block_ != nullptr ? count_live() : 0;
  }
  /// Returns: the number of times that slabs were added.
  [[nodiscard]] std::size_t growth_steps() const noexcept {
    const scope held(lock_);
    return growth_steps_;
  }
  /// Returns: the bytes held from the upstream: slabs, the control block and its directory. Complexity: O(1).
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    const scope held(lock_);
    return held_bytes_;
  }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return upstream_; }

  /// Returns: whether `p` points into a slot, taken or free. Complexity: O(slabs).
  [[nodiscard]] bool owns(const void* p) const noexcept { return find(p) != nullptr; }

  /// Returns: whether a slot was ever taken; if not, its word is meaningless.
  [[nodiscard]] bool was_used(const slab_type& slab, std::uint32_t index) const noexcept {
    const scope held(lock_);
    return index < slab.free.used();
  }

  /// Returns: the owner of the slabs in the registry; null before there are any.
  [[nodiscard]] const void* registered_owner() const noexcept { return control_block_; }

  /// Returns: the slab with the slot that `p` points into, or null. `p` is not read. Complexity: O(slabs).
  [[nodiscard]] slab_type* find(const void* p) const noexcept {
    slab_type* found = nullptr;
    for_each_slab([&](slab_type& slab) {
      const std::uintptr_t offset = address_of(p) - address_of(slab.first_slot);
      if (offset < std::size_t{slab.capacity} * Layout::slot_bytes) found = &slab;
    });
    return found;
  }

  /// Effects: calls `f(slab, index)` for every taken slot, without the lock. `f` may give any slot back. Expects:
  /// exclusive use. Complexity: O(slots ever taken).
  template <class F>
  void for_each_live(F f) const {
    if (is_unused()) return;
    core().directory.for_each([&](slab_type& slab) {
      slab.free.for_each_taken([&](std::uint32_t index) -> auto& { return Layout::word_at(slab, index); },
                               [&](std::uint32_t index) { f(slab, index); });
    });
  }

  /// Complexity: O(capacity). Expects: no slot is given meanwhile.
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t slot_count = 0;
    bool good = true;
    for_each_slab([&](slab_type& slab) {
      slot_count += slab.capacity;
      good = good && slab.invariant() && slab.home == &core() && &slab == slab_type::around(slab.first_slot);
    });
    return good && slot_count == capacity_ && capacity_ <= max_slots_ &&
           (control_block_ == nullptr || is_listing_right());
  }

private:
  using lock_type = fork_safe<typename Threads::lock_type>;
  using scope = check_scope<lock_type>;
  using core_type = slot_pool_core<Threads>;
  using control_block_type = pool_control_block<Layout, Threads, Upstream, Ends>;

  [[nodiscard]] core_type& core() const noexcept { return *control_block_; }

  [[nodiscard]] ASHLAR_INLINE place take_current() noexcept {
    slab_type* const from = current_;
    if (ASHLAR_UNLIKELY(from == nullptr)) return {};
    if constexpr (Threads::is_shared)
      if (from->free.empty()) absorb();  // used slots come before unused ones
    [[maybe_unused]] const bool is_reused = !from->free.empty();
    std::uint32_t index = slot_word::none;  // a copy outside of `got`: see `place`
    const taken_slot got = from->free.take(from->capacity, [from, &index](std::uint32_t number) -> auto& {
      index = number;
      return Layout::word_at(*from, number);
    });
    if (ASHLAR_UNLIKELY(index == slot_word::none)) return {};
    ++from->live;
    void* const slot = Layout::slot_at(*from, index);
    if constexpr (keeps_canaries)
      if (!is_reused) Layout::guard::begin(slot, index == 0);
    if (keeps_canaries && is_reused && got.is_raw) verify_slot(slot, Layout::object_bytes, this);
    return {from, slot, index, got.is_raw};
  }

  template <class Request>
  [[nodiscard]] ASHLAR_COLD place take_cold(Request request) noexcept(noexcept(request(1, 1))) {
    if (control_block_ != nullptr) {
      absorb();
      if (const place got = take_listed()) return got;
    }
    if (capacity_ == max_slots_ || !grow(step_, request)) return {};
    return take_listed();
  }

  // From the current slab, which may have received slots meanwhile, or from the next one with free slots.
  [[nodiscard]] place take_listed() noexcept {
    if (const place got = take_current()) return got;
    return next_slab() ? take_current() : place{};
  }

  // Expects: the current slab is full, or there is none.
  [[nodiscard]] bool next_slab() noexcept {
    slab_type* const next = core().available.front();
    if (next == nullptr) return false;
    if (current_ != nullptr) current_->is_current = false;
    core().available.erase(next);
    next->is_current = true;
    current_ = next;
    return true;
  }

  // Puts the slots that other threads gave back into their slabs.
  void absorb() const noexcept {
    if constexpr (Threads::is_shared)
      for_each_in(core().home->take_all(), [](slab_type& slab, std::uint32_t index, std::uint32_t marks) {
        core_type::put(slab, index, marks, Layout::word_at(slab, index));
      });
  }

  template <class F>
  void for_each_in(std::uint32_t chain, F f) const noexcept {
    while (chain != slot_word::none) {
      const auto at = core().find(chain);
      const std::uint32_t word = Layout::word_at(at.slab, at.index).load();
      chain = slot_word::number(word);
      f(at.slab, at.index, word & slot_word::raw_mark);
    }
  }

  [[nodiscard]] std::size_t count_live() const noexcept {
    absorb();
    std::size_t live = 0;
    core().directory.for_each([&](const slab_type& slab) { live += slab.live; });
    return live;
  }

  template <class F>
  void for_each_slab(F f) const {
    const scope held(lock_);
    if (control_block_ == nullptr) return;
    absorb();
    core().directory.for_each(f);
  }

  // Returns: whether there are no slabs; returned slots are put into their slabs first.
  [[nodiscard]] bool is_unused() const noexcept {
    const scope held(lock_);
    if (control_block_ != nullptr) absorb();
    return control_block_ == nullptr;
  }

  // Every slab with free slots is in the list, or current.
  [[nodiscard]] bool is_listing_right() const noexcept {
    std::size_t listed = 0;
    std::size_t expected = 0;
    for (const slab_type* slab = core().available.front(); slab != nullptr; slab = slab->next) ++listed;
    core().directory.for_each([&](const slab_type& slab) {
      expected += slab.live != slab.capacity && !slab.is_current ? 1 : 0;
      if (slab.is_current != (&slab == current_)) expected = max_size;
    });
    return listed == expected && core().available.invariant();
  }

  // Adds a step or `wanted` slots, whichever is more, within the limit of slots, and slabs for them. Returns: whether
  // there are more slots than before.
  template <class Request>
  bool grow(std::size_t wanted, Request request) {
    registry_at_fork::enter();
    if (control_block_ == nullptr) {
      void* const memory = request(sizeof(control_block_type), alignof(control_block_type));
      if (memory == nullptr) return false;
      control_block_ = begin_block_(memory);
      held_bytes_ += sizeof(control_block_type);
    }
    const std::size_t before = capacity_;
    const std::size_t goal = before + std::min(std::max(wanted, step_), max_slots_ - before);
    while (capacity_ < goal && (has_room() || add_slab(request))) extend(goal - capacity_);
    growth_steps_ += capacity_ != before ? 1 : 0;
    return capacity_ != before;
  }

  [[nodiscard]] bool has_room() const noexcept { return growing_ != nullptr && growing_->capacity != growing_->room; }

  // Expects: `has_room()`.
  void extend(std::size_t wanted) noexcept {
    const auto slot_count =
        static_cast<std::uint32_t>(std::min<std::size_t>(wanted, growing_->room - growing_->capacity));
    control_block_->extend(*growing_, slot_count);
    capacity_ += slot_count;
  }

  // A slab has room for as many slots as exist already, so that small steps need few slabs.
  template <class Request>
  bool add_slab(Request request) {
    const std::size_t slot_count =
        std::min({std::max(step_, capacity_), std::size_t{Layout::slots_per_slab}, max_slots_ - capacity_});
    const std::size_t bytes = Layout::slab_bytes(static_cast<std::uint32_t>(slot_count));
    const auto counted = [this, &request](std::size_t size, std::size_t alignment) {
      void* const got = request(size, alignment);
      held_bytes_ += got != nullptr ? size : 0;
      return got;
    };
    if (!control_block_->make_room(counted)) return false;
    void* const memory = bytes <= max_block_bytes ? counted(bytes, slot_slab_alignment) : nullptr;
    if (memory == nullptr) return false;
    prepare(memory, bytes);
    growing_ = control_block_->add(memory, static_cast<std::uint32_t>(slot_count));
    return true;
  }

  // Makes the first bytes of a slab resident at once: 1/128 of the pool's bytes, which bounds the unused ones. Objects
  // larger than a page are left out, since most of their bytes may stay unused.
  void prepare([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (prefaulting_resource<Upstream> && Layout::slot_bytes <= 4096) {
      constexpr std::size_t least = std::size_t{64} * 1024;
      const std::size_t held = capacity_ * Layout::bytes_per_slot;
      if (held / 128 >= least) upstream_.prefault(memory, std::min(bytes, held / 128));
    }
  }

  std::size_t give_back(slab_type& empty) noexcept {
    if (&empty == growing_) growing_ = nullptr;
    if (&empty == current_) current_ = nullptr;
    else core().available.erase(&empty);
    capacity_ -= empty.capacity;
    core().directory.remove(empty.first_number >> core().shift);
    held_bytes_ -= empty.bytes;
    return control_block_type::free_slab(empty, upstream_);
  }

  // Reports writes to guards, and to dead slots that have returned: others may still belong to a thread.
  void verify_dead() const noexcept {
    if constexpr (!keeps_canaries) return;
    absorb();
    core().directory.for_each([this](slab_type& slab) { verify_dead(slab); });
  }
  void verify_dead(slab_type& slab) const noexcept {
    Layout::guard::expect_all(slab.first_slot, slab.free.used(), this);
    const auto words = [&slab](std::uint32_t index) -> auto& { return Layout::word_at(slab, index); };
    slab.free.for_each_free(words, [&](std::uint32_t index) {
      if (!slot_word::is_raw(words(index).load())) return;
      verify_slot(slab.slot_at(index), Layout::object_bytes, this);
      mark_free(slab.slot_at(index), Layout::object_bytes);
    });
  }

  // The last outstanding slot frees the rest; without one, all is freed now.
  void leave() noexcept {
    verify_dead();
    control_block_type& block = *std::exchange(control_block_, nullptr);
    if (block.abandon(std::move(upstream_))) block.end_core(block);
  }

  ASHLAR_NO_UNIQUE_ADDRESS mutable lock_type lock_;
  slab_type* current_ = nullptr;  // slots are taken from it
  slab_type* growing_ = nullptr;  // the latest, which may have room for more slots
  control_block_type* control_block_ = nullptr;
  // Of the code that makes the pool: the block has functions, and a library that is the first to take may be closed.
  control_block_type* (*begin_block_)(void* memory) = [](void* memory) { return ::new (memory) control_block_type; };
  ASHLAR_NO_UNIQUE_ADDRESS Upstream upstream_;
  std::size_t max_slots_;
  std::size_t step_;
  std::size_t capacity_ = 0;
  std::size_t held_bytes_ = 0;
  std::size_t growth_steps_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
