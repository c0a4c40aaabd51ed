// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock in shared memory that survives the death of its holder, on Linux and FreeBSD.
#pragma once

#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/fwd.hpp>
#include <ashlar/os/random_bits.hpp>

#if ASHLAR_POSIX
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ashlar::ASHLAR_ABI::detail {

/// Numbers of processes and threads repeat: each PID namespace, and so each container, counts from 1. All is asked for
/// at the first call, and again at the first call after a fork. Thread safety: any thread.
class process_identity {
public:
  /// Returns: a random number of the process, not 0; each library has one of its own. Complexity: O(1).
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t key() noexcept {
    const std::uint64_t known = key_.load(memory_order_acquire);  // pairs with the release in ask()
    return ASHLAR_LIKELY(known != 0) ? known : ask();
  }

  /// Returns: the number of the process in its PID namespace. Complexity: O(1).
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t number() noexcept {
    static_cast<void>(key());
    return number_.load(memory_order_relaxed);
  }

  /// Returns: a number for other namespaces, above 2^31: of the program's random bytes, the namespace and the number,
  /// so that all libraries have one. Complexity: O(1).
  [[nodiscard]] static ASHLAR_INLINE std::uint32_t foreign_number() noexcept {
    static_cast<void>(key());
    return foreign_number_.load(memory_order_relaxed);
  }

  /// Returns: the PID namespace of the process; 0 where there is but one, or where /proc does not tell.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t space() noexcept {
    static_cast<void>(key());
    return space_.load(memory_order_relaxed);
  }

private:
  // The handler is registered before the key is stored, so that no child inherits a key without one. Threads that come
  // at once ask twice: the first key counts.
  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static std::uint64_t ask() noexcept {
    if (!forgets_at_fork_.load(memory_order_relaxed)) {
      if (::pthread_atfork(nullptr, nullptr, forget) == 0) forgets_at_fork_.store(true, memory_order_relaxed);
    }
    const auto number = static_cast<std::uint32_t>(::getpid());
    const std::uint64_t space = ask_space();
    const std::uint64_t mixture = mixed(process_secret() ^ mixed(space << 32 ^ number));
    number_.store(number, memory_order_relaxed);
    space_.store(space, memory_order_relaxed);
    foreign_number_.store(static_cast<std::uint32_t>(mixture) | std::uint32_t{1} << 31, memory_order_relaxed);
    std::uint64_t none = 0;
    const std::uint64_t made = fresh_secret() | 1;
    return key_.compare_exchange_strong(none, made, memory_order_release, memory_order_acquire) ? made : none;
  }
  ASHLAR_OF_THIS_LIBRARY static void forget() { key_.store(0, memory_order_relaxed); }

  [[nodiscard]] static std::uint64_t ask_space() noexcept {
    std::uint64_t found = 0;
#if defined(__linux__)
    struct ::stat of{};
    if (::stat("/proc/self/ns/pid", &of) == 0) found = of.st_ino;
#endif
    return found;
  }

  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint64_t> key_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint64_t> space_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint32_t> number_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint32_t> foreign_number_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<bool> forgets_at_fork_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#endif

// Of the other systems macOS, Android, OpenBSD and NetBSD have no robust mutexes, and Windows none in shared memory.
#if ASHLAR_POSIX && ((defined(__linux__) && !defined(__ANDROID__)) || defined(__FreeBSD__))
#include <cerrno>
#if defined(__linux__)
#include <linux/futex.h>
#endif
#define ASHLAR_HAS_ROBUST_LOCKS 1
#else
#define ASHLAR_HAS_ROBUST_LOCKS 0
#endif

#if ASHLAR_HAS_ROBUST_LOCKS

namespace ashlar::ASHLAR_ABI::detail {

/// The mechanism of `process_lock`: a robust mutex of POSIX and the word of its holder.
class robust_mutex {
public:
  /// The C library, whose mutex it is.
  static constexpr std::uint8_t c_library =
#if defined(__GLIBC__)
      1;
#elif defined(__FreeBSD__)
      3;
#else
      2;
#endif

  robust_mutex() noexcept {
    ::pthread_mutexattr_t attributes;
    if (::pthread_mutexattr_init(&attributes) != 0 ||
        ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0 ||
        ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) != 0 ||
        ::pthread_mutex_init(&mutex_, &attributes) != 0)
      panic("ashlar: the system refused a lock for several processes");
    static_cast<void>(::pthread_mutexattr_destroy(&attributes));
  }
  robust_mutex(const robust_mutex&) = delete;
  robust_mutex& operator=(const robust_mutex&) = delete;

  /// Returns: whether the last holder died while it held the lock.
  ASHLAR_INLINE bool lock() noexcept {
    const std::uint64_t self = this_thread();
    const int error = try_take(0, self);
    return ASHLAR_UNLIKELY(error != 0) && is_inherited(error != EBUSY ? error : wait(self));
  }

  ASHLAR_INLINE void unlock() noexcept {
    std::uint64_t self = this_thread();
    if constexpr (!numbers_repeat) holder_.store(0, memory_order_relaxed);
    const bool wakes = has_sleepers_.load(memory_order_relaxed) != 0;
    if (ASHLAR_UNLIKELY(wakes)) has_sleepers_.store(0, memory_order_relaxed);
    const int error = ::pthread_mutex_unlock(&mutex_);
    if constexpr (numbers_repeat) holder_.compare_exchange_strong(self, 0, memory_order_release, memory_order_relaxed);
    if (ASHLAR_UNLIKELY(wakes)) wake();  // reads nothing: the next holder may have unmapped the memory
    ASHLAR_EXPECTS(error == 0, "unlocked a process_lock that the thread does not hold");
  }

private:
  // Two threads of two PID namespaces may have one number, by which the mutex and the system know its holder: a thread
  // that is killed in a call for the mutex passes for a dead holder of its number. So the one that stands in this word
  // calls for the mutex, and the others look on. The word is a hint; the mutex decides.
  //
  //     lock     holder: 0 -> self     mutex: taken           killed between the two, in either: the word stays
  //     unlock   mutex: free           holder: self -> 0      and the mutex is free: the others pass it by in time
  // One that passes a holder by which lives after all puts its word back, perhaps after its unlock: with a free mutex
  // the word of the caller is one left behind, else a second lock. Where the numbers of threads are of the whole
  // machine, all call for the mutex, and its holder writes the word.
  //
  // The word of a dead holder stays until the next one has stored its own, so no number serves a second thread.
  [[nodiscard]] static ASHLAR_INLINE std::uint64_t this_thread() noexcept {
    if (ASHLAR_UNLIKELY(thread_number_ == 0))
      thread_number_ = last_thread_number_.fetch_add(1, memory_order_relaxed) + 1;
    return process_identity::key() ^ thread_number_;
  }

#if defined(__linux__)
  static constexpr bool numbers_repeat = true;
#else
  static constexpr bool numbers_repeat = false;
#endif

  // Returns: the result of the mutex, or EBUSY, if `passed`, 0 for none, is not the holder.
  [[nodiscard]] ASHLAR_INLINE int try_take(std::uint64_t passed, std::uint64_t self) noexcept {
    std::uint64_t seen = passed;
    if (numbers_repeat && !holder_.compare_exchange_strong(seen, self, memory_order_acquire, memory_order_relaxed))
      return EBUSY;
    const int error = ::pthread_mutex_trylock(&mutex_);
    if (!numbers_repeat && error != EBUSY) holder_.store(self, memory_order_relaxed);
    if (numbers_repeat && ASHLAR_UNLIKELY(error == EBUSY)) {
      seen = self;
      holder_.compare_exchange_strong(seen, passed, memory_order_relaxed, memory_order_relaxed);
    }
    return error;
  }

  // Returns: the result of the mutex, which is no longer busy.
  [[nodiscard]] ASHLAR_COLD int wait(std::uint64_t self) noexcept {
    std::uint64_t last = 0;
    for (unsigned turn = 0, idle = 0;; ++turn) {
      const bool sleeps = turn >= most_yields;
      if (sleeps) has_sleepers_.store(1, memory_order_seq_cst);
      const std::uint64_t holder = holder_.load(memory_order_relaxed);
      idle = sleeps && holder == last && is_mutex_free() ? idle + 1 : 0;
      last = holder;
      if (!numbers_repeat || holder == 0 || holder == self || may_have_died() || idle > most_idle_turns)
        if (const int error = try_take(holder, self); error != EBUSY) return error;
      if (sleeps && holder == self) panic("ashlar: reentry: a thread locked again what it holds");
      sleeps ? sleep() : yield_thread();
    }
  }

#if defined(__linux__)
  // The word of the mutex that the system marks at the death of its holder.
  [[nodiscard]] std::uint32_t mutex_word() const noexcept {
    const auto* const words = reinterpret_cast<const volatile std::uint32_t*>(&mutex_);
    return c_library == 1 ? words[0] : words[1];
  }
  [[nodiscard]] bool may_have_died() const noexcept { return (mutex_word() & FUTEX_OWNER_DIED) != 0; }
  [[nodiscard]] bool is_mutex_free() const noexcept { return (mutex_word() & ~std::uint32_t{FUTEX_WAITERS}) == 0; }
#else
  [[nodiscard]] static bool may_have_died() noexcept { return false; }
  [[nodiscard]] static bool is_mutex_free() noexcept { return false; }
#endif

  void sleep() noexcept {
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_futex)
    const long seconds_and_nanoseconds[2] = {0, 10'000'000};
    call_kernel(SYS_futex, &has_sleepers_, FUTEX_WAIT, 1, seconds_and_nanoseconds, nullptr, 0);
#else
    yield_or_sleep(most_yields);
#endif
  }

  // One that comes too early, or not at all after a death, costs the others the rest of their sleep.
  ASHLAR_COLD void wake() noexcept {
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_futex)
    call_kernel(SYS_futex, &has_sleepers_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
#endif
  }

  // If the caller dies before its unlock, the system marks the lock again: it may be declared consistent at once.
  [[nodiscard]] ASHLAR_COLD bool is_inherited(int error) noexcept {
    if (error == 0) return false;
    if (error != EOWNERDEAD || ::pthread_mutex_consistent(&mutex_) != 0)
      panic("ashlar: a lock in shared memory was overwritten");
    return true;
  }

  static constexpr unsigned most_idle_turns = 16;  // of up to 10 ms
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint64_t> last_thread_number_ = 0;
  ASHLAR_OF_THIS_LIBRARY static inline constinit ASHLAR_THREAD_LOCAL std::uint64_t thread_number_ = 0;

  ::pthread_mutex_t mutex_;
  atomic<std::uint64_t> holder_ = 0;        // 0 for none
  atomic<std::uint32_t> has_sleepers_ = 0;  // the word that they sleep on
};

}  // namespace ashlar::ASHLAR_ABI::detail

namespace ashlar::ASHLAR_ABI::os {

/// A lock for the threads of all processes that share its memory, also of several containers: a robust mutex of POSIX.
/// If a process or thread dies while it holds the lock, the next `lock` returns true, and so on until a holder unlocks.
///
///     if (table->lock.lock()) table->repair();   // a process died between lock() and unlock()
///     ...
///     table->lock.unlock();
///
/// Incomplete on systems without such mutexes. Never destroyed: its memory just goes, when no thread uses it.
/// Lifetime: the memory stays mapped while the lock is held. Thread safety: any thread of any process.
class process_lock {
public:
  /// The C library, whose mutex it is: programs of two such libraries cannot share a lock.
  static constexpr std::uint8_t c_library = detail::robust_mutex::c_library;

  process_lock() noexcept = default;
  process_lock(const process_lock&) = delete;
  process_lock& operator=(const process_lock&) = delete;

  /// Effects: waits for the lock. A second `lock` by the holding thread ends the process with a message.
  /// Returns: whether the last holder died while it held the lock, so that the guarded data may be half changed.
  ASHLAR_INLINE bool lock() noexcept { return mutex_.lock(); }

  /// Expects: the calling thread holds the lock.
  ASHLAR_INLINE void unlock() noexcept { mutex_.unlock(); }

  /// Returns: the number of the calling process, which processes of another PID namespace may have too. Complexity:
  /// O(1), a system call for the first call after a fork.
  [[nodiscard]] ASHLAR_INLINE static std::uint32_t process_id() noexcept { return detail::process_identity::number(); }

  /// Returns: the PID namespace of the calling process; 0 if the system does not tell. Complexity: as above.
  [[nodiscard]] ASHLAR_INLINE static std::uint64_t process_space() noexcept {
    return detail::process_identity::space();
  }

  /// Returns: `process_id()` in the PID namespace `space`, else a number above all of these, which is random.
  /// Complexity: as above.
  [[nodiscard]] ASHLAR_INLINE static std::uint32_t process_id_seen_from(std::uint64_t space) noexcept {
    if (ASHLAR_LIKELY(process_space() == space)) return process_id();
    return detail::process_identity::foreign_number();
  }

private:
  detail::robust_mutex mutex_;
};

static_assert(basic_lockable<process_lock>);

}  // namespace ashlar::ASHLAR_ABI::os

#endif

#undef ASHLAR_HAS_ROBUST_LOCKS
