// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A growing supply of slots for objects, with the interface of the bounded ones: by the address of a slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/threads.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/deferred_destruction.hpp>
#include <ashlar/detail/slots/slot_fault.hpp>
#include <ashlar/detail/slots/slot_layout.hpp>
#include <ashlar/detail/slots/slot_pool_core.hpp>
#include <ashlar/detail/slots/slot_slab.hpp>
#include <ashlar/detail/slots/slot_slabs.hpp>
#include <ashlar/detail/slots/slot_stack.hpp>
#include <ashlar/detail/slots/slot_watch.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/hints.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/face/object_pool_options.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The `Ends` of slabs with objects kept in free slots: they are destroyed when the memory of the slab goes back.
template <policy::threads Threads, bool Keeps, class Destroy>
struct kept_ends {
  using slab_type = slot_slab<Threads>;
  static constexpr bool is_plain = true;

  static void object(slab_type& slab, std::uint32_t index) noexcept {
    slot_pool_core<Threads>::give(slab, index, slot_word::raw_mark, slab.word_at(index));
  }
  static void slab(slab_type& slab) noexcept {
    if constexpr (Keeps) for_each_kept(slab);
  }

private:
  static void for_each_kept(slab_type& slab) noexcept {
    for (std::uint32_t i = 0; i < slab.free.used(); ++i) {
      const std::uint32_t word = slab.word_at(i).load();
      if (!slot_word::is_free(word) || slot_word::is_raw(word)) continue;
      mark_readable(slab.slot_at(i), slab.slot_bytes);
      Destroy()(slab.slot_at(i));
    }
  }
};

/// `slot_slabs` with the members of `flat_slots`; see there.
template <std::size_t Bytes, std::size_t Alignment, policy::threads Threads, resource Upstream, bool Keeps,
          class Destroy>
class growing_slots {
  using layout = slot_layout<Threads, Bytes, Alignment, (Alignment <= alignof(std::uint32_t))>;
  using slabs_type = slot_slabs<layout, Threads, Upstream, kept_ends<Threads, Keeps, Destroy>>;
  using slab_type = typename layout::slab_type;

public:
  static constexpr std::size_t slot_bytes = Bytes;

  explicit growing_slots(std::in_place_t, const object_pool_options& options = {}, Upstream upstream = {})
      : slabs_(options, std::move(upstream)) {}

  [[nodiscard]] ASHLAR_INLINE taken_place take() {
    const taken_place got = place_of(slabs_.take());
    if (ASHLAR_UNLIKELY(got.slot == nullptr)) throw_bad_alloc(Bytes, Alignment);
    return got;
  }
  [[nodiscard]] ASHLAR_INLINE taken_place try_take() noexcept { return place_of(slabs_.try_take()); }

  ASHLAR_INLINE void give(void* slot, std::uint32_t marks) noexcept {
    if constexpr (keeps_canaries) layout::guard::expect(slot, this);
    retire_slot<Threads::is_shared>(slot, Bytes, marks);
    slab_type& slab = *slab_type::around(slot);
    const std::uint32_t index = layout::index_of(slab, slot);
    slot_pool_core<Threads>::give(slab, index, marks, layout::word_at(slab, index));
  }

  template <class End>
  void destroy_iteratively(void* slot, End end) noexcept {
    if constexpr (keeps_canaries) layout::guard::expect(slot, this);
    slab_type& slab = *slab_type::around(slot);
    ashlar::detail::destroy_iteratively(slab, layout::index_of(slab, slot), [&end](slab_type& in, std::uint32_t index) {
      void* const ending = layout::slot_at(in, index);
      const std::uint32_t marks = end(ending);
      retire_slot<Threads::is_shared>(ending, Bytes, marks);
      return marks;
    });
  }

  /// Complexity: O(log slabs of the process); O(slabs) if a slab has one slot.
  ASHLAR_NOINLINE void check(const void* p) noexcept {
    slab_type* const slab = slab_around(p);
    if (slab == nullptr) report_foreign_slot(p, this, Bytes);
    const std::size_t offset = address_of(p) - address_of(slab->first_slot);
    if (offset % layout::slot_bytes != 0) report_slot(fault::misaligned_free, inside_an_object, p, this, Bytes);
    const auto index = static_cast<std::uint32_t>(offset / layout::slot_bytes);
    auto& word = layout::word_at(*slab, index);
    if (!slabs_.was_used(*slab, index) || slot_word::is_free(word.load()) ||
        slot_word::is_free(word.exchange(slot_word::free_mark | slot_word::none)))
      report_slot(fault::double_free, freed_before, p, this, Bytes);
  }

  [[nodiscard]] bool is_free(const void* slot) noexcept { return slot_word::is_free(layout::word_of(slot).load()); }

  void reserve(std::size_t slot_count) { slabs_.reserve(slot_count); }
  std::size_t trim(std::size_t retain_bytes = 0) noexcept { return slabs_.trim(retain_bytes); }

  template <class F>
  void for_each_taken(F f) {
    slabs_.for_each_live([&](slab_type& slab, std::uint32_t index) { f(layout::slot_at(slab, index)); });
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return slabs_.capacity(); }
  [[nodiscard]] std::size_t max_slots() const noexcept { return slabs_.max_slots(); }
  [[nodiscard]] std::size_t live() const noexcept { return slabs_.live(); }
  [[nodiscard]] bool is_exhausted() const noexcept { return live() == max_slots(); }
  [[nodiscard]] bool owns(const void* p) const noexcept { return slabs_.owns(p); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return slabs_.held_bytes(); }
  [[nodiscard]] const Upstream& upstream_resource() const noexcept { return slabs_.upstream_resource(); }
  [[nodiscard]] bool invariant() const noexcept { return slabs_.invariant(); }

private:
  // Reads no memory except slabs of this pool.
  [[nodiscard]] slab_type* slab_around(const void* p) const noexcept {
    if constexpr (layout::slots_per_slab == 1) return slabs_.find(p);
    const void* const owner = process_slabs.find(p).owner;
    return owner != nullptr && owner == slabs_.registered_owner() ? slab_type::around(p) : nullptr;
  }

  [[nodiscard]] ASHLAR_INLINE static taken_place place_of(const typename slabs_type::place& got) noexcept {
    if (ASHLAR_UNLIKELY(!got)) return {};
    void* const slot = got.memory();
    mark_slot<Threads::is_shared>(slot, Bytes, got.is_raw);
    return {slot, got.is_raw};
  }

  slabs_type slabs_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
