// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pool with a handle that ends while its objects are out: the last of all, and no other thread, frees the memory.
#pragma once

#include "slots.hpp"

namespace models {

/// The part of the pool that outlives the handle.
template <std::size_t Count>
struct pool_memory {
  return_queue home;
  slots<Count> all{std::uint32_t{1}};
  checker::atomics::plain<int> state = 0;  // the last write of the handle
};

template <std::size_t Count>
class dying_pool {
public:
  pool_memory<Count>* operator->() { return memory_.operator->(); }

  /// Effects: uses an object for the last time, and gives its slot back.
  void write_and_give(std::uint32_t number) {
    memory_->all[number].content = 1;
    give(number);
  }

  void give(std::uint32_t number) {
    if (memory_->home.give(number, 0, memory_->all[number].word)) free_memory();
  }

  /// Effects: ends the handle, which took `taken` slots back before.
  void end_handle(int taken) {
    memory_->state = 1;
    taken += memory_->all.for_each(memory_->home.close(), [](std::uint32_t, slot&) {});
    if (memory_->home.abandon(static_cast<std::uint32_t>(Count) - static_cast<std::uint32_t>(taken))) free_memory();
  }

  void check_freed() { checker::check(freed_ == 1, "one thread frees the memory"); }

private:
  void free_memory() {
    for (std::uint32_t n = 0; n < Count; ++n)
      checker::check(memory_->all[n].content == 1, "who frees sees what was done to the objects");
    checker::check(memory_->state == 1, "who frees sees what the handle did");
    freed_ = freed_ + 1;
    memory_.end();
  }

  checker::mortal<pool_memory<Count>> memory_;
  checker::atomics::plain<int> freed_ = 0;
};

}  // namespace models
