// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of a pool of slots: its slabs, and their release after the handle and all objects have ended.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/slab/cell_guard.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The core of a pool together with its upstream, which it takes over from the handle. See `slot_slabs`. Thread safety:
/// none, except as `slot_pool_core` provides.
template <class Layout, policy::threads Threads, resource Upstream, class Ends>
class pool_control_block : public slot_pool_core<Threads> {
public:
  using slab_type = slot_slab<Threads>;
  using core_type = slot_pool_core<Threads>;

  static_assert(std::is_nothrow_move_constructible_v<Upstream>, "the upstream follows the last object");

  pool_control_block() noexcept {
    this->end_object = &Ends::object;
    this->end_core = &end_block;
    this->shift = static_cast<std::uint32_t>(std::bit_width(std::size_t{Layout::slots_per_slab} - 1));
  }

  /// Effects: makes `add` possible. Returns: false if `request` returns null or there are too many slabs.
  template <class Request>
  [[nodiscard]] bool make_room(Request request) {
    const std::uint32_t number = this->directory.vacancy();
    if ((std::uint64_t{number} + 1) << this->shift > slot_word::max_slots) return false;
    if (!this->directory.needs_segment(number)) return true;
    void* const memory = request(this->directory.segment_bytes(number), alignof(void*));
    if (memory != nullptr) this->directory.add_segment(number, memory);
    return memory != nullptr;
  }

  /// Effects: makes a slab in the memory, with room for `slots` slots and none yet. Returns: it. Expects: `make_room`
  /// returned true; `memory` is aligned and large enough.
  [[nodiscard]] slab_type* add(void* memory, std::uint32_t slot_count) noexcept {
    const std::uint32_t number = this->directory.vacancy();
    slab_type* const made = format(static_cast<std::byte*>(memory), slot_count);
    made->first_number = number << this->shift;
    this->directory.add(number, made);
    return made;
  }

  /// Effects: makes `slots` more slots of a slab available. Expects: it has room for them.
  void extend(slab_type& slab, std::uint32_t slot_count) noexcept {
    const bool was_full = slab.live == slab.capacity;
    slab.capacity += slot_count;
    slab.signal_at = slab.capacity;
    if (was_full && !slab.is_current) this->available.push_back(&slab);
  }

  /// Effects: takes the upstream over. Returns: whether no slot is out, so that the caller calls `end_core`; otherwise
  /// the thread that gives the last slot back calls it.
  [[nodiscard]] bool abandon(Upstream&& upstream) noexcept {
    upstream_.emplace(std::move(upstream));
    if constexpr (Threads::is_shared) return this->home.abandon(count_out(this->home.close()));
    std::uint32_t busy = 0;
    this->directory.for_each([&](slab_type& slab) {
      slab.signal_at = 1;
      busy += slab.live != 0 ? 1 : 0;
    });
    this->busy_slabs = busy;
    return busy == 0;
  }

  /// Effects: gives the memory of a slab back. Returns: its bytes.
  static std::size_t free_slab(slab_type& slab, Upstream& upstream) noexcept {
    Ends::slab(slab);
    slab.registration.leave();
    std::byte* const start = slab.start();
    const std::size_t bytes = slab.bytes;
    mark_readable(start, bytes);
    upstream.deallocate(start, bytes, slot_slab_alignment);
    return bytes;
  }

private:
  [[nodiscard]] slab_type* format(std::byte* start, std::uint32_t slot_count) noexcept {
    auto* const made = ::new (static_cast<void*>(slab_type::in(start))) slab_type;
    made->home = this;
    made->first_slot = Layout::slots_of(made);
    made->words = Layout::words_of(made);
    made->factor = slab_type::factor_for(Layout::slot_bytes, Layout::slots_per_slab);
    made->slot_bytes = static_cast<std::uint32_t>(Layout::slot_bytes);
    made->word_stride = static_cast<std::uint32_t>(Layout::is_beside ? Layout::slot_bytes : Layout::word_bytes);
    made->capacity = made->signal_at = 0;
    made->room = slot_count;
    made->live = 0;
    made->ends_plainly = Ends::is_plain;
    made->ends_by_destroying = false;
    if constexpr (requires { Ends::destroys; }) made->ends_by_destroying = Ends::destroys;
    made->is_current = false;
    made->next = made->previous = nullptr;
    made->bytes = Layout::slab_bytes(slot_count);
    made->registration.enter(this, made->first_slot, slot_count * Layout::slot_bytes,
                             Layout::slot_bytes - Layout::guard::bytes);
    if constexpr (marks_memory) mark_slots(*made, slot_count);
    return made;
  }

  static void mark_slots(slab_type& slab, std::uint32_t slot_count) noexcept {
    mark_free(slab.first_slot - front_guard, front_guard);
    for (std::uint32_t i = 0; i < slot_count; ++i)
      mark_free(slab.slot_at(i), Layout::object_bytes + Layout::guard::bytes);
  }

  // Slots in the chain are not out, although they still count as live.
  [[nodiscard]] std::uint32_t count_out(std::uint32_t chain) const noexcept {
    std::uint32_t out = 0;
    this->directory.for_each([&](const slab_type& slab) { out += slab.live; });
    for (; chain != slot_word::none; --out) {
      const auto at = this->find(chain);
      chain = slot_word::number(Layout::word_at(at.slab, at.index).load());
    }
    return out;
  }

  static void end_block(core_type& base) noexcept {
    auto& block = static_cast<pool_control_block&>(base);
    Upstream upstream = std::move(*block.upstream_);
    block.directory.for_each([&](slab_type& slab) { free_slab(slab, upstream); });
    block.directory.for_each_segment(
        [&](void* memory, std::size_t bytes) { upstream.deallocate(memory, bytes, alignof(void*)); });
    std::destroy_at(&block);
    upstream.deallocate(&block, sizeof(pool_control_block), alignof(pool_control_block));
  }

  std::optional<Upstream> upstream_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
