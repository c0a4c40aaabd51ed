// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Callbacks at the end of a thread, also for registrations while the thread is ending.
#pragma once

#include <cstdint>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/config.hpp>

#if ASHLAR_POSIX
#include <pthread.h>
#elif ASHLAR_WINDOWS
#include <ashlar/os/native.hpp>
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// One callback at the end of a thread.
struct thread_end_participant {
  void (*at_end)(thread_end_participant* self) noexcept = nullptr;
  thread_end_participant* next = nullptr;
};

/// The participants of the calling thread.
///
///     end of a thread:   thread_local objects, latest first  ->  values of pthread keys, round by round
///     participants run:  here, nearly always                     or here
///
/// A thread_local destructor that is registered during the destruction of keys never runs, so a key calls participants
/// that enter then. A key alone would outlive a closed library; a pending thread_local destructor keeps the library
/// loaded. One case is missed: a first entry in the last round of keys, from a key that is destroyed after this one.
///
/// Libraries may share inline variables, as libraries of GCC do: then they share the participants, but not the code.
/// The first library to destroy its thread_local object calls all participants, since all libraries are still loaded.
///
/// On Windows the callback of a fiber-local value replaces both: it runs after the destructors of thread-local objects.
/// A library with participants stays loaded until the end of the process, since its callback cannot be withdrawn
/// without a call for every thread. The thread that ends the process does not call its participants: it may wait for a
/// lock of a thread that the system has ended before. On a system of neither kind thread-local objects alone call
/// participants.
///
/// Thread safety: each thread sees its own participants.
class thread_end {
public:
  /// Effects: calls `joining.at_end(&joining)` once at the end of this thread, the latest participant first. This
  /// library stays loaded until then, since it may contain the function. Returns: false, without a later call, if the
  /// thread has already called its participants, or if this library is being closed. Expects: `joining` lives until the
  /// call.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool enter(thread_end_participant& joining) noexcept {
    if (ASHLAR_EMULATED_THREAD_LOCALS || has_come_ || library_ends_.load(memory_order_seq_cst)) return false;
    arm();
    joining.next = first_;
    first_ = &joining;
    return true;
  }

  /// Effects: keeps this library loaded until the thread has called its participants, even if it is closed before. For
  /// objects in lists of the thread that use functions of the library. Expects: a participant has entered.
  ASHLAR_OF_THIS_LIBRARY static void hold_library() noexcept {
#if ASHLAR_WINDOWS
    static const bool is_held = (windows::keep_module_of(&library_ends_), true);
    static_cast<void>(is_held);
#else
    static thread_local closer with_thread_locals;
    with_thread_locals.arm();
#endif
  }

private:
  struct closer {
    ~closer() { run_all(); }
    void arm() noexcept {}
  };

#if ASHLAR_WINDOWS
  struct key_owner {
    key_owner() noexcept {
      const unsigned long made = ::FlsAlloc(run_all_unless_process_ends);
      if (made != windows::no_fls_index) key_.store(std::uint64_t{made} + 1, memory_order_seq_cst);
    }
    ~key_owner() { library_ends_.store(true, memory_order_seq_cst); }
    void arm() noexcept {}
  };

  static void __stdcall run_all_unless_process_ends(void*) {
    if (!library_ends_.load(memory_order_seq_cst)) run_all();
  }
#elif ASHLAR_POSIX
  // Ends with its library, since a process has few keys.
  struct key_owner {
    key_owner() noexcept {
      pthread_key_t made = {};
      if (::pthread_key_create(&made, [](void*) { run_all(); }) == 0)
        key_.store(static_cast<std::uint64_t>(made) + 1, memory_order_seq_cst);
    }
    ~key_owner() {
      library_ends_.store(true, memory_order_seq_cst);  // a destructor registered later would run after the unload
      if (const std::uint64_t leaving = key_.exchange(0, memory_order_seq_cst); leaving != 0)
        static_cast<void>(::pthread_key_delete(static_cast<pthread_key_t>(leaving - 1)));
    }
    void arm() noexcept {}
  };
#else
  struct key_owner {
    ~key_owner() { library_ends_.store(true, memory_order_seq_cst); }
    void arm() noexcept {}
  };
#endif

  ASHLAR_OF_THIS_LIBRARY static void arm() noexcept {
    hold_library();
    static key_owner of_this_library;
    of_this_library.arm();
    set_key(&first_);
  }

  static void run_all() noexcept {
    has_come_ = true;
    set_key(nullptr);
    while (first_ != nullptr) {
      thread_end_participant* const leaving = first_;
      first_ = leaving->next;
      leaving->at_end(leaving);
    }
  }

  static void set_key([[maybe_unused]] const void* value) noexcept {
    [[maybe_unused]] const std::uint64_t known = key_.load(memory_order_seq_cst);
#if ASHLAR_WINDOWS
    if (known != 0) static_cast<void>(::FlsSetValue(static_cast<unsigned long>(known - 1), const_cast<void*>(value)));
#elif ASHLAR_POSIX
    if (known != 0) static_cast<void>(::pthread_setspecific(static_cast<pthread_key_t>(known - 1), value));
#endif
  }

  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<bool> library_ends_ = false;
  ASHLAR_OF_THIS_LIBRARY static inline constinit atomic<std::uint64_t> key_ = 0;  // plus 1; 0 without a key
  static inline constinit thread_local thread_end_participant* first_ = nullptr;
  static inline constinit thread_local bool has_come_ = false;
};

}  // namespace ashlar::ASHLAR_ABI::detail
