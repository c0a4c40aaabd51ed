// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The secrets of a process and of its forks, the canaries of all resources; the coarse clock, and random bits for
// placement.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/os/native.hpp>

#if defined(__linux__) && ASHLAR_POSIX
#include <sys/auxv.h>

namespace ashlar::ASHLAR_ABI::detail {

/// An entry of what the kernel tells a program at its start, asked of the C library once. Later calls of `get` read
/// what the first one has found, as the C library's function is one that another library may stand in front of.
/// Constant-initialised. Thread safety: any thread; async-signal-safe.
template <unsigned long Type>
class auxiliary_value {
public:
  /// Returns: the value, or 0 without one.
  [[nodiscard]] static unsigned long get() noexcept {
    unsigned long known = known_.load(memory_order_relaxed);
    if (known == 0) known_.store(known = ::getauxval(Type), memory_order_relaxed);
    return known;
  }

private:
  static inline constinit atomic<unsigned long> known_ = 0;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#elif ASHLAR_POSIX
#include <stdlib.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Its address is the secret of a process on systems that give none: one address for all libraries of the process.
#if ASHLAR_POSIX && !defined(__linux__)
ASHLAR_OF_ALL_LIBRARIES
#endif
inline constexpr char place_of_secret = 0;

/// Returns: a word that is the same at each call in a process, in all of its libraries: of the 16 random bytes that
/// Linux gives each program; on Windows of the start and the heap of the process; on other systems of an address.
/// Complexity: a search of some 20 entries.
[[nodiscard]] ASHLAR_COLD inline std::uint64_t process_secret() noexcept {
#if defined(__linux__) && ASHLAR_POSIX
  if (const unsigned long bytes = auxiliary_value<AT_RANDOM>::get(); bytes != 0) {
    std::uint64_t words[2];
    std::memcpy(words, reinterpret_cast<const void*>(bytes), sizeof words);
    return mixed(words[0] ^ mixed(words[1]));  // the first bytes guard stacks: they stay secret
  }
#elif ASHLAR_WINDOWS
  return mixed(windows::start_of_process() ^ mixed(windows::place_of_process()));
#endif
  return mixed(address_of(&place_of_secret));
}

/// Returns: a word that no other call in any process has, and no other program knows. The system may refuse its random
/// bytes: then a word of the process and the thread's stack, on Windows of the time too. Complexity: a system call.
[[nodiscard]] ASHLAR_COLD inline std::uint64_t fresh_secret() noexcept {
  std::uint64_t word = 0;
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_getrandom)
  constexpr unsigned no_waiting = 1;  // GRND_NONBLOCK: early at boot there are none
  if (call_kernel(SYS_getrandom, &word, sizeof word, no_waiting) == long{sizeof word}) return word;
  word = static_cast<std::uint64_t>(call_kernel(SYS_getpid));
#elif defined(__FreeBSD__) || defined(__APPLE__) || defined(__NetBSD__) || defined(__OpenBSD__)
  ::arc4random_buf(&word, sizeof word);
  return word;
#elif ASHLAR_WINDOWS
  word = ::GetTickCount64();
#endif
  return mixed(process_secret() ^ mixed(word) ^ address_of(&word));
}

/// The words that each sequence begins again with in the child of a fork: else the children of one process, which all
/// have its memory, would go on alike. Thread safety: any thread.
class random_epoch {
public:
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t number() noexcept { return number_.load(memory_order_relaxed); }
  [[nodiscard]] static std::uint64_t secret() noexcept { return secret_.load(memory_order_relaxed); }

  /// Effects: begins an epoch. Expects: the caller is the only thread. Complexity: a system call.
  ASHLAR_COLD static void begin() noexcept {
    secret_.store(fresh_secret(), memory_order_relaxed);
    number_.store(number() + 1, memory_order_relaxed);
  }

private:
  static inline constinit atomic<std::uint32_t> number_ = 1;
  static inline constinit atomic<std::uint64_t> secret_ = 0;
};

/// The canaries of a process: bytes beside blocks that other programs cannot know. A byte depends on the secret and on
/// its address; a resource that keeps no sizes mixes the requested one in:
///
///     | block of n bytes | canary: secret word of the address ^ n modulo 128 in each byte, highest bits set |
///
/// So no text, terminator or small number passes for a canary, nor a canary that was copied. Of other bytes, written by
/// who does not know the secret, one in 128 passes; of n such bytes one in 2^7n. A forked child keeps the secret, as
/// its blocks have canaries of it. Thread safety: any thread.
class canary_secret {
public:
  /// Returns: the canary in the aligned word at `address`.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t word(std::uintptr_t address) noexcept {
    std::uintptr_t factor = factor_.load(memory_order_acquire);  // pairs with the release in make()
    if (ASHLAR_UNLIKELY(factor == 0)) factor = make();
    std::uint64_t product = address ^ term_.load(memory_order_relaxed);
    product *= sizeof factor == sizeof product ? factor : factor * std::uint64_t{0x9E3779B97F4A7C15u};
    return (product ^ product >> 32) | 0x8080'8080'8080'8080u;
  }

  /// Returns: the canary in the byte at `p`.
  [[nodiscard]] static ASHLAR_INLINE unsigned char byte(const void* p) noexcept {
    const std::uint64_t whole = word(address_of(p) & ~std::uintptr_t{7});
    unsigned char bytes[sizeof whole];
    std::memcpy(bytes, &whole, sizeof whole);
    return bytes[address_of(p) & 7];
  }

  /// Returns: the canary in the eight bytes from `p` on.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t word_at(const void* p) noexcept {
    const std::uintptr_t skipped = address_of(p) % sizeof(std::uint64_t), start = address_of(p) - skipped;
    const std::uint64_t first = word(start);
    if (skipped == 0) return first;
    const std::uint64_t next = word(start + sizeof next);
    const auto bits = static_cast<unsigned>(8 * skipped);
    return std::endian::native == std::endian::little ? first >> bits | next << (64 - bits)
                                                      : first << bits | next >> (64 - bits);
  }

private:
  // Two threads that come at once store the same two words. Returns: the factor.
  ASHLAR_COLD static std::uintptr_t make() noexcept {
    const std::uint64_t secret = process_secret();
    term_.store(static_cast<std::uintptr_t>(mixed(secret + 1)), memory_order_relaxed);
    const auto factor = static_cast<std::uintptr_t>(mixed(secret + 2) | 1);
    factor_.store(factor, memory_order_release);
    return factor;
  }

  static inline constinit atomic<std::uintptr_t> factor_ = 0;
  static inline constinit atomic<std::uintptr_t> term_ = 0;
};

inline constexpr std::size_t canary_period = 128;

/// Returns: the part of a canary that tells the requested bytes, for eight bytes of it.
[[nodiscard]] ASHLAR_INLINE constexpr std::uint64_t canary_of_size(std::size_t requested) noexcept {
  return requested % canary_period * std::uint64_t{0x0101'0101'0101'0101u};
}

/// Returns: the canary in the byte at `p`, of a block of `requested` bytes.
[[nodiscard]] ASHLAR_INLINE std::byte canary_byte(const std::byte* p, std::size_t requested = 0) noexcept {
  return static_cast<std::byte>(canary_secret::byte(p) ^ requested % canary_period);
}

/// Effects: calls `f(at, canary, bytes)` for the pieces of a range, each in an aligned word.
template <class Byte, class F>
ASHLAR_INLINE void for_each_canary(Byte* from, const std::byte* to, std::size_t requested, F f) noexcept {
  while (from != to) {
    const std::size_t skipped = address_of(from) % sizeof(std::uint64_t);
    const std::size_t bytes = min(sizeof(std::uint64_t) - skipped, static_cast<std::size_t>(to - from));
    const std::uint64_t word = canary_secret::word(address_of(from) - skipped) ^ canary_of_size(requested);
    f(from, reinterpret_cast<const std::byte*>(&word) + skipped, bytes);
    from += bytes;
  }
}

/// Effects: writes the canary of a block of `requested` bytes to a range. Complexity: O(bytes), 8 bytes a step.
inline void fill_canary(std::byte* from, const std::byte* to, std::size_t requested = 0) noexcept {
  for_each_canary(from, to, requested,
                  [](std::byte* at, const std::byte* canary, std::size_t bytes) { std::memcpy(at, canary, bytes); });
}

/// Returns: whether the canary in a range is intact. Complexity: as `fill_canary`.
[[nodiscard]] inline bool is_canary(const std::byte* from, const std::byte* to, std::size_t requested = 0) noexcept {
  bool is_intact = true;
  for_each_canary(from, to, requested, [&](const std::byte* at, const std::byte* canary, std::size_t bytes) {
    is_intact = is_intact && std::memcmp(at, canary, bytes) == 0;
  });
  return is_intact;
}

/// Returns: one past the last byte of a range that is not canary, or `from`.
[[nodiscard]] inline const std::byte* end_of_changes(const std::byte* from, const std::byte* to,
                                                     std::size_t requested = 0) noexcept {
  while (to != from && to[-1] == canary_byte(to - 1, requested)) --to;
  return to;
}

}  // namespace ashlar::ASHLAR_ABI::detail

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
#elif !ASHLAR_WINDOWS && ASHLAR_HOSTED
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
