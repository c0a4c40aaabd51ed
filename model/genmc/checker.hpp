// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What models are written against, when GenMC runs them; explorer/checker.hpp is the same for the other checker.
#pragma once

#include <pthread.h>

#include <cassert>

#include <ashlar/base/atomics.hpp>

namespace checker {

/// GenMC watches the compiled program, so the headers are checked as they ship.
using atomics = ashlar::std_atomics;

class mutex {
public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  void lock() { pthread_mutex_lock(&state_); }
  void unlock() { pthread_mutex_unlock(&state_); }

private:
  pthread_mutex_t state_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Effects: ends the search where a promise is broken.
inline void check(bool holds, [[maybe_unused]] const char* promise) { assert(holds); }

/// Effects: runs the bodies as threads, and waits for all of them.
template <class... Body>
void run_threads(Body... bodies) {
  pthread_t threads[sizeof...(bodies)];
  int started = 0;
  (pthread_create(
       &threads[started++], nullptr,
       [](void* body) -> void* {
         (*static_cast<Body*>(body))();
         return nullptr;
       },
       &bodies),
   ...);
  for (const pthread_t& thread : threads) pthread_join(thread, nullptr);
}

}  // namespace checker

void model();

int main() {
  model();
  return 0;
}
