// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads give while the owner closes: each slot is in the last chain, or is refused and stays refused.
#include "slots.hpp"

void model() {
  using namespace models;
  slots<3> all;
  slot_inbox in;
  const auto push_or_keep = [&](std::uint32_t number) {
    const bool is_pushed = all.write_and_push(in, number, 1);
    if (!is_pushed) ++all[number].taken;
    return is_pushed;
  };
  checker::run_threads(
      [&] {
        const bool is_first_in = push_or_keep(0);
        const bool is_second_in = push_or_keep(1);
        checker::check(is_first_in || !is_second_in, "a closed inbox stays closed");
      },
      [&] { push_or_keep(2); },
      [&] {
        all.take(in.close());
        checker::check(in.is_closed(), "who closes sees it closed");
        checker::check(in.take_all() == slot_word::none, "nothing comes after the close");
      });
  checker::check(in.close() == slot_word::none, "closed twice is closed once");
  all.check_taken(1);
}
