// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slabs of slots, and the part of a pool that they share with its handle, and with its objects after the handle has
// ended.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/intrusive.hpp>

namespace ashlar::ASHLAR_ABI::detail {

template <policy::threads Threads>
struct slot_pool_core;

/// The word of a slot under a threads policy.
template <policy::threads Threads>
using slot_word_of = std::conditional_t<Threads::is_shared, shared_slot_word<>, plain_slot_word>;

/// Every slab starts at a multiple of this, so that the address of any of its first `slot_slab_alignment` bytes leads
/// to the header: see `around`.
inline constexpr std::size_t slot_slab_alignment = std::size_t{256} * 1024;

/// The header of a slab.
///
///     words in the slab     | colour gap | header | word 0 | word 1 | ... | slot 0 | slot 1 | ...
///     words beside          | colour gap | header | slot 0 | word 0 | slot 1 | word 1 | ...
///
/// The gap, 0 to 960 bytes in steps of 64, is a function of the slab's address: without it the headers of all slabs
/// would fall into the same cache sets. The first cache line is constant while the slab exists; the second belongs to
/// the thread that takes slots. Invariant: `live` is the number of slots that are not in `free`; slots in transit are
/// live.
template <policy::threads Threads>
struct alignas(64) slot_slab {
  using word_type = slot_word_of<Threads>;

  static constexpr std::size_t colours = 16;
  static constexpr std::size_t colour_step = 64;
  static constexpr std::size_t most_gap = (colours - 1) * colour_step;

  slot_pool_core<Threads>* home;
  std::byte* first_slot;
  std::byte* words;            ///< the word of slot 0
  std::uint64_t factor;        ///< ceil(2^40 / slot_bytes), or 0 with one slot
  std::uint32_t slot_bytes;    ///< from slot to slot, with the guard between them
  std::uint32_t word_stride;   ///< from word to word
  std::uint32_t capacity;      ///< slots that may be taken
  std::uint32_t room;          ///< slots with memory; the growing pool adds them to `capacity`
  std::uint32_t first_number;  ///< of slot 0, among all slots of the pool
  bool ends_plainly;           ///< the last release of an object only gives its slot back
  bool ends_by_destroying;     ///< the last release destroys the object before, and does no more

  alignas(64) slot_stack free;
  std::uint32_t live;
  std::uint32_t signal_at;  ///< `hear_from` is called when `live` falls below this
  slot_slab* next;          ///< in the pool's list of slabs with free slots
  slot_slab* previous;
  std::size_t bytes;  ///< of the slab, as requested
  bool is_current;    ///< whether slots are taken from it
  ASHLAR_NO_UNIQUE_ADDRESS slab_registration registration;

  /// Returns: the header of the slab around a pointer into its first `slot_slab_alignment` bytes.
  [[nodiscard]] ASHLAR_INLINE static slot_slab* around(const void* p) noexcept {
    return in(align_down(const_cast<void*>(p), slot_slab_alignment));
  }

  /// Returns: the header of the slab that starts at `start`.
  [[nodiscard]] ASHLAR_INLINE static slot_slab* in(std::byte* start) noexcept {
    const std::size_t colour = (address_of(start) / slot_slab_alignment) % colours;
    return static_cast<slot_slab*>(static_cast<void*>(start + colour * colour_step));
  }

  [[nodiscard]] std::byte* start() noexcept { return align_down(static_cast<void*>(this), slot_slab_alignment); }

  /// Returns: the index of the slot that a pointer points into. Expects: it points into one; for a slab's only slot,
  /// into its first 256 KiB. (The error of the multiplication is below 2^18 * 2^17 / 2^40 of a slot.)
  [[nodiscard]] ASHLAR_INLINE std::uint32_t index_of(const void* p) const noexcept {
    const std::uint64_t offset = address_of(p) - address_of(first_slot);
    return static_cast<std::uint32_t>((offset * factor) >> 40);
  }

  [[nodiscard]] ASHLAR_INLINE word_type& word_at(std::uint32_t index) const noexcept {
    return *static_cast<word_type*>(static_cast<void*>(words + std::size_t{index} * word_stride));
  }

  [[nodiscard]] ASHLAR_INLINE void* slot_at(std::uint32_t index) const noexcept {
    return first_slot + std::size_t{index} * slot_bytes;
  }

  [[nodiscard]] static std::uint64_t factor_for(std::size_t slot_bytes, std::uint32_t capacity) noexcept {
    if (capacity == 1 || slot_bytes == 0) return 0;
    return ((std::uint64_t{1} << 40) + slot_bytes - 1) / slot_bytes;
  }

  /// Returns: whether each slot is either free once or counted as live. Complexity: O(capacity).
  [[nodiscard]] bool invariant() const noexcept {
    const auto words_here = [this](std::uint32_t number) -> word_type& { return word_at(number); };
    if (!free.invariant(capacity, words_here)) return false;
    std::uint32_t taken = 0;
    free.for_each_taken(words_here, [&](std::uint32_t) { ++taken; });
    return taken == live;
  }
};

/// Finds the slot and the word of an object by arithmetic alone, without reading a header. A slab has
/// `slot_slab_alignment` bytes and as many slots as fit. If fewer than two fit, it has one slot and the necessary
/// length. A pool may make slabs with fewer slots.
template <policy::threads Threads, std::size_t ObjectBytes, std::size_t ObjectAlignment, bool IsBeside>
struct slot_layout {
  using slab_type = slot_slab<Threads>;
  using word_type = slot_word_of<Threads>;

  static_assert(ObjectAlignment <= slot_slab_alignment / 4, "no slot is aligned to more than 64 KiB");

  static constexpr std::size_t word_bytes = sizeof(word_type);
  static constexpr std::size_t alignment = std::max(ObjectAlignment, alignof(word_type));
  /// At `hardened` no word lies beside an object, since an overflow would change the count.
  static constexpr bool is_beside = IsBeside && !has_guards;
  static constexpr std::size_t object_bytes = ObjectBytes;
  using guard = slot_guard<ObjectBytes, ObjectAlignment>;
  /// Offset of a word after the object, from the start of the slot.
  static constexpr std::size_t word_offset = align_up(ObjectBytes, word_bytes);
  static constexpr std::size_t slot_bytes = is_beside ? align_up(word_offset + word_bytes, alignment) : guard::stride;
  static constexpr std::size_t bytes_per_slot = slot_bytes + (is_beside ? 0 : word_bytes);

private:
  static constexpr std::size_t header_bytes = sizeof(slab_type);
  // Slots with a larger alignment than the header start at different offsets after it.
  static constexpr std::size_t most_padding = alignment - 1;
  static constexpr std::size_t most_front = slab_type::most_gap + header_bytes + front_guard + most_padding;
  static constexpr std::size_t fitting = most_front + bytes_per_slot > slot_slab_alignment
                                             ? 0
                                             : (slot_slab_alignment - most_front) / bytes_per_slot;

public:
  static constexpr std::uint32_t slots_per_slab = static_cast<std::uint32_t>(std::max<std::size_t>(fitting, 1));
  static constexpr std::size_t words_bytes = is_beside ? 0 : slots_per_slab * word_bytes;

  /// Returns: the bytes of a slab with `slots` slots. Expects: at most `slots_per_slab`.
  [[nodiscard]] static constexpr std::size_t slab_bytes(std::uint32_t slot_count) noexcept {
    if (slot_count == slots_per_slab && slot_count > 1) return slot_slab_alignment;
    return most_front + words_bytes + slot_count * slot_bytes;
  }

  [[nodiscard]] ASHLAR_INLINE static std::byte* slots_of(slab_type* header) noexcept {
    constexpr std::size_t front = header_bytes + words_bytes + front_guard;
    std::byte* const start = static_cast<std::byte*>(static_cast<void*>(header));
    if constexpr (alignment <= alignof(slab_type)) return start + align_up(front, alignment);
    else return align_up(static_cast<void*>(start + front), alignment);
  }

  [[nodiscard]] ASHLAR_INLINE static std::byte* words_of(slab_type* header) noexcept {
    if constexpr (is_beside) return slots_of(header) + word_offset;
    else return static_cast<std::byte*>(static_cast<void*>(header)) + header_bytes;
  }

  /// Returns: as `slab.word_at(index)`.
  [[nodiscard]] ASHLAR_INLINE static word_type& word_at(slab_type& slab, std::uint32_t index) noexcept {
    constexpr std::size_t stride = is_beside ? slot_bytes : word_bytes;
    return *static_cast<word_type*>(static_cast<void*>(words_of(&slab) + std::size_t{index} * stride));
  }

  /// Returns: as `slab.slot_at(index)`.
  [[nodiscard]] ASHLAR_INLINE static void* slot_at(slab_type& slab, std::uint32_t index) noexcept {
    return slots_of(&slab) + std::size_t{index} * slot_bytes;
  }

  /// Returns: the index of the slot that starts at `slot`.
  [[nodiscard]] ASHLAR_INLINE static std::uint32_t index_of(slab_type& slab, const void* slot) noexcept {
    if constexpr (slots_per_slab == 1) return 0;
    else return static_cast<std::uint32_t>(address_of(slot) - address_of(slots_of(&slab))) / divisor;
  }

  /// Returns: the word of the object at the start of a slot.
  [[nodiscard]] ASHLAR_INLINE static word_type& word_of(const void* slot) noexcept {
    if constexpr (is_beside) {
      void* const word = static_cast<std::byte*>(const_cast<void*>(slot)) + word_offset;
      return *static_cast<word_type*>(word);
    } else {
      slab_type& slab = *slab_type::around(slot);
      return word_at(slab, index_of(slab, slot));
    }
  }

private:
  static constexpr std::uint32_t divisor = static_cast<std::uint32_t>(slots_per_slab == 1 ? 1 : slot_bytes);
};

/// Slots in transit: any thread gives one back, the pool takes all. As `inbox`, with numbers for pointers and the
/// slots' own words for links, so that the object in a slot stays untouched.
///
/// The word of a slot belongs to its giver until the push, and afterwards to the taker of the chain. A push needs only
/// an unchanged head, so ABA is harmless; no intermediate state is visible. Every change of the head is a
/// read-modify-write: one acquiring exchange synchronises with all pushes below it.
///
/// Thread safety: any thread pushes, lock-free; the caller serialises takers and closers, which are wait-free.
template <class Atomics = default_atomics>
class slot_inbox {
public:
  constexpr slot_inbox() noexcept = default;
  slot_inbox(const slot_inbox&) = delete;
  slot_inbox& operator=(const slot_inbox&) = delete;

  /// Effects: adds a slot; `marks` as for `slot_stack::give`. Returns: false if the inbox is closed; the slot is then
  /// not added. Expects: the slot belongs to the caller.
  [[nodiscard]] ASHLAR_INLINE bool push(std::uint32_t number, std::uint32_t marks,
                                        shared_slot_word<Atomics>& word) noexcept {
    std::uint32_t head = head_.load(memory_order_relaxed);  // only compared, never followed
    do {
      if (ASHLAR_UNLIKELY(head == slot_word::closed)) return false;
      word.store(slot_word::free_mark | marks | head);
    } while (!head_.compare_exchange_weak(head, number, memory_order_release,  // pairs with take_all() and close()
                                          memory_order_relaxed));
    return true;
  }

  /// Returns: the first of a chain of all arrived slots, the latest first; `none` if there are none.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_all() noexcept {
    const std::uint32_t seen = head_.load(memory_order_relaxed);
    if (seen == slot_word::none || seen == slot_word::closed) return slot_word::none;
    return head_.exchange(slot_word::none, memory_order_acquire);  // pairs with push()
  }

  /// Effects: refuses all pushes from now on. Returns: as `take_all`.
  [[nodiscard]] std::uint32_t close() noexcept {
    const std::uint32_t all = head_.exchange(slot_word::closed, memory_order_acquire);  // pairs with push()
    return all == slot_word::closed ? slot_word::none : all;
  }

  /// Returns: whether the inbox was empty at the load.
  [[nodiscard]] bool is_empty() const noexcept { return head_.load(memory_order_relaxed) == slot_word::none; }
  [[nodiscard]] bool is_closed() const noexcept { return head_.load(memory_order_relaxed) == slot_word::closed; }

private:
  typename Atomics::template atomic<std::uint32_t> head_ = slot_word::none;
};

/// The queue in which slots return to a pool from any thread, and the count that frees a pool which its objects
/// outlive. It lies in memory that outlives the pool's handle, and is freed by exactly one thread:
///
///     while the pool lives   give(): a push into the inbox, after which the caller touches nothing
///     the handle ends        close(), then abandon(number of outstanding slots)
///     after the close        give(): the push is refused, the slot counts as returned
///
/// `outstanding_` is the number of outstanding slots, less those returned before `abandon` set that number; modulo
/// 2^32, since there are fewer than 2^30 slots. Exactly one addition or subtraction brings it to 0: its thread is alone
/// and frees the memory. No lock is needed, and no thread waits.
///
/// Thread safety: `give` any thread; the others by the handle's owner, one at a time.
template <class Atomics = default_atomics>
class return_queue {
public:
  /// Effects: gives a slot back; `marks` as for `slot_stack::give`. Expects: the slot belongs to the caller. Returns:
  /// whether all slots are back and the pool has ended: then the caller frees the memory that contains this queue.
  /// After false, that memory may be freed already.
  [[nodiscard]] ASHLAR_INLINE bool give(std::uint32_t number, std::uint32_t marks,
                                        shared_slot_word<Atomics>& word) noexcept {
    if (ASHLAR_LIKELY(inbox_.push(number, marks, word))) return false;
    return give_late();
  }

  /// Returns: as `slot_inbox::take_all`.
  [[nodiscard]] ASHLAR_INLINE std::uint32_t take_all() noexcept { return inbox_.take_all(); }

  /// Effects: refuses slots from now on; `abandon` accounts for the refused ones. Returns: the chain of the slots that
  /// arrived before.
  [[nodiscard]] std::uint32_t close() noexcept { return inbox_.close(); }

  /// Effects: sets the number of outstanding slots: all that are neither free nor in the chain of `close`. Returns: as
  /// `give`. Expects: closed; no more slots are taken.
  [[nodiscard]] bool abandon(std::uint32_t out) noexcept {
    // Pairs with give_late(), both ways: the freeing thread sees the writes of the others to objects and pool.
    return outstanding_.fetch_add(out, memory_order_acq_rel) + out == 0;
  }

private:
  [[nodiscard]] ASHLAR_COLD bool give_late() noexcept {
    return outstanding_.fetch_sub(1, memory_order_acq_rel) == 1;  // pairs with itself and with abandon()
  }

  slot_inbox<Atomics> inbox_;
  typename Atomics::template atomic<std::uint32_t> outstanding_ = 0;
};

/// The slabs of a pool by their numbers, in a table with entries that never move. The first entries lie in the table
/// itself, the others in segments of memory that the owner provides. A segment has seven times as many entries as all
/// before it:
///
///     numbers   0 .. 63 | 64 .. 511 | 512 .. 4095 | ...
///               inline  | segment 0 | segment 1   | ...
///
/// An entry is set before any slot of its slab is handed out. A thread with a slot may therefore look its slab up
/// without a lock, while others are added. Thread safety: `at` any thread with a slot of that slab; the others one at a
/// time.
template <class Slab>
class slot_directory {
public:
  static constexpr std::uint32_t inline_entries = 64;
  static constexpr std::size_t segments = 8;  // 2^30 entries

  [[nodiscard]] Slab* at(std::uint32_t number) const noexcept {
    if (ASHLAR_LIKELY(number < inline_entries)) return first_[number];
    const std::size_t s = segment_of(number);
    return segments_[s][number - first_of(s)];
  }

  /// Returns: the lowest number without a slab. Complexity: O(numbers ever added) after a removal, else O(1).
  [[nodiscard]] std::uint32_t vacancy() const noexcept {
    std::uint32_t number = lowest_;
    while (number < size_ && at(number) != nullptr) ++number;
    return number;
  }

  /// Returns: whether `add(number)` needs a segment first.
  [[nodiscard]] bool needs_segment(std::uint32_t number) const noexcept {
    return number >= inline_entries && segments_[segment_of(number)] == nullptr;
  }
  /// Returns: the bytes of the segment of `number`.
  [[nodiscard]] static std::size_t segment_bytes(std::uint32_t number) noexcept { return bytes_of(segment_of(number)); }
  /// Expects: `needs_segment(number)`; `memory` has `segment_bytes(number)` bytes, aligned for a pointer.
  void add_segment(std::uint32_t number, void* memory) noexcept {
    segments_[segment_of(number)] = static_cast<Slab**>(memory);
  }

  /// Expects: `number == vacancy()`, and there is a segment for it.
  void add(std::uint32_t number, Slab* slab) noexcept {
    set(number, slab);
    lowest_ = number + 1;
    if (number == size_) ++size_;
  }

  /// Expects: there is a slab with that number, and no slot of it is out.
  void remove(std::uint32_t number) noexcept {
    set(number, nullptr);
    if (number < lowest_) lowest_ = number;
  }

  /// Effects: calls `f(slab)` for each slab, the lowest number first; `f` may remove it.
  template <class F>
  void for_each(F f) const {
    for (std::uint32_t number = 0; number < size_; ++number)
      if (Slab* const slab = at(number); slab != nullptr) f(*slab);
  }

  /// Effects: calls `f(memory, bytes)` for each segment. The directory must not be used afterwards.
  template <class F>
  void for_each_segment(F f) const {
    for (std::size_t s = 0; s < segments; ++s)
      if (segments_[s] != nullptr) f(static_cast<void*>(segments_[s]), bytes_of(s));
  }

private:
  [[nodiscard]] static std::uint32_t first_of(std::size_t segment) noexcept { return inline_entries << (3 * segment); }
  [[nodiscard]] static std::size_t bytes_of(std::size_t segment) noexcept {
    return std::size_t{first_of(segment)} * 7 * sizeof(Slab*);
  }
  [[nodiscard]] static std::size_t segment_of(std::uint32_t number) noexcept {
    return (static_cast<std::size_t>(std::bit_width(number / inline_entries)) - 1) / 3;
  }

  void set(std::uint32_t number, Slab* slab) noexcept {
    const std::size_t s = number < inline_entries ? 0 : segment_of(number);
    (number < inline_entries ? first_[number] : segments_[s][number - first_of(s)]) = slab;
  }

  std::uint32_t size_ = 0;    // one past the highest number ever added
  std::uint32_t lowest_ = 0;  // no number below it is vacant
  std::array<Slab*, inline_entries> first_ = {};
  std::array<Slab**, segments> segments_ = {};
};

struct deferred_destruction;

/// Lives from the pool's first slot until the handle and all objects have ended. The handle or the last release,
/// whichever comes last, ends it.
template <policy::threads Threads>
struct slot_pool_core {
  using slab_type = slot_slab<Threads>;
  /// Called after the last release of an object: ends or recycles it and gives its slot back.
  void (*end_object)(slab_type&, std::uint32_t index) noexcept = nullptr;
  /// Called when all slots are back after the handle has ended: frees all memory.
  void (*end_core)(slot_pool_core&) noexcept = nullptr;
  deferred_destruction* ending = nullptr;  ///< the object that is ending, if one thread uses the pool
  std::uint32_t shift = 0;                 ///< slots of slab n have the numbers from n << shift
  std::uint32_t busy_slabs = 0;            ///< slabs with live objects, after the handle has ended; 0 before
  list<slab_type> available;               ///< slabs with free slots, except the current one
  slot_directory<slab_type> directory;
  /// All threads write its cache line. With one thread, a freed slot returns to its slab at once.
  alignas(Threads::is_shared ? 64 : alignof(void*)) part_if<Threads::is_shared, return_queue<>> home;

  /// A slot by its number.
  struct place {
    slab_type& slab;
    std::uint32_t index;
  };
  [[nodiscard]] place find(std::uint32_t number) const noexcept {
    return {*directory.at(number >> shift), number & ((std::uint32_t{1} << shift) - 1)};
  }

  /// Effects: notes that a slab has a free slot again, or, after the end of the handle, that its last object has ended.
  ASHLAR_COLD void hear_from(slab_type& slab) noexcept {
    if (busy_slabs != 0) {
      if (--busy_slabs == 0) end_core(*this);
    } else if (!slab.is_current) {
      available.push_back(&slab);
    }
  }

  /// Effects: puts a slot into its slab. Expects: one thread at a time.
  ASHLAR_INLINE static void put(slab_type& slab, std::uint32_t index, std::uint32_t marks,
                                slot_word_of<Threads>& word) noexcept {
    slab.free.give(index, marks, [&word](std::uint32_t) -> slot_word_of<Threads>& { return word; });
    if (ASHLAR_UNLIKELY(slab.live-- == slab.signal_at)) slab.home->hear_from(slab);
  }

  /// Effects: gives a slot back, and frees all memory if it was the last one and the handle has ended. The slab may be
  /// freed when this returns. `marks` as for `slot_stack::give`. Expects: `retire_slot` was called for the slot, with
  /// the same marks.
  ASHLAR_INLINE static void give(slab_type& slab, std::uint32_t index, std::uint32_t marks,
                                 slot_word_of<Threads>& word) noexcept {
    if constexpr (Threads::is_shared) {
      slot_pool_core& core = *slab.home;
      if (ASHLAR_UNLIKELY(core.home->give(slab.first_number + index, marks, word))) core.end_core(core);
    } else {
      put(slab, index, marks, word);
    }
  }
};

/// During the destruction of an object, other objects of the same pool without references wait, linked through their
/// words. They end after the destructor that dropped them. One such record for each pool and thread lies on the stack
/// of the outermost release, so that a chain of a million objects needs the stack of one:
///
///     step                                  ending   pending
///     a loses its last reference            a        -
///     ~a() drops the last of b and of c     a        c -> b
///     ~a() has returned                     c        b
///     ~c() has returned                     b        -
struct deferred_destruction {
  const void* core;
  std::uint32_t pending;        ///< slot number of the latest deferred object, or `none`
  deferred_destruction* outer;  ///< the destruction in another pool inside which this one began

  /// The innermost one of this thread, in pools for any thread.
  static deferred_destruction*& of_this_thread() noexcept {
    constinit thread_local deferred_destruction* innermost = nullptr;
    return innermost;
  }
};

template <policy::threads Threads>
[[nodiscard]] deferred_destruction* find_ending(const slot_pool_core<Threads>& core) noexcept {
  if constexpr (!Threads::is_shared) {
    return core.ending;
  } else {
    deferred_destruction* at = deferred_destruction::of_this_thread();
    while (at != nullptr && at->core != &core) at = at->outer;
    return at;
  }
}

template <policy::threads Threads>
void set_ending(slot_pool_core<Threads>& core, deferred_destruction* to) noexcept {
  (Threads::is_shared ? deferred_destruction::of_this_thread() : core.ending) = to;
}

template <policy::threads Threads>
void defer(deferred_destruction& until, slot_slab<Threads>& slab, std::uint32_t index) noexcept {
  slab.word_at(index).store(slot_word::free_mark | until.pending);
  until.pending = slab.first_number + index;
}

// Ends the deferred objects, the latest first, and gives each slot back after the next one is read.
template <policy::threads Threads, class End>
ASHLAR_NOINLINE void end_pending(deferred_destruction& ending, slot_slab<Threads>* in, std::uint32_t index,
                                 std::uint32_t marks, End end) noexcept {
  using core_type = slot_pool_core<Threads>;
  core_type& core = *in->home;
  while (ending.pending != slot_word::none) {
    const auto next = core.find(ending.pending);
    ending.pending = slot_word::number(next.slab.word_at(next.index).load());
    core_type::give(*in, index, marks, in->word_at(index));  // the pool stays: `next` belongs to it
    in = &next.slab;
    index = next.index;
    marks = end(*in, index);
  }
  set_ending(core, ending.outer);  // before the pool may end
  core_type::give(*in, index, marks, in->word_at(index));
}

/// Effects: calls `end(slab, index)`, which ends the object, retires its slot and returns the marks, and gives the slot
/// back. Then it ends all objects that were deferred meanwhile. A call within `end` of the same pool and thread defers
/// the object. The pool may end with the last object. `word_at(slab, index)`: the word of a slot, for callers that find
/// it faster than the slab.
template <policy::threads Threads, class End, class WordAt>
ASHLAR_INLINE void destroy_iteratively(slot_slab<Threads>& slab, std::uint32_t index, End end,
                                       WordAt word_at) noexcept {
  slot_pool_core<Threads>& core = *slab.home;
  if (deferred_destruction* const running = detail::find_ending(core); ASHLAR_UNLIKELY(running != nullptr))
    return detail::defer(*running, slab, index);
  deferred_destruction ending = {&core, slot_word::none,
                                 Threads::is_shared ? deferred_destruction::of_this_thread() : nullptr};
  detail::set_ending(core, &ending);
  const std::uint32_t marks = end(slab, index);
  if (ASHLAR_UNLIKELY(ending.pending != slot_word::none)) return detail::end_pending(ending, &slab, index, marks, end);
  detail::set_ending(core, ending.outer);  // before the pool may end
  slot_pool_core<Threads>::give(slab, index, marks, word_at(slab, index));
}

template <policy::threads Threads, class End>
void destroy_iteratively(slot_slab<Threads>& slab, std::uint32_t index, End end) noexcept {
  destroy_iteratively(slab, index, end,
                      [](slot_slab<Threads>& in, std::uint32_t which) -> auto& { return in.word_at(which); });
}

}  // namespace ashlar::ASHLAR_ABI::detail
