// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties of an upstream's pages: whether they come zeroed, can be decommitted, moved, and given back.
#pragma once

#include <concepts>
#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/os/system_calls.hpp>

namespace ashlar::ASHLAR_ABI {
template <class Fresh, class Pages>
class basic_page_resource;
template <class Pages>
class basic_page_store;
class buffer_resource;
}  // namespace ashlar::ASHLAR_ABI

namespace ashlar::ASHLAR_ABI::detail {

/// The properties of an unknown upstream: none.
template <class Upstream>
struct page_discard {
  static constexpr bool gives_zeroes = false;  ///< memory comes zeroed
  static constexpr bool is_possible = false;
  static constexpr bool can_move = false;
  static constexpr bool takes_back = true;   ///< memory given back may be reused, in any order
  static constexpr bool is_shared = false;   ///< it tracks extents, and is told of each split
  static constexpr bool has_guards = false;  ///< slices of segments are inaccessible unless they are in use
  static constexpr bool lengthens = false;   ///< memory grows in place, as a rule: a part of it can be asked for first
  static constexpr bool has_store = false;   ///< a `store` beside it has records, and segments of ended heaps

  [[nodiscard]] static bool discard(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static constexpr bool are_huge() noexcept { return false; }  ///< pages, which are to stay whole
  static void collapse(void*, std::size_t) noexcept {}
};

template <class Fresh, template <class> class Pages, class Calls>
struct page_discard<basic_page_resource<Fresh, Pages<Calls>>> {
  using pages = Pages<Calls>;

  static constexpr bool gives_zeroes = true;
  static constexpr bool is_possible = requires(void* p, std::size_t n) { Calls::discard(p, n); };  // not of huge pages
  static constexpr bool takes_back = true;
  static constexpr bool is_shared = false;
  static constexpr bool can_move = requires(void* p, std::size_t n) { pages::move(p, n, p, n); };
  static constexpr bool has_guards = checking_level >= checking::hardened && !always_marked && pages::releases_parts &&
                                     requires { requires Fresh::wants_guards; };
  static constexpr bool lengthens = pages::releases_parts && requires(void* p, std::size_t n) {
    basic_page_resource<Fresh, pages>{}.try_expand(p, n, n, n);
  };
  static constexpr bool has_store =
      lengthens && requires { requires std::same_as<typename Fresh::shares_store, Fresh>; };
  using store = basic_page_store<pages>;

  static constexpr bool has_transparent = requires { requires Calls::has_huge_pages; };

  /// Effects: decommits whole pages: they stay usable, and are zero at their next touch. Returns: false if the system
  /// refuses, as it does for locked pages.
  [[nodiscard]] static bool discard([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
    const errno_scope<Calls> keep;
    if constexpr (is_possible) return Calls::discard(p, bytes);
    else return false;
  }

  /// Returns: whether a wish for huge pages of `unit_bytes` is in effect, even where the administrator declines them:
  /// then memory goes back by these, if it need not be less. Of larger pages the system makes larger ones.
  [[nodiscard]] static ASHLAR_INLINE bool are_huge() noexcept {
    if constexpr (has_guards) return false;  // which split them
    else if constexpr (requires { Fresh::wants_huge(); })
      return has_transparent && Calls::page_bytes() == 4096 && Fresh::wants_huge();
    else return pages::least_part_bytes == unit_bytes;
  }

  /// Effects: makes pages one huge page again, with their contents, if the system does that.
  static void collapse([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
    const errno_scope<Calls> keep;
    if constexpr (requires { Calls::collapse(p, bytes); }) static_cast<void>(Calls::collapse(p, bytes));
  }

  /// Effects: makes whole pages accessible or not. Returns: false if the system refuses, as beyond its number of
  /// mappings.
  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool accessible) noexcept {
    const errno_scope<Calls> keep;
    return Calls::protect(p, bytes, accessible);
  }

  /// Returns: memory whose first `open` bytes are accessible; the others may be. Or null.
  [[nodiscard]] static void* map_closed(std::size_t bytes, std::size_t alignment, std::size_t open) noexcept
    requires has_guards
  {
    void* const p = Fresh::template map_closed<pages>(bytes, alignment);
    if (p == nullptr || protect(p, open, true)) return p;
    pages::release(p, bytes);
    return nullptr;
  }

  /// Returns: address space to which a block can move, or null.
  [[nodiscard]] static void* reserve(std::size_t bytes, std::size_t alignment) noexcept {
    return pages::reserve(pages::round_up(bytes), alignment);
  }

  /// Effects: gives back address space that was not used.
  static void give_back(void* place, std::size_t bytes) noexcept { pages::release(place, pages::round_up(bytes)); }

  /// Returns: whether the block at `p` is at `place` now, grown to `new_bytes` by zero bytes. If not, the block is
  /// unchanged and `place` is gone.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE static bool move(void* p, std::size_t bytes, void* place,
                                                        std::size_t new_bytes) noexcept
    requires can_move
  {
    return basic_page_resource<Fresh, pages>::move(p, bytes, place, new_bytes);
  }
};

/// A buffer takes only its last block back; others are lost.
template <>
struct page_discard<buffer_resource> : page_discard<void> {
  static constexpr bool takes_back = false;
};

template <class Upstream>
struct page_discard<resource_ref<Upstream>> : page_discard<Upstream> {};

/// Returns: the resource of records of threads, and of tables of their heaps, over `upstream`.
template <class Upstream>
[[nodiscard]] constexpr decltype(auto) tables_beside([[maybe_unused]] Upstream& upstream) noexcept {
  if constexpr (page_discard<Upstream>::has_store && !page_discard<Upstream>::is_shared)
    return typename page_discard<Upstream>::store();
  else return (upstream);
}

/// Effects: decommits the whole pages between two addresses. Returns: their bytes; 0 if the system refuses.
template <class Upstream>
[[nodiscard]] std::size_t discard_pages_between(std::byte* first, std::byte* last) noexcept {
  const std::size_t page = system_calls::page_bytes();
  std::byte* const begin = align_up(first, page);
  std::byte* const end = align_down(last, page);
  const bool is_discarded =
      begin < end && page_discard<Upstream>::discard(begin, static_cast<std::size_t>(end - begin));
  return is_discarded ? static_cast<std::size_t>(end - begin) : 0;
}

/// The bytes at the end of each span that no block uses.
template <class Upstream>
inline constexpr std::size_t guard_bytes = page_discard<Upstream>::has_guards ? 4096 : 0;

/// Returns: the bytes of the span of a request, the guard included; `bytes` if that overflows.
template <class Upstream>
[[nodiscard]] constexpr std::size_t with_guard(std::size_t bytes) noexcept {
  return bytes <= max_size - guard_bytes<Upstream> ? bytes + guard_bytes<Upstream> : bytes;
}

/// Returns: the bytes of a span of `length` slices that blocks may use.
template <class Upstream>
[[nodiscard]] constexpr std::size_t usable_bytes(std::size_t length) noexcept {
  return length * slice_bytes - guard_bytes<Upstream>;
}

/// The calls of an upstream beneath a table that a lock guards: they are made without the lock. While a thread is
/// inside a call, as of `madvise` or `munmap`, others use the table:
///
///     [ lock: what the call is for leaves the table ] call [ lock: what came of it enters the table ]
///
/// A request that is refused waits for the calls under way, which may give memory back. A fork waits for these requests
/// too; up to its end calls are made under the lock. Thread safety: under the lock, if there is one.
class unlocked_calls {
public:
  /// Effects: from now on calls are made without the lock, which callers hold.
  constexpr void share(spin_lock& lock) noexcept { lock_ = &lock; }

  /// A scope that keeps the lock: calls are made under it, and none is waited for.
  class locked_scope {
  public:
    explicit locked_scope(unlocked_calls& calls) noexcept : calls_(calls) { ++calls_.locked_; }
    ~locked_scope() { --calls_.locked_; }
    locked_scope(const locked_scope&) = delete;
    locked_scope& operator=(const locked_scope&) = delete;

  private:
    unlocked_calls& calls_;
  };

  /// The scope of one call.
  class call {
  public:
    explicit call(unlocked_calls& of) noexcept
        : of_(of), has_begun_(of.lock_ != nullptr && of.locked_ == 0 && of.forks_ == 0) {
      if (has_begun_) ++of_.begun_, of_.release();
    }
    ~call() {
      if (has_begun_) of_.take_again(), ++of_.ended_;
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

  private:
    unlocked_calls& of_;
    const bool has_begun_;
  };

  /// Effects: waits until as many calls have ended as are under way. Returns: whether it has waited.
  ASHLAR_COLD bool wait_for_others() noexcept {
    const unsigned last = begun_;
    if (locked_ != 0 || last == ended_) return false;
    for (unsigned turn = 0; static_cast<int>(last - ended_) > 0; ++turn) let_others_in(turn);
    return true;
  }

  /// Effects: takes the lock around all calls, waits until no call is under way and no request waits, and has calls
  /// made under the lock up to `end_fork`.
  ASHLAR_COLD void begin_fork() noexcept {
    lock_->lock();
    ++forks_;
    for (unsigned turn = 0; begun_ != ended_ || waiting_ != 0; ++turn) let_others_in(turn);
  }
  void end_fork() noexcept {
    --forks_;
    lock_->unlock();
  }

private:
  ASHLAR_COLD void release() noexcept {
    [[maybe_unused]] auto* const noted = note(false);
    lock_->unlock();
    atomic_signal_fence();
    if (notes && noted != nullptr) noted->is_released = true;
  }
  ASHLAR_COLD void take_again() noexcept {
    if (auto* const noted = note(true); notes && noted != nullptr) noted->is_released = false;
    atomic_signal_fence();
    lock_->lock();
  }
  void let_others_in(unsigned turn) noexcept {
    ++waiting_;
    release();
    yield_or_sleep(turn);
    take_again();
    --waiting_;
  }

  // From level checked on a second lock by its holder is reported.
  static constexpr bool notes = checking_level >= checking::checked;
  [[nodiscard]] held_locks::entry* note([[maybe_unused]] bool is_released) const noexcept {
    return notes ? held_locks::find(lock_, is_released) : nullptr;
  }

  spin_lock* lock_ = nullptr;
  unsigned locked_ = 0, forks_ = 0;  // scopes; forks under way
  unsigned begun_ = 0, ended_ = 0;   // calls; the numbers may wrap
  unsigned waiting_ = 0;             // requests
};

}  // namespace ashlar::ASHLAR_ABI::detail
