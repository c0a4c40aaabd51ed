// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls behind pages, as a policy: tests substitute failing calls.
#pragma once

#include <cerrno>
#include <cstddef>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/atomics.hpp>
#include <ashlar/detail/support/bits.hpp>
#include <ashlar/detail/support/kernel.hpp>

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
#if ASHLAR_WINDOWS

#include <ashlar/detail/system/windows_calls.hpp>

#elif ASHLAR_HOSTED && !ASHLAR_POSIX

#include <ashlar/detail/system/portable_calls.hpp>

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
    const long result = detail::call_kernel(SYS_mmap, place, bytes, protection, flags, -1, 0);
    return detail::is_kernel_error(result) ? MAP_FAILED : reinterpret_cast<void*>(result);
  }
  static int unmap(void* p, std::size_t bytes) noexcept { return status(SYS_munmap, p, bytes); }
  static int protect(void* p, std::size_t bytes, int protection) noexcept {
    return status(SYS_mprotect, p, bytes, protection);
  }
  static int advise(void* p, std::size_t bytes, int advice) noexcept { return status(SYS_madvise, p, bytes, advice); }
  static int lock(void* p, std::size_t bytes) noexcept { return status(SYS_mlock, p, bytes); }
  static int synchronise(void* p, std::size_t bytes) noexcept { return status(SYS_msync, p, bytes, MS_ASYNC); }
  static void* remap(void* p, std::size_t bytes, std::size_t new_bytes, int flags, void* place) noexcept {
    const long result = detail::call_kernel(SYS_mremap, p, bytes, new_bytes, flags, place);
    return detail::is_kernel_error(result) ? MAP_FAILED : reinterpret_cast<void*>(result);
  }

private:
  template <class... Words>
  static int status(long number, Words... words) noexcept {
    return static_cast<int>(detail::call_kernel(number, words...));
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
    detail::before_map(bytes);
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
