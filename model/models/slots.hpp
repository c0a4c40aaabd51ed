// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots for the models of slots returned by number, and the promise that each returns once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <checker.hpp>

#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_word.hpp>

namespace models {

namespace slot_word = ashlar::detail::slot_word;
using slot_inbox = ashlar::detail::slot_inbox<checker::atomics>;
using return_queue = ashlar::detail::return_queue<checker::atomics>;

/// A slot holds the last write of its client; the taker overwrites it.
struct slot {
  ashlar::detail::shared_slot_word<checker::atomics> word;
  checker::atomics::plain<int> content = 0;
  int taken = 0;  // changed by the holder of the slot only; read once all threads have ended
};

/// Their words hold stale values, as in real use: here a link to a slot that does not exist, or a count.
template <std::size_t Count>
class slots {
public:
  explicit slots(std::uint32_t word = slot_word::free_mark | 100) {
    for (slot& each : all_) each.word.store(word);
  }

  slot& operator[](std::uint32_t number) {
    checker::check(number < Count, "a link of an earlier life is never followed");
    return all_[number];
  }

  /// Effects: writes the slot's content, as the client's last use of it, and pushes it.
  bool write_and_push(slot_inbox& to, std::uint32_t number, int content) {
    all_[number].content = content;
    return to.push(number, 0, all_[number].word);
  }

  /// Effects: calls `each(number, slot)` for each slot of a chain. Returns: the number of slots.
  template <class Each>
  int for_each(std::uint32_t chain, Each each) {
    int count = 0;
    while (chain != slot_word::none) {
      slot& at = (*this)[chain];
      const std::uint32_t word = at.word.load();
      checker::check(slot_word::is_free(word), "what comes home is marked as free");
      checker::check(++count <= 8, "a chain ends");
      each(chain, at);
      chain = slot_word::number(word);
    }
    return count;
  }

  /// Effects: takes each slot of a chain and writes to it, as an owner that hands it out again.
  int take(std::uint32_t chain) {
    return for_each(chain, [](std::uint32_t, slot& at) {
      at.content = at.content + 100;
      ++at.taken;
    });
  }

  void check_taken(int times) {
    for (const slot& each : all_) checker::check(each.taken == times, "each slot comes home as often as it was given");
  }

private:
  std::array<slot, Count> all_;
};

}  // namespace models
