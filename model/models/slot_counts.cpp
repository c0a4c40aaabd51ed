// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two holders take one more reference each and drop all: no count is lost, and one of them is the last.
#include "slots.hpp"

void model() {
  using namespace models;
  slots<1> all(2);
  checker::atomics::plain<int> ends = 0;
  const auto holder = [&] {
    all[0].word.retain();
    if (all[0].word.release()) ends = ends + 1;
    if (all[0].word.release()) ends = ends + 1;
  };
  checker::run_threads(holder, holder);
  checker::check(ends == 1, "one of them is the last");
  checker::check(all[0].word.load() == 0, "no count is lost");
}
