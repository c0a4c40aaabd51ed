// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two producers push two nodes each while the owner drains twice and writes to the drained nodes.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray}, c{&stray}, d{&stray};
  inbox in;
  checker::run_threads([&] { (void)write_and_push(in, a, 1), (void)write_and_push(in, b, 2); },
                       [&] { (void)write_and_push(in, c, 3), (void)write_and_push(in, d, 4); },
                       [&] {
                         count_taken(in.take_all(), stray);
                         count_taken(in.take_all(), stray);
                       });
  count_taken(in.take_all(), stray);
  check_taken(1, a, b, c, d);
  checker::check(a.content + b.content + c.content + d.content == 410, "what was written last is what is found");
}
