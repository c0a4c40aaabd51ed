// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Equal slots and their words inside an object: a run without allocated memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/checks/slab_registry.hpp>
#include <ashlar/detail/slots/slot_word.hpp>
#include <ashlar/detail/support/poison.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// The memory of one slot, with its guard at `hardened`.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) slot_memory {
  static_assert(Bytes % Alignment == 0, "the size of an object is a multiple of its alignment");
  std::byte bytes[slot_guard<Bytes, Alignment>::stride];
};

/// Effects: enters slots in the registry, up to 2 GiB of them: the owner of the rest is unknown.
inline void enter_slots(slab_registration& line, const void* owner, const std::byte* first_slot, std::size_t bytes,
                        std::size_t slot_bytes) noexcept {
  constexpr std::size_t most = (std::size_t{1} << 31) - 1;
  line.enter(owner, first_slot, std::min(bytes, most), std::min(slot_bytes, most));
}

/// `Count` slots after their words. Constant-initialised; the slots' memory stays unwritten.
///
///     | registration, if checked | word 0 ... word n-1 | front guard, if hardened | slot 0 | slot 1 | ...
///
/// Thread safety: none, except as `Word` provides.
template <std::size_t Bytes, std::size_t Alignment, std::size_t Count, class Word>
class slot_run {
  static_assert(Count > 0 && Count <= most_slots, "a run has between 1 and 2^30 - 2 slots");

public:
  using slot_type = slot_memory<Bytes, Alignment>;
  static constexpr std::size_t slot_bytes = Bytes;  ///< without the guard

  /// Whether `is_open` is false at first.
  static constexpr bool opens = marks_memory || !std::is_empty_v<slab_registration>;

  constexpr slot_run() noexcept = default;
  slot_run(const slot_run&) = delete;  // objects lie in it
  slot_run& operator=(const slot_run&) = delete;
  ~slot_run() { close(); }

  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Count; }
  [[nodiscard]] ASHLAR_INLINE slot_type* first_slot() noexcept { return memory_.all.cells; }
  [[nodiscard]] const slot_type* first_slot() const noexcept { return memory_.all.cells; }
  [[nodiscard]] ASHLAR_INLINE Word* words() const noexcept { return words_; }

  /// Returns: whether slots may be used. Without a registration or marks a run is always open; otherwise `open` notes
  /// it.
  [[nodiscard]] ASHLAR_INLINE bool is_open() const noexcept { return !note_ || note_->is_open; }
  void open(const void* owner) noexcept { static_cast<void>(try_open(owner)); }
  [[nodiscard]] bool try_open(const void* owner) noexcept {
    if constexpr (opens) {
      mark_free(first_slot()->bytes - front_bytes, sizeof(memory_));
      note_->is_open = true;
      enter_slots(note_->line, owner, memory_.all.cells[0].bytes, sizeof(memory_.all.cells), Bytes);
    }
    return true;
  }

private:
  struct note {
    slab_registration line;
    bool is_open = false;
  };
  struct front {
    alignas(Alignment) std::byte guard[align_up(std::max<std::size_t>(front_guard, 1), Alignment)];
  };
  struct guarded_slots {
    ASHLAR_NO_UNIQUE_ADDRESS part_if<has_guards, front> before;
    slot_type cells[Count];
  };
  // A union, so that no slot is initialised at the start.
  union memory {
    constexpr memory() noexcept : nothing() {}
    std::byte nothing;
    guarded_slots all;
  };
  static constexpr std::size_t front_bytes = sizeof(memory) - Count * sizeof(slot_type);

  void close() noexcept {
    if (!note_ || !note_->is_open) return;
    note_->line.leave();
    mark_live(first_slot()->bytes - front_bytes, sizeof(memory_));
  }

  ASHLAR_NO_UNIQUE_ADDRESS part_if<opens, note> note_;
  mutable Word words_[Count] = {};  // mutable: constant members read which slots are taken
  memory memory_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
