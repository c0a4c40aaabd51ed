// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is done once when a thread ends, even if it is first asked for while the thread is ending.
#pragma once

#include <atomic>
#include <cstdint>

#include <pthread.h>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace detail {

/// One thing to do at the end of a thread.
struct thread_end_participant {
  void (*at_end)(thread_end_participant* self) noexcept = nullptr;
  thread_end_participant* next = nullptr;
};

/// The participants of the calling thread.
///
///   end of a thread:  thread_local objects, latest first  ->  keys' values, round by round
///   participants run:          here, nearly always             or here
///
/// A thread_local destructor that is registered while keys are being destroyed never runs, so a thread that first
/// enters there has a key to call it back. The destructors alone would do but for that; the key alone would outlive a
/// library that is closed, which a pending destructor keeps loaded. A thread whose first entry is in the last round of
/// its keys, from a key that is destroyed after this one, is missed.
///
/// Where the loader lets libraries share inline variables, as it does with those of GCC, they share the participants,
/// but not the code: the first library to end one of its thread_local objects calls all participants, as all are loaded
/// yet.
///
/// Thread safety: each thread sees its own.
class thread_end {
public:
  /// Effects: `joining.at_end(&joining)` is called when this thread ends, once; those that entered last come first.
  /// Returns: false, and it is not called, where the thread has called them already, or the library that this is
  /// compiled into is being closed. The library stays loaded until then, since the function may be its own. Expects:
  /// `joining` lives until then.
  [[nodiscard]] ASHLAR_OF_THIS_LIBRARY static bool enter(thread_end_participant& joining) noexcept {
    if (has_come_ || library_ends_) return false;
    arm();
    joining.next = first_;
    first_ = &joining;
    return true;
  }

  /// Effects: the library that this is compiled into stays loaded until the thread has called its participants, even if
  /// it is closed before. For what lies in lists of the thread with functions of the library. Expects: a participant
  /// has entered.
  ASHLAR_OF_THIS_LIBRARY static void hold_library() noexcept {
    static thread_local closer with_thread_locals;
    with_thread_locals.arm();
  }

private:
  struct closer {
    ~closer() { run_all(); }
    void arm() noexcept {}
  };

  // Goes with the library that this is compiled into, if that is closed: a process has few keys.
  struct key_owner {
    key_owner() noexcept {
      pthread_key_t made = {};
      if (::pthread_key_create(&made, [](void*) { run_all(); }) == 0) key_ = std::uint64_t{made} + 1;
    }
    ~key_owner() {
      library_ends_ = true;  // a destructor registered from now on would be called when it is gone
      if (const std::uint64_t leaving = key_.exchange(0); leaving != 0)
        static_cast<void>(::pthread_key_delete(static_cast<pthread_key_t>(leaving - 1)));
    }
    void arm() noexcept {}
  };

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

  static void set_key(const void* value) noexcept {
    if (const std::uint64_t known = key_; known != 0)
      static_cast<void>(::pthread_setspecific(static_cast<pthread_key_t>(known - 1), value));
  }

  ASHLAR_OF_THIS_LIBRARY static inline constinit std::atomic<bool> library_ends_ = false;
  ASHLAR_OF_THIS_LIBRARY static inline constinit std::atomic<std::uint64_t> key_ = 0;  // plus 1; 0 where there is none
  static inline constinit thread_local thread_end_participant* first_ = nullptr;
  static inline constinit thread_local bool has_come_ = false;
};

}  // namespace detail
}  // namespace ASHLAR_ABI
}  // namespace ashlar
