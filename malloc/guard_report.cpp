// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the reports of guarded blocks; the handler of SIGSEGV.
#include "malloc/guard_pool.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/platform.hpp>

#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

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

}  // namespace

ASHLAR_COLD void report_misuse(const guarded_misuse& found) noexcept {
  const cancellation_deferral whole;
  violation v = {.kind = found.kind, .what = mistake_of(found), .pointer = found.p};
  write_stack(act_of(found), *found.stack);
  if (found.block.is != guarded_block::state::unused) {
    v.size = found.block.bytes;
    write_block(found.block);
  }
  ashlar::report(v);
}

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

}  // namespace ashlar::drop_in
