// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounded supply of adjacent slots for objects: taken from a free list, given back from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The slots of a `Run`: `slot_run` or `allocated_slots`. The slot given back last is taken next.
///
///     one_thread     take <- stack <- unused slots               give -> stack
///     any_thread     take <- stack <- inbox <- unused slots      give -> inbox
///
/// `MarksTaken`: the words show at all times which slots are taken; otherwise only after `mark_taken`, and `live`
/// counts the free ones. Pools that keep objects in free slots, share slots among threads, or check them need it.
/// Thread safety: none with `one_thread`. Otherwise `take` and `try_take` any thread, under the lock of the policy;
/// `give` and `check` any thread, without it; `live` any thread, exact without concurrent calls; the others exclusive.
template <class Run, policy::threads Threads, bool MarksTaken>
class flat_slots {
  static_assert(MarksTaken || !Threads::is_shared, "the slot's word decides which thread gives the slot back first");

public:
  using slot_type = typename Run::slot_type;
  static constexpr std::size_t slot_bytes = Run::slot_bytes;
  static constexpr std::uint32_t raw_mark = slot_word::raw_mark;

  constexpr flat_slots() noexcept = default;
  template <class... Args>
  constexpr explicit flat_slots(std::in_place_t, Args&&... args) : run_(std::forward<Args>(args)...) {}
  flat_slots(const flat_slots&) = delete;  // objects lie in it
  flat_slots& operator=(const flat_slots&) = delete;
  /// Reports writes to dead slots and guards. Expects: exclusive use.
  ~flat_slots() { verify(); }

  /// Returns: a slot. Throws: `std::bad_alloc` when all are taken; as the upstream.
  [[nodiscard]] ASHLAR_INLINE taken_place take() {
    const scope held(lock_);
    if (ASHLAR_LIKELY(!stack_.empty())) return pop();
    return take_slow();
  }

  /// As `take`, but returns a null slot instead of throwing.
  [[nodiscard]] ASHLAR_INLINE taken_place try_take() noexcept {
    const scope held(lock_);
    if (ASHLAR_LIKELY(!stack_.empty())) return pop();
    return try_take_slow();
  }

  /// Effects: takes a slot back; `marks` as for `slot_stack::give`. Expects: it is taken.
  ASHLAR_INLINE void give(void* slot, std::uint32_t marks) noexcept {
    if constexpr (keeps_canaries) guard::expect(slot, this);
    retire_slot<Threads::is_shared>(slot, slot_bytes, marks);
    const std::uint32_t number = number_of(slot);
    if constexpr (Threads::is_shared) static_cast<void>(inbox_->push(number, marks, words()(number)));
    else stack_.give(number, marks, words());
  }

  /// Effects: calls `end(slot)`, which ends the object and returns the marks of its slot, then `give`. Within the `end`
  /// of another slot on the same thread, the slot is deferred: objects that own each other end one after the other, not
  /// nested, and a chain of a million needs the stack of one.
  template <class End>
  void destroy_iteratively(void* slot, End end) noexcept {
    if constexpr (keeps_canaries) guard::expect(slot, this);
    if (deferred_destruction* const running = find_ending()) return defer(*running, number_of(slot));
    // A copy in a register: g++ 12 would reload the stored value in pieces of another size.
    deferred_destruction* const outer = outer_ending();
    deferred_destruction ending = {this, slot_word::none, outer};
    set_ending(&ending);
    std::uint32_t marks = end(slot);
    while (ending.pending != slot_word::none) {
      const std::uint32_t next = ending.pending;
      ending.pending = slot_word::number(words()(next).load());
      give(slot, marks);
      slot = slot_at(next);
      marks = end(slot);
    }
    set_ending(outer);
    give(slot, marks);
  }

  /// Effects: reports a pointer that is not a taken slot of this run, else notes the return of the slot, so that a
  /// second one is detected. `p` is not read.
  ASHLAR_NOINLINE void check(const void* p) noexcept {
    if (!owns(p)) report_foreign_slot(p, this, slot_bytes);
    const std::uintptr_t offset = address_of(p) - address_of(run_.first_slot());
    if (offset % guard::stride != 0) report_slot(fault::misaligned_free, inside_an_object, p, this, slot_bytes);
    auto& word = words()(static_cast<std::uint32_t>(offset / guard::stride));
    // The word of a slot never used is 0; with one thread it may still be unwritten.
    const bool is_unused = !Threads::is_shared && offset / guard::stride >= stack_.used();
    if (is_unused || is_vacant(word.load()) || is_vacant(word.exchange(slot_word::free_mark | slot_word::none)))
      report_slot(fault::double_free, freed_before, p, this, slot_bytes);
  }

  /// Returns: whether the word of a slot marks it as free. Expects: words are marked, and no other thread gives the
  /// slot.
  [[nodiscard]] bool is_free(const void* slot) noexcept { return slot_word::is_free(words()(number_of(slot)).load()); }

  /// Effects: makes the run's memory available now. Throws: as the upstream.
  void reserve() {
    registry_at_fork::enter();
    const scope held(lock_);
    if (!run_.is_open()) open();
  }

  /// Effects: calls `f(slot)` for each taken slot, the lowest first. `f` may give any slot back.
  template <class F>
  void for_each_taken(F f) {
    if constexpr (!MarksTaken) stack_.mark_taken(words());
    stack_.for_each_taken(words(), [&](std::uint32_t number) { f(slot_at(number)); });
  }

  /// Effects: calls `f(slot)`, which destroys the object, for each free slot with a kept object.
  template <class F>
  void for_each_kept(F f) {
    static_assert(MarksTaken);
    for (std::uint32_t number = 0; number < stack_.used(); ++number) {
      auto& word = words()(number);
      const std::uint32_t was = word.load();
      if (!slot_word::is_free(was) || slot_word::is_raw(was)) continue;
      word.store(was | slot_word::raw_mark);
      mark_readable(slot_at(number), slot_bytes);
      f(slot_at(number));
      poison_slot<Threads::is_shared>(slot_at(number), slot_bytes);
    }
  }

  [[nodiscard]] constexpr std::size_t capacity() const noexcept { return run_.capacity(); }
  /// Returns: the bytes held from the upstream. Complexity: O(1).
  [[nodiscard]] std::size_t held_bytes() const noexcept { return is_open_for_all() ? run_.held_bytes() : 0; }
  [[nodiscard]] const auto& upstream_resource() const noexcept { return run_.upstream_resource(); }

  /// Returns: the number of taken slots. Complexity: O(free slots that were used) with `one_thread`, else O(slots that
  /// were used).
  [[nodiscard]] std::size_t live() const noexcept {
    const scope held(lock_);
    std::size_t count = Threads::is_shared ? 0 : stack_.used();
    if constexpr (Threads::is_shared) stack_.for_each_taken(words(), [&](std::uint32_t) { ++count; });
    else stack_.for_each_free(words(), [&](std::uint32_t) { --count; });
    return count;
  }

  /// Returns: whether no slot can be taken. Complexity: O(1).
  [[nodiscard]] bool is_exhausted() const noexcept {
    const scope held(lock_);
    if (inbox_ && !inbox_->is_empty()) return false;
    return stack_.empty() && stack_.used() == run_.capacity();
  }

  /// Returns: whether `p` points into a slot, taken or free.
  [[nodiscard]] bool owns(const void* p) const noexcept {
    return is_open_for_all() && address_of(p) - address_of(run_.first_slot()) < run_.capacity() * guard::stride;
  }

  /// Complexity: O(slots that were used). Expects: no slot is given meanwhile.
  [[nodiscard]] bool invariant() const noexcept {
    const scope held(lock_);
    const bool in_inbox = inbox_ && !inbox_->is_empty();  // these are free, and not on the stack
    return stack_.invariant(static_cast<std::uint32_t>(run_.capacity()), words(), !MarksTaken || in_inbox);
  }

private:
  using lock_type = fork_safe<typename Threads::lock_type>;
  using scope = check_scope<lock_type>;
  static constexpr bool is_opened_among_threads = Threads::is_shared && Run::opens;
  using guard = slot_guard<slot_bytes, alignof(slot_type)>;

  // Notes that the run is open; a reader of the note also sees the slots.
  class shared_note {
  public:
    void note() noexcept { is_noted_.store(true, memory_order_release); }  // pairs with is_noted()
    [[nodiscard]] bool is_noted() const noexcept { return is_noted_.load(memory_order_acquire); }

  private:
    atomic<bool> is_noted_ = false;
  };

  [[nodiscard]] ASHLAR_INLINE auto words() const noexcept {
    return [words = run_.words()](std::uint32_t number) -> auto& { return words[number]; };
  }
  [[nodiscard]] ASHLAR_INLINE void* slot_at(std::uint32_t number) noexcept { return run_.first_slot() + number; }
  [[nodiscard]] ASHLAR_INLINE std::uint32_t number_of(const void* slot) noexcept {
    const auto number = static_cast<std::size_t>(static_cast<const slot_type*>(slot) - run_.first_slot());
    ASHLAR_ASSUME(number < most_slots);  // spares a truncation to 32 bits at each use
    return static_cast<std::uint32_t>(number);
  }
  [[nodiscard]] static bool is_vacant(std::uint32_t word) noexcept {
    return slot_word::is_free(word) || (Threads::is_shared && word == 0);
  }

  [[nodiscard]] ASHLAR_INLINE taken_place pop() noexcept {
    if constexpr (MarksTaken) return reuse(stack_.pop(words()));
    else return reuse(stack_.pop_unmarked(words()));
  }

  // For a slot that was given back.
  [[nodiscard]] ASHLAR_INLINE taken_place reuse(taken_slot taken) noexcept {
    if (keeps_canaries && taken.is_raw) verify_slot(slot_at(taken.number), slot_bytes, this);
    return place_of(taken);
  }

  // Reports writes to guards and dead slots. Without marks the words do not show which slots are dead.
  void verify() noexcept {
    if constexpr (keeps_canaries) guard::expect_all(run_.first_slot(), stack_.used(), this);
    if constexpr (keeps_canaries && MarksTaken)
      for (std::uint32_t number = 0; number < stack_.used(); ++number)
        if (slot_word::is_dead(words()(number).load())) verify_slot(slot_at(number), slot_bytes, this);
  }

  [[nodiscard]] ASHLAR_INLINE taken_place place_of(taken_slot taken) noexcept {
    void* const slot = slot_at(taken.number);
    ASHLAR_ASSUME(slot != nullptr);  // spares a null check of the caller
    mark_slot<Threads::is_shared>(slot, slot_bytes, taken.is_raw);
    return {slot, taken.is_raw};
  }

  [[nodiscard]] ASHLAR_NOINLINE taken_place take_slow() {
    registry_at_fork::enter();
    if (!run_.is_open()) open();
    const taken_place got = take_unused();
    if (got.slot == nullptr) throw_bad_alloc(slot_bytes, alignof(slot_type));
    return got;
  }

  [[nodiscard]] ASHLAR_NOINLINE taken_place try_take_slow() noexcept {
    registry_at_fork::enter();
    if (!run_.is_open()) {
      if (!run_.try_open(this)) return {};
      if (opened_) opened_->note();
    }
    return take_unused();
  }

  void open() {
    run_.open(this);
    if (opened_) opened_->note();
  }

  // Returns: whether the run is open, without a lock: another thread may be opening it.
  [[nodiscard]] bool is_open_for_all() const noexcept { return opened_ ? opened_->is_noted() : run_.is_open(); }

  // Slots that other threads gave come before unused ones.
  [[nodiscard]] taken_place take_unused() noexcept {
    if constexpr (Threads::is_shared) {
      stack_.adopt(inbox_->take_all());
      if (!stack_.empty()) return pop();
    }
    const taken_slot taken = stack_.take_unused(static_cast<std::uint32_t>(run_.capacity()), words());
    if constexpr (keeps_canaries)
      if (taken.number != slot_word::none) guard::begin(slot_at(taken.number), taken.number == 0);
    return taken.number != slot_word::none ? place_of(taken) : taken_place{};
  }

  void defer(deferred_destruction& until, std::uint32_t number) noexcept {
    words()(number).store(slot_word::free_mark | until.pending);
    until.pending = number;
  }

  [[nodiscard]] deferred_destruction* outer_ending() const noexcept {
    if constexpr (Threads::is_shared) return deferred_destruction::of_this_thread();
    else return nullptr;
  }
  [[nodiscard]] deferred_destruction* find_ending() const noexcept {
    if constexpr (!Threads::is_shared) return ending_;
    deferred_destruction* at = outer_ending();
    while (at != nullptr && at->core != this) at = at->outer;
    return at;
  }
  void set_ending(deferred_destruction* to) noexcept {
    if constexpr (Threads::is_shared) deferred_destruction::of_this_thread() = to;
    else ending_ = to;
  }

  slot_stack stack_;
  deferred_destruction* ending_ = nullptr;  // the running destruction, if one thread uses the pool
  ASHLAR_NO_UNIQUE_ADDRESS mutable lock_type lock_;
  ASHLAR_NO_UNIQUE_ADDRESS part_if<Threads::is_shared, slot_inbox<>> inbox_;
  ASHLAR_NO_UNIQUE_ADDRESS part_if<is_opened_among_threads, shared_note> opened_;
  Run run_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
