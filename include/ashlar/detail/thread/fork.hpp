// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fork handlers: they take all locks before a fork, so that no lock is held by a thread that the child lacks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/intrusive.hpp>
#include <ashlar/os/random_bits.hpp>

#if __has_include(<link.h>)
#include <link.h>
#include <unistd.h>
#define ASHLAR_HAS_MODULES 1
#else
#define ASHLAR_HAS_MODULES 0
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Whether this system supports `for_each_module`.
inline constexpr bool has_modules = ASHLAR_HAS_MODULES != 0;

/// The program or a shared library: [begin, end) in memory; `address - bias` is an address in the file.
struct module_place {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uintptr_t bias = 0;
  std::string_view path;

  [[nodiscard]] bool contains(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return address >= begin && address < end;
  }
};

#if ASHLAR_HAS_MODULES
[[nodiscard]] inline module_place place_of(const ::dl_phdr_info& info) noexcept {
  module_place m = {.begin = UINTPTR_MAX, .end = 0, .bias = info.dlpi_addr, .path = info.dlpi_name};
  for (std::size_t i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t from = m.bias + static_cast<std::uintptr_t>(part.p_vaddr);
    m.begin = detail::min(m.begin, from);
    m.end = detail::max(m.end, from + static_cast<std::uintptr_t>(part.p_memsz));
  }
  return m;
}

/// Effects: calls `f(const module_place&)` for each module; paths are valid during the call. Expects: `f` does not
/// throw.
template <class F>
void for_each_module(F f) noexcept {
  std::array<char, 4096> program{};
  const ::ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size());
  struct visit {
    F& f;
    std::string_view program;
  } all = {f, {program.data(), length > 0 ? static_cast<std::size_t>(length) : 0}};
  const auto each = [](::dl_phdr_info* info, std::size_t, void* argument) noexcept {
    auto& to = *static_cast<visit*>(argument);
    module_place m = place_of(*info);
    if (m.path.empty()) m.path = to.program;  // the first module is the program, without a name
    to.program = {};
    if (!m.path.empty() && m.begin < m.end) to.f(m);
    return 0;
  };
  static_cast<void>(::dl_iterate_phdr(each, &all));
}
#else
template <class F>
void for_each_module(F) noexcept {}
#endif

/// Returns: the module that contains `p`, without its path, or an empty one.
[[nodiscard]] inline module_place module_around(const void* p) noexcept {
  module_place found;
  for_each_module([&](const module_place& each) {
    if (each.contains(p)) found = each;
  });
  found.path = {};
  return found;
}

/// The gate before all locks of a fork: none is taken while a callback of the program runs under one of them. A
/// callback under the lock of one participant may use others, whose locks a fork would hold while it waits for the
/// first. So a thread enters before it takes that lock, and a fork that waits for the gate holds no lock.
///
///     thread: enter -> lock -> callback -> unlock -> leave
///     fork:   close (no thread is inside) -> all locks -> fork -> unlock -> open
///
/// Enters nest, and in the end none waits for a fork that waits: its callbacks may hold locks for which a thread waits
/// that is inside. A thread only gives way to such a fork for a few milliseconds, so that forks have their turn beside
/// threads that are inside most of the time. Thread safety: any thread.
class fork_gate {
public:
  ASHLAR_COLD void enter() noexcept {
    for (unsigned turn = 0; !try_enter(turn >= most_turns); ++turn) yield_or_sleep(turn);
  }

  void leave() noexcept {
    const lock_scope held(lock_);
    --inside_;
  }

  /// Effects: waits until no thread is inside; none enters until `open`, which the child calls too.
  ASHLAR_COLD void close() noexcept {
    lock_.lock();
    for (unsigned turn = 0; inside_ != 0; lock_.lock()) {
      is_wanted_ = true;
      lock_.unlock();
      yield_or_sleep(turn++);
    }
    is_wanted_ = false;
  }
  void open() noexcept { lock_.unlock(); }

private:
  static constexpr unsigned most_turns = 48;

  [[nodiscard]] bool try_enter(bool at_once) noexcept {
    const lock_scope held(lock_);
    if (is_wanted_ && !at_once) return false;
    ++inside_;
    return true;
  }

  spin_lock lock_;  // held over a fork
  unsigned inside_ = 0;
  bool is_wanted_ = false;  // a fork waits
};

class fork_locks;

/// The entry of one lock in the list.
struct fork_lock {
  /// Returns: whether the lock was taken; false after `patience` failed attempts.
  bool (*try_lock)(fork_lock& self, unsigned patience) noexcept = nullptr;
  void (*unlock)(fork_lock& self) noexcept = nullptr;
  fork_lock* next = nullptr;
  fork_lock* previous = nullptr;
  atomic<fork_locks*> entered = nullptr;  ///< its list, perhaps of another library
};

/// The locks that are held during calls of an upstream: a fork takes all of them or none. Adaptors and pools may be
/// composed in any order, so no fixed lock order exists: a thread may hold the outer lock and wait for the inner one.
/// The list takes the locks in the order of entry and releases all if one is refused.
/// Thread safety: any thread.
class fork_locks {
public:
  /// Effects: adds a lock, once, at the end, with the functions of `as`: the library whose functions it has had before
  /// may be closed. It must leave before its memory is released.
  void enter(fork_lock& joining, const fork_lock& as) noexcept {
    const lock_scope held(lock_);
    if (joining.entered.load(memory_order_relaxed) != nullptr) return;
    joining.try_lock = as.try_lock;
    joining.unlock = as.unlock;
    locks_.push_back(&joining);
    joining.entered.store(this, memory_order_relaxed);
  }

  /// Effects: removes a lock from its list, if any. Expects: no thread uses the lock.
  static void leave(fork_lock& leaving) noexcept {
    fork_locks* const list = leaving.entered.load(memory_order_relaxed);
    if (list == nullptr) return;
    const lock_scope held(list->lock_);
    if (leaving.entered.load(memory_order_relaxed) == list) list->take_out(leaving);
  }

  /// Effects: removes the locks with data or functions in a closed library. If the list itself is in the library, all
  /// locks leave: they may enter another list. Complexity: O(locks).
  void leave_all_in(const module_place& closing) noexcept {
    const lock_scope held(lock_);
    for (fork_lock* each = locks_.front(); each != nullptr;) {
      fork_lock& found = *std::exchange(each, each->next);
      if (closing.contains(this) || closing.contains(&found) ||
          closing.contains(reinterpret_cast<const void*>(found.try_lock)))
        take_out(found);
    }
  }

  /// Returns: whether all locks were taken; then no lock enters or leaves until `unlock_all`. If false, none is held.
  [[nodiscard]] ASHLAR_INLINE bool try_lock_all(unsigned patience) noexcept {
    lock_.lock();
    for (fork_lock* each = locks_.front(); each != nullptr; each = each->next) {
      if (each->try_lock(*each, patience)) continue;
      unlock_from(each->previous);
      return false;
    }
    return true;
  }

  /// Expects: `try_lock_all` returned true.
  void unlock_all() noexcept { unlock_from(locks_.back()); }

  /// Effects: removes all locks, in a forked child: one on the stack of a thread that it lacks is gone, and each other
  /// one enters before it is taken again. Expects: no second thread.
  void leave_all() noexcept {
    for (fork_lock* each = locks_.front(); each != nullptr; each = each->next)
      each->entered.store(nullptr, memory_order_relaxed);
    locks_ = {};
  }

private:
  void take_out(fork_lock& leaving) noexcept {
    locks_.erase(&leaving);
    leaving.entered.store(nullptr, memory_order_relaxed);
  }

  void unlock_from(fork_lock* last) noexcept {
    for (; last != nullptr; last = last->previous) last->unlock(*last);
    lock_.unlock();
  }

  spin_lock lock_;
  list<fork_lock> locks_;
};

}  // namespace ashlar::ASHLAR_ABI::detail

#if ASHLAR_POSIX
#include <pthread.h>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// The order of locks before a fork: all participants take their locks of one step before any lock of the next. So the
/// order of entry does not matter, and a thread that holds a lock may wait for one of a later step, but never for one
/// of the same or an earlier step.
enum class fork_step : unsigned char {
  outer_locks,  ///< held while inner locks are taken, also locks of other participants
  inner_locks,
  shared_locks,  ///< of objects shared by owners of inner locks; taken under those
  last_locks,    ///< taken under any of these
};

struct fork_registry;

/// An owner of locks that a fork takes. Its functions run in the forking thread and must neither enter nor leave nor
/// wait for another participant; but see `leave_in_child`. `before` and `in_parent` may be called several times for one
/// fork.
struct fork_participant {
  void (*before)(void* self, fork_step step) noexcept = nullptr;
  void (*in_parent)(void* self) noexcept = nullptr;
  void (*in_child)(void* self) noexcept = nullptr;
  void* self = nullptr;
  fork_participant* next = nullptr;
  fork_participant* previous = nullptr;
  atomic<fork_registry*> entered = nullptr;  ///< its list, perhaps of another library
};

/// Returns: a participant for one lock with static storage. Expects: no thread waits for another lock while it holds
/// it. A registry under its own lock has `leave_gone()`.
template <class Lock>
[[nodiscard]] ASHLAR_OF_THIS_LIBRARY constexpr fork_participant at_last_step(Lock& lock) noexcept {
  constexpr auto unlock = [](void* held) noexcept { static_cast<Lock*>(held)->unlock(); };
  return {.before =
              [](void* wanted, fork_step step) noexcept {
                if (step == fork_step::last_locks) static_cast<Lock*>(wanted)->lock();
              },
          .in_parent = unlock,
          .in_child =
              [](void* held) noexcept {
                if constexpr (requires { lock.leave_gone(); }) static_cast<Lock*>(held)->leave_gone();
                static_cast<Lock*>(held)->unlock();
              },
          .self = &lock};
}

#if defined(ASHLAR_HAS_THREAD_POINTER)
using thread_key = std::uintptr_t;
[[nodiscard]] inline thread_key this_thread() noexcept { return detail::thread_pointer(); }
#elif ASHLAR_POSIX
using thread_key = ::pthread_t;
[[nodiscard]] inline thread_key this_thread() noexcept { return ::pthread_self(); }
#else
using thread_key = int;
[[nodiscard]] inline thread_key this_thread() noexcept { return 0; }
#endif

/// The forking thread. The handlers of all libraries run for the same fork: the first one to begin locks, the last one
/// to end unlocks. Thread safety: only the thread that holds the lock of the registry calls `begin` and `end`.
class fork_turn {
public:
  /// Returns: whether a handler has begun a fork of the calling thread.
  [[nodiscard]] bool is_mine() const noexcept {
    return begun_.load(memory_order_acquire) != 0 && forking_.load(memory_order_relaxed) == this_thread();
  }

  /// Effects: counts one more handler. The release pairs with the acquire in is_mine(): a reader that sees the count of
  /// another thread's fork also sees that thread.
  void begin() noexcept {
    forking_.store(this_thread(), memory_order_relaxed);
    begun_.store(begun_.load(memory_order_relaxed) + 1, memory_order_release);
  }

  /// Effects: counts one handler less. Returns: whether it was the last.
  [[nodiscard]] bool end() noexcept {
    const unsigned rest = begun_.load(memory_order_relaxed) - 1;
    begun_.store(rest, memory_order_relaxed);
    return rest == 0;
  }

private:
  atomic<thread_key> forking_ = {};
  atomic<unsigned> begun_ = 0;
};

/// The list of participants.
struct fork_registry {
  fork_gate gate;  // before all other locks
  spin_lock lock;
  list<fork_participant> participants;
  fork_locks locks;
  fork_turn turn;
  bool spares_only_thread = false;
  bool has_locks = false;  // of the present fork
};

/// The participants of the process, called in the order of entry, before the fork once for each step. The `fork_locks`,
/// which a thread may hold while it calls any participant, are taken after all steps. If one is refused, its holder may
/// be waiting for a participant: then the fork releases everything, yields and retries.
///
///     fork -> gate -> steps: wait for locks in order -> fork_locks: try -> the process forks -> unlock in both
///              ^                                           | refused
///              +------------- unlock all, yield -----------+
///
/// Libraries may share the list. Each library that adds to it has its own handlers, since the handlers of a closed
/// library end with it; its participants leave the list then. A thread that forks while it holds such a lock, in an
/// upstream or a callback, deadlocks; from level `checked` on it ends the process with a message; but see
/// `spare_only_thread`. Thread safety: any thread.
class fork_participants {
public:
  /// Effects: adds a participant, once. It must leave before its memory is released, at the latest when the library
  /// with this code is closed: so each library has the code.
  ASHLAR_OF_THIS_LIBRARY static void enter(fork_participant& joining) noexcept { enter(joining, joining); }
  /// As `enter`, with the functions of `as`: the library whose functions it has had before may be closed.
  ASHLAR_OF_THIS_LIBRARY static void enter(fork_participant& joining, const fork_participant& as) noexcept {
    if (joining.entered.load(memory_order_relaxed) != nullptr) return;  // no data is published with `entered`
    if (expects_forks()) enter_without_handlers(joining, as);
  }

  /// As `enter`, but installs no handlers: `install_at_start` does.
  static void enter_without_handlers(fork_participant& joining) noexcept { enter_without_handlers(joining, joining); }
  static void enter_without_handlers(fork_participant& joining, const fork_participant& as) noexcept {
    const lock_scope held(all_.lock);
    add(joining, as);
  }

  /// As `enter`, but waits for no fork, so the caller may hold a lock that one waits for. Returns: false if a fork is
  /// in progress: then `joining` is no part of it, and its lock must not be taken.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool try_enter(fork_participant& joining) noexcept {
    if (joining.entered.load(memory_order_relaxed) != nullptr || !expects_forks()) return true;
    for (unsigned turn = 0; !all_.lock.try_lock(); ++turn) {
      if (turn == 2 * most_yields) return false;  // another one enters in less time
      yield_or_sleep(turn);
    }
    add(joining, joining);
    all_.lock.unlock();
    return true;
  }

  /// Effects: removes a participant from its list, if any.
  static void leave(fork_participant& leaving) noexcept {
    fork_registry* const list = leaving.entered.load(memory_order_relaxed);
    if (list == nullptr) return;
    const lock_scope held(list->lock);
    if (leaving.entered.load(memory_order_relaxed) == list) take_out(*list, leaving);
  }

  /// As `leave`, for `in_child` of a participant that is gone with its thread.
  static void leave_in_child(fork_participant& leaving) noexcept { take_out(all_, leaving); }

  /// A scope in which no fork takes locks, for a callback of the program under the lock of a participant: the callback
  /// may use others. Expects: no participant's lock is held. A fork inside the callback is misuse.
  class callback_scope {
  public:
    callback_scope() noexcept { all_.gate.enter(); }
    callback_scope(const callback_scope&) = delete;
    callback_scope& operator=(const callback_scope&) = delete;
    ~callback_scope() { all_.gate.leave(); }
  };

  /// @{ For code that a malloc calls, and so a handler of the system that holds a lock of it. Effects: `enter` installs
  /// no handlers from now on. / Installs them, once: at the start of a program or library, which stays loaded. So they
  /// run last before a fork, and first after it: handlers that are installed later may allocate.
  ASHLAR_OF_THIS_LIBRARY static void leave_to_start() noexcept { is_installed_.store(true, memory_order_relaxed); }
  ASHLAR_OF_THIS_LIBRARY static void install_at_start() noexcept {
    static_cast<void>(add_handlers());
    leave_to_start();
  }
  /// @}

  /// Effects: from now on a fork of a process that never had a second thread takes no locks and calls no participant:
  /// no other thread holds a lock, and a signal handler may fork while its own thread holds one. Expects: what
  /// participants do beyond locks concerns other threads; no other thread forks.
  static void spare_only_thread() noexcept { all_.spares_only_thread = true; }

  /// @{ As above, for a lock. The caller of `enter` may hold other locks.
  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static void enter(fork_lock& joining, const fork_lock& as) noexcept {
    if (expects_forks()) all_.locks.enter(joining, as);
  }
  ASHLAR_COLD static void leave(fork_lock& leaving) noexcept { fork_locks::leave(leaving); }
  /// @}

private:
  // Under the lock.
  static void add(fork_participant& joining, const fork_participant& as) noexcept {
    if (joining.entered.load(memory_order_relaxed) != nullptr) return;
    joining.before = as.before;
    joining.in_parent = as.in_parent;
    joining.in_child = as.in_child;
    all_.participants.push_back(&joining);
    joining.entered.store(&all_, memory_order_relaxed);
  }

  // Returns: whether handlers are installed, so that participants may enter; false in a library that is being closed.
  // Takes a lock that no fork waits for, since the caller may hold one that a fork waits for.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool expects_forks() noexcept {
    if (is_installed_.load(memory_order_relaxed)) return !is_closed_.load(memory_order_relaxed);
    const lock_scope held(installing_);
    if (!is_installed_.load(memory_order_relaxed)) is_installed_.store(install(), memory_order_relaxed);
    return true;
  }

  // No process forks on Windows or without an operating system.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static ASHLAR_INLINE bool install() noexcept {
#if ASHLAR_POSIX
    if constexpr (ASHLAR_MAY_BE_CLOSED) static_cast<void>(std::atexit(close_library));
#endif
    return add_handlers();
  }

  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool add_handlers() noexcept {
#if ASHLAR_POSIX
    if (has_handlers_.exchange(true, memory_order_relaxed)) return true;
    if (::pthread_atfork(before, in_parent, in_child) == 0) return true;
    has_handlers_.store(false, memory_order_relaxed);
    return false;
#else
    return true;
#endif
  }

  // Removes the participants of a closed library: inline variables of process-wide pools are never destroyed.
  ASHLAR_OF_THIS_LIBRARY static void close_library() {
    is_closed_.store(true, memory_order_relaxed);
    const module_place closing = module_around(&is_closed_);
    all_.locks.leave_all_in(closing);
    const lock_scope held(all_.lock);
    for (fork_participant* each = all_.participants.front(); each != nullptr;)
      if (fork_participant& found = *std::exchange(each, each->next); goes_with(closing, found)) take_out(all_, found);
  }

  // If the list itself is in the library, all participants leave: they may enter another list.
  [[nodiscard]] static bool goes_with(const module_place& closing, const fork_participant& each) noexcept {
    return closing.contains(&all_) || closing.contains(&each) ||
           closing.contains(reinterpret_cast<const void*>(each.before));
  }

  // It may enter again.
  static void take_out(fork_registry& list, fork_participant& leaving) noexcept {
    list.participants.erase(&leaving);
    leaving.entered.store(nullptr, memory_order_relaxed);
  }

  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static void before() {
    if (all_.turn.is_mine()) return all_.turn.begin();
    if (all_.spares_only_thread && is_only_thread()) all_.has_locks = false;
    else hold();
    all_.turn.begin();
  }

  static ASHLAR_INLINE void hold() noexcept {
    if constexpr (checking_level >= checking::checked) held_locks::expect_none_to_wait_for();
    // A holder that waits for a participant never unlocks, so attempts are limited. They grow, since among many busy
    // holders a few attempts may always fail.
    constexpr unsigned attempts = 64;
    unsigned turn = 0;
    for (unsigned patience = attempts; !try_hold(patience); patience += attempts) yield_or_sleep(turn++);
    all_.has_locks = true;
  }

  // Returns: whether all locks are held; then no participant enters or leaves until the end of the fork. If false, none
  // is held.
  [[nodiscard]] static ASHLAR_INLINE bool try_hold(unsigned patience) noexcept {
    all_.gate.close();
    all_.lock.lock();
    for (const fork_step step :
         {fork_step::outer_locks, fork_step::inner_locks, fork_step::shared_locks, fork_step::last_locks})
      for (fork_participant* each = all_.participants.front(); each != nullptr; each = each->next)
        each->before(each->self, step);
    if (all_.locks.try_lock_all(patience)) return true;
    release(&fork_participant::in_parent);
    return false;
  }

  ASHLAR_COLD static void release(void (*fork_participant::*end)(void*) noexcept) noexcept {
    for (fork_participant* each = all_.participants.front(); each != nullptr;) {
      fork_participant& met = *std::exchange(each, each->next);
      (met.*end)(met.self);
    }
    all_.lock.unlock();
    all_.gate.open();
  }

  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static void in_parent() {
    if (!all_.turn.end() || !all_.has_locks) return;
    all_.locks.unlock_all();
    release(&fork_participant::in_parent);
  }

  ASHLAR_OF_THIS_LIBRARY ASHLAR_COLD static void in_child() {
    if constexpr (checking_level >= checking::hardened) random_epoch::begin();
    if (!all_.turn.end() || !all_.has_locks) return;
    all_.locks.unlock_all();  // first, since participants may deallocate through them
    release(&fork_participant::in_child);
    all_.locks.leave_all();  // last, since what a participant deallocates through enters again
  }

  static inline constinit fork_registry all_;
  ASHLAR_OF_THIS_LIBRARY static inline constinit spin_lock installing_;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<bool> is_installed_ = false;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<bool> has_handlers_ = false;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<bool> is_closed_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail
