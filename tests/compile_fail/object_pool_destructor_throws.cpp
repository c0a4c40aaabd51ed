// error: static assertion failed.*a destructor that throws
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A destructor that may throw would leave a pool in an invalid state.
#include <ashlar/face/object_pool.hpp>

struct fragile {
#ifdef ASHLAR_CONTROL
  ~fragile() {}
#else
  ~fragile() noexcept(false) {}
#endif
};

int main() {
  ashlar::object_pool<fragile, ashlar::with_capacity<4>> pool;
  pool.release(pool.acquire());
}
