// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Free chunks of pages, which hold their links: lists, sorted by address, and bins of one size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/random_bits.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// A free chunk of the store, which holds its link. From level `checked` on each has a seal at its start, a word that
/// no other program can know: it finds a second free of the chunk, and a write to its start.
struct free_chunk {
  std::uint64_t seal;
  free_chunk* next;
  std::size_t bytes;

  static constexpr bool has_seal = checking_level >= checking::checked && !marks_memory;

  /// Returns: the seal of a chunk. A canary of who has used the chunk is another word: its highest bits are set.
  [[nodiscard]] static std::uint64_t seal_of(const void* p) noexcept {
    return has_seal ? ~canary_secret::word(address_of(p)) : 0;
  }

  /// Effects: seals a chunk that comes back. Reports one that is free.
  static ASHLAR_INLINE void close([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (has_seal)
      if (std::exchange(word_of(p), seal_of(p)) == seal_of(p))
        report(fault::double_free, "freed pages that are free", p, nullptr, bytes);
  }

  /// Effects: opens a chunk that is handed out. Reports a write to it.
  static ASHLAR_INLINE void open([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (has_seal)
      if (std::exchange(word_of(p), 0) != seal_of(p))
        report(fault::corrupt_link, "free pages were written to", p, nullptr, bytes);
  }

private:
  [[nodiscard]] static std::uint64_t& word_of(void* p) noexcept { return *static_cast<std::uint64_t*>(p); }
};

/// Returns: the chunks in ascending addresses. Complexity: O(n log n), with as many misses of the cache if it is long.
[[nodiscard]] ASHLAR_COLD inline free_chunk* merge_sorted(free_chunk* list) noexcept {
  if (list == nullptr || list->next == nullptr) return list;
  free_chunk* middle = list;
  for (free_chunk* end = list->next; end != nullptr && end->next != nullptr; end = end->next->next)
    middle = middle->next;
  free_chunk* upper = merge_sorted(std::exchange(middle->next, nullptr));
  list = merge_sorted(list);
  free_chunk* all = nullptr;
  free_chunk** at = &all;
  while (list != nullptr && upper != nullptr) {
    free_chunk*& lower = address_of(list) < address_of(upper) ? list : upper;
    *at = lower;
    at = &lower->next;
    lower = lower->next;
  }
  *at = list != nullptr ? list : upper;
  return all;
}

/// Returns: both lists as one. Complexity: O(length of `front`).
[[nodiscard]] ASHLAR_COLD inline free_chunk* chained(free_chunk* front, free_chunk* back) noexcept {
  if (front == nullptr) return back;
  free_chunk* last = front;
  while (last->next != nullptr) last = last->next;
  last->next = back;
  return front;
}

/// Returns: the chunks in ascending addresses. Complexity: O(n log n), with O(n) misses of the cache: first parts by
/// address, then each of those, which the cache holds.
[[nodiscard]] ASHLAR_COLD inline free_chunk* sorted(free_chunk* list) noexcept {
  std::uintptr_t low = UINTPTR_MAX, high = 0;
  for (const free_chunk* each = list; each != nullptr; each = each->next) {
    low = detail::min(low, address_of(each));
    high = detail::max(high, address_of(each));
  }
  std::array<free_chunk*, 256> parts = {};
  const auto shift = static_cast<unsigned>(std::bit_width((high - low) / parts.size()));
  while (list != nullptr) {
    free_chunk* const each = std::exchange(list, list->next);
    each->next = std::exchange(parts[(address_of(each) - low) >> shift], each);
  }
  for (std::size_t i = parts.size(); i-- != 0;) list = chained(merge_sorted(parts[i]), list);
  return list;
}

/// Chunks in a list, to be put back together.
struct chunk_list {
  free_chunk* first = nullptr;
  free_chunk* last = nullptr;
  std::size_t count = 0;

  void push(free_chunk* chunk) noexcept {
    if (first == nullptr) last = chunk;
    chunk->next = std::exchange(first, chunk);
    ++count;
  }
};

/// Free chunks of one size, the last one given is taken first; and how many no request has needed since the window
/// began. Thread safety: none.
class chunk_bin {
public:
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Returns: the chunk given last, or null.
  [[nodiscard]] const free_chunk* last() const noexcept { return first_; }

  void push(void* p, std::size_t bytes) noexcept {
    mark_readable(p, sizeof(free_chunk));
    first_ = ::new (p) free_chunk{free_chunk::seal_of(p), first_, bytes};
    ++count_;
  }

  /// Returns: a chunk, or null.
  [[nodiscard]] void* pop() noexcept {
    if (first_ == nullptr) return nullptr;
    unneeded_ = detail::min(unneeded_, --count_);
    free_chunk::open(first_, first_->bytes);
    return std::exchange(first_, first_->next);
  }

  /// Effects: a window begins. Returns: the chunks that no request has needed in the last one, a list.
  [[nodiscard]] free_chunk* take_unneeded() noexcept {
    free_chunk** at = &first_;
    for (std::size_t needed = count_ - unneeded_; needed != 0; --needed) at = &(*at)->next;
    count_ -= std::exchange(unneeded_, count_ - unneeded_);
    return std::exchange(*at, nullptr);
  }

  /// Effects: puts chunks back that were taken as unneeded: they are, in this window too.
  void put_back(const chunk_list& chunks) noexcept {
    if (chunks.first == nullptr) return;
    chunks.last->next = std::exchange(first_, chunks.first);
    count_ += chunks.count;
    unneeded_ = count_;
  }

  /// Returns: all chunks, a list.
  [[nodiscard]] free_chunk* take_all() noexcept {
    unneeded_ = count_;
    return take_unneeded();
  }

private:
  free_chunk* first_ = nullptr;
  std::size_t count_ = 0;
  std::size_t unneeded_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
