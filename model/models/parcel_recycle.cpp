// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cell that has arrived as a carrier is handed to another thread, which frees it again as a carrier of its own: no
// word of the first parcel is followed in the second.
#include "parcels.hpp"

void model() {
  using namespace models;
  cell a, b, c;
  parcel_queue queue;
  checker::mutex lock;
  checker::atomics::plain<cell*> handed = nullptr;
  checker::run_threads(
      [&] {
        open_parcel parcel;
        use(a, 1), use(b, 1), use(c, 1);
        free(parcel, a), free(parcel, b), free(parcel, c);
        send(queue, parcel);
      },
      [&] {
        take_in(queue, 1, 2);
        if (a.taken == 0) return;
        a.taken = 0;
        lock.lock();
        handed = &a;
        lock.unlock();
      },
      [&] {
        lock.lock();
        cell* const mine = handed;
        lock.unlock();
        if (mine == nullptr) return;
        use(*mine, 3);
        open_parcel parcel;
        free(parcel, *mine);
        send(queue, parcel);
      });
  const bool is_handed = handed != nullptr;
  take_in(queue, 2, 4);
  checker::check(queue.is_empty(), "no parcel is left");
  checker::check(b.taken == 1 && c.taken == 1 && (a.taken == 1 || is_handed), "every cell arrives");
}
