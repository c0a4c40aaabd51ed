// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ledger of checking allocators: every allocation, and every problem; the ledger of default-constructed ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/panic.hpp>
#include <ashlar/detail/testing/failure_plan.hpp>
#include <ashlar/detail/testing/guarded_block.hpp>
#include <ashlar/detail/testing/live_block_book.hpp>
#include <ashlar/test/problem.hpp>

namespace ashlar::ASHLAR_ABI::test {

/// The number of live blocks and their bytes.
using holdings = detail::holdings;

/// The exception of an allocation that a test made fail.
using injected_failure = detail::injected_failure;

/// Serves `checking_allocator`s and collects the problems that they detect. Three ways to receive them:
///
///     test::ledger book;                                  // prints every problem and aborts at the end of the scope
///     test::ledger book([](const test::problem& p) {…});  // calls back at once, and never aborts
///     EXPECT_TRUE(book.finish().empty());                 // any time: takes the problems as values
///
/// Freed blocks stay in a quarantine of 1 MiB, so that a double free or a write to one is recognised. Lifetime:
/// outlives every container that allocates from it. Thread safety: any thread, except for construction, `finish` and
/// destruction. A callback may be called from any thread that frees; it must not throw, and may use the ledger.
class ledger {
public:
  using reporter = std::function<void(const problem&)>;

  ledger() = default;
  explicit ledger(reporter report) : reporter_(std::move(report)) {}
  ledger(const ledger&) = delete;  // allocators refer to it
  ledger& operator=(const ledger&) = delete;

  ~ledger() {
    const std::vector<problem> left = finish();
    for (const problem& each : left) detail::write_error_line(line_of(each).view());
    if (!left.empty()) std::abort();
  }

  /// Returns: an identity that no other allocator of this ledger has; at least 1.
  [[nodiscard]] std::uint64_t make_identity() {
    const std::lock_guard hold(lock_);
    return ++identities_;
  }

  /// Returns: a block for the call. Throws: `injected_failure` if the failure plan demands it, otherwise
  /// `std::bad_alloc`.
  [[nodiscard]] void* allocate(const allocation_call& call) {
    const std::lock_guard hold(lock_);
    const std::size_t bytes = call.count * call.element_bytes;
    if (plan_.fails_next()) {
      ++refusals_;
      ASHLAR_THROW(injected_failure());
      detail::throw_bad_alloc(bytes, call.alignment);
    }
    const detail::guarded_block made = detail::guarded_block::make(bytes, call.alignment);
    book_.add(made.data, {bytes, call.alignment, call});
    ++allocations_;
    return made.data;
  }

  /// Effects: takes a live block of this ledger back, even if the call is wrong.
  void deallocate(void* p, const allocation_call& call) noexcept {
    std::vector<problem> found;
    {
      const std::lock_guard hold(lock_);
      if (const auto was = book_.remove(p)) take_back(p, *was, call, found);
      else found.push_back({.kind = kind_of_unknown(p), .pointer = p, .freed = call});
    }
    tell(found);
  }

  /// Effects: reports every live block as a leak and frees all memory. Returns: the problems since the last call, which
  /// leave the ledger; none if there is a callback. Expects: no container uses the ledger any more.
  std::vector<problem> finish() {
    std::vector<problem> found;
    while (!quarantine_.empty()) release_oldest(found);
    while (!book_.blocks().empty()) {
      const auto [at, block] = *book_.blocks().begin();
      void* const p = reinterpret_cast<void*>(at);
      found.push_back({.kind = problem_kind::leak, .pointer = p, .allocated = block.note});
      book_.remove(p);
      guarded_of(p, block).end();
    }
    tell(found);
    return std::exchange(problems_, {});
  }

  /// Returns: the problems collected so far.
  [[nodiscard]] std::vector<problem> problems() const {
    const std::lock_guard hold(lock_);
    return problems_;
  }

  /// As `failure_plan::fail_at`.
  void fail_at(std::size_t k) {
    const std::lock_guard hold(lock_);
    plan_.fail_at(k);
  }
  /// As `failure_plan::fail_from`.
  void fail_from(std::size_t k) {
    const std::lock_guard hold(lock_);
    plan_.fail_from(k);
  }
  /// Effects: allocations fail only if memory runs out.
  void fail_never() {
    const std::lock_guard hold(lock_);
    plan_.fail_never();
  }

  /// Returns: the live blocks and bytes.
  [[nodiscard]] holdings balance() const {
    const std::lock_guard hold(lock_);
    return book_.live();
  }

  /// Returns: the live blocks and bytes of one identity. Complexity: O(live blocks).
  [[nodiscard]] holdings balance(std::uint64_t identity) const {
    const std::lock_guard hold(lock_);
    holdings sum;
    for (const auto& [at, block] : book_.blocks())
      if (block.note.allocator == identity) sum = {sum.blocks + 1, sum.bytes + block.bytes};
    return sum;
  }

  /// Returns: the number of successful calls.
  [[nodiscard]] std::size_t allocations() const {
    const std::lock_guard hold(lock_);
    return allocations_;
  }
  /// Returns: the number of injected failures.
  [[nodiscard]] std::size_t refusals() const {
    const std::lock_guard hold(lock_);
    return refusals_;
  }

private:
  using book = detail::live_block_book<allocation_call>;
  static constexpr std::size_t quarantine_limit = std::size_t{1} << 20;  // bytes

  struct retired_block {
    detail::guarded_block memory;
    allocation_call allocated;
    allocation_call freed;
  };

  [[nodiscard]] static detail::guarded_block guarded_of(void* p, const book::entry& e) noexcept {
    return {static_cast<std::byte*>(p), e.bytes, e.alignment};
  }

  [[nodiscard]] static std::optional<problem_kind> mismatch(const allocation_call& was, const allocation_call& call) {
    if (was.allocator != call.allocator) return problem_kind::cross_free;
    if (was.alignment != call.alignment) return problem_kind::wrong_alignment;
    if (was.type != call.type || was.element_bytes != call.element_bytes) return problem_kind::wrong_type;
    if (was.count != call.count) return problem_kind::wrong_count;
    return std::nullopt;
  }

  [[nodiscard]] problem_kind kind_of_unknown(const void* p) const {
    if (p == nullptr) return problem_kind::null_free;
    for (const retired_block& each : quarantine_)
      if (each.memory.data == p) return problem_kind::double_free;
    return book_.overlaps(detail::address_of(p), 0) ? problem_kind::interior_free : problem_kind::foreign_free;
  }

  void take_back(void* p, const book::entry& was, const allocation_call& call, std::vector<problem>& found) {
    const detail::guarded_block memory = guarded_of(p, was);
    if (const auto kind = mismatch(was.note, call)) found.push_back({*kind, p, was.note, call});
    if (!memory.has_intact_guards()) found.push_back({problem_kind::overrun, p, was.note, call});
    memory.retire();
    quarantine_.push_back({memory, was.note, call});
    quarantined_ += memory.bytes;
    while (quarantined_ > quarantine_limit) release_oldest(found);
  }

  void release_oldest(std::vector<problem>& found) {
    const retired_block oldest = quarantine_.front();
    quarantine_.pop_front();
    quarantined_ -= oldest.memory.bytes;
    if (!oldest.memory.is_untouched())
      found.push_back({problem_kind::written_after_free, oldest.memory.data, oldest.allocated, oldest.freed});
    oldest.memory.end();
  }

  // Called without the lock, so that a callback may use the ledger.
  void tell(const std::vector<problem>& found) {
    for (const problem& each : found) {
      if (reporter_) {
        reporter_(each);
      } else {
        const std::lock_guard hold(lock_);
        problems_.push_back(each);
      }
    }
  }

  mutable std::mutex lock_;
  reporter reporter_;
  book book_;
  std::deque<retired_block> quarantine_;
  std::size_t quarantined_ = 0;  // bytes
  std::vector<problem> problems_;
  detail::failure_plan plan_;
  std::uint64_t identities_ = 0;
  std::size_t allocations_ = 0;
  std::size_t refusals_ = 0;
};

/// During its lifetime, default-constructed `checking_allocator`s use its ledger. Scopes nest. Thread safety: one for
/// all threads; construct and destroy it while no other thread does.
class default_ledger {
public:
  explicit default_ledger(ledger& book) noexcept : before_(current().exchange(&book)) {}
  default_ledger(const default_ledger&) = delete;
  default_ledger& operator=(const default_ledger&) = delete;
  ~default_ledger() { current().store(before_); }

  /// Expects: a `default_ledger` is alive. Checked at every level: it catches a container that ignores the allocator it
  /// was given and default-constructs one.
  [[nodiscard]] static ledger& get() noexcept {
    ledger* const book = current().load();
    ASHLAR_REQUIRE(book != nullptr, "default-constructed a checking_allocator outside a default_ledger");
    return *book;
  }

private:
  [[nodiscard]] static std::atomic<ledger*>& current() noexcept {
    static constinit std::atomic<ledger*> innermost = nullptr;
    return innermost;
  }

  ledger* before_;
};

}  // namespace ashlar::ASHLAR_ABI::test
