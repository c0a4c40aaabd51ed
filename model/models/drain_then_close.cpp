// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The owner drains and then closes, while two producers push and keep refused nodes.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray}, c{&stray};
  inbox in;
  const auto push_or_keep = [&](node& n, int content) {
    if (!write_and_push(in, n, content)) ++n.taken;
  };
  checker::run_threads([&] { push_or_keep(a, 1), push_or_keep(b, 2); }, [&] { push_or_keep(c, 3); },
                       [&] {
                         count_taken(in.take_all(), stray);
                         count_taken(in.close(), stray);
                       });
  checker::check(in.is_closed() && in.close() == nullptr, "nothing comes after the close");
  check_taken(1, a, b, c);
}
