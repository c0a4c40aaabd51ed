// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The owner hands taken slots to another thread, which gives them back again while the first one still gives.
#include "slots.hpp"

void model() {
  using namespace models;
  slots<2> all;
  slot_inbox in;
  slot_inbox to_second;  // passes a new object to another thread
  const auto hand_on = [&](std::uint32_t chain) {
    std::array<std::uint32_t, 2> taken = {};
    const int count = all.for_each(chain, [&, next = 0](std::uint32_t number, slot& at) mutable {
      checker::check(next < 2, "no slot is in a chain twice");
      at.content = at.content + 100;
      taken[static_cast<std::size_t>(next++)] = number;
    });
    for (int i = 0; i < count; ++i) {
      const std::uint32_t number = taken[static_cast<std::size_t>(i)];
      all[number].word.store(1);
      (void)to_second.push(number, 0, all[number].word);
    }
  };
  const auto give_again = [&](std::uint32_t chain) {
    if (chain == slot_word::none) return;
    const std::uint32_t second = slot_word::number(all[chain].word.load());
    all[chain].content = all[chain].content + 100;
    (void)in.push(chain, 0, all[chain].word);
    if (second != slot_word::none) (void)in.push(second, 0, all[second].word);
  };
  checker::run_threads([&] { (void)all.write_and_push(in, 0, 1), (void)all.write_and_push(in, 1, 2); },
                       [&] {
                         hand_on(in.take_all());
                         hand_on(in.take_all());
                       },
                       [&] { give_again(to_second.take_all()); });
  const int back = all.take(in.take_all());
  const int on_their_way = all.take(to_second.take_all());
  checker::check(back + on_their_way == 2, "no slot is lost");
  all.check_taken(1);
}
