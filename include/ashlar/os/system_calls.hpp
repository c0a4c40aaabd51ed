// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls behind pages, as a policy: tests substitute failing calls.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/os/native.hpp>

#if ASHLAR_HOSTED && !ASHLAR_WINDOWS  // the C library of Windows has no aligned_alloc

namespace ashlar::ASHLAR_ABI::detail {

/// As the calls of POSIX systems (os/system_calls.hpp), with these differences: a block is given back as a
/// whole, no memory is only reserved, and nothing but `unmap` gives memory back.
struct portable_calls {
  static constexpr std::size_t least_part_bytes = 0;
  static constexpr bool has_huge_pages = false;

  [[nodiscard]] static std::size_t page_bytes() noexcept { return 4096; }

  /// Returns: a zeroed block, or null.
  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return map_aligned(bytes, page_bytes(), accessible);
  }

  /// As `map`, at a multiple of `alignment`.
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool /*accessible*/) noexcept {
    alignment = max(alignment, page_bytes());
    if (bytes == 0 || bytes > max_block_bytes - alignment) return nullptr;
    void* const p = std::aligned_alloc(alignment, align_up(bytes, alignment));
    return p != nullptr ? std::memset(p, 0, bytes) : nullptr;
  }

  /// Expects: `p` is the start of a block.
  [[nodiscard]] static bool unmap(void* p, std::size_t /*bytes*/) noexcept { return std::free(p), true; }

  /// Effects: zeroes the pages.
  static bool decommit(void* p, std::size_t bytes) noexcept { return std::memset(p, 0, bytes), true; }

  [[nodiscard]] static bool protect(void* p, std::size_t /*bytes*/, bool /*accessible*/) noexcept {
    return p != nullptr;
  }

  /// @{ Refused.
  [[nodiscard]] static bool discard(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool populate(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool advise_huge(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool lock(void*, std::size_t) noexcept { return false; }
  /// @}

  /// Returns: true, since it is not known.
  [[nodiscard]] static bool is_mapped(const void* /*p*/, std::size_t /*bytes*/) noexcept { return true; }
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif

#if ASHLAR_WINDOWS

namespace ashlar::ASHLAR_ABI::detail {

/// As the calls of POSIX systems (os/system_calls.hpp), with these differences: a block is one reservation,
/// which `unmap` takes by its start; a block grows only into what it was shrunk by, and does not move; nothing is
/// locked, since a purge would unlock it.
struct system_calls {
  static constexpr std::size_t least_part_bytes = 0;
  static constexpr bool has_huge_pages = false;

  /// On all processors that Windows runs on.
  [[nodiscard]] static std::size_t page_bytes() noexcept { return 4096; }

  /// Returns: new address space, either readable and writable or inaccessible, or null. It starts at 64 KiB.
  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return place(nullptr, bytes, accessible);
  }

  /// As `map`, at a multiple of `alignment`.
  [[nodiscard]] static void* map_aligned(std::size_t bytes, std::size_t alignment, bool accessible) noexcept {
    if (alignment <= granularity) return map(bytes, accessible);
    std::size_t wide = 0;
    if (!checked_add(bytes, alignment - granularity, wide)) return nullptr;
    for (int attempt = 0; attempt != attempts; ++attempt) {
      void* const start = map(wide, false);
      if (start == nullptr || !unmap(start, wide)) return nullptr;
      // Another thread may take the place between these calls.
      if (void* const p = place(align_up(start, alignment), bytes, accessible)) return p;
    }
    return nullptr;
  }

  /// Effects: gives a whole reservation back. Returns: false if `p` is not the start of one; then nothing has changed.
  [[nodiscard]] static bool unmap(void* p, std::size_t /*bytes*/) noexcept {
    return ::VirtualFree(p, 0, windows::mem_release) != 0;
  }

  /// Effects: makes pages accessible, zero if they were not committed; or inaccessible, with their contents.
  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool accessible) noexcept {
    unsigned long before = 0;
    return accessible ? commit(p, bytes) : ::VirtualProtect(p, bytes, windows::page_no_access, &before) != 0;
  }

  /// Effects: drops the contents and makes the pages inaccessible; the address space stays.
  static bool decommit(void* p, std::size_t bytes) noexcept {
    // The system would round to whole pages outwards.
    const bool is_whole = p != nullptr && bytes != 0 && (address_of(p) | bytes) % page_bytes() == 0;
    return is_whole && ::VirtualFree(p, bytes, windows::mem_decommit) != 0;
  }

  /// Effects: drops the contents and returns the memory to the system; the pages stay usable. Ends the process if other
  /// programs take all memory meanwhile for seconds, as other systems do at the next touch.
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    if (!decommit(p, bytes)) return false;
    for (unsigned long wait_ms = 1; !commit(p, bytes); wait_ms *= 2) {
      if (wait_ms > longest_wait_ms) panic("ashlar: the system has no memory for pages that were in use before");
      ::Sleep(wait_ms);
    }
    return true;
  }

  /// Effects: commits pages behind the block, as far as its reservation extends: a block grows into what it was shrunk
  /// by. Expects: `p` is the start of a block.
  [[nodiscard]] static bool grow(void* p, std::size_t bytes, std::size_t new_bytes) noexcept {
    void* const end = static_cast<std::byte*>(p) + bytes;
    const windows::region behind = windows::region_at(end);
    const bool is_room = behind.reservation == p && behind.state == windows::mem_reserve && behind.start == end &&
                         behind.bytes >= new_bytes - bytes;
    return is_room && commit(end, new_bytes - bytes);
  }

  /// @{ Refused.
  [[nodiscard]] static bool populate(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool advise_huge(void*, std::size_t) noexcept { return false; }
  [[nodiscard]] static bool lock(void*, std::size_t) noexcept { return false; }
  /// @}

  /// Returns: whether the range is accessible at this moment. Does not read `p`.
  [[nodiscard]] static bool is_mapped(const void* p, std::size_t bytes) noexcept {
    const windows::region around = windows::region_at(p);
    const std::uintptr_t end = address_of(around.start) + static_cast<std::uintptr_t>(around.bytes);
    return around.state == windows::mem_commit && (around.protection & windows::page_no_access) == 0 &&
           bytes <= end - address_of(p);
  }

private:
  static constexpr std::size_t granularity = std::size_t{64} * 1024;  // of the starts of reservations
  static constexpr int attempts = 64;
  static constexpr unsigned long longest_wait_ms = 2048;

  [[nodiscard]] static void* place(void* at, std::size_t bytes, bool accessible) noexcept {
    return ::VirtualAlloc(at, bytes, windows::mem_reserve | (accessible ? windows::mem_commit : 0UL),
                          accessible ? windows::page_read_write : windows::page_no_access);
  }

  [[nodiscard]] static bool commit(void* p, std::size_t bytes) noexcept {
    return p != nullptr && ::VirtualAlloc(p, bytes, windows::mem_commit, windows::page_read_write) != nullptr;
  }
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif

namespace ashlar::ASHLAR_ABI::detail {

struct system_calls;

/// Whether a call may change `errno`: those that a policy derived from `system_calls` has of its own may.
template <class Calls>
inline constexpr bool changes_errno = true;
template <>
inline constexpr bool changes_errno<system_calls> = !ASHLAR_MAPS_BY_KERNEL;

/// Keeps `errno` for a scope around calls of the policy.
template <class Calls>
class errno_scope {
public:
  errno_scope() noexcept {
    if constexpr (changes_errno<Calls>) saved_ = errno;
  }
  errno_scope(const errno_scope&) = delete;
  errno_scope& operator=(const errno_scope&) = delete;
  ~errno_scope() {
    if constexpr (changes_errno<Calls>) errno = saved_;
  }

private:
  int saved_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail

// Without an operating system there are no pages: `system_calls` stays incomplete, and code that needs pages does not
// compile. It needs another upstream: a `buffer_resource` or the `null_resource`.
#if ASHLAR_HOSTED && !ASHLAR_POSIX && !ASHLAR_WINDOWS

namespace ashlar::ASHLAR_ABI::detail {

struct system_calls : portable_calls {};

}  // namespace ashlar::ASHLAR_ABI::detail

#elif ASHLAR_POSIX

#include <sys/mman.h>
#include <unistd.h>

namespace ashlar::ASHLAR_ABI::detail {

/// The calls behind `system_calls`, as the C library has them; directly where that is known.
struct memory_calls {
#if ASHLAR_MAPS_BY_KERNEL
  [[nodiscard]] static void* map(void* place, std::size_t bytes, int protection, int flags) noexcept {
    const long result = call_kernel(SYS_mmap, place, bytes, protection, flags, -1, 0);
    return is_kernel_error(result) ? MAP_FAILED : reinterpret_cast<void*>(result);
  }
  static int unmap(void* p, std::size_t bytes) noexcept { return status(SYS_munmap, p, bytes); }
  static int protect(void* p, std::size_t bytes, int protection) noexcept {
    return status(SYS_mprotect, p, bytes, protection);
  }
  static int advise(void* p, std::size_t bytes, int advice) noexcept { return status(SYS_madvise, p, bytes, advice); }
  static int lock(void* p, std::size_t bytes) noexcept { return status(SYS_mlock, p, bytes); }
  static int synchronise(void* p, std::size_t bytes) noexcept { return status(SYS_msync, p, bytes, MS_ASYNC); }
  static void* remap(void* p, std::size_t bytes, std::size_t new_bytes, int flags, void* place) noexcept {
    const long result = call_kernel(SYS_mremap, p, bytes, new_bytes, flags, place);
    return is_kernel_error(result) ? MAP_FAILED : reinterpret_cast<void*>(result);
  }

private:
  template <class... Words>
  static int status(long number, Words... words) noexcept {
    return static_cast<int>(call_kernel(number, words...));
  }
#else
  [[nodiscard]] static void* map(void* place, std::size_t bytes, int protection, int flags) noexcept {
    return ::mmap(place, bytes, protection, flags, -1, 0);
  }
  static int unmap(void* p, std::size_t bytes) noexcept { return ::munmap(p, bytes); }
  static int protect(void* p, std::size_t bytes, int protection) noexcept { return ::mprotect(p, bytes, protection); }
  static int advise(void* p, std::size_t bytes, int advice) noexcept { return ::madvise(p, bytes, advice); }
  static int lock(void* p, std::size_t bytes) noexcept { return ::mlock(p, bytes); }
  static int synchronise(void* p, std::size_t bytes) noexcept { return ::msync(p, bytes, MS_ASYNC); }
#if defined(__linux__)
  static void* remap(void* p, std::size_t bytes, std::size_t new_bytes, int flags, void* place) noexcept {
    return ::mremap(p, bytes, new_bytes, flags, place);
  }
#endif
#endif
};

/// Each call returns whether it succeeded. Fresh memory is zero.
struct system_calls {
  static constexpr std::size_t least_part_bytes = largest_page;  ///< of a mapping, that can be given back
#if defined(MADV_HUGEPAGE)
  static constexpr bool has_huge_pages = true;  ///< transparent ones, where the administrator lets them be
#else
  static constexpr bool has_huge_pages = false;
#endif

  [[nodiscard]] static std::size_t page_bytes() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return 4096;
#else
    const std::size_t known = page_bytes_.load(memory_order_relaxed);
    return known != 0 ? known : ask_page_bytes();
#endif
  }

  /// Returns: new address space, either readable and writable or inaccessible, or null.
  [[nodiscard]] static void* map(std::size_t bytes, bool accessible) noexcept {
    return map_near(nullptr, bytes, accessible);
  }

  /// As `map`, at `place` if that range is free. If `place` is null, the system selects the address.
  [[nodiscard]] static void* map_near(void* place, std::size_t bytes, bool accessible) noexcept {
    const int protection = accessible ? PROT_READ | PROT_WRITE : PROT_NONE;
    before_map(bytes);
    void* const p = memory_calls::map(place, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | no_reserve);
    return p != MAP_FAILED ? p : nullptr;
  }

  [[nodiscard]] static bool unmap(void* p, std::size_t bytes) noexcept { return memory_calls::unmap(p, bytes) == 0; }

  [[nodiscard]] static bool protect(void* p, std::size_t bytes, bool accessible) noexcept {
    return memory_calls::protect(p, bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
  }

  /// Effects: drops the contents and returns the memory to the system; the address space stays.
  [[nodiscard]] static bool discard(void* p, std::size_t bytes) noexcept {
    return memory_calls::advise(p, bytes, MADV_DONTNEED) == 0;
  }

  /// Effects: makes the range resident in one call. Linux 5.14 and later; refused on other systems.
  [[nodiscard]] static bool populate([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, missing in older system headers
    return memory_calls::advise(p, bytes, populate_write) == 0;
#else
    return false;
#endif
  }

  /// Effects: requests transparent huge pages. Linux only; refused on other systems.
  [[nodiscard]] static bool advise_huge([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
    return memory_calls::advise(p, bytes, MADV_HUGEPAGE) == 0;
#else
    return false;
#endif
  }

  /// Effects: makes the range huge pages now, with its contents; what was not resident is zero. Linux 6.1 and later;
  /// refused where huge pages have run out, and on other systems.
  [[nodiscard]] static bool collapse([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
    constexpr int to_huge_pages = 25;  // MADV_COLLAPSE, missing in older system headers
    return memory_calls::advise(p, bytes, to_huge_pages) == 0;
#else
    return false;
#endif
  }

  /// Effects: refuses transparent huge pages. Linux only; refused on other systems.
  [[nodiscard]] static bool refuse_huge([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_NOHUGEPAGE)
    return memory_calls::advise(p, bytes, MADV_NOHUGEPAGE) == 0;
#else
    return false;
#endif
  }

  /// Effects: extends a mapping in place. Linux only; refused on other systems.
  [[nodiscard]] static bool grow([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes,
                                 [[maybe_unused]] std::size_t new_bytes) noexcept {
#if defined(__linux__)
    return memory_calls::remap(p, bytes, new_bytes, 0, nullptr) != MAP_FAILED;
#else
    return false;
#endif
  }

#if defined(__linux__)
  /// Effects: moves a mapping onto another one of `new_bytes` bytes and extends it to that size, without a copy. A
  /// refusal leaves the mapping unchanged; the one at `place` may be gone.
  [[nodiscard]] static bool move(void* p, std::size_t bytes, void* place, std::size_t new_bytes) noexcept {
    return memory_calls::remap(p, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED;
  }
#endif

  /// Returns: whether the range is mapped at this moment. Does not read `p`.
  [[nodiscard]] static bool is_mapped(const void* p, std::size_t bytes) noexcept {
    void* const first = align_down(const_cast<void*>(p), page_bytes());
    const errno_scope<system_calls> keep;
    return memory_calls::synchronise(first, bytes + (address_of(p) - address_of(first))) == 0;
  }

  /// Effects: makes the range resident until it is unmapped. Refused above `RLIMIT_MEMLOCK`.
  [[nodiscard]] static bool lock(void* p, std::size_t bytes) noexcept { return memory_calls::lock(p, bytes) == 0; }

private:
#if !defined(__x86_64__) && !defined(__i386__)
  // No guarded static: malloc may come here, and the guard may allocate.
  static std::size_t ask_page_bytes() noexcept {
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    page_bytes_.store(bytes, memory_order_relaxed);
    return bytes;
  }
  static inline constinit atomic<std::size_t> page_bytes_ = 0;
#endif

#if defined(MAP_NORESERVE)
  static constexpr int no_reserve = MAP_NORESERVE;
#else
  static constexpr int no_reserve = 0;
#endif
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif
