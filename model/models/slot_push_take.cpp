// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread gives two slots and another gives one while the owner takes twice and writes to the taken slots.
#include "slots.hpp"

void model() {
  using namespace models;
  slots<3> all;
  slot_inbox in;
  checker::run_threads([&] { (void)all.write_and_push(in, 0, 1), (void)all.write_and_push(in, 1, 2); },
                       [&] { (void)all.write_and_push(in, 2, 3); },
                       [&] {
                         all.take(in.take_all());
                         all.take(in.take_all());
                       });
  all.take(in.take_all());
  all.check_taken(1);
  for (std::uint32_t n = 0; n < 3; ++n)
    checker::check(all[n].content == 101 + static_cast<int>(n), "what was written last is what is found");
}
