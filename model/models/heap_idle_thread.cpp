// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread uses its part twice and leaves it at its end; another one asks for the part and takes it, if the thread has
// not come back. One of them has the part at a time, and sees what the other wrote.
#include <checker.hpp>

#include <ashlar/base/atomics.hpp>
#include <ashlar/detail/thread/thread_place.hpp>

namespace {

struct part {
  static constexpr bool may_move = true;

  struct {
    ashlar::detail::atomic<ashlar::detail::thread_place<part>*> place = nullptr;
    ashlar::detail::atomic<bool> is_asked_for = false;
  } moves;
  checker::atomics::plain<int> uses = 0;
};

}  // namespace

void model() {
  using ashlar::detail::process_barrier;
  checker::watched_atomic<int> order = 0;
  process_barrier::word = &order;
  part none, mine;
  ashlar::detail::thread_places<part> places(&none);
  ashlar::detail::thread_place<part> here(&none);
  places.exchange(here, &mine);
  int used = 0, lost = 0;
  bool is_taken = false;
  part* left_behind = nullptr;
  checker::run_threads(
      [&] {
        for (int left = 2; left != 0; --left) {
          here.enter();
          part* found = here.get();
          if (found == &none) found = places.find(here);
          if (found != &none) found->uses = found->uses + 1, ++used;
          else ++lost;
          here.leave();
        }
        left_behind = places.exchange(here, &none);
        if (left_behind != &none) left_behind->uses = left_behind->uses + 1, ++used;
      },
      [&] {
        part* const wanted = &mine;
        places.ask(&wanted, 1);
        is_taken = places.try_take(mine);
        if (is_taken) mine.uses = mine.uses + 1;
      });
  checker::check(mine.uses == used + (is_taken ? 1 : 0), "no use is lost");
  checker::check(is_taken || lost == 0, "a thread without its part has lost it");
  checker::check(left_behind == (is_taken ? &none : &mine), "a part has one owner");
  checker::check(mine.moves.place.load(std::memory_order_relaxed) == nullptr, "a part that is left has no place");
}
