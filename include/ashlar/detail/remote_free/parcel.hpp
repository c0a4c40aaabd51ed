// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parcels of freed cells on their way to the heap that owns them: each is listed in a few of its own cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// An inbox of remote frees: any thread pushes, and one thread at a time takes all nodes. A linked stack with one
/// pointer of state. `Node` has a member `next` of type `Atomics::plain<Node*>` and an alignment above 1 byte. No
/// operation pops a single node, so ABA is harmless: a push needs only an unchanged head.
///
/// Every change of the head is a read-modify-write, so a push continues the release sequences of all pushes below it.
/// The acquiring exchange of a taker synchronises with each of them: the links and all earlier writes of the pushers
/// may be plain. No intermediate state is visible, so a thread may die or fork at any point.
/// (Treiber, "Systems Programming: Coping with Parallelism", 1986, with removal of the whole stack only.)
///
/// Thread safety: any thread pushes; the caller serialises takers and closers.
template <class Node, class Atomics = default_atomics>
class inbox {
public:
  constexpr inbox() noexcept = default;
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Effects: adds a node; lock-free. Returns: false if the inbox is closed; the node is then not added.
  [[nodiscard]] bool push(Node* node) noexcept {
    Node* head = head_.load(memory_order_relaxed);  // only compared, never followed
    do {
      if (ASHLAR_UNLIKELY(head == closed())) return false;
      node->next = head;
    } while (!head_.compare_exchange_weak(head, node, memory_order_release,  // pairs with take_all() and close()
                                          memory_order_relaxed));
    return true;
  }

  /// Returns: all nodes, linked by `next`, the latest first; null if the inbox is empty or closed. Wait-free.
  [[nodiscard]] Node* take_all() noexcept {
    if (is_empty() || is_closed()) return nullptr;
    return head_.exchange(nullptr, memory_order_acquire);  // pairs with push()
  }

  /// Effects: closes the inbox; later pushes fail. Returns: as `take_all`. Wait-free.
  [[nodiscard]] Node* close() noexcept {
    Node* const all = head_.exchange(closed(), memory_order_acquire);  // pairs with push()
    return all == closed() ? nullptr : all;
  }

  /// Returns: whether the inbox was empty at the load; a push may follow at once.
  [[nodiscard]] bool is_empty() const noexcept { return head_.load(memory_order_relaxed) == nullptr; }
  [[nodiscard]] bool is_closed() const noexcept { return head_.load(memory_order_relaxed) == closed(); }

private:
  // An address that no node has.
  [[nodiscard]] static Node* closed() noexcept { return reinterpret_cast<Node*>(std::uintptr_t{1}); }

  typename Atomics::template atomic<Node*> head_ = nullptr;
};

/// A carrier: a dead cell that lists up to 14 others by their addresses. A parcel is a stack of carriers, all full but
/// the top one, so that fourteen of fifteen dead cells are neither read nor written on the way:
///
///       word 0: the carrier below, and in its low bits the count of the cells listed here
///       word 1: of the top carrier, the next parcel of the inbox
///       word 2: a dead cell
///       …
///
/// Cells of two words list none: such a parcel is a linked list.
template <class Atomics = default_atomics>
struct parcel_carrier {
  using word = typename Atomics::template plain<std::uintptr_t>;

  static constexpr std::size_t first_place = 2;
  static constexpr std::size_t most_listed = 14;  ///< so that a carrier takes two cache lines
  static constexpr std::uintptr_t count_mask = 15;
  static constexpr std::size_t most_carriers = 128;  ///< of a parcel

  word below;
  typename Atomics::template plain<parcel_carrier*> next;

  /// Returns: the cells that a carrier of `cell_bytes` bytes lists. Expects: at least two words, aligned to 16 bytes.
  [[nodiscard]] static constexpr std::size_t capacity(std::size_t cell_bytes) noexcept {
    return detail::min(cell_bytes / sizeof(word) - first_place, most_listed);
  }

  [[nodiscard]] ASHLAR_INLINE word* places() noexcept { return reinterpret_cast<word*>(this) + first_place; }
  /// The link of a parcel that was taken out of the inbox: an address that no carrier has.
  [[nodiscard]] static parcel_carrier* taken() noexcept { return reinterpret_cast<parcel_carrier*>(std::uintptr_t{1}); }

  /// Returns: a parcel of one dead cell.
  [[nodiscard]] static parcel_carrier* of_one(void* cell) noexcept {
    mark_readable(cell, sizeof(parcel_carrier));
    auto* const alone = static_cast<parcel_carrier*>(cell);
    alone->below = 0;
    return alone;
  }

  /// Effects: prefetches the two cache lines of a carrier.
  ASHLAR_INLINE void fetch_ahead() noexcept {
    ASHLAR_FETCH_TO_WRITE(this);
    ASHLAR_FETCH_TO_WRITE(reinterpret_cast<word*>(this) + first_place + most_listed - 1);
  }

  [[nodiscard]] std::size_t listed() const noexcept { return static_cast<std::uintptr_t>(below) & count_mask; }
  [[nodiscard]] ASHLAR_INLINE void* listed_at(std::size_t i) noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(places()[i]));
  }
  [[nodiscard]] parcel_carrier* carrier_below() const noexcept {
    return reinterpret_cast<parcel_carrier*>(static_cast<std::uintptr_t>(below) & ~count_mask);
  }
};

/// The parcel that a freeing thread fills for one heap. Thread safety: one thread.
template <class Atomics = default_atomics>
class open_parcel {
public:
  using carrier = parcel_carrier<Atomics>;

  /// Effects: lists a dead cell. Returns: false, without an effect, if the top carrier has no place left:
  /// `begin_carrier` makes the cell one.
  [[nodiscard]] ASHLAR_INLINE bool try_add(void* cell) noexcept {
    if (ASHLAR_UNLIKELY(at_ == end_)) return false;
    mark_readable(at_, sizeof *at_);
    *at_++ = reinterpret_cast<std::uintptr_t>(cell);
    return true;
  }

  /// Effects: adds a dead cell of `bytes` bytes as the carrier of the next ones. Returns: the bytes by which `reserved`
  /// grows, modulo 2^N: perhaps less than nothing if the last carrier was not full.
  std::size_t begin_carrier(void* cell, std::size_t bytes) noexcept {
    const std::size_t before = reserved_;
    finish_carrier();
    mark_readable(cell, sizeof(carrier));
    auto* const top = static_cast<carrier*>(cell);
    top->below = reinterpret_cast<std::uintptr_t>(top_);
    const std::size_t places = carrier::capacity(bytes);
    top_ = top;
    at_ = top->places();
    end_ = at_ + places;
    listed_bytes_ = detail::min(bytes, most_listed_bytes);
    cells_ += 1 + places;
    reserved_ += bytes + places * listed_bytes_;
    return reserved_ - before;
  }

  /// Effects: counts the cells that the top carrier lists by `bytes_of(cell)` of one of them, no longer by its own
  /// bytes: a header that is freed before its large buffers has another size. Returns: as `begin_carrier`.
  template <class F>
  std::size_t sample_listed(F bytes_of) noexcept {
    if (top_ == nullptr || listed() == 0) return 0;
    // Of the high bits of the product each index is as likely, regardless of the order of frees.
    const auto turn = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(top_) >> 4) * 0x9E3779B9u;
    const auto at = static_cast<std::size_t>(std::uint64_t{turn} * listed() >> 32);
    const std::size_t were = std::exchange(listed_bytes_, bytes_of(top_->listed_at(at)));
    const std::size_t more = static_cast<std::size_t>(end_ - top_->places()) * (listed_bytes_ - were);
    reserved_ += more;
    return more;
  }

  /// Returns: the top carrier of the parcel, which is now empty.
  [[nodiscard]] carrier* close() noexcept {
    finish_carrier();
    carrier* const closed = top_;
    *this = {};
    return closed;
  }

  [[nodiscard]] bool is_empty() const noexcept { return top_ == nullptr; }
  /// Returns: whether the cell is the top carrier: its second free would link it to itself.
  [[nodiscard]] bool is_top(const void* cell) const noexcept { return top_ == cell; }
  [[nodiscard]] std::size_t cells() const noexcept { return cells_ - places_left(); }
  /// Returns: bytes of the cells, if those that a carrier lists are of the size of the sampled one, or until
  /// `sample_listed` of the carrier's, but no more than 1 KiB: an estimate from two cells in fifteen.
  [[nodiscard]] std::size_t bytes() const noexcept { return reserved_ - places_left() * listed_bytes_; }

  /// Returns: bytes of the cells once the top carrier is full; `bytes()` is less until then.
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }
  /// Returns: the number of cells once the top carrier is full.
  [[nodiscard]] std::size_t reserved_cells() const noexcept { return cells_; }

private:
  static constexpr std::size_t most_listed_bytes = 1024;

  [[nodiscard]] std::size_t listed() const noexcept { return static_cast<std::size_t>(at_ - top_->places()); }
  [[nodiscard]] std::size_t places_left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  void finish_carrier() noexcept {
    if (ASHLAR_UNLIKELY(top_ == nullptr)) return;
    top_->below = static_cast<std::uintptr_t>(top_->below) | listed();
    if (ASHLAR_LIKELY(at_ == end_)) return;
    reserved_ = bytes(), cells_ = cells();
    end_ = at_;
  }

  typename carrier::word* at_ = nullptr;
  typename carrier::word* end_ = nullptr;
  carrier* top_ = nullptr;
  std::size_t cells_ = 0, reserved_ = 0;  // with the places of the top carrier that are left
  std::size_t listed_bytes_ = 0;          // of a cell that the top carrier lists
};

/// Effects: calls `f(cell)` for each cell of a parcel, carriers included. The lines of the cells of a carrier are
/// fetched while the cells of the one before are handled. `f` may write to its cell. Ends after more carriers than a
/// parcel has, in a circle of links that a double free made. Thread safety: one thread, which has taken the parcel.
template <class Atomics, class F>
void for_each_of_parcel(parcel_carrier<Atomics>* top, F f) noexcept {
  using carrier = parcel_carrier<Atomics>;
  const auto fetch = [](carrier* of, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ASHLAR_FETCH_TO_WRITE(of->listed_at(i));
  };
  const auto handle = [&](carrier* of, std::size_t count) {
    for (std::size_t i = 0; i <= count; ++i) {
      void* const cell = i != count ? of->listed_at(i) : of;
      if (i == count) mark_free(of, (carrier::first_place + count) * sizeof(typename carrier::word));
      f(cell);
    }
  };
  carrier* before = nullptr;
  std::size_t count_before = 0, left = carrier::most_carriers;
  do {
    carrier* const each = left-- != 0 ? top : nullptr;
    std::size_t count = 0;
    if (each != nullptr) {
      top = each->carrier_below();
      if (top != nullptr) top->fetch_ahead();
      count = each->listed();
      fetch(each, count);
    }
    if (before != nullptr) handle(before, count_before);
    before = each, count_before = count;
  } while (before != nullptr);
}

/// The parcels on their way to a heap: an inbox that any thread adds to, and those taken from it but not unpacked.
/// The writes of senders share no cache line with the writes of the heap. Thread safety: any thread, but one at a time
/// calls `take`.
template <class Atomics = default_atomics>
class parcel_queue {
public:
  using carrier = parcel_carrier<Atomics>;

  /// Effects: adds a parcel of `bytes` bytes. Lock-free. The sender does not touch it afterwards.
  void push(carrier* top, std::size_t bytes) noexcept {
    bytes_.fetch_add(bytes, memory_order_relaxed);  // first, so that no parcel is taken uncounted
    static_cast<void>(inbox_.push(top));
  }

  /// Returns: a parcel, or null. `twice(top)` is called for one that was taken before, which a double free has sent
  /// again: the links are a circle, and end there.
  template <class F>
  [[nodiscard]] carrier* take(F twice) noexcept {
    carrier* top = pending_.load(memory_order_relaxed);
    if (top == nullptr) {
      top = inbox_.take_all();
      if (top == nullptr) return nullptr;
      pending_bytes_ = bytes();
    }
    carrier* next = top->next;
    if (ASHLAR_UNLIKELY(next == carrier::taken())) next = nullptr, twice(top);
    top->next = carrier::taken();
    if (next != nullptr) next->fetch_ahead();
    pending_.store(next, memory_order_relaxed);
    if (next == nullptr) bytes_.fetch_sub(pending_bytes_, memory_order_relaxed);
    return top;
  }

  /// Returns: whether there was none at the call.
  [[nodiscard]] bool is_empty() const noexcept {
    return pending_.load(memory_order_relaxed) == nullptr && inbox_.is_empty();
  }

  /// Returns: bytes of the cells that wait, in the inbox and pending. Pending ones count until the last is taken: one
  /// change of the senders' cache line for all of them. Approximate: a parcel that is pushed while earlier ones are
  /// taken may be missing until the next take.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(memory_order_relaxed); }

private:
  alignas(64) inbox<carrier, Atomics> inbox_;
  typename Atomics::template atomic<std::size_t> bytes_ = 0;
  alignas(64) typename Atomics::template atomic<carrier*> pending_ = nullptr;  // taken out of the inbox
  typename Atomics::template plain<std::size_t> pending_bytes_ = 0;            // the share of these in `bytes_`
};

}  // namespace ashlar::ASHLAR_ABI::detail
