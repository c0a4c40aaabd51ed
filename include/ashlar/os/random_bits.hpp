// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The coarse clock, and random bits for placement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/os/process_secret.hpp>

#if defined(__linux__) && ASHLAR_POSIX && defined(__LP64__)
#include <elf.h>
#define ASHLAR_HAS_VDSO 1
#else
#define ASHLAR_HAS_VDSO 0
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if ASHLAR_HAS_VDSO

/// The symbols of the image of a shared library in memory. Lifetime: the image outlives it.
class vdso_symbols {
public:
  ASHLAR_COLD explicit vdso_symbols(std::uintptr_t image) noexcept {
    const auto& head = *at<Elf64_Ehdr>(image);
    const auto* const parts = at<Elf64_Phdr>(image + head.e_phoff);
    const Elf64_Phdr *dynamic = nullptr, *loaded = nullptr;
    for (std::size_t i = 0; i != head.e_phnum; ++i) {
      if (parts[i].p_type == PT_LOAD && loaded == nullptr) loaded = &parts[i];
      if (parts[i].p_type == PT_DYNAMIC) dynamic = &parts[i];
    }
    if (loaded == nullptr || dynamic == nullptr) return;
    bias_ = image + loaded->p_offset - loaded->p_vaddr;
    for (const auto* each = at<Elf64_Dyn>(image + dynamic->p_offset); each->d_tag != DT_NULL; ++each)
      note(each->d_tag, bias_ + each->d_un.d_ptr);
  }

  /// Returns: the address of the function, or 0.
  [[nodiscard]] ASHLAR_COLD std::uintptr_t find(const char* name) const noexcept {
    if (names_ == nullptr || symbols_ == nullptr) return 0;
    for (std::uint32_t i = 0; i < count_; ++i)
      if (symbols_[i].st_shndx != SHN_UNDEF && is_same(names_ + symbols_[i].st_name, name))
        return bias_ + symbols_[i].st_value;
    return 0;
  }

private:
  template <class T>
  [[nodiscard]] static const T* at(std::uintptr_t address) noexcept {
    return reinterpret_cast<const T*>(address);
  }

  [[nodiscard]] static bool is_same(const char* a, const char* b) noexcept {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
  }

  void note(std::int64_t tag, std::uintptr_t address) noexcept {
    if (tag == DT_STRTAB) names_ = at<char>(address);
    else if (tag == DT_SYMTAB) symbols_ = at<Elf64_Sym>(address);
    else if (tag == DT_HASH) count_ = at<std::uint32_t>(address)[1];
    else if (tag == DT_GNU_HASH && count_ == 0) count_ = count_in(at<std::uint32_t>(address));
  }

  // The table has no count: the last chain of symbols ends with the last symbol.
  [[nodiscard]] static std::uint32_t count_in(const std::uint32_t* table) noexcept {
    const std::uint32_t buckets = table[0], first = table[1], words = table[2];
    const std::uint32_t* const bucket = table + 4 + words * 2;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i != buckets; ++i)
      if (bucket[i] > last) last = bucket[i];
    if (last < first) return first;
    const std::uint32_t* const chain = bucket + buckets;
    while ((chain[last - first] & 1) == 0) ++last;
    return last + 1;
  }

  std::uintptr_t bias_ = 0;
  const char* names_ = nullptr;
  const Elf64_Sym* symbols_ = nullptr;
  std::uint32_t count_ = 0;
};

#endif

}  // namespace ashlar::ASHLAR_ABI::detail

#if ASHLAR_POSIX
#include <time.h>
#elif ASHLAR_WINDOWS
#include <ashlar/os/windows.hpp>
#elif ASHLAR_HOSTED
#include <chrono>
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if ASHLAR_MAPS_BY_KERNEL && ASHLAR_HAS_VDSO

/// clock_gettime of the kernel: other libraries stand in front of the one of the C library, to change the time.
/// Constant-initialised. Thread safety: any thread; async-signal-safe.
class kernel_clock {
public:
  /// Effects: finds the function, so that no later call asks for it.
  static void find() noexcept { static_cast<void>(function()); }

  [[nodiscard]] static timespec now(clockid_t clock) noexcept {
    timespec time = {};
    const auto read = function();
    if (read == nullptr || read(clock, &time) != 0) call_kernel(SYS_clock_gettime, clock, &time);
    return time;
  }

private:
  using reader = int (*)(clockid_t, timespec*);
  static constexpr std::uintptr_t none = 1;  // no function has this address

  [[nodiscard]] static reader function() noexcept {
    std::uintptr_t known = function_.load(memory_order_relaxed);
    if (known == 0) function_.store(known = search(), memory_order_relaxed);
    return known == none ? nullptr : reinterpret_cast<reader>(known);
  }

  [[nodiscard]] ASHLAR_COLD static std::uintptr_t search() noexcept {
#if defined(__aarch64__)
    constexpr const char* name = "__kernel_clock_gettime";
#else
    constexpr const char* name = "__vdso_clock_gettime";
#endif
    const std::uintptr_t image = auxiliary_value<AT_SYSINFO_EHDR>::get();
    const std::uintptr_t found = image != 0 ? vdso_symbols(image).find(name) : 0;
    return found != 0 ? found : none;
  }

  static inline constinit atomic<std::uintptr_t> function_ = 0;
};

#elif ASHLAR_POSIX

struct kernel_clock {
  static void find() noexcept {}
  [[nodiscard]] static timespec now(clockid_t clock) noexcept {
    timespec time = {};
    static_cast<void>(::clock_gettime(clock, &time));
    return time;
  }
};

#endif

/// Returns: milliseconds since some start, monotonic, a few behind at most (on Windows 16). Modulo 2^32: differences
/// are right up to 49 days. Complexity: 5 to 20 ns, without a system call on Linux. Without an operating system time
/// stands still. Thread safety: any thread; async-signal-safe.
[[nodiscard]] inline std::uint32_t coarse_ms() noexcept {
#if ASHLAR_POSIX
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr clockid_t clock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t clock = CLOCK_MONOTONIC;
#endif
  const timespec now = kernel_clock::now(clock);
  return static_cast<std::uint32_t>(now.tv_sec) * 1000 + static_cast<std::uint32_t>(now.tv_nsec / 1'000'000);
#elif ASHLAR_WINDOWS
  return static_cast<std::uint32_t>(::GetTickCount64());
#elif ASHLAR_HOSTED
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
#else
  return 0;
#endif
}

/// Returns: microseconds since some start, monotonic, modulo 2^32. Otherwise as `coarse_ms`. Complexity: 20 to 50 ns.
[[nodiscard]] inline std::uint32_t fine_us() noexcept {
#if ASHLAR_POSIX
  const timespec now = kernel_clock::now(CLOCK_MONOTONIC);
  return static_cast<std::uint32_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint32_t>(now.tv_nsec / 1000);
#else
  return coarse_ms() * 1000;
#endif
}

/// A sequence of random words. Not for cryptography: some of its words tell the others. The seed waits for the first
/// use, so that a constant-initialised object has one. Thread safety: none.
class random_bits {
public:
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next() noexcept {
    if (ASHLAR_UNLIKELY(!is_seeded())) seed();
    return mixed(state_ += 0x9E3779B97F4A7C15u);
  }

  /// Returns: whether there is a seed of this epoch, without which the next call takes longer.
  [[nodiscard]] ASHLAR_INLINE bool is_seeded() const noexcept { return epoch_ == random_epoch::number(); }

  /// Returns: a random number below 64. One word serves for ten of them.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next_of_64() noexcept {
    if (ASHLAR_UNLIKELY(!is_seeded())) seed();
    return next_of_64_seeded();
  }
  /// As above. Expects: `is_seeded`.
  [[nodiscard]] ASHLAR_INLINE std::uint64_t next_of_64_seeded() noexcept {
    if (ASHLAR_UNLIKELY(rest_ <= 1)) rest_ = next() >> 4 | std::uint64_t{1} << 60;  // the one marks the end
    const std::uint64_t chosen = rest_ % 64;
    rest_ /= 64;
    return chosen;
  }

private:
  ASHLAR_COLD void seed() noexcept {
    state_ = process_secret() ^ random_epoch::secret() ^ address_of(this) ^ coarse_ms();
    rest_ = 0;
    epoch_ = random_epoch::number();
  }

  std::uint64_t state_ = 0;
  std::uint64_t rest_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail
