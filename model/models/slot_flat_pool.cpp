// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool of two slots: threads take under its lock and give without it; a slot has one holder at a time.
#include "slots.hpp"

#include <ashlar/detail/slots/slot_word.hpp>

void model() {
  using namespace models;
  slots<2> all;
  slot_inbox in;
  ashlar::detail::slot_stack stack;
  checker::mutex lock;
  const auto words = [&](std::uint32_t number) -> auto& { return all[number].word; };
  const auto use = [&](int content) {
    lock.lock();
    if (stack.empty()) stack.adopt(in.take_all());
    const std::uint32_t number = stack.take(2, words).number;
    lock.unlock();
    checker::check(number != slot_word::none, "there are as many slots as hands");
    all[number].content = content;
    checker::check(all[number].content == content, "a slot is in one hand at a time");
    (void)in.push(number, 0, all[number].word);
  };
  checker::run_threads([&] { use(1), use(2); }, [&] { use(3); });
  if (stack.empty()) stack.adopt(in.take_all());
  checker::check(stack.used() != 0, "a slot was taken");
}
