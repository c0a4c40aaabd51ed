// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ledger of checking allocators: every allocation, and every problem; the ledger of default-constructed ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/test/problem.hpp>

namespace ashlar::ASHLAR_ABI::test {

/// The number of live blocks and their bytes.
struct holdings {
  std::size_t blocks = 0;
  std::size_t bytes = 0;

  [[nodiscard]] friend bool operator==(const holdings&, const holdings&) noexcept = default;
  friend std::ostream& operator<<(std::ostream& out, const holdings& held) {
    return out << held.blocks << " blocks, " << held.bytes << " bytes";
  }
};

/// The exception of an allocation that a test made fail.
struct injected_failure : std::bad_alloc {
  [[nodiscard]] const char* what() const noexcept override { return "ashlar::test::injected_failure"; }
};

}  // namespace ashlar::ASHLAR_ABI::test

namespace ashlar::ASHLAR_ABI::detail {

/// The defect of a block that enters a book.
enum class book_error { none, null_block, misaligned, overlapping };

/// No note beside the size and alignment of a block.
struct no_note {
  [[nodiscard]] friend bool operator==(const no_note&, const no_note&) noexcept = default;
};

/// The book of live blocks: every block enters once, leaves once, and overlaps no other. Keeps a `Note` with each live
/// block. Moving leaves an empty book. Thread safety: none.
/// Complexity: O(log blocks) a call. Invariant: `live()` is the sum over `blocks()`.
template <class Note = no_note>
class live_block_book {
public:
  struct entry {
    std::size_t bytes = 0;
    std::size_t alignment = 0;
    ASHLAR_NO_UNIQUE_ADDRESS Note note = {};
    [[nodiscard]] friend bool operator==(const entry&, const entry&) noexcept = default;
  };

  live_block_book() = default;
  live_block_book(live_block_book&& other) noexcept
      : live_(std::move(other.live_)), held_(std::exchange(other.held_, {})), peak_(std::exchange(other.peak_, {})) {
    other.live_.clear();
  }
  live_block_book& operator=(live_block_book&&) = delete;
  ~live_block_book() = default;

  /// Effects: enters a block, defective or not. Returns: its first defect.
  book_error add(const void* p, const entry& e) {
    const book_error wrong = wrong_with(p, e);
    const auto [at, is_new] = live_.insert_or_assign(address_of(p), e);
    if (is_new) ++held_.blocks;
    held_.bytes += at->second.bytes;
    peak_ = {std::max(peak_.blocks, held_.blocks), std::max(peak_.bytes, held_.bytes)};
    return wrong;
  }

  /// Returns: the block as it was added, or nothing if none is live at `p`.
  std::optional<entry> remove(const void* p) {
    const auto found = live_.find(address_of(p));
    if (found == live_.end()) return std::nullopt;
    const entry was = found->second;
    held_ = {held_.blocks - 1, held_.bytes - was.bytes};
    live_.erase(found);
    return was;
  }

  /// Returns: whether a block of `bytes` at `at` would share a byte, or its address, with a live block.
  [[nodiscard]] bool overlaps(std::uintptr_t at, std::size_t bytes) const {
    const auto above = live_.lower_bound(at);
    if (above != live_.end() && above->first - at < std::max(bytes, std::size_t{1})) return true;
    return above != live_.begin() && at - std::prev(above)->first < std::prev(above)->second.bytes;
  }

  [[nodiscard]] test::holdings live() const noexcept { return held_; }
  [[nodiscard]] test::holdings peak() const noexcept { return peak_; }
  /// Returns: the live blocks by address.
  [[nodiscard]] const std::map<std::uintptr_t, entry>& blocks() const noexcept { return live_; }

private:
  [[nodiscard]] book_error wrong_with(const void* p, const entry& e) const {
    if (p == nullptr) return book_error::null_block;
    if (!is_aligned(p, e.alignment)) return book_error::misaligned;
    return overlaps(address_of(p), e.bytes) ? book_error::overlapping : book_error::none;
  }

  std::map<std::uintptr_t, entry> live_;
  test::holdings held_;
  test::holdings peak_;
};

/// The allocations that fail, counted from a call of the test. No allocation fails by default. Thread safety: none.
class failure_plan {
public:
  static constexpr std::size_t never = max_size;

  /// Effects: allocation number `k` from now on fails, counted from 0, and no other.
  void fail_at(std::size_t k) noexcept { fail_between(k, k == never ? never : k + 1); }
  /// Effects: all allocations from number `k` from now on fail.
  void fail_from(std::size_t k) noexcept { fail_between(k, never); }
  void fail_never() noexcept { fail_between(never, never); }

  /// Effects: counts an allocation. Returns: whether it must fail.
  [[nodiscard]] bool fails_next() noexcept {
    const std::size_t request = requests_++;
    return request >= first_failing_ && request < end_failing_;
  }

private:
  void fail_between(std::size_t first, std::size_t end) noexcept {
    requests_ = 0;
    first_failing_ = first;
    end_failing_ = end;
  }

  std::size_t requests_ = 0;
  std::size_t first_failing_ = never;
  std::size_t end_failing_ = never;
};

/// A block between two guards, filled so that reads of unwritten data and writes to freed data show.
///
///     memory -> [ guard, as wide as the alignment ][ data: bytes ][ guard ]
///
/// Contents: fresh data 0xCD, freed data 0xDD, guards 0xFB. Under AddressSanitizer and Valgrind, guards and freed data
/// are out of bounds as well, so that the tool names the line that touches them.
struct guarded_block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 1;

  static constexpr std::size_t guard_bytes = 16;
  static constexpr int fresh = 0xCD;
  static constexpr int freed = 0xDD;
  static constexpr int guard = 0xFB;

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] static guarded_block make(std::size_t bytes, std::size_t alignment) {
    if (bytes > max_block_bytes - 2 * std::max(guard_bytes, alignment)) throw_bad_alloc(bytes, alignment);
    guarded_block made{nullptr, bytes, alignment};
    made.data = static_cast<std::byte*>(new_delete_resource().allocate(made.whole_bytes(), made.front_bytes()));
    std::memset(made.data, guard, made.whole_bytes());
    made.data += made.front_bytes();
    std::memset(made.data, fresh, bytes);
    made.fence();
    return made;
  }

  /// Effects: closes the block: every later access is an error.
  void retire() const noexcept {
    std::memset(data, freed, bytes);
    mark_free(data, bytes);
  }

  /// Effects: frees the memory.
  void end() const noexcept {
    mark_readable(memory(), whole_bytes());
    new_delete_resource().deallocate(memory(), whole_bytes(), front_bytes());
  }

  /// Returns: whether the bytes beside the data are unchanged.
  [[nodiscard]] bool has_intact_guards() const noexcept {
    unfence();
    const bool intact = is_filled(memory(), front_bytes(), guard) && is_filled(data + bytes, guard_bytes, guard);
    fence();
    return intact;
  }

  /// Returns: whether the data is unchanged since `retire`.
  [[nodiscard]] bool is_untouched() const noexcept {
    mark_readable(data, bytes);
    const bool untouched = is_filled(data, bytes, freed);
    mark_free(data, bytes);
    return untouched;
  }

private:
  [[nodiscard]] std::size_t front_bytes() const noexcept { return std::max(guard_bytes, alignment); }
  [[nodiscard]] std::size_t whole_bytes() const noexcept { return front_bytes() + bytes + guard_bytes; }
  [[nodiscard]] std::byte* memory() const noexcept { return data - front_bytes(); }

  void fence() const noexcept {
    mark_free(memory(), front_bytes());
    mark_free(data + bytes, guard_bytes);
  }
  void unfence() const noexcept {
    mark_readable(memory(), front_bytes());
    mark_readable(data + bytes, guard_bytes);
  }

  [[nodiscard]] static bool is_filled(const std::byte* p, std::size_t bytes, int value) noexcept {
    return std::all_of(p, p + bytes, [value](std::byte b) { return b == static_cast<std::byte>(value); });
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI::test {

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
    for (const problem& each : left) line_of(each).write();
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
      throw_bad_alloc(bytes, call.alignment);
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
    return book_.overlaps(address_of(p), 0) ? problem_kind::interior_free : problem_kind::foreign_free;
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
