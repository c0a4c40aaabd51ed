// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads drop one object: the last sees the writes of the other, ends it and gives its slot to the owner.
#include "slots.hpp"

void model() {
  using namespace models;
  slots<1> all(2);
  slot_inbox in;
  std::array<checker::atomics::plain<int>, 2> parts;  // of the object
  const auto holder = [&](std::size_t which) {
    return [&, which] {
      parts[which] = 1;
      if (!all[0].word.release()) return;
      checker::check(parts[0] == 1 && parts[1] == 1, "the last holder sees what the other did");
      parts[0] = parts[1] = 2;
      (void)all.write_and_push(in, 0, 1);
    };
  };
  const auto owner = [&] {
    return all.for_each(in.take_all(), [&](std::uint32_t, slot& at) {
      checker::check(parts[0] == 2 && parts[1] == 2, "the owner sees that the object has ended");
      parts[0] = parts[1] = 0;
      ++at.taken;
    });
  };
  checker::run_threads(holder(0), holder(1), [&] { owner(); });
  owner();
  all.check_taken(1);
}
