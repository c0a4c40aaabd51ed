// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dead cells for the models of parcels, and the promise that each has one holder at a time and arrives once.
#pragma once

#include <checker.hpp>
#include <cstddef>

#include <ashlar/detail/remote_free/parcel.hpp>

namespace models {

using carrier = ashlar::detail::parcel_carrier<checker::atomics>;
using open_parcel = ashlar::detail::open_parcel<checker::atomics>;
using parcel_queue = ashlar::detail::parcel_queue<checker::atomics>;

/// A cell of three words: as a carrier it lists one other. Its words hold stale values of an earlier use.
struct alignas(16) cell {
  static constexpr std::size_t bytes = 3 * sizeof(carrier::word);

  carrier words;
  carrier::word place = 1;
  checker::atomics::plain<int> content = 0;  // of its client
  int taken = 0;                             // changed by its holder only; read once all threads have ended

  cell() { words.below = 0x55; }
};
static_assert(carrier::capacity(cell::bytes) == 1);

/// Effects: writes to the whole cell, as its client.
inline void use(cell& mine, int by) {
  mine.words.below = static_cast<std::uintptr_t>(by);
  mine.words.next = nullptr;
  mine.place = static_cast<std::uintptr_t>(by);
  mine.content = by;
}

/// Effects: frees a cell into a parcel, as a thread that is not its owner.
inline void free(open_parcel& into, cell& dead) {
  if (!into.try_add(&dead.words)) into.begin_carrier(&dead.words, cell::bytes);
}
inline void send(parcel_queue& to, open_parcel& parcel) {
  const std::size_t bytes = parcel.bytes();
  to.push(parcel.close(), bytes);
}

/// Effects: takes parcels, at most `most`, and uses each cell, as an owner that hands it out again.
inline void take_in(parcel_queue& from, std::size_t most, int by) {
  for (; most != 0; --most) {
    carrier* const top = from.take([](carrier*) { checker::check(false, "no parcel is sent twice"); });
    if (top == nullptr) return;
    ashlar::detail::for_each_of_parcel(top, [&](void* p) {
      auto* const arrived = static_cast<cell*>(p);
      checker::check(++arrived->taken <= 1, "a cell arrives once");
      use(*arrived, by);
    });
  }
}

}  // namespace models
