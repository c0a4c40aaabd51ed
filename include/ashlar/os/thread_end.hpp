// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is done once when a thread ends, even if it is first asked for while the thread is ending.
#pragma once

#include <pthread.h>

#include <ashlar/base/config.hpp>

namespace ashlar::inline ASHLAR_ABI::os {

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
/// A thread_local destructor that is registered while keys are being destroyed never runs, so a thread that first enters
/// there has a key to call it back. The destructors alone would do but for that; the key alone would outlive a library
/// that is closed, which a pending destructor keeps loaded.
/// A thread whose first entry is in the last round of its keys, from a key that is destroyed after this one, is missed.
/// Thread safety: each thread sees its own.
class thread_end {
public:
  /// Effects: `joining.at_end(&joining)` is called when this thread ends, once; those that entered last come first.
  /// Returns: false, and it is not called, where the thread has called them already. Expects: it lives until then.
  [[nodiscard]] static bool enter(thread_end_participant& joining) noexcept {
    if (has_come_) return false;
    if (first_ == nullptr) arm();
    joining.next = first_;
    first_ = &joining;
    return true;
  }

private:
  struct closer {
    ~closer() { run_all(); }
    void arm() noexcept {}
  };

  struct end_key {
    pthread_key_t key = {};
    bool is_there;
    end_key() noexcept : is_there(::pthread_key_create(&key, [](void*) { run_all(); }) == 0) {}
  };

  [[nodiscard]] static const end_key& key() noexcept {
    static const end_key of_process;
    return of_process;
  }

  static void arm() noexcept {
    static thread_local closer with_thread_locals;
    with_thread_locals.arm();
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
    if (key().is_there) static_cast<void>(::pthread_setspecific(key().key, value));
  }

  static inline constinit thread_local thread_end_participant* first_ = nullptr;
  static inline constinit thread_local bool has_come_ = false;
};

}  // namespace ashlar::inline ASHLAR_ABI::os
