// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A resource over the operating system: every block is a run of whole pages.
#pragma once

#include <cstddef>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/resource/new_delete_resource.hpp>

namespace ashlar::ASHLAR_ABI {

namespace fresh {

/// Fresh-memory policy: the first touch of each page makes it resident by a page fault.
struct plain {
  template <class Pages>
  static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    return Pages::map(bytes, alignment);
  }
};

/// Fresh-memory policy, the default: as plain, but a growing resource above may make a whole range resident in one
/// call. This takes 0.8 to 0.9 of the time of the faults it replaces (./dev bench fresh_memory).
struct populated : plain {
  /// A heap over it, and not over a policy derived from it, shares the `page_store` of these pages: for records of
  /// threads, and for a segment that it leaves.
  using shares_store = populated;

  template <class Pages>
  static void prefault(void* p, std::size_t bytes) noexcept {
    Pages::populate(p, bytes);
  }
};

/// Fresh-memory policy: blocks of 2 MiB and more ask for transparent huge pages. On a virtual machine this is 3 times
/// faster or 5 times slower, depending on whether the host backs the memory already (./dev bench fresh_memory): measure
/// before use.
struct huge {
  static constexpr std::size_t huge_bytes = std::size_t{2} << 20;

  /// Returns: whether pages are wished to be huge: a heap over them gives whole ones back.
  [[nodiscard]] static constexpr bool wants_huge() noexcept { return true; }

  template <class Pages>
  static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    const bool large = bytes >= huge_bytes;
    void* const p = Pages::map(bytes, large && alignment < huge_bytes ? huge_bytes : alignment);
    if (p == nullptr && large) return Pages::map(bytes, alignment);  // small pages may still fit
    if (p != nullptr && large) Pages::advise_huge(p, bytes);
    return p;
  }

  template <class Pages>
  static void grown(void* p, std::size_t /*from*/, std::size_t bytes) noexcept {
    if (bytes >= huge_bytes) Pages::advise_huge(p, bytes);
  }
};

/// Effects: informs a policy of a block's growth, if the policy has a hook for it.
template <class Fresh, class Pages>
void tell_grown(void* p, std::size_t from, std::size_t bytes) noexcept {
  if constexpr (requires { Fresh::template grown<Pages>(p, from, bytes); })
    Fresh::template grown<Pages>(p, from, bytes);
}

/// Fresh-memory policy: as `Fresh`, and resident before it is handed out, if the system can do that in one call (Linux
/// 5.14 and later). The cost of all first touches moves into the allocation. On other systems: as `Fresh`.
template <class Fresh>
struct resident {
  [[nodiscard]] static bool wants_huge() noexcept
    requires requires { Fresh::wants_huge(); }
  {
    return Fresh::wants_huge();
  }

  template <class Pages>
  static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = Fresh::template map<Pages>(bytes, alignment);
    if (p != nullptr) Pages::populate(p, bytes);
    return p;
  }

  template <class Pages>
  static void grown(void* p, std::size_t from, std::size_t bytes) noexcept {
    fresh::tell_grown<Fresh, Pages>(p, from, bytes);
    Pages::populate(static_cast<std::byte*>(p) + from, bytes - from);
  }
};

/// Fresh-memory policy: as `Fresh`, resident before it is handed out and never swapped out. Memory that the system
/// refuses to lock is not handed out: an allocation beyond `RLIMIT_MEMLOCK` fails.
template <class Fresh>
struct locked {
  template <class Pages>
  static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = Fresh::template map<Pages>(bytes, alignment);
    if (p == nullptr || Pages::lock(p, bytes)) return p;
    Pages::release(p, bytes);
    return nullptr;
  }

  // The system locks the bytes that a locked range grows by, and makes them resident, or refuses the growth.
  template <class Pages>
  static void grown(void* p, std::size_t from, std::size_t bytes) noexcept {
    fresh::tell_grown<Fresh, Pages>(p, from, bytes);
  }
};

/// A wish for transparent huge pages.
enum class huge_pages : unsigned char { by_system, wanted, refused };

/// Fresh-memory policy: as `populated`, with wishes that the program may change while it runs, for all resources with
/// this policy. For a malloc, whose options come from the environment.
class by_wish : public populated {
public:
  /// From level `hardened` on a heap over it has guard pages.
  static constexpr bool wants_guards = true;
  /// The largest block that `set_populates` makes resident: a heap's segment, which is in use soon. A larger block is
  /// one of the program's, which may touch little of it.
  static constexpr std::size_t most_populated_bytes = std::size_t{4} << 20;

  /// Effects: sets the wish for memory that is mapped from now on. Thread safety: any thread.
  static void set_wish(huge_pages wish) noexcept { wish_.store(wish); }
  [[nodiscard]] static bool wants_huge() noexcept { return wish() == huge_pages::wanted; }

  /// Effects: makes blocks of up to `most_populated_bytes` resident when they are mapped from now on, or no longer, as
  /// by default. Thread safety: any thread.
  static void set_populates(bool wish) noexcept { populates_.store(wish); }

  template <class Pages>
  static void* map(std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = map_by_wish<Pages>(bytes, alignment);
    if (p != nullptr && bytes <= most_populated_bytes && populates_.load()) Pages::populate(p, bytes);
    return p;
  }

  /// As `map`, of pages that the caller commits before use: inaccessible, unless they are to be resident.
  template <class Pages>
  static void* map_closed(std::size_t bytes, std::size_t alignment) noexcept {
    if (populates_.load()) return map<Pages>(bytes, alignment);
    void* const p = Pages::reserve(bytes, alignment);
    if (p != nullptr) tell_wish<Pages>(p, 0, bytes);
    return p;
  }

  template <class Pages>
  static void grown(void* p, std::size_t from, std::size_t bytes) noexcept {
    tell_wish<Pages>(p, from, bytes);
    if (bytes <= most_populated_bytes && populates_.load())
      Pages::populate(static_cast<std::byte*>(p) + from, bytes - from);
  }

private:
  template <class Pages>
  static void tell_wish(void* p, std::size_t from, std::size_t bytes) noexcept {
    if (wants_huge()) huge::grown<Pages>(p, from, bytes);
    else refuse_if_wished<Pages>(p, bytes);
  }

  template <class Pages>
  static void* map_by_wish(std::size_t bytes, std::size_t alignment) noexcept {
    if (wants_huge()) return huge::map<Pages>(bytes, alignment);
    void* const p = populated::map<Pages>(bytes, alignment);
    if (p != nullptr) refuse_if_wished<Pages>(p, bytes);
    return p;
  }

  [[nodiscard]] static huge_pages wish() noexcept { return wish_.load(); }

  template <class Pages>
  static void refuse_if_wished([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (requires { Pages::refuse_huge(p, bytes); })
      if (wish() == huge_pages::refused) Pages::refuse_huge(p, bytes);
  }

  static inline constinit detail::relaxed_atomic<huge_pages> wish_ = huge_pages::by_system;
  static inline constinit detail::relaxed_atomic<bool> populates_ = false;
};

}  // namespace fresh

/// Stateless: all instances with the same policies are equal. Sizes are rounded up to whole pages.
/// Complexity: one system call; three if the alignment exceeds a page and the first mapping misses it.
/// Thread safety: any thread.
template <class Fresh, class Pages>
class basic_page_resource {
public:
  static constexpr bool is_thread_safe = true;
  static constexpr bool is_process_wide = true;
  static constexpr std::size_t least_part_bytes = Pages::least_part_bytes;

  /// Throws: `std::bad_alloc`. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* allocate(std::size_t bytes, std::size_t alignment) {
    return ashlar::allocate_or_throw(*this, bytes, alignment);
  }

  /// Returns: zeroed pages, or null. Expects: `alignment` is a power of two.
  [[nodiscard]] ASHLAR_INLINE void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    ASHLAR_REQUIRE(is_power_of_two(alignment), "alignment is not a power of two");
    if (!is_valid_request(bytes, alignment)) return nullptr;
    const std::size_t whole = Pages::round_up(bytes);
    return whole != 0 ? Fresh::template map<Pages>(whole, alignment) : nullptr;
  }

  void deallocate(void* p, std::size_t bytes, std::size_t /*alignment*/) noexcept {
    Pages::release(p, Pages::round_up(bytes));
  }

  /// Returns: whether the block at `p` now has `new_bytes` bytes at the same address; added bytes are zero. A block
  /// grows on Linux where nothing is mapped after it, on Windows up to its first size. Shrinking always succeeds.
  [[nodiscard]] bool try_expand(void* p, std::size_t bytes, std::size_t new_bytes, std::size_t /*alignment*/) noexcept
    requires requires { Pages::grow(p, bytes, new_bytes); }
  {
    if (new_bytes > max_block_bytes) return false;
    const std::size_t held = Pages::round_up(bytes), wanted = Pages::round_up(new_bytes);
    if (wanted > held) return Pages::grow(p, held, wanted) && (fresh::tell_grown<Fresh, Pages>(p, held, wanted), true);
    if (wanted < held) Pages::release(static_cast<std::byte*>(p) + wanted, held - wanted);
    return true;
  }

  /// Effects: moves a block to a reserved address range and grows it by remapping; added bytes are zero.
  /// Expects: `new_bytes` is not less than `bytes`. Returns: false if the block is unchanged; the reserved range is
  /// lost in that case.
  [[nodiscard]] ASHLAR_INLINE_FOR_SIZE static bool move(void* p, std::size_t bytes, void* place,
                                                        std::size_t new_bytes) noexcept
    requires requires { Pages::move(p, bytes, place, new_bytes); }
  {
    const std::size_t held = Pages::round_up(bytes), wanted = Pages::round_up(new_bytes);
    if (!Pages::move(p, held, place, wanted)) return false;
    fresh::tell_grown<Fresh, Pages>(place, held, wanted);
    return true;
  }

  /// Effects: makes the whole pages inside the range resident now.
  void prefault(void* p, std::size_t bytes) noexcept
    requires requires { Fresh::template prefault<Pages>(p, bytes); }
  {
    Fresh::template prefault<Pages>(p, align_down(bytes, Pages::page_bytes()));
  }

  [[nodiscard]] friend bool operator==(const basic_page_resource&, const basic_page_resource&) noexcept = default;
};

static_assert(try_resource<page_resource> && prefaulting_resource<page_resource> &&
              process_wide_resource<page_resource>);

}  // namespace ashlar::ASHLAR_ABI
