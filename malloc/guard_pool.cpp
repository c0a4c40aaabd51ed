// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The window of the guarded blocks: its head, its slots, and the canary beside each block; their reports, and the
// handler of SIGSEGV.
#include "malloc/guard_pool.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/os/pages.hpp>
#include <ashlar/os/random_bits.hpp>

#include "malloc/sampling.hpp"
#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

// Its address stands in the head of the window, where a segment names its engine.
struct no_engine : detail::segment_owner {};
constinit no_engine owner_of_window;

constinit detail::immortal<detail::fork_safe_lock<spin_lock>> pool_lock;
using pool_scope = ashlar::lock_scope<detail::fork_safe_lock<spin_lock>>;

constexpr std::size_t first_slot_at = detail::slice_bytes;

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

// ---- the reports, and the handler of SIGSEGV

// The handlers that stood before ours: as a rule one. None is written to once it is published.
constinit struct sigaction former_handlers[4] = {};
constinit struct sigaction default_handler = {};
constinit detail::atomic<const struct sigaction*> former_handler = &default_handler;
constinit detail::atomic<bool> is_reporting = false;

// The state of a thread that a signal has interrupted.
struct interrupted {
  const void* instruction = nullptr;
  const void* const* frame = nullptr;
  const char* access = "access";

  explicit interrupted([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
    instruction = reinterpret_cast<const void*>(registers[REG_RIP]);
    frame = reinterpret_cast<const void* const*>(registers[REG_RBP]);
    access = (registers[REG_ERR] & 2) != 0 ? "write" : "read";
#elif defined(__aarch64__)
    const auto& state = static_cast<const ucontext_t*>(context)->uc_mcontext;
    instruction = reinterpret_cast<const void*>(state.pc);
    frame = reinterpret_cast<const void* const*>(state.regs[29]);
#endif
  }
};

ASHLAR_COLD void write_stack(const char* act, const call_stack& stack) noexcept {
  ashlar::panic_line first;
  detail::write_error_line(
      first.text("  ").text(act).text(" by thread ").number(static_cast<std::uint64_t>(stack.thread)).view());
  write_frames(stack.frames, stack.depth, STDERR_FILENO);
}

ASHLAR_COLD void write_block(const guarded_block& of) noexcept {
  write_stack("allocated", of.allocated);
  if (of.is == guarded_block::state::freed) write_stack("freed", of.freed);
}

/// A wrong use of an address in the pool.
struct guarded_misuse {
  fault kind = fault::invalid_free;
  guarded_use use = guarded_use::frees;
  guarded_block block = {};  ///< as the use has found it; unused: none has the address
  const void* p = nullptr;
  const call_stack* stack = nullptr;  ///< of the use
};

struct use_texts {
  const char *dead, *inside, *foreign;
};
constexpr detail::enum_table<guarded_use, use_texts> texts_of_uses = {
    use_texts{"freed a block that is free", "freed a pointer into the middle of a block",
              "freed a pointer that is not a block"},
    use_texts{"asked the size of a block that is free", "asked the size of a pointer into the middle of a block",
              "asked the size of a pointer that is not a block"},
    use_texts{"resized a block that is free", "resized a pointer into the middle of a block",
              "resized a pointer that is not a block"}};

[[nodiscard]] constexpr const char* mistake_of(const guarded_misuse& found) noexcept {
  if (found.kind == fault::underflow) return "bytes before a block were written to";
  if (found.kind == fault::overflow) return "bytes past the end of a block were written to";
  const use_texts& use = texts_of_uses[found.use];
  switch (found.block.is) {
    case guarded_block::state::freed: return use.dead;
    case guarded_block::state::live: return use.inside;
    default: return use.foreign;
  }
}

[[nodiscard]] constexpr const char* act_of(const guarded_misuse& found) noexcept {
  if (found.use != guarded_use::frees) return "used";
  return found.kind == fault::double_free ? "freed again" : "freed";
}

ASHLAR_COLD void write_access(const guarded_block& block, const void* at, const interrupted& state) noexcept {
  const std::ptrdiff_t offset = static_cast<const std::byte*>(at) - block.start;
  ashlar::panic_line line;
  line.text("ashlar: ");
  if (block.is == guarded_block::state::freed) {
    line.text("use_after_free: ").text(state.access).text(" in a block that is free");
  } else if (offset < 0) {
    line.text("underflow: ").text(state.access).text(" of byte ").number(static_cast<std::uint64_t>(-offset));
    line.text(" before a block");
  } else {
    const auto past = static_cast<std::uint64_t>(offset) - block.bytes + 1;
    line.text("overflow: ").text(state.access).text(" of byte ").number(past).text(" past the end of a block");
  }
  line.text(", pointer ").address(block.start).text(", size ").number(block.bytes).text(", address ").address(at);
  detail::write_error_line(line.view());
}

// No misuse of this block: the program has changed the protection of its page, or the fault is older than the block.
[[nodiscard]] bool is_in_live(const guarded_block& block, const void* at) noexcept {
  return block.is == guarded_block::state::live && at >= block.start && at < block.start + block.bytes;
}

ASHLAR_COLD void report_access(const void* at, const void* context) noexcept {
  const cancellation_deferral whole;
  const guarded_block block = guard_pool::block_near(at);
  if (block.is == guarded_block::state::unused || is_in_live(block, at)) return;
  for (unsigned turn = 0; is_reporting.exchange(true, detail::memory_order_acquire) && turn < 20'000; ++turn)
    detail::yield_or_sleep(turn);  // about a second: the report of another thread
  const interrupted state(context);
  write_access(block, at, state);  // first: a walk of a broken stack may be the end
  call_stack stack;
  take_stack_at(stack, state.instruction, state.frame);
  write_stack("accessed", stack);
  write_block(block);
  is_reporting.store(false, detail::memory_order_release);
}

[[nodiscard]] bool is_guarded(const siginfo_t& fault) noexcept {
  return fault.si_code > 0 && guard_pool::has(fault.si_addr);
}

ASHLAR_COLD void end_by_default(int signal, const siginfo_t& info) noexcept {
  if (!settings().aborts && is_guarded(info)) ::_exit(128 + signal);
  struct sigaction restored = {};
  restored.sa_handler = SIG_DFL;
  ::sigaction(signal, &restored, nullptr);
  if (info.si_code <= 0) ::raise(signal);  // a fault comes again by itself, what a process has sent does not
}

ASHLAR_COLD void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  const struct sigaction* found = former_handler.load(detail::memory_order_acquire);  // pairs with put_in_front_of()
  const struct sigaction& to = *found;
  if ((to.sa_flags & SA_SIGINFO) == 0) {
    if (to.sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (to.sa_handler == SIG_DFL || to.sa_handler == SIG_IGN) return end_by_default(signal, *info);
  }
  if ((to.sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
    former_handler.compare_exchange_strong(found, &default_handler, detail::memory_order_relaxed,
                                           detail::memory_order_relaxed);
  if ((to.sa_flags & SA_SIGINFO) != 0) to.sa_sigaction(signal, info, context);
  else to.sa_handler(signal);
}

ASHLAR_COLD void handle_fault(int signal, siginfo_t* info, void* context) noexcept {
  const int before = errno;
  if (is_guarded(*info)) report_access(info->si_addr, context);
  errno = before;
  pass_on(signal, info, context);
}

[[nodiscard]] bool is_same(const struct sigaction& a, const struct sigaction& b) noexcept {
  return (a.sa_flags & SA_SIGINFO) == (b.sa_flags & SA_SIGINFO) && a.sa_sigaction == b.sa_sigaction;
}

// Effects: installs our handler. Returns: whether `former` was there, or ours; else `found` is what was.
[[nodiscard]] bool put_in_front_of(const struct sigaction& former, struct sigaction& found) noexcept {
  former_handler.store(&former, detail::memory_order_release);  // pairs with pass_on(), which may come at once
  struct sigaction ours = former;
  ours.sa_flags = (ours.sa_flags | SA_SIGINFO | SA_ONSTACK) & ~static_cast<int>(SA_RESETHAND);
  ours.sa_sigaction = &handle_fault;
  return ::sigaction(SIGSEGV, &ours, &found) != 0 || is_same(found, former) || is_same(found, ours);
}

/// Effects: writes the stacks to standard error, then reports as every other misuse.
[[noreturn]] ASHLAR_COLD void report_misuse(const guarded_misuse& found) noexcept {
  const cancellation_deferral whole;
  violation v = {.kind = found.kind, .what = mistake_of(found), .pointer = found.p};
  write_stack(act_of(found), *found.stack);
  if (found.block.is != guarded_block::state::unused) {
    v.size = found.block.bytes;
    write_block(found.block);
  }
  ashlar::report(v);
}

/// Effects: from now on SIGSEGV in the pool is reported; then, and for all others, the former handler is called, or the
/// default one ends the process.
// Ours has the mask and flags of the former one, so that is read first. Another thread may install one meanwhile, which
// the exchange gives back: then once more, for that one.
ASHLAR_COLD void report_guarded_faults() noexcept {
  struct sigaction found = {};
  if (::sigaction(SIGSEGV, nullptr, &found) != 0) return;
  for (struct sigaction& former : former_handlers) {
    former = found;
    if (put_in_front_of(former, found)) return;
  }
}

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
  detail::fill_canary(page, start);
  detail::fill_canary(start + bytes, end);
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
    if (is_live && !detail::is_canary(in.page_of(slot), block->start)) {
      found.kind = fault::underflow;
    } else if (is_live && !detail::is_canary(block->start + block->bytes, in.page_of(slot) + in.page)) {
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
