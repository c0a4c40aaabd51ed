// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The services that the library needs of the system besides memory: system calls, error output, abort, yield; and the
// locks that a report lets go.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>

#if defined(__linux__) && ASHLAR_POSIX
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>
#define ASHLAR_HAS_KERNEL 1
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define ASHLAR_ENTERS_KERNEL 1
#elif defined(__riscv) && __riscv_xlen == 64
#define ASHLAR_ENTERS_KERNEL 1
#endif
#endif

// Sanitizers learn from the C library's functions which memory is new, so these map and unmap under them; a test that
// stands in for the system defines ASHLAR_MAPS_BY_KERNEL as 0.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_HWADDRESS__)
#define ASHLAR_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(hwaddress_sanitizer) || __has_feature(dataflow_sanitizer)
#define ASHLAR_IS_SANITIZED 1
#endif
#endif
#if !defined(ASHLAR_MAPS_BY_KERNEL) && defined(ASHLAR_ENTERS_KERNEL) && !defined(ASHLAR_IS_SANITIZED)
#define ASHLAR_MAPS_BY_KERNEL 1
#elif !defined(ASHLAR_MAPS_BY_KERNEL)
#define ASHLAR_MAPS_BY_KERNEL 0
#endif
#undef ASHLAR_IS_SANITIZED

#if defined(ASHLAR_TELLS_OF_MAPS)  // within libashlar
/// Called before memory is mapped, where it is defined: in the router.
extern "C" __attribute__((weak, visibility("hidden"))) void ashlar_before_map(std::size_t bytes) noexcept;
#endif

namespace ashlar::ASHLAR_ABI::detail {

ASHLAR_INLINE void before_map([[maybe_unused]] std::size_t bytes) noexcept {
#if defined(ASHLAR_TELLS_OF_MAPS)
  if (&ashlar_before_map != nullptr) ashlar_before_map(bytes);
#endif
}

#if defined(ASHLAR_HAS_KERNEL)

#if defined(__x86_64__) && defined(ASHLAR_ENTERS_KERNEL)
ASHLAR_INLINE long enter_kernel(long number, long a, long b, long c) noexcept {
  __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return number;
}
ASHLAR_INLINE long enter_kernel(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return number;
}
#elif defined(ASHLAR_ENTERS_KERNEL)
#if defined(__aarch64__)
#define ASHLAR_KERNEL_REGISTER(of_arm, of_riscv) __asm__(of_arm)
#define ASHLAR_KERNEL_GATE "svc 0"
#else
#define ASHLAR_KERNEL_REGISTER(of_arm, of_riscv) __asm__(of_riscv)
#define ASHLAR_KERNEL_GATE "ecall"
#endif
ASHLAR_INLINE long enter_kernel(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) noexcept {
  register long first ASHLAR_KERNEL_REGISTER("x0", "a0") = a;
  register long second ASHLAR_KERNEL_REGISTER("x1", "a1") = b;
  register long third ASHLAR_KERNEL_REGISTER("x2", "a2") = c;
  register long fourth ASHLAR_KERNEL_REGISTER("x3", "a3") = d;
  register long fifth ASHLAR_KERNEL_REGISTER("x4", "a4") = e;
  register long sixth ASHLAR_KERNEL_REGISTER("x5", "a5") = f;
  register long call ASHLAR_KERNEL_REGISTER("x8", "a7") = number;
  __asm__ volatile(ASHLAR_KERNEL_GATE
                   : "+r"(first)
                   : "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth), "r"(call)
                   : "memory");
  return first;
}
#undef ASHLAR_KERNEL_REGISTER
#undef ASHLAR_KERNEL_GATE
#else
inline long enter_kernel(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) noexcept {
  const int error = errno;
  long result = ::syscall(number, a, b, c, d, e, f);
  if (result == -1) result = -errno;
  errno = error;
  return result;
}
#endif

template <class Word>
[[nodiscard]] ASHLAR_INLINE long kernel_word(Word word) noexcept {
  if constexpr (std::is_pointer_v<Word>) return reinterpret_cast<long>(word);
  else if constexpr (std::is_same_v<Word, std::nullptr_t>) return 0;
  else return static_cast<long>(word);
}

/// Effects: a system call. Returns: its result; an error as its negated number, with `errno` as it was. It is no point
/// of cancellation. Expects: at most six words.
template <class... Words>
ASHLAR_INLINE long call_kernel(long number, Words... words) noexcept {
  constexpr std::size_t most = sizeof...(Words) <= 3 ? 3 : 6;
  static_assert(sizeof...(Words) <= most);
  const long w[most + 1] = {kernel_word(words)...};  // one more, as there may be none
  if constexpr (most == 3) return enter_kernel(number, w[0], w[1], w[2]);
  else return enter_kernel(number, w[0], w[1], w[2], w[3], w[4], w[5]);
}

#if defined(__has_builtin) && ASHLAR_MAPS_BY_KERNEL
#if __has_builtin(__builtin_thread_pointer)
#define ASHLAR_HAS_THREAD_POINTER 1
/// Returns: a number of the calling thread that no other has while it lives.
[[nodiscard]] ASHLAR_INLINE std::uintptr_t thread_pointer() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
}
#endif
#endif

/// Returns: whether the result of a call is an error.
[[nodiscard]] ASHLAR_INLINE constexpr bool is_kernel_error(long result) noexcept {
  return static_cast<unsigned long>(result) > static_cast<unsigned long>(-4096);
}

#endif

}  // namespace ashlar::ASHLAR_ABI::detail

#undef ASHLAR_ENTERS_KERNEL

#if ASHLAR_POSIX
#include <cerrno>
#if !defined(ASHLAR_HAS_KERNEL) || defined(__mips__) || defined(__hppa__)  // other numbers of signal_set
#define ASHLAR_WRITES_BY_LIBC 1
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#endif
#endif

namespace ashlar::ASHLAR_ABI::detail {

#if ASHLAR_POSIX

#if defined(ASHLAR_WRITES_BY_LIBC)
/// The calls of the writer: by the C library, where no direct ones are known. Each returns an error as its negated
/// number.
struct quiet_calls {
  using signal_set = ::sigset_t;

  struct errno_keeper {
    int saved = errno;
    ~errno_keeper() { errno = saved; }
  };

  [[nodiscard]] static signal_set of_writes() noexcept {
    signal_set set;
    ::sigemptyset(&set);
    for (const int each : {SIGPIPE, SIGXFSZ, SIGTTOU}) ::sigaddset(&set, each);
    return set;
  }
  [[nodiscard]] static signal_set block(const signal_set& set) noexcept {
    signal_set before;
    static_cast<void>(::pthread_sigmask(SIG_BLOCK, &set, &before));
    return before;
  }
  static void restore(const signal_set& before) noexcept {
    static_cast<void>(::pthread_sigmask(SIG_SETMASK, &before, nullptr));
  }
  [[nodiscard]] static signal_set pending() noexcept {
    signal_set set;
    static_cast<void>(::sigpending(&set));
    return set;
  }
  static void take(int signal, const signal_set& pending_before) noexcept {
    const signal_set now = pending();
    if (::sigismember(&pending_before, signal) != 0 || ::sigismember(&now, signal) == 0) return;
    signal_set set;
    ::sigemptyset(&set);
    ::sigaddset(&set, signal);
    static_cast<void>(::sigwait(&set, &signal));
  }
  [[nodiscard]] static int signal_of(long error) noexcept {
    return error == -EPIPE ? SIGPIPE : error == -EFBIG ? SIGXFSZ : 0;
  }
  [[nodiscard]] static bool has_room(int descriptor, int ms) noexcept {
    ::pollfd wanted = {descriptor, POLLOUT, 0};
    return ::poll(&wanted, 1, ms) > 0;
  }
  [[nodiscard]] static long write(int descriptor, const char* text, std::size_t bytes) noexcept {
    const auto written = ::write(descriptor, text, bytes);
    return written < 0 ? -errno : static_cast<long>(written);
  }
};
#else
/// The system calls of the writer. Each returns an error as its negated number.
struct quiet_calls {
  using signal_set = std::uint64_t;  // a bit for each
  struct errno_keeper {};            // none of the calls changes it

  [[nodiscard]] static constexpr signal_set of(int signal) noexcept { return signal_set{1} << (signal - 1); }
  [[nodiscard]] static constexpr signal_set of_writes() noexcept { return of(pipe_) | of(file_size_) | of(terminal_); }
  [[nodiscard]] static signal_set block(const signal_set& set) noexcept {
    signal_set before = 0;
    call_kernel(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &set, &before, sizeof set);
    return before;
  }
  static void restore(const signal_set& before) noexcept {
    call_kernel(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, nullptr, sizeof before);
  }
  [[nodiscard]] static signal_set pending() noexcept {
    signal_set set = 0;
    call_kernel(SYS_rt_sigpending, &set, sizeof set);
    return set;
  }
  static void take([[maybe_unused]] int signal, [[maybe_unused]] const signal_set& pending_before) noexcept {
#if defined(SYS_rt_sigtimedwait)
    const signal_set set = of(signal) & ~pending_before;
    const long at_once[2] = {};
    call_kernel(SYS_rt_sigtimedwait, &set, nullptr, at_once, sizeof set);
#endif
  }
  [[nodiscard]] static constexpr int signal_of(long error) noexcept {
    return error == -EPIPE ? pipe_ : error == -EFBIG ? file_size_ : 0;
  }
  [[nodiscard]] static bool has_room(int descriptor, int ms) noexcept {
    struct {
      int descriptor;
      short wanted, found;
    } one = {descriptor, 4 /* POLLOUT */, 0};
#if defined(SYS_poll)
    return call_kernel(SYS_poll, &one, 1, ms) > 0;
#else
    const long time[2] = {0, ms * 1'000'000L};
    return call_kernel(SYS_ppoll, &one, 1, time, nullptr) > 0;
#endif
  }
  [[nodiscard]] static long write(int descriptor, const char* text, std::size_t bytes) noexcept {
    return call_kernel(SYS_write, descriptor, text, bytes);
  }

private:
  static constexpr int pipe_ = 13, file_size_ = 25, terminal_ = 22;
};
#endif
#undef ASHLAR_WRITES_BY_LIBC

/// Blocks for the calling thread the signals that a write raises, and takes those that its own have raised.
class write_signals {
public:
  write_signals() noexcept : before_(quiet_calls::block(quiet_calls::of_writes())), pending_(quiet_calls::pending()) {}
  write_signals(const write_signals&) = delete;
  write_signals& operator=(const write_signals&) = delete;
  ~write_signals() { quiet_calls::restore(before_); }

  /// Effects: takes the signal that a write with this result has raised, if any.
  void take_of(long error) const noexcept {
    if (const int raised = quiet_calls::signal_of(error); raised != 0) quiet_calls::take(raised, pending_);
  }

private:
  quiet_calls::signal_set before_, pending_;
};

/// Effects: writes all of the text, in pieces that a pipe takes as a whole; waits two seconds at most for room, since
/// the reader of a full pipe may have stopped; longer only if another writer takes the room that was there. Neither
/// SIGPIPE nor SIGXFSZ reaches the program, and `errno` is as before. Allocates nothing; no point of cancellation on
/// Linux. Returns: 0, or the number of the error that left some of the text out. Thread safety: any thread;
/// async-signal-safe.
ASHLAR_COLD inline int write_quietly(int descriptor, std::string_view text) noexcept {
  constexpr std::size_t most_bytes = 4096;  // at most PIPE_BUF, which a pipe with room takes without a wait
  constexpr int step_ms = 20, most_waits = 100;
  [[maybe_unused]] const quiet_calls::errno_keeper keep{};
  const write_signals quiet;
  long result = quiet_calls::write(descriptor, text.data(), 0);             // a descriptor to read from never has room
  if (result < 0) return quiet.take_of(result), static_cast<int>(-result);  // a socket without a reader raises here
  for (int waits = 0; !text.empty() && waits < most_waits;) {
    if (!quiet_calls::has_room(descriptor, step_ms)) result = -EAGAIN, ++waits;
    else result = quiet_calls::write(descriptor, text.data(), text.size() < most_bytes ? text.size() : most_bytes);
    if (result > 0) text.remove_prefix(static_cast<std::size_t>(result));
    else if (result != -EINTR && result != -EAGAIN) break;
  }
  quiet.take_of(result);
  return text.empty() ? 0 : result == 0 ? ENOSPC : static_cast<int>(-result);
}

#endif

}  // namespace ashlar::ASHLAR_ABI::detail

#if ASHLAR_HOSTED
#include <cstdlib>
#if ASHLAR_POSIX
#include <sched.h>
#if __has_include(<sys/single_threaded.h>)  // of glibc
#include <sys/single_threaded.h>
#define ASHLAR_COUNTS_THREADS
#if defined(ASHLAR_MAY_LACK_GLIBC)  // libashlar runs over musl too, which has no such variable
#pragma weak __libc_single_threaded
#endif
#endif
#elif ASHLAR_WINDOWS
#include <io.h>
extern "C" __declspec(dllimport) int __stdcall SwitchToThread();
extern "C" __declspec(dllimport) void __stdcall Sleep(unsigned long milliseconds);
#else
#include <cstdio>
#include <thread>
#endif
#else
/// The error stream on a machine without an operating system. A program defines it to receive messages, for example on
/// a serial line; without a definition nothing is written.
extern "C" __attribute__((weak)) void ashlar_write_error(const char* text, std::size_t bytes) noexcept;
#endif

namespace ashlar::ASHLAR_ABI {

namespace detail {

/// Effects: writes the text to the error stream, as `write_quietly`. Allocates nothing; a failed write is ignored,
/// since no other channel for the message exists.
inline void write_error(std::string_view text) noexcept {
#if !ASHLAR_HOSTED
  if (&ashlar_write_error != nullptr) ashlar_write_error(text.data(), text.size());
#elif ASHLAR_POSIX
  static_cast<void>(write_quietly(2, text));
#elif ASHLAR_WINDOWS
  static_cast<void>(::_write(2, text.data(), static_cast<unsigned>(text.size())));
#else
  std::fwrite(text.data(), 1, text.size(), stderr);
#endif
}

/// Effects: aborts; without an operating system executes a trap instruction. A program that prefers to restart does so
/// in its handlers, which are called before (`set_violation_handler`).
[[noreturn]] ASHLAR_COLD inline void end_process() noexcept {
#if ASHLAR_HOSTED
  std::abort();
#else
  __builtin_trap();
#endif
}

/// Effects: lets other threads run; nothing without an operating system or without threads.
inline void yield_thread() noexcept {
#if defined(ASHLAR_HAS_KERNEL)
  call_kernel(SYS_sched_yield);
#elif ASHLAR_POSIX
  ::sched_yield();
#elif ASHLAR_WINDOWS
  static_cast<void>(::SwitchToThread());
#elif ASHLAR_HOSTED && (!defined(__wasi__) || defined(_REENTRANT))  // the library of WASI has none
  std::this_thread::yield();
#endif
}

/// Returns: the address of the lower 32 bits of a word of a pointer's size.
[[nodiscard]] inline const void* low_half(const void* word) noexcept {
  constexpr std::size_t behind = std::endian::native == std::endian::big ? sizeof(void*) - sizeof(std::uint32_t) : 0;
  return static_cast<const char*>(word) + behind;
}

inline constexpr unsigned most_yields = 16;

/// Effects: lets other threads run, also threads of lower priority: the first `most_yields` turns yield, the next ones
/// sleep. A thread of real-time priority yields to its equals only, and would keep a preempted holder from running
/// forever. Sleeps by a plain system call, since the functions for it are points of cancellation, and malloc is none.
ASHLAR_COLD inline void yield_or_sleep(unsigned turn) noexcept {
#if ASHLAR_WINDOWS
  if (turn >= most_yields) return ::Sleep(1);
#elif defined(ASHLAR_HAS_KERNEL) && defined(SYS_nanosleep)
  if (turn >= most_yields) {
    const long seconds_and_nanoseconds[2] = {0, 50'000};
    call_kernel(SYS_nanosleep, seconds_and_nanoseconds, nullptr);
    return;
  }
#endif
  static_cast<void>(turn);
  yield_thread();
}

/// Effects: sleeps for a few milliseconds, or until `wake_one`, if the word at `word` has the value `expected`. `turn`:
/// the sleeps before this one, where the system can only be asked for time.
ASHLAR_COLD inline void sleep_on(const void* word, std::uintptr_t expected, unsigned turn) noexcept {
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_futex)
  constexpr int wait_private = 128;  // FUTEX_WAIT_PRIVATE
  const long seconds_and_nanoseconds[2] = {0, 10'000'000};
  const long slept = call_kernel(SYS_futex, low_half(word), wait_private, static_cast<std::uint32_t>(expected),
                                 seconds_and_nanoseconds, nullptr, 0);
  if (slept == 0 || slept == -EAGAIN || slept == -EINTR || slept == -ETIMEDOUT) return;
#endif
  static_cast<void>(word), static_cast<void>(expected);
  yield_or_sleep(turn);
}

/// Effects: wakes a thread that sleeps on the word, which is not read.
ASHLAR_COLD inline void wake_one([[maybe_unused]] const void* word) noexcept {
#if defined(ASHLAR_HAS_KERNEL) && defined(SYS_futex)
  constexpr int wake_private = 129;  // FUTEX_WAKE_PRIVATE
  call_kernel(SYS_futex, low_half(word), wake_private, 1, nullptr, nullptr, 0);
#endif
}

/// Returns: whether the process has no thread but the caller; false where the system does not tell. With glibc it stays
/// false once a second thread has started, also after its end and in the child of a fork.
[[nodiscard]] inline bool is_only_thread() noexcept {
#if defined(ASHLAR_COUNTS_THREADS) && defined(ASHLAR_MAY_LACK_GLIBC)
  return &__libc_single_threaded != nullptr && __libc_single_threaded != 0;
#elif defined(ASHLAR_COUNTS_THREADS)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI

#undef ASHLAR_COUNTS_THREADS

namespace ashlar::ASHLAR_ABI {

namespace detail {
void write_error_line(std::string_view words) noexcept;
}  // namespace detail

/// A line of at most `capacity` characters, built in place. Excess text is cut off. Its functions are not inlined,
/// since every message would hold copies of their loops: they took a tenth of the time to compile a pooled list.
class panic_line {
public:
  static constexpr std::size_t capacity = 512;  ///< characters

  ASHLAR_COLD panic_line& text(std::string_view words) noexcept {
    for (const char c : words) put(c);
    return *this;
  }

  // A call with a literal passes no length.
  ASHLAR_COLD panic_line& text(const char* words) noexcept {
    for (; *words != '\0'; ++words) put(*words);
    return *this;
  }

  ASHLAR_COLD panic_line& number(std::uint64_t value) noexcept { return digits(value, 10); }

  ASHLAR_COLD panic_line& address(const void* p) noexcept {
    return text("0x").digits(reinterpret_cast<std::uintptr_t>(p), 16);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {data_, size_}; }

  /// Effects: writes the line to the error stream. Allocates nothing; a failed write is ignored, since no other channel
  /// for the message exists.
  void write() const noexcept { detail::write_error_line(view()); }

  /// Effects: as `write`, then aborts.
  [[noreturn]] void write_and_abort() const noexcept {
    write();
    detail::end_process();
  }

private:
  void put(char c) noexcept {
    if (size_ < capacity) data_[size_++] = c;
  }

  ASHLAR_COLD panic_line& digits(std::uint64_t value, std::uint64_t radix) noexcept {
    char reversed[20];  // 2^64 - 1 has twenty decimal digits
    std::size_t count = 0;
    do {
      reversed[count++] = "0123456789abcdef"[value % radix];
      value /= radix;
    } while (value != 0);
    while (count != 0) put(reversed[--count]);
    return *this;
  }

  char data_[capacity] = {};
  std::size_t size_ = 0;
};

namespace detail {

/// Effects: writes the words and a newline to the error stream. Allocates nothing; a failed write is ignored, since no
/// other channel for the message exists.
ASHLAR_COLD inline void write_error_line(std::string_view words) noexcept {
  panic_line line;
  if (words.size() >= panic_line::capacity) words.remove_suffix(words.size() - panic_line::capacity + 1);
  write_error(line.text(words).text("\n").view());
}

/// Effects: writes the words as one line to the error stream and aborts.
[[noreturn]] ASHLAR_COLD inline void panic(std::string_view words) noexcept {
  write_error_line(words);
  end_process();
}

/// The locks that a thread holds during checks: a report of misuse releases them first. Checks run under locks, but
/// reports run without them: a handler may use the pool that detected the misuse. The process ends afterwards, so no
/// code resumes inside the critical section.
/// Expects: at the detection of misuse, the guarded data is consistent, as between two calls.
/// Thread safety: each thread sees its own list.
class held_locks {
public:
  /// One held lock. The entry lies on the stack of the holding thread.
  struct entry {
    entry* outer = nullptr;
    void* lock = nullptr;
    void (*unlock)(void* lock) noexcept = nullptr;
    bool is_never_recursive = false;  ///< a second lock by the holder deadlocks
    bool is_released = false;         ///< the holder has released it for a while
  };

  /// Effects: records a lock. Expects: `forget` is called before `taken` is destroyed, the latest entry first.
  static void note(entry& taken) noexcept {
    taken.outer = latest_;
    latest_ = &taken;
  }

  /// Effects: removes the latest lock, which is about to be unlocked.
  static void forget(const entry& leaving) noexcept { latest_ = leaving.outer; }

  /// Returns: the entry of a lock that the thread holds, or has released for a while; or null.
  [[nodiscard]] static entry* find(const void* lock, bool is_released = false) noexcept {
    entry* each = latest_;
    while (each != nullptr && (each->lock != lock || each->is_released != is_released)) each = each->outer;
    return each;
  }

  /// Effects: ends the process if the thread already holds the lock: inside a signal handler or a callback it would
  /// wait for itself.
  static void expect_not_inside(const void* lock) noexcept {
    if (ASHLAR_UNLIKELY(find(lock) != nullptr)) end_for_reentry();
  }

  [[noreturn]] ASHLAR_COLD static void end_for_reentry() noexcept {
    panic("ashlar: reentry: a signal handler or a callback used the resource that it interrupted");
  }

  /// Effects: ends the process if the thread holds any such lock: a fork would wait for all of them.
  static void expect_none_to_wait_for() noexcept {
    for (const entry* each = latest_; each != nullptr; each = each->outer)
      if (ASHLAR_UNLIKELY(each->is_never_recursive))
        panic("ashlar: reentry: a signal handler or a callback forked within a call that holds a lock");
  }

  /// Effects: unlocks all, the latest first. Expects: the scopes that hold them never end.
  static void release_all() noexcept {
    for (const entry* each = std::exchange(latest_, nullptr); each != nullptr; each = each->outer)
      if (!each->is_released) each->unlock(each->lock);
  }

private:
  static inline constinit ASHLAR_THREAD_LOCAL entry* latest_ = nullptr;
};

}  // namespace detail

}  // namespace ashlar::ASHLAR_ABI
