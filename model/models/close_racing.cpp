// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two producers push while the owner closes: each node is in the last chain, or is refused and stays refused.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray}, c{&stray};
  inbox in;
  const auto push_or_keep = [&](node& n, int content) {
    const bool is_pushed = write_and_push(in, n, content);
    if (!is_pushed) ++n.taken;
    return is_pushed;
  };
  checker::run_threads(
      [&] {
        const bool is_first_in = push_or_keep(a, 1);
        const bool is_second_in = push_or_keep(b, 2);
        checker::check(is_first_in || !is_second_in, "a closed inbox stays closed");
      },
      [&] { push_or_keep(c, 3); },
      [&] {
        count_taken(in.close(), stray);
        checker::check(in.is_closed(), "who closes sees it closed");
      });
  checker::check(in.close() == nullptr, "nothing comes after the close");
  check_taken(1, a, b, c);
}
