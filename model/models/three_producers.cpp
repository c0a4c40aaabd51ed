// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three producers push one node each while the owner drains.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray}, c{&stray};
  inbox in;
  checker::run_threads([&] { (void)write_and_push(in, a, 1); }, [&] { (void)write_and_push(in, b, 2); },
                       [&] { (void)write_and_push(in, c, 3); },
                       [&] {
                         count_taken(in.take_all(), stray);
                         count_taken(in.take_all(), stray);
                       });
  count_taken(in.take_all(), stray);
  check_taken(1, a, b, c);
  checker::check(a.content == 101 && b.content == 102 && c.content == 103, "what was written last is what is found");
}
