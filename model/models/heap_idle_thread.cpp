// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread uses its part twice, gets another one, and ends; another thread asks for both and takes each one of which
// the thread has not come back. One of them has a part at a time, and sees what the other wrote.
#include <cstdint>

#include <checker.hpp>

#include <ashlar/base/atomics.hpp>
#include <ashlar/detail/thread/thread_place.hpp>

namespace {

struct part {
  static constexpr bool may_move = true;

  struct {
    ashlar::detail::atomic<ashlar::detail::thread_place<part>*> place = nullptr;
    ashlar::detail::atomic<bool> is_asked_for = false;
    std::uint32_t thread = 0;
  } moves;
  checker::atomics::plain<int> uses = 0;
  int used = 0;
};

void use(part& of) {
  of.uses = of.uses + 1;
  ++of.used;
}

}  // namespace

void model() {
  using ashlar::detail::process_barrier;
  checker::watched_atomic<int> order = 0;
  process_barrier::word = &order;
  part none, first, second;
  ashlar::detail::thread_places<part> places(&none);
  ashlar::detail::thread_place<part> here(&none);
  places.exchange(here, &first);
  places.let_move(here);
  int lost = 0;
  bool is_taken = false, is_second_taken = false;
  part *left_first = nullptr, *left_second = nullptr;
  const auto enter_and_use = [&] {
    here.enter();
    part* found = here.get();
    if (found == &none) found = places.find(here);
    if (found != &none) use(*found);
    else ++lost;
    here.leave();
  };
  checker::run_threads(
      [&] {
        enter_and_use();
        enter_and_use();
        left_first = places.exchange(here, &second);
        if (left_first != &none) use(*left_first);
        places.let_move(here);
        places.stay(here);
        left_second = places.exchange(here, &none);
        if (left_second != &none) use(*left_second);
      },
      [&] {
        part* const wanted[] = {&first, &second};
        places.ask(wanted, 2);
        is_taken = places.try_take(first);
        if (is_taken) use(first);
        is_second_taken = places.try_take(second);
        if (is_second_taken) use(second);
      });
  checker::check(first.uses == first.used && second.uses == second.used, "no use is lost");
  checker::check(is_taken || lost == 0, "a thread without its part has lost it");
  checker::check(left_first == (is_taken ? &none : &first), "a part has one owner");
  checker::check(left_second == (is_second_taken ? &none : &second), "the next one, too");
  checker::check(first.moves.place.load(std::memory_order_relaxed) == nullptr &&
                     second.moves.place.load(std::memory_order_relaxed) == nullptr,
                 "a part that is left has no place");
}
