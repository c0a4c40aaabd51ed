// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The destruction of objects that own others of their kind: one after the other, without recursion and without memory.
#pragma once

#include <cstdint>

#include <ashlar/base/config.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// During the destruction of an object, other objects of the same pool without references wait, linked through their
/// words. They end after the destructor that dropped them. One such record for each pool and thread lies on the stack
/// of the outermost release, so that a chain of a million objects needs the stack of one:
///
///     step                                  ending   pending
///     a loses its last reference            a        -
///     ~a() drops the last of b and of c     a        c -> b
///     ~a() has returned                     c        b
///     ~c() has returned                     b        -
struct deferred_destruction {
  const void* core;
  std::uint32_t pending;        ///< slot number of the latest deferred object, or `none`
  deferred_destruction* outer;  ///< the destruction in another pool inside which this one began

  /// The innermost one of this thread, in pools for any thread.
  static deferred_destruction*& of_this_thread() noexcept {
    constinit thread_local deferred_destruction* innermost = nullptr;
    return innermost;
  }
};

template <policy::threads Threads>
[[nodiscard]] deferred_destruction* find_ending(const slot_pool_core<Threads>& core) noexcept {
  if constexpr (!Threads::is_shared) {
    return core.ending;
  } else {
    deferred_destruction* at = deferred_destruction::of_this_thread();
    while (at != nullptr && at->core != &core) at = at->outer;
    return at;
  }
}

template <policy::threads Threads>
void set_ending(slot_pool_core<Threads>& core, deferred_destruction* to) noexcept {
  (Threads::is_shared ? deferred_destruction::of_this_thread() : core.ending) = to;
}

template <policy::threads Threads>
void defer(deferred_destruction& until, slot_slab<Threads>& slab, std::uint32_t index) noexcept {
  slab.word_at(index).store(slot_word::free_mark | until.pending);
  until.pending = slab.first_number + index;
}

// Ends the deferred objects, the latest first, and gives each slot back after the next one is read.
template <policy::threads Threads, class End>
ASHLAR_NOINLINE void end_pending(deferred_destruction& ending, slot_slab<Threads>* in, std::uint32_t index,
                                 std::uint32_t marks, End end) noexcept {
  using core_type = slot_pool_core<Threads>;
  core_type& core = *in->home;
  while (ending.pending != slot_word::none) {
    const auto next = core.find(ending.pending);
    ending.pending = slot_word::number(next.slab.word_at(next.index).load());
    core_type::give(*in, index, marks, in->word_at(index));  // the pool stays: `next` belongs to it
    in = &next.slab;
    index = next.index;
    marks = end(*in, index);
  }
  set_ending(core, ending.outer);  // before the pool may end
  core_type::give(*in, index, marks, in->word_at(index));
}

/// Effects: calls `end(slab, index)`, which ends the object, retires its slot and returns the marks, and gives the slot
/// back. Then it ends all objects that were deferred meanwhile. A call within `end` of the same pool and thread defers
/// the object. The pool may end with the last object. `word_at(slab, index)`: the word of a slot, for callers that find
/// it faster than the slab.
template <policy::threads Threads, class End, class WordAt>
ASHLAR_INLINE void destroy_iteratively(slot_slab<Threads>& slab, std::uint32_t index, End end,
                                       WordAt word_at) noexcept {
  slot_pool_core<Threads>& core = *slab.home;
  if (deferred_destruction* const running = detail::find_ending(core); ASHLAR_UNLIKELY(running != nullptr))
    return detail::defer(*running, slab, index);
  deferred_destruction ending = {&core, slot_word::none,
                                 Threads::is_shared ? deferred_destruction::of_this_thread() : nullptr};
  detail::set_ending(core, &ending);
  const std::uint32_t marks = end(slab, index);
  if (ASHLAR_UNLIKELY(ending.pending != slot_word::none)) return detail::end_pending(ending, &slab, index, marks, end);
  detail::set_ending(core, ending.outer);  // before the pool may end
  slot_pool_core<Threads>::give(slab, index, marks, word_at(slab, index));
}

template <policy::threads Threads, class End>
void destroy_iteratively(slot_slab<Threads>& slab, std::uint32_t index, End end) noexcept {
  destroy_iteratively(slab, index, end,
                      [](slot_slab<Threads>& in, std::uint32_t which) -> auto& { return in.word_at(which); });
}

}  // namespace ashlar::ASHLAR_ABI::detail
