// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An adaptor that records every live block and reports leaks and wrong frees with the sites of the calls.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/adaptor/forwarding.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/site.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The record of a block.
template <policy::site Site>
struct tracked_block : tree_node<tracked_block<Site>> {
  const void* data = nullptr;
  std::size_t bytes = 0;     ///< as requested
  std::size_t capacity = 0;  ///< as granted: more than requested only by `allocate_at_least`
  std::size_t alignment = 0;
  std::uint64_t number = 0;  ///< 1 is the first block of the book
  ASHLAR_NO_UNIQUE_ADDRESS Site allocated{};
  ASHLAR_NO_UNIQUE_ADDRESS Site freed{};

  /// Returns: whether `p` points into the block or to its start.
  [[nodiscard]] bool contains(const void* p) const noexcept {
    return address_of(p) - address_of(data) < capacity || p == data;
  }

  // The key in the tree: the address of the block, not the address of the entry.
  [[nodiscard]] friend std::uintptr_t address_of(const tracked_block* entry) noexcept {
    return address_of(entry->data);
  }
};

/// The book of a tracking adaptor: every live block by address, and the most recently freed blocks. Every entry is one
/// allocation from `Memory`, all of one size. Complexity: O(log n) expected. Thread safety: none.
template <policy::site Site, resource Memory>
class block_book {
public:
  using entry = tracked_block<Site>;

  /// The number of freed blocks in the book, which tell a double free from a foreign pointer.
  static constexpr std::size_t most_remembered = 64;

  block_book() = default;
  explicit block_book(Memory memory) : memory_(std::move(memory)) {}
  block_book(const block_book&) = delete;
  block_book& operator=(const block_book&) = delete;
  ~block_book() { clear(); }

  /// Returns: a blank entry, or null if memory runs out.
  [[nodiscard]] entry* make() noexcept {
    void* const p = try_allocate_from(memory_, sizeof(entry), alignof(entry));
    return p != nullptr ? ::new (p) entry : nullptr;
  }

  /// Effects: frees an entry that is not in the book.
  void drop(entry* e) noexcept {
    std::destroy_at(e);
    memory_.deallocate(e, sizeof(entry), alignof(entry));
  }

  /// Effects: makes `e` live. An older live block at its address, which ended without a call, is removed. Expects: the
  /// block of `e` is filled in.
  void insert(entry* e) noexcept {
    if (entry* const before = find(e->data)) forget(before);
    e->number = ++allocations_;
    tree_.insert(e);
    ++live_;
    bytes_ += e->bytes;
  }

  /// Returns: the live block that starts at `p`, or null.
  [[nodiscard]] entry* find(const void* p) const noexcept {
    entry* const e = tree_.find_at_or_below(p);
    return e != nullptr && e->data == p ? e : nullptr;
  }

  /// Returns: the live block that `p` points into, or null.
  [[nodiscard]] const entry* find_around(const void* p) const noexcept {
    const entry* const e = tree_.find_at_or_below(p);
    return e != nullptr && e->contains(p) ? e : nullptr;
  }

  /// Returns: the most recently freed block at `p`, or null.
  [[nodiscard]] const entry* find_freed(const void* p) const noexcept {
    const entry* latest = nullptr;
    for (const entry* e = oldest_freed_; e != nullptr; e = e->right)
      if (e->data == p) latest = e;
    return latest;
  }

  /// Effects: moves the live block to the freed ones.
  void remember_as_freed(entry* e, const Site& where) noexcept {
    unfile(e);
    e->freed = where;
    (latest_freed_ != nullptr ? latest_freed_->right : oldest_freed_) = e;
    latest_freed_ = e;
    if (++remembered_ > most_remembered) drop_oldest();
  }

  /// Effects: sets the size of the live block. Expects: `e` is live.
  void resize(entry* e, std::size_t bytes) noexcept {
    bytes_ += bytes - e->bytes;  // modulo 2^n: correct for shrinking too
    e->bytes = e->capacity = bytes;
  }

  /// Effects: removes all blocks and frees all memory.
  void clear() noexcept {
    tree_.for_each([this](entry& e) { drop(&e); });
    tree_.clear();
    while (oldest_freed_ != nullptr) drop_oldest();
    live_ = bytes_ = 0;
  }

  /// Effects: calls `f(const entry&)` for every live block in the order of addresses.
  template <class F>
  void for_each(F f) const {
    tree_.for_each([&f](const entry& e) { f(e); });
  }

  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Memory& memory() noexcept { return memory_; }

  /// Complexity: O(n).
  [[nodiscard]] bool invariant() const noexcept {
    std::size_t live = 0;
    std::size_t bytes = 0;
    std::size_t freed = 0;
    for_each([&](const entry& e) { ++live, bytes += e.bytes; });
    for (const entry* e = oldest_freed_; e != nullptr; e = e->right) ++freed;
    return live == live_ && bytes == bytes_ && freed == remembered_ && freed <= most_remembered && tree_.invariant();
  }

private:
  void unfile(entry* e) noexcept {
    tree_.erase(e);
    --live_;
    bytes_ -= e->bytes;
  }

  void forget(entry* e) noexcept {
    unfile(e);
    drop(e);
  }

  void drop_oldest() noexcept {
    entry* const oldest = std::exchange(oldest_freed_, oldest_freed_->right);
    if (oldest_freed_ == nullptr) latest_freed_ = nullptr;
    --remembered_;
    drop(oldest);
  }

  ASHLAR_NO_UNIQUE_ADDRESS Memory memory_{};
  address_tree<entry> tree_;
  entry* oldest_freed_ = nullptr;  // linked by `right`
  entry* latest_freed_ = nullptr;
  std::size_t remembered_ = 0;
  std::size_t live_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t allocations_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI {

/// Tag: the first argument of a `tracking` is the upstream of its book.
struct book_in_t {};
inline constexpr book_in_t book_in{};

/// Owns an `R`, made from the arguments, and behaves as it does at every level of checking. Has exactly the refinements
/// of `R`, except that it is not divisible. Thread-safe if `R` is and `Lock` is a lock.
///
/// A wrong free is reported before `R` sees the block: a double free, another size or alignment, a pointer into a
/// block, a pointer that was never handed out. Each report names the sites of the allocation and of the first free, as
/// `Site` records them. Blocks that are live at the end go to the leak handler and stay allocated.
///
/// The book is memory of `Book`: one entry for each live block and for each of the last 64 freed blocks. An allocation
/// without room for its entry fails and has no effect. Blocks that `R` takes back without a call of this adaptor (a
/// rewound arena) stay in the book until their address is handed out again. Freed memory is never read. Complexity:
/// the complexity of `R`, and O(log live) expected.
template <resource R, class Site, resource Book, basic_lockable Lock>
class tracking : public forwarding<R> {
  using book_type = detail::block_book<Site, Book>;

public:
  using entry = typename book_type::entry;
  static constexpr bool is_thread_safe = thread_safe_resource<R> && !std::same_as<Lock, null_lock>;

  using forwarding<R>::forwarding;
  using forwarding<R>::upstream_resource;

  tracking() = default;
  template <class... Args>
    requires std::constructible_from<R, Args...>
  tracking(book_in_t, Book memory, Args&&... args)
      : forwarding<R>(std::forward<Args>(args)...), book_(std::move(memory)) {}
  tracking(const tracking&) = delete;
  tracking& operator=(const tracking&) = delete;
  ~tracking() {
    if (book_.live() != 0) report_live();
  }

  /// As `R::allocate`. Throws: `std::bad_alloc` also if the book has no room.
  [[nodiscard]] ASHLAR_NOINLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    fresh_entry fresh(*this);
    if (fresh.e == nullptr) throw_bad_alloc(bytes, alignment);
    void* const p = upstream_resource().allocate(bytes, alignment);
    return fresh.keep({p, bytes}, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS()));
  }

  /// As `R::try_allocate`. Returns: null also if the book has no room.
  [[nodiscard]] ASHLAR_NOINLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept
    requires try_resource<R>
  {
    fresh_entry fresh(*this);
    void* const p = fresh.e != nullptr ? upstream_resource().try_allocate(bytes, alignment) : nullptr;
    if (p == nullptr) return nullptr;
    return fresh.keep({p, bytes}, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS()));
  }

  /// As `R::allocate_at_least`. Throws: `std::bad_alloc` also if the book has no room.
  [[nodiscard]] ASHLAR_NOINLINE block allocate_at_least(std::size_t bytes, std::size_t alignment)
    requires at_least_resource<R>
  {
    fresh_entry fresh(*this);
    if (fresh.e == nullptr) throw_bad_alloc(bytes, alignment);
    const block got = upstream_resource().allocate_at_least(bytes, alignment);
    static_cast<void>(fresh.keep(got, bytes, alignment, Site::capture(ASHLAR_RETURN_ADDRESS())));
    return got;
  }

  /// As `R::deallocate`, after a check against the book.
  ASHLAR_NOINLINE void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    take(p, Site::capture(ASHLAR_RETURN_ADDRESS()),
         [&](const entry& e, const Site& here) { expect_arguments(e, bytes, alignment, here); });
    upstream_resource().deallocate(p, bytes, alignment);
  }

  /// As above; the book has the size. Effects: none if `p` is null.
  ASHLAR_NOINLINE void deallocate(void* p) noexcept
    requires self_describing_resource<R>
  {
    if (p == nullptr) return;
    take(p, Site::capture(ASHLAR_RETURN_ADDRESS()), [](const entry&, const Site&) {});
    upstream_resource().deallocate(p);
  }

  /// As `R::try_expand`, after a check against the book.
  [[nodiscard]] ASHLAR_NOINLINE bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes,
                                                std::size_t alignment) noexcept
    requires expanding_resource<R>
  {
    const Site here = Site::capture(ASHLAR_RETURN_ADDRESS());
    entry* const e = look_up(p, bytes, alignment, here);
    if (!upstream_resource().try_expand(p, bytes, new_bytes, alignment)) return false;
    const report_scope held(lock_);
    book_.resize(e, new_bytes);
    return true;
  }

  /// As `R::release`; nothing is live afterwards.
  void release() noexcept
    requires releasable_resource<R>
  {
    {
      const report_scope held(lock_);
      book_.clear();
    }
    upstream_resource().release();
  }

  /// Effects: calls `f(const entry&)` for every live block in the order of addresses. Expects: `f` does
  /// not use this resource.
  template <class F>
  void for_each_live(F f) const {
    const report_scope held(lock_);
    book_.for_each(f);
  }

  /// Returns: the number of live blocks.
  [[nodiscard]] std::size_t live() const noexcept {
    const report_scope held(lock_);
    return book_.live();
  }

  /// Returns: the bytes requested for all live blocks.
  [[nodiscard]] std::size_t live_bytes() const noexcept {
    const report_scope held(lock_);
    return book_.bytes();
  }

  [[nodiscard]] friend bool operator==(const tracking& a, const tracking& b) noexcept {
    return &a == &b;  // a block freed to another one would be in the wrong book
  }

  /// Complexity: O(live).
  [[nodiscard]] bool invariant() const noexcept {
    const report_scope held(lock_);
    return book_.invariant();
  }

private:
  // Room in the book is taken before the block: a failure then has nothing to undo in the upstream.
  struct fresh_entry {
    explicit fresh_entry(tracking& of) noexcept : owner(of) {
      const report_scope held(owner.lock_);
      e = owner.book_.make();
    }
    fresh_entry(const fresh_entry&) = delete;
    fresh_entry& operator=(const fresh_entry&) = delete;
    ~fresh_entry() {
      if (e == nullptr) return;
      const report_scope held(owner.lock_);
      owner.book_.drop(e);
    }

    [[nodiscard]] void* keep(const block& got, std::size_t bytes, std::size_t alignment, const Site& where) noexcept {
      e->data = got.data;
      e->bytes = bytes;
      e->capacity = got.size;
      e->alignment = alignment;
      e->allocated = where;
      const report_scope held(owner.lock_);
      owner.book_.insert(std::exchange(e, nullptr));
      return got.data;
    }

    tracking& owner;
    entry* e = nullptr;
  };

  // The check precedes the upstream's free: afterwards another thread may already have the address.
  template <class Check>
  void take(void* p, const Site& here, Check check) noexcept {
    const report_scope held(lock_);
    entry* const e = book_.find(p);
    if (ASHLAR_UNLIKELY(e == nullptr)) explain_unknown(p, here);
    check(*e, here);
    book_.remember_as_freed(e, here);
  }

  [[nodiscard]] entry* look_up(void* p, std::size_t bytes, std::size_t alignment, const Site& here) noexcept {
    const report_scope held(lock_);
    entry* const e = book_.find(p);
    if (ASHLAR_UNLIKELY(e == nullptr)) explain_unknown(p, here);
    expect_arguments(*e, bytes, alignment, here);
    return e;
  }

  void expect_arguments(const entry& e, std::size_t bytes, std::size_t alignment, const Site& here) const noexcept {
    if (ASHLAR_UNLIKELY(bytes < e.bytes || bytes > e.capacity))
      found_mismatch("freed a block with another size than it was allocated with", e, {e.bytes, bytes}, here);
    if (ASHLAR_UNLIKELY(alignment != e.alignment))
      found_mismatch("freed a block with another alignment than it was allocated with", e, {e.alignment, alignment},
                     here);
  }

  struct mismatch {
    std::size_t expected, got;
  };
  [[noreturn]] ASHLAR_COLD void found_mismatch(const char* what, const entry& e, const mismatch& of,
                                               const Site& here) const noexcept {
    found({.kind = fault::size_mismatch,
           .what = what,
           .pointer = e.data,
           .resource = this,
           .size = e.bytes,
           .expected = of.expected,
           .got = of.got},
          {&e.allocated, nullptr, &here});
  }

  [[noreturn]] ASHLAR_COLD void explain_unknown(const void* p, const Site& here) const noexcept {
    violation v = {.what = "freed a pointer that was never handed out", .pointer = p, .resource = this};
    if (const entry* const around = book_.find_around(p)) {
      v.kind = fault::misaligned_free;
      v.what = "freed a pointer into the middle of a block";
      v.size = around->bytes;
      v.got = address_of(p) - address_of(around->data);
      found(v, {&around->allocated, nullptr, &here});
    }
    const entry* const freed = book_.find_freed(p);
    v.kind = freed != nullptr ? fault::double_free : fault::invalid_free;
    if (freed == nullptr) found(v, {nullptr, nullptr, &here});
    v.what = "freed a block that is free";
    v.size = freed->bytes;
    found(v, {&freed->allocated, &freed->freed, &here});
  }

  struct sites {
    const Site* allocated;
    const Site* freed;
    const Site* here;
  };

  // The sites follow the message: `(allocated at …, freed at …, now at …)`.
  [[noreturn]] ASHLAR_COLD void found(violation v, const sites& at) const noexcept {
    panic_line line;
    line.text(v.what);
    if constexpr (!std::is_empty_v<Site>) {
      line.text(" (");
      if (at.allocated != nullptr) at.allocated->describe(line.text("allocated at "));
      if (at.freed != nullptr) at.freed->describe(line.text(", freed at "));
      at.here->describe(line.text(at.allocated != nullptr ? ", now at " : "now at "));
      line.text(")");
    }
    std::array<char, panic_line::capacity + 1> words{};
    std::copy(line.view().begin(), line.view().end(), words.begin());
    v.what = words.data();
    report(v);
  }

  struct leaking_site {
    const Site* where = nullptr;
    std::size_t count = 0;
    std::size_t bytes = 0;
  };

  ASHLAR_COLD void report_live() const noexcept {
    std::array<const void*, leaked_blocks::most_shown> first{};
    std::array<leaking_site, leaked_blocks::most_shown> places{};
    std::size_t shown = 0;
    book_.for_each([&](const entry& e) {
      if (shown < first.size()) first[shown++] = e.data;
      const auto same = [&e](const leaking_site& s) { return s.where == nullptr || *s.where == e.allocated; };
      const auto place =
          std::find_if(places.begin(), places.end() - 1, same);  // the last entry collects all other sites
      if (place->where == nullptr) place->where = &e.allocated;
      ++place->count;
      place->bytes += e.bytes;
    });
    panic_line line;
    if constexpr (!std::is_empty_v<Site>) describe(places, line);
    report_leak({.resource = this,
                 .count = book_.live(),
                 .bytes = book_.bytes(),
                 .first = {first.data(), shown},
                 .sites = line.view()});
  }

  static void describe(const std::array<leaking_site, leaked_blocks::most_shown>& places, panic_line& line) noexcept {
    for (const leaking_site& each : places) {
      if (each.count == 0) return;
      if (&each != places.data()) line.text("; ");
      if (&each == &places.back()) line.text("other sites");
      else each.where->describe(line);
      line.text(": ").number(each.count).text(" of ").number(each.bytes).text(" bytes");
    }
  }

  book_type book_;
  ASHLAR_NO_UNIQUE_ADDRESS mutable detail::fork_safe<Lock> lock_ = {};
};

}  // namespace ashlar::ASHLAR_ABI
