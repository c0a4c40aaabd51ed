// error: static assertion failed.*Reset takes a T& and is noexcept
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reset of a kept object must not throw: no caller could catch it.
#include <cstddef>

#include <ashlar/base/options.hpp>
#include <ashlar/face/object_pool.hpp>

struct message {
#ifdef ASHLAR_CONTROL
  void clear() noexcept {}
#else
  void clear() {}
#endif
};

struct traits : ashlar::object_pool_traits {
  static constexpr std::size_t capacity = 4;
  using lifetime = ashlar::keep_constructed<ashlar::reset_with<&message::clear>>;
};

int main() {
  ashlar::object_pool<message, traits> pool;
  pool.release(pool.acquire());
}
