// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The window of the guarded blocks: its head, its slots, and the canary beside each block.
#include "malloc/guard_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>

#include "malloc/sampling.hpp"

namespace ashlar::drop_in {

namespace {

// Its address stands in the head of the window, where a segment names its engine.
struct no_engine : detail::segment_owner {};
constinit no_engine owner_of_window;

constinit detail::immortal<detail::fork_safe_lock<spin_lock>> pool_lock;
using pool_scope = ashlar::lock_scope<detail::fork_safe_lock<spin_lock>>;

constexpr std::size_t first_slot_at = detail::slice_bytes;

[[nodiscard]] bool is_canary(const std::byte* from, const std::byte* to) noexcept {
  bool is_intact = true;
  detail::for_each_canary(from, to, [&](const std::byte* at, const unsigned char* canary, std::size_t bytes) {
    is_intact = is_intact && std::memcmp(at, canary, bytes) == 0;
  });
  return is_intact;
}

// Returns: whether a live block starts at `p`; if not, `why` is the kind of a free of it.
[[nodiscard]] bool is_live_at(const guarded_block* block, const void* p, fault& why) noexcept {
  why = fault::invalid_free;
  if (block == nullptr || block->is == guarded_block::state::unused) return false;
  why = block->is == guarded_block::state::freed ? fault::double_free : fault::misaligned_free;
  return block->is == guarded_block::state::live && block->start == p;
}

// The lock for a handler of signals: its own thread may hold it.
class scope_of_fault {
public:
  scope_of_fault() noexcept {
    constexpr unsigned most_turns = 400;  // about 20 ms
    for (unsigned turn = 0; turn < most_turns && !is_held_; ++turn) {
      is_held_ = pool_lock.value.try_lock();
      if (!is_held_) detail::yield_or_sleep(turn);
    }
  }
  scope_of_fault(const scope_of_fault&) = delete;
  scope_of_fault& operator=(const scope_of_fault&) = delete;
  ~scope_of_fault() {
    if (is_held_) pool_lock.value.unlock();
  }

private:
  bool is_held_ = false;
};

}  // namespace

/// The table of the window, behind its head.
struct guard_window {
  static constexpr std::size_t table_at = 8192;

  std::size_t page, slots, used;    // slots from `used` on have never been used
  std::size_t oldest_freed, freed;  // of the ring below
  std::uint8_t ring[guard_pool::most_slots];
  guarded_block blocks[guard_pool::most_slots];

  [[nodiscard]] static guard_window& get() noexcept {
    const std::uintptr_t start = guard_pool::start_.load(detail::memory_order_acquire);  // pairs with made()
    return *reinterpret_cast<guard_window*>(start + table_at);
  }

  [[nodiscard]] ASHLAR_COLD static bool made() noexcept {
    constexpr std::size_t window = detail::window_bytes;
    if (guard_pool::is_made()) return true;
    auto* const start = static_cast<std::byte*>(os::pages::reserve(window, window));
    if (start == nullptr) return false;
    if (!os::pages::commit(start, first_slot_at)) return os::pages::release(start, window), false;
    auto* const head = reinterpret_cast<detail::segment*>(start);
    std::memset(head->parcel_lanes, detail::segment::no_lane, sizeof head->parcel_lanes);
    head->head.owner = &owner_of_window;
    auto* const table = ::new (start + table_at) guard_window{};
    table->page = os::pages::page_bytes();
    table->slots = detail::min(guard_pool::most_slots, ((window - first_slot_at) / table->page - 1) / 2);
    guard_pool::start_.store(ashlar::address_of(start), detail::memory_order_release);  // pairs with get()
    report_guarded_faults();
    return true;
  }

  [[nodiscard]] std::byte* page_of(std::size_t slot) noexcept {
    return reinterpret_cast<std::byte*>(this) - table_at + first_slot_at + (2 * slot + 1) * page;
  }

  /// Returns: the slot whose page has the address, or `slots`.
  [[nodiscard]] std::size_t slot_of(const void* p) noexcept {
    const std::size_t at = ashlar::address_of(p) % detail::window_bytes;
    const std::size_t turn = at < first_slot_at ? 0 : (at - first_slot_at) / page;
    return turn % 2 == 1 && turn / 2 < slots ? turn / 2 : slots;
  }

  /// Returns: the block of a slot, or null for `slots`.
  [[nodiscard]] guarded_block* block_at(std::size_t slot) noexcept { return slot < slots ? &blocks[slot] : nullptr; }

  [[nodiscard]] std::size_t next_slot() const noexcept {
    if (used < slots) return used;
    return freed != 0 ? ring[oldest_freed] : slots;
  }
  void take_slot() noexcept {
    if (used < slots) return static_cast<void>(++used);
    oldest_freed = (oldest_freed + 1) % guard_pool::most_slots;
    --freed;
  }
  void give_slot(std::size_t slot) noexcept {
    ring[(oldest_freed + freed++) % guard_pool::most_slots] = static_cast<std::uint8_t>(slot);
  }
};
static_assert(guard_window::table_at >= offsetof(detail::segment, records) &&
              guard_window::table_at + sizeof(guard_window) <= first_slot_at);

ASHLAR_COLD void* guard_pool::take(std::size_t bytes, std::size_t alignment, const caller_frame& caller) noexcept {
  if (bytes == 0 || bytes > os::pages::page_bytes() || alignment > os::pages::page_bytes()) return nullptr;
  const sampling_scope inside;
  call_stack stack;
  take_stack(stack, caller);
  if (!pool_lock.value.try_lock()) return nullptr;
  const ashlar::lock_scope held(pool_lock.value, ashlar::already_held{});
  if (!guard_window::made()) return nullptr;
  guard_window& in = guard_window::get();
  const std::size_t slot = in.next_slot();
  if (slot == in.slots || !os::pages::commit(in.page_of(slot), in.page)) return nullptr;
  in.take_slot();
  std::byte* const page = in.page_of(slot);
  std::byte* const end = page + in.page;
  std::byte* const start = random_of_thread() % 256 < 128 ? page : ashlar::align_down(end - bytes, alignment);
  detail::fill_with_canary(page, start);
  detail::fill_with_canary(start + bytes, end);
  guarded_block& block = in.blocks[slot];
  block.start = start;
  block.bytes = bytes;
  block.allocated = stack;
  block.is = guarded_block::state::live;
  return start;
}

ASHLAR_COLD void guard_pool::give(void* p, const caller_frame& caller) noexcept {
  const sampling_scope inside;
  call_stack stack;
  take_stack(stack, caller);
  guarded_misuse found = {.p = p, .stack = &stack};
  {
    const pool_scope held(pool_lock.value);
    guard_window& in = guard_window::get();
    const std::size_t slot = in.slot_of(p);
    guarded_block* const block = in.block_at(slot);
    if (block != nullptr) found.block = *block;
    const bool is_live = is_live_at(block, p, found.kind);
    if (is_live && !is_canary(in.page_of(slot), block->start)) {
      found.kind = fault::underflow;
    } else if (is_live && !is_canary(block->start + block->bytes, in.page_of(slot) + in.page)) {
      found.kind = fault::overflow;
    } else if (is_live) {
      block->freed = stack;
      block->is = guarded_block::state::freed;
      std::memset(in.page_of(slot), 0, in.page);  // a locked page stays, and is handed out again
      os::pages::decommit(in.page_of(slot), in.page);
      return in.give_slot(slot);
    }
  }
  report_misuse(found);
}

ASHLAR_COLD std::size_t guard_pool::bytes_of(const void* p, guarded_use use) noexcept {
  guarded_misuse found = {.use = use, .p = p};
  {
    const pool_scope held(pool_lock.value);
    guard_window& in = guard_window::get();
    const guarded_block* const block = in.block_at(in.slot_of(p));
    if (is_live_at(block, p, found.kind)) return block->bytes;
    if (block != nullptr) found.block = *block;
  }
  if (use != guarded_use::frees) found.kind = fault::precondition;
  call_stack stack;
  take_stack(stack, ASHLAR_CALLER_FRAME());
  found.stack = &stack;
  report_misuse(found);
}

std::span<std::byte> guard_pool::live_at(std::size_t slot) noexcept {
  const pool_scope held(pool_lock.value);
  const guarded_block* const block = is_made() ? guard_window::get().block_at(slot) : nullptr;
  const bool is_live = block != nullptr && block->is == guarded_block::state::live;
  return is_live ? std::span(block->start, block->bytes) : std::span<std::byte>();
}

ASHLAR_COLD guarded_block guard_pool::block_near(const void* p) noexcept {
  const scope_of_fault held;
  guard_window& in = guard_window::get();
  if (const guarded_block* const at = in.block_at(in.slot_of(p)); at != nullptr) return *at;
  // A guard: the block whose end or start is nearer, live ones first.
  guarded_block nearest = {};
  std::size_t least = 3 * in.page;
  for (std::size_t slot = 0; slot < in.used; ++slot) {
    const guarded_block& each = in.blocks[slot];
    const std::size_t before = ashlar::address_of(each.start) - ashlar::address_of(p);
    const std::size_t after = ashlar::address_of(p) - ashlar::address_of(each.start + each.bytes);
    const std::size_t distance = detail::min(before, after) + (each.is == guarded_block::state::live ? 0 : in.page);
    if (distance < least) least = distance, nearest = each;
  }
  return nearest;
}

}  // namespace ashlar::drop_in
