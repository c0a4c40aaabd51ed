// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads free two cells each, which travel in one parcel; the owner takes parcels and uses their cells.
#include "parcels.hpp"

void model() {
  using namespace models;
  cell a, b, c, d;
  parcel_queue queue;
  const auto free_both = [&](cell& first, cell& second, int by) {
    open_parcel parcel;
    use(first, by), use(second, by);
    free(parcel, first), free(parcel, second);
    checker::check(parcel.cells() == 2, "what is listed is counted");
    send(queue, parcel);
  };
  checker::run_threads([&] { free_both(a, b, 1); }, [&] { free_both(c, d, 2); }, [&] { take_in(queue, 2, 3); });
  take_in(queue, 2, 3);
  checker::check(queue.is_empty(), "no parcel is left");
  checker::check(a.taken + b.taken + c.taken + d.taken == 4, "every cell arrives");
  checker::check(a.content + b.content + c.content + d.content == 12, "what was written last is what is found");
}
