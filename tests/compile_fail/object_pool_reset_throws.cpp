// error: static assertion failed.*Reset takes a T& and is noexcept
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What resets a kept object may not throw: nobody could catch it.
#include <ashlar/face/lifetime.hpp>
#include <ashlar/face/object_pool.hpp>

struct message {
#ifdef ASHLAR_CONTROL
  void clear() noexcept {}
#else
  void clear() {}
#endif
};

int main() {
  ashlar::object_pool<message, 4, ashlar::keep_constructed<ashlar::reset_with<&message::clear>>> pool;
  pool.release(pool.acquire());
}
