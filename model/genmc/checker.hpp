// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of models to GenMC; explorer/checker.hpp is the same for the other checker.
#pragma once

#include <cstddef>
#include <new>

#include <ashlar/base/atomics.hpp>

// The functions that GenMC offers to programs.
extern "C" {
int __VERIFIER_thread_create(const void* attributes, void* (*body)(void*), void* argument) noexcept;
void* __VERIFIER_thread_join(long thread) noexcept;
long __VERIFIER_thread_self() noexcept;
int __VERIFIER_mutex_lock(int* mutex) noexcept;
int __VERIFIER_mutex_trylock(int* mutex) noexcept;
void* __VERIFIER_malloc(std::size_t bytes) noexcept;
void __VERIFIER_free(void* memory) noexcept;
int __VERIFIER_mutex_unlock(int* mutex) noexcept;
void __VERIFIER_assert_fail(const char* condition, const char* file, int line) noexcept;
}

namespace checker {

/// GenMC observes the compiled program, so the headers are checked as they ship.
using atomics = ashlar::detail::default_atomics;

/// An object that one of the threads ends while others may still be in its calls.
template <class T>
class mortal {
public:
  mortal() : object_{::new(__VERIFIER_malloc(sizeof(T))) T} {}
  T* operator->() { return object_; }
  void end() { __VERIFIER_free(object_); }

private:
  T* object_;
};

class mutex {
public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  void lock() { __VERIFIER_mutex_lock(&state_); }
  [[nodiscard]] bool try_lock() { return __VERIFIER_mutex_trylock(&state_) == 0; }
  void unlock() { __VERIFIER_mutex_unlock(&state_); }

private:
  int state_ = 0;
};

/// Effects: ends the search if a promise is broken.
inline void check(bool holds, const char* promise) {
  if (!holds) __VERIFIER_assert_fail(promise, "", 0);
}

/// Returns: the number of the calling thread; 0 is the one that waits for all others.
[[nodiscard]] inline std::size_t this_thread() { return static_cast<std::size_t>(__VERIFIER_thread_self()); }

/// Effects: runs the bodies as threads, and waits for all of them.
template <class... Body>
void run_threads(Body... bodies) {
  const auto enter = [](auto* body) {
    return __VERIFIER_thread_create(
        nullptr,
        [](void* given) -> void* {
          (*static_cast<decltype(body)>(given))();
          return nullptr;
        },
        body);
  };
  const long threads[] = {enter(&bodies)...};
  for (const long thread : threads) __VERIFIER_thread_join(thread);
}

}  // namespace checker

void model();

int main() {
  model();
  return 0;
}
