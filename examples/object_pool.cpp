// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that are acquired and released: particles inside the pool, messages kept constructed, a pool that grows.
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <ashlar/base/options.hpp>
#include <ashlar/face/object_pool.hpp>
#include <ashlar/face/pool_handle.hpp>

struct particle {
  float x, y;
};

struct message {
  std::vector<std::byte> payload;
  void clear() noexcept { payload.clear(); }  // keeps its memory
};

// No allocation and no initialisation at run time: the pool is in the program's data.
constinit ashlar::object_pool<particle, ashlar::with_capacity<1000>> particles;

struct message_traits : ashlar::object_pool_traits {
  using lifetime = ashlar::keep_constructed<ashlar::reset_with<&message::clear>>;
  using exhausted = ashlar::null_when_exhausted;
};
using message_pool = ashlar::object_pool<message, message_traits>;

int main() {
  particle* const spark = particles.acquire(1.0F, 2.0F);
  const ashlar::static_pool_handle<particles> smoke(particles.acquire(3.0F, 4.0F));  // one word wide
  particles.for_each_live([](particle& each) { each.y += 1.0F; });
  std::printf("%zu of %zu particles live, spark at %.0f\n", particles.live(), particles.capacity(), double{spark->y});
  particles.release(spark);

  message_pool messages({.max_count = 2});
  message* const first = messages.acquire();
  first->payload.resize(4096);
  messages.release(first);
  message* const again = messages.acquire();
  const bool is_kept = again == first && again->payload.empty() && again->payload.capacity() >= 4096;
  const auto second = messages.make();
  std::printf("message kept: %s; a third: %s\n", is_kept ? "yes" : "no", messages.acquire() == nullptr ? "none" : "?");

  ashlar::object_pool<std::string> names;
  for (int i = 0; i < 10'000; ++i) names.acquire("a name that is too long for the string itself");
  std::printf("%zu names, room for %zu\n", names.live(), names.capacity());
  return is_kept && particles.live() == 1 ? 0 : 1;  // the pools destroy the remaining objects
}
