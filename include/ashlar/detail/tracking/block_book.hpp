// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The book of a tracking adaptor: every live block by address, and the most recently freed blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <ashlar/adaptor/site.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/address_tree.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/hints.hpp>

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

/// Every entry is one allocation from `Memory`, all of one size. Complexity: O(log n) expected. Thread safety: none.
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
