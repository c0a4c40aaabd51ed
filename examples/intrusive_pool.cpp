// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages that stay constructed and are recycled: no allocations after the start, and null at the bound.
#include <cstdio>
#include <string>

#include <ashlar/base/options.hpp>
#include <ashlar/face/intrusive_pool.hpp>

struct message {
  std::string text;
  void recycle() noexcept { text.clear(); }  // keeps its memory
};

struct message_traits : ashlar::intrusive_pool_traits {
  using lifetime = ashlar::keep_constructed<ashlar::reset_with<&message::recycle>>;
  using exhausted = ashlar::null_when_exhausted;
};
using messages = ashlar::intrusive_pool<message, message_traits>;

int main() {
  messages pool({.max_count = 2});
  pool.reserve(2);

  auto first = pool.make();
  first->text.assign(100, 'x');
  const auto second = pool.make();
  const bool is_refused = !pool.make();

  first.reset();
  const auto again = pool.make();
  std::printf("a third was %s; the recycled one has %zu characters and room for %zu\n", is_refused ? "refused" : "made",
              again->text.size(), again->text.capacity());
  return is_refused && second && again->text.capacity() >= 100 ? 0 : 1;
}
