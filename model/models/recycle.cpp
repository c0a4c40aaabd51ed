// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The owner hands drained nodes to another producer, which pushes them again, while the first one still pushes.
#include "nodes.hpp"

void model() {
  using namespace models;
  node stray;
  node a{&stray}, b{&stray};
  inbox in;
  inbox to_second;
  checker::run_threads([&] { (void)write_and_push(in, a, 1), (void)write_and_push(in, b, 2); },
                       [&] {
                         for_each_taken(in.take_all(), stray, [&](node& n) { ++n.taken, (void)to_second.push(&n); });
                         for_each_taken(in.take_all(), stray, [&](node& n) { ++n.taken, (void)to_second.push(&n); });
                       },
                       [&] { for_each_taken(to_second.take_all(), stray, [&](node& n) { (void)in.push(&n); }); });
  const int back = count_taken(in.take_all(), stray);
  const int on_their_way = count_taken(to_second.take_all(), stray);
  checker::check(back + on_their_way == 2, "no node is lost");
  checker::check(a.taken >= 1 && a.taken <= 3 && b.taken >= 1 && b.taken <= 3, "no node is in two remote_free_infos");
}
