// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The replay loop: performs the operations of a compiled trace on any allocator.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

#include <ashlar/base/config.hpp>
#include <ashlar/study/replay_op.hpp>

namespace ashlar::ASHLAR_ABI::detail {

/// Touches blocks as a program would, the same for every allocator, and detects blocks that other code wrote to. A new
/// block is written: one byte in every cache line of the first 4 KiB, then one byte in every page up to 64 MiB, and the
/// last byte of blocks up to that size. A zeroed block is read in the same places instead. A free reads the first word.
///
/// The first word is a stamp: another value at the end of a block's life proves that two blocks overlapped.
class touch {
public:
  static constexpr std::size_t line = 64;
  static constexpr std::size_t dense = std::size_t{4} << 10;
  static constexpr std::size_t page = std::size_t{4} << 10;
  static constexpr std::size_t limit = std::size_t{64} << 20;

  /// Effects: writes `[from, size)`, and the stamp.
  static void write(void* block, std::size_t size, std::size_t from, std::uint64_t stamp) noexcept {
    auto* bytes = static_cast<volatile unsigned char*>(block);
    each_place(size, from, [bytes](std::size_t at) { bytes[at] = 1; });
    set_stamp(block, size, stamp);
  }

  /// Returns: whether every byte read was zero. Effects: then writes the stamp.
  [[nodiscard]] static bool read_zeroed(void* block, std::size_t size, std::uint64_t stamp) noexcept {
    const auto* bytes = static_cast<const volatile unsigned char*>(block);
    unsigned seen = 0;
    each_place(size, 0, [bytes, &seen](std::size_t at) { seen |= bytes[at]; });
    set_stamp(block, size, stamp);
    return seen == 0;
  }

  /// Returns: whether the block is unchanged. Blocks of less than 8 bytes carry no stamp: their first byte is read.
  [[nodiscard]] static bool read_first(const void* block, std::size_t size, std::uint64_t stamp) noexcept {
    if (size >= sizeof(std::uint64_t)) return *static_cast<const volatile std::uint64_t*>(block) == stamp;
    if (size != 0) static_cast<void>(*static_cast<const volatile unsigned char*>(block));
    return true;
  }

private:
  static void set_stamp(void* block, std::size_t size, std::uint64_t stamp) noexcept {
    if (size >= sizeof stamp) *static_cast<volatile std::uint64_t*>(block) = stamp;
  }

  template <class F>
  static void each_place(std::size_t size, std::size_t from, F&& f) noexcept {
    if (from >= size) return;
    const std::size_t dense_end = std::min(size, dense);
    const std::size_t sparse_end = std::min(size, limit);
    for (std::size_t at = from; at < dense_end; at += line) f(at);
    for (std::size_t at = std::max(from, dense); at < sparse_end; at += page) f(at);
    if (size <= limit) f(size - 1);
  }
};

/// The requirements of a replay on an allocator. Each lane has its own object; the objects of one replay may share
/// state. `allocate` and `reallocate` return null if memory runs out; frees repeat the request of the allocation. An
/// allocator with `deallocate_sized(p, r)` gets the sized frees through it. `A::touches` is false if blocks may overlap
/// and so must not be written.
template <class A>
concept replay_allocator = requires(A& a, void* p, replay_request r) {
  { a.allocate(r) } -> std::same_as<void*>;
  { a.reallocate(p, r, r) } -> std::same_as<void*>;  // block, old request, new request
  { a.deallocate(p, r) } -> std::same_as<void>;
  { A::touches } -> std::convertible_to<bool>;
};

/// Frees of a known size are a separate call.
template <class A>
concept sized_replay_allocator = replay_allocator<A> && requires(A& a, void* p, replay_request r) {
  { a.deallocate_sized(p, r) } -> std::same_as<void>;
};

/// A slot for a block. The lane that fills it publishes `block`; the lane that empties it waits for that.
struct replay_slot {
  std::atomic<void*> block{nullptr};
  replay_request request;
};

/// Counters of a lane.
struct replay_tally {
  std::uint64_t failed = 0;   ///< Requests that the allocator could not serve.
  std::uint64_t damaged = 0;  ///< Blocks with changed contents, or zeroed ones that were not zero.
  std::uint64_t waits = 0;    ///< Waits for a block that another lane had not yet allocated.
  std::uint64_t waited_ns = 0;
};

/// Times nothing, and costs nothing.
struct no_timer {
  template <class F>
  ASHLAR_INLINE decltype(auto) allocation(F&& f) const {
    return f();
  }
  template <class F>
  ASHLAR_INLINE void deallocation(F&& f) const {
    f();
  }
};

/// One lane's view of a replay. Thread safety: different lanes run concurrently on the same slots.
template <replay_allocator Allocator, class Timer = no_timer>
class replay_lane {
public:
  replay_lane(Allocator& allocator, std::span<replay_slot> own_slots, Timer& timer) noexcept
      : allocator_(&allocator), slots_(own_slots), timer_(&timer) {}

  /// Returns: the number of operations performed: all, or those up to and including a thread's end.
  std::size_t run(std::span<const replay_op> operations) {
    for (std::size_t i = 0; i < operations.size(); ++i)
      if (ASHLAR_UNLIKELY(!step(operations[i]))) return i + 1;
    return operations.size();
  }

  [[nodiscard]] const replay_tally& tally() const noexcept { return tally_; }

private:
  // Returns: whether the thread continues.
  ASHLAR_INLINE bool step(const replay_op& op) {
    switch (op.request.kind()) {
      case replay_kind::allocate:
      case replay_kind::allocate_zeroed: allocate(op); return true;
      case replay_kind::reallocate: reallocate(op); return true;
      case replay_kind::deallocate: deallocate<false>(op.slot); return true;
      case replay_kind::deallocate_sized: deallocate<sized_replay_allocator<Allocator>>(op.slot); return true;
      case replay_kind::end_thread: break;
    }
    return false;
  }

  ASHLAR_INLINE void allocate(const replay_op& op) {
    const replay_request request = op.request;
    void* block = timer_->allocation([&] { return allocator_->allocate(request); });
    if (ASHLAR_LIKELY(block != nullptr)) touch_new(block, op);
    fill(op, block);
  }

  ASHLAR_INLINE void touch_new(void* block, const replay_op& op) {
    if constexpr (Allocator::touches) {
      const auto size = static_cast<std::size_t>(op.request.size());
      if (op.request.kind() == replay_kind::allocate) touch::write(block, size, 0, stamp(op.slot));
      else if (!touch::read_zeroed(block, size, stamp(op.slot))) ++tally_.damaged;
    }
  }

  template <bool Sized>
  ASHLAR_INLINE void deallocate(std::uint32_t index) {
    replay_slot& slot = slots_[index];
    void* block = await(slot);
    slot.block.store(nullptr, std::memory_order_relaxed);  // filled again only after the window's barrier
    if (ASHLAR_UNLIKELY(block == nowhere())) return;
    check(block, slot.request, index);
    timer_->deallocation([&] {
      if constexpr (Sized) allocator_->deallocate_sized(block, slot.request);
      else allocator_->deallocate(block, slot.request);
    });
  }

  void reallocate(const replay_op& op) {
    replay_slot& slot = slots_[op.old_slot];
    void* old = await(slot);
    if (old == nowhere()) return allocate({op.slot, 0, grown(op.request)});
    check(old, slot.request, op.old_slot);
    slot.block.store(nullptr, std::memory_order_relaxed);
    void* block = timer_->allocation([&] { return allocator_->reallocate(old, slot.request, op.request); });
    if (block != nullptr) touch_moved(block, op, slot.request.size());
    else if (op.request.size() != 0) timer_->deallocation([&] { allocator_->deallocate(old, slot.request); });
    fill(op, block);
  }

  void touch_moved(void* block, const replay_op& op, std::uint64_t old_size) {
    if constexpr (Allocator::touches) {
      const auto size = static_cast<std::size_t>(op.request.size());
      const auto kept = static_cast<std::size_t>(old_size < size ? old_size : size);
      if (!touch::read_first(block, kept, stamp(op.old_slot))) ++tally_.damaged;
      touch::write(block, size, kept, stamp(op.slot));
    }
  }

  ASHLAR_INLINE void check(const void* block, replay_request request, std::uint32_t index) {
    if constexpr (Allocator::touches)
      if (ASHLAR_UNLIKELY(!touch::read_first(block, static_cast<std::size_t>(request.size()), stamp(index))))
        ++tally_.damaged;
  }

  ASHLAR_INLINE void fill(const replay_op& op, void* block) {
    if (ASHLAR_UNLIKELY(block == nullptr)) {
      if (op.request.size() != 0) ++tally_.failed;
      block = nowhere();
    }
    replay_slot& slot = slots_[op.slot];
    slot.request = op.request;
    slot.block.store(block, std::memory_order_release);  // pairs with the load in await
  }

  ASHLAR_INLINE void* await(const replay_slot& slot) {
    void* block = slot.block.load(std::memory_order_acquire);
    return ASHLAR_LIKELY(block != nullptr) ? block : await_other_lane(slot);
  }

  ASHLAR_COLD void* await_other_lane(const replay_slot& slot) {
    using clock = std::chrono::steady_clock;
    const clock::time_point start = clock::now();
    void* const block = spin_until_filled(slot);
    ++tally_.waits;
    tally_.waited_ns += static_cast<std::uint64_t>(std::chrono::nanoseconds(clock::now() - start).count());
    return block;
  }

  [[nodiscard]] static void* spin_until_filled(const replay_slot& slot) {
    for (;;) {
      for (int spins = 0; spins < 128; ++spins)
        if (void* block = slot.block.load(std::memory_order_acquire)) return block;
      std::this_thread::yield();  // the other lane may need this processor
    }
  }

  [[nodiscard]] static std::uint64_t stamp(std::uint32_t slot) noexcept { return 0x6173686C61720000u ^ slot; }
  [[nodiscard]] static replay_request grown(replay_request r) noexcept {
    return replay_request(replay_kind::allocate, r.size(), r.alignment());
  }

  // The block of a failed request: its slot is full, but there is nothing to free.
  [[nodiscard]] static void* nowhere() noexcept {
    static char place;
    return &place;
  }

  Allocator* allocator_;
  std::span<replay_slot> slots_;
  Timer* timer_;
  replay_tally tally_;
};

}  // namespace ashlar::ASHLAR_ABI::detail
