// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tree of byte limits: a charge must fit into its own limit and into every limit above.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/fwd.hpp>

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// A number of bytes that is never raised above a limit. If it is shared, every change is one atomic step; otherwise it
/// uses plain loads and stores.
template <bool IsShared>
class byte_count {
public:
  [[nodiscard]] std::size_t get() const noexcept { return bytes_.load(memory_order_relaxed); }

  /// Effects: adds `by`, unless the sum exceeds `limit`. Returns: whether it did.
  [[nodiscard]] bool raise_within(std::size_t by, std::size_t limit) noexcept {
    std::size_t now = get();
    do {
      if (now > limit || by > limit - now) return false;
    } while (!replace(now, now + by));
    return true;
  }

  void raise_to(std::size_t at_least) noexcept {
    for (std::size_t now = get(); now < at_least && !replace(now, at_least);) {
    }
  }

  /// Expects: `by` is at most the present value.
  void lower(std::size_t by) noexcept {
    if constexpr (IsShared) bytes_.fetch_sub(by, memory_order_relaxed);
    else bytes_.store(get() - by, memory_order_relaxed);
  }

private:
  // Relaxed suffices: the number orders no other memory.
  [[nodiscard]] bool replace(std::size_t& now, std::size_t then) noexcept {
    if constexpr (IsShared) return bytes_.compare_exchange_weak(now, then, memory_order_relaxed, memory_order_relaxed);
    bytes_.store(then, memory_order_relaxed);
    return true;
  }

  atomic<std::size_t> bytes_ = 0;
};

}  // namespace detail

/// A node of a tree of limits: `budget` for one thread at a time, `shared_budget` for any thread. A node neither copies
/// nor moves: children point to their parent, which must outlive them.
///
///     ashlar::budget process(512 << 20);
///     ashlar::budget textures(64 << 20, &process);   // and never more than the process has left
///
/// Invariant: used() <= max_bytes(), unless the limit was lowered below the bytes in use. Every charge to a child is a
/// charge to its parent, so a parent's used() >= the sum of its children's. Complexity: O(depth).
///
/// Thread safety: any thread may use a shared budget at any time; handlers are set before. If an ancestor refuses a
/// charge, the charges below it are undone. Meanwhile another charge may be refused that would have fitted a moment
/// later. No charge ever exceeds a limit.
template <policy::threads Threads>
class basic_budget {
public:
  static constexpr bool is_shared = Threads::is_shared;
  static constexpr std::size_t unlimited = max_size;
  /// Attempts of one request: a handler that never frees enough does not hang the program.
  static constexpr unsigned most_attempts = 16;

  /// A request that does not fit.
  struct refusal {
    basic_budget& exceeded;  ///< the budget with the exceeded limit
    basic_budget& charged;   ///< the budget of the request: the same, or a descendant
    std::size_t bytes;
    std::size_t alignment;
    unsigned attempt;  ///< 1 is the first
  };

  enum class answer { give_up, retry };

  /// Called when a request exceeds a limit. It may free memory or raise the limit, and ask for another attempt.
  using exceeded_handler = answer (*)(const refusal&, void* context) noexcept;
  /// Called when the soft limit has just been exceeded.
  using soft_limit_handler = void (*)(basic_budget&, void* context) noexcept;

  basic_budget() noexcept : basic_budget(unlimited) {}
  explicit basic_budget(std::size_t limit, basic_budget* parent = nullptr) noexcept : limit_(limit), parent_(parent) {}
  basic_budget(const basic_budget&) = delete;
  basic_budget& operator=(const basic_budget&) = delete;
  ~basic_budget() { ASHLAR_EXPECTS(used() == 0, "ended a budget while memory was charged to it"); }

  /// Effects: charges `bytes` here and to every ancestor, or to none. A refusal calls the handler of the refusing
  /// budget, or the handler of its nearest ancestor with a handler. Returns: whether the bytes were charged.
  [[nodiscard]] bool charge(std::size_t bytes, std::size_t alignment = 1) noexcept {
    basic_budget* const refuser = try_charge(bytes);
    return ASHLAR_LIKELY(refuser == nullptr) || charge_retry(refuser, bytes, alignment);
  }

  /// Effects: takes back a charge of this budget. Expects: the bytes were charged.
  void uncharge(std::size_t bytes) noexcept {
    ASHLAR_EXPECTS(bytes <= used(), "uncharged a budget by more than was charged to it");
    for (basic_budget* each = this; each != nullptr; each = each->parent_) each->lower(bytes);
  }

  [[nodiscard]] std::size_t used() const noexcept { return used_.get(); }
  /// Returns: the peak of used(), in bytes.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_.get(); }
  [[nodiscard]] std::size_t max_bytes() const noexcept { return limit_.load(); }
  [[nodiscard]] basic_budget* parent() const noexcept { return parent_; }

  /// Returns: the bytes that this budget and its ancestors would grant now.
  [[nodiscard]] std::size_t available() const noexcept {
    std::size_t least = unlimited;
    for (const basic_budget* each = this; each != nullptr; each = each->parent_) {
      const std::size_t most = each->max_bytes();  // read once: another thread may change it
      least = std::min(least, most - std::min(most, each->used()));
    }
    return least;
  }

  /// Effects: no later charge exceeds `limit`; bytes in use stay charged.
  void set_max_bytes(std::size_t limit) noexcept { limit_.store(limit); }

  /// Effects: sets the handler; with null, a request that does not fit is refused at once. Expects: no charge is under
  /// way.
  void on_exceeded(exceeded_handler handler, void* context = nullptr) noexcept {
    exceeded_ = handler;
    exceeded_context_ = context;
  }

  /// Effects: the charge that raises used() above `bytes` calls `handler`, once until used() is below again. Expects:
  /// no charge is under way.
  void on_soft_limit(std::size_t bytes, soft_limit_handler handler, void* context = nullptr) noexcept {
    soft_limit_ = bytes;
    soft_ = handler;
    soft_context_ = context;
  }

  [[nodiscard]] bool invariant() const noexcept {
    return used() <= peak() && (parent_ == nullptr || used() <= parent_->used());
  }

private:
  // Returns: the refusing budget, or null. The peak counts granted charges only.
  [[nodiscard]] basic_budget* try_charge(std::size_t bytes) noexcept {
    for (basic_budget* each = this; each != nullptr; each = each->parent_)
      if (!each->used_.raise_within(bytes, each->max_bytes())) {
        for (basic_budget* below = this; below != each; below = below->parent_) below->lower(bytes);
        return each;
      }
    for (basic_budget* each = this; each != nullptr; each = each->parent_) each->note_charge();
    return nullptr;
  }

  [[nodiscard]] ASHLAR_COLD bool charge_retry(basic_budget* refuser, std::size_t bytes,
                                              std::size_t alignment) noexcept {
    for (unsigned attempt = 1; attempt <= most_attempts; ++attempt) {
      const basic_budget* asked = refuser;
      while (asked != nullptr && asked->exceeded_ == nullptr) asked = asked->parent_;
      if (asked == nullptr) return false;
      const refusal what = {*refuser, *this, bytes, alignment, attempt};
      if (asked->exceeded_(what, asked->exceeded_context_) == answer::give_up) return false;
      refuser = try_charge(bytes);
      if (refuser == nullptr) return true;
    }
    return false;
  }

  void note_charge() noexcept {
    peak_.raise_to(used());
    if (soft_ == nullptr || used() <= soft_limit_) return;
    if (soft_reported_.exchange(true)) return;  // pairs with the store in rearm()
    soft_(*this, soft_context_);
    rearm();  // another thread may have lowered used() and called rearm() before the exchange
  }

  void lower(std::size_t bytes) noexcept {
    used_.lower(bytes);
    rearm();
  }

  // A thread that overwrites this `false` sees the value of used() that led to it.
  void rearm() noexcept {
    if (soft_ != nullptr && used() <= soft_limit_) soft_reported_.store(false);
  }

  detail::byte_count<is_shared> used_;
  detail::byte_count<is_shared> peak_;
  detail::relaxed_atomic<std::size_t> limit_;
  basic_budget* parent_;
  exceeded_handler exceeded_ = nullptr;
  void* exceeded_context_ = nullptr;
  soft_limit_handler soft_ = nullptr;
  void* soft_context_ = nullptr;
  std::size_t soft_limit_ = unlimited;
  detail::publishing_atomic<bool> soft_reported_ = false;
};

}  // namespace ashlar::ASHLAR_ABI
