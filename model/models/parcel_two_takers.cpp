// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The owner and a stranger take parcels under a lock, while a third thread sends two: one of them gets each, and what
// one has taken out of the inbox the other finds. The bytes that wait are none at the end.
#include "parcels.hpp"

void model() {
  using namespace models;
  cell a, b;
  parcel_queue queue;
  checker::mutex lock;
  const auto take_one = [&](int by) {
    lock.lock();
    carrier* const top = queue.take([](carrier*) { checker::check(false, "no parcel is taken twice"); });
    lock.unlock();
    if (top == nullptr) return;
    ashlar::detail::for_each_of_parcel(top, [&](void* p) {
      checker::check(++static_cast<cell*>(p)->taken == 1, "a cell arrives once");
      use(*static_cast<cell*>(p), by);
    });
  };
  checker::run_threads(
      [&] {
        for (cell* each : {&a, &b}) {
          open_parcel parcel;
          use(*each, 1);
          free(parcel, *each);
          send(queue, parcel);
        }
      },
      [&] { take_one(2); }, [&] { take_one(3); });
  take_in(queue, 2, 4);
  checker::check(a.taken == 1 && b.taken == 1 && queue.is_empty(), "both arrive");
  checker::check(queue.bytes() == 0, "what has arrived waits no longer");
}
