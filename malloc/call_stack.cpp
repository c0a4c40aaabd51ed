// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks a stack by the unwinder of the C++ library, or by frame pointers that may be anything.
#include "malloc/call_stack.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <ashlar/detail/support/bits.hpp>

// Weak: programs in C have no unwinder, and glibc before 2.35 none that takes no lock of the loader.
extern "C" {
extern __attribute__((weak)) decltype(_Unwind_Backtrace) _Unwind_Backtrace;
extern __attribute__((weak)) decltype(_Unwind_GetIP) _Unwind_GetIP;
__attribute__((weak)) int ashlar_find_object(void* address, void* result) noexcept __asm__("_dl_find_object");
}

namespace ashlar::drop_in {

namespace {

struct unwound {
  call_stack& to;
  const void* from;  // null once it has been met

  void add(const void* address) noexcept {
    if (address == from) from = nullptr;
    if (from == nullptr) to.frames[to.depth++] = address;
  }
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* walk) noexcept {
  auto& into = *static_cast<unwound*>(walk);
  const _Unwind_Ptr address = ::_Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  into.add(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)));
  return into.to.depth == call_stack::most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

[[nodiscard]] bool unwind(call_stack& to, const void* from) noexcept {
  if (&::_Unwind_Backtrace == nullptr || &ashlar_find_object == nullptr) return false;
  unwound walk{to, from};
  static_cast<void>(::_Unwind_Backtrace(&add_frame, &walk));
  return to.depth != 0;
}

// Whether two words can be read. The system refuses the call for its first argument, once it has read the second.
[[nodiscard]] bool is_readable(const void* const* words) noexcept {
  constexpr int no_such_act = ~0;
  const int before = errno;
  const bool is_refused = ::syscall(SYS_rt_sigprocmask, no_such_act, words, nullptr, sizeof(std::uint64_t)) == -1;
  const bool reads = is_refused && errno != EFAULT;
  errno = before;
  return reads;
}

// Code without frame pointers leaves any value in the register: each must lead upwards, not far, to what can be read.
ASHLAR_COLD void follow_frames(call_stack& to, const void* const* frame) noexcept {
  constexpr std::uintptr_t farthest = std::uintptr_t{1} << 20, page = 4096;
  std::uintptr_t read_page = 0;
  while (to.depth < call_stack::most_frames && detail::is_aligned(frame, sizeof(void*))) {
    const std::uintptr_t last_word = detail::address_of(frame + 1);
    if (last_word / page != read_page) {
      if (!is_readable(frame) || !is_readable(frame + 1)) return;
      read_page = last_word / page;
    }
    const auto* const next = static_cast<const void* const*>(frame[0]);
    if (detail::address_of(frame[1]) < page) return;
    to.frames[to.depth++] = frame[1];
    const std::uintptr_t step = detail::address_of(next) - detail::address_of(frame);
    if (step < 2 * sizeof(void*) || step > farthest) return;
    frame = next;
  }
}

}  // namespace

ASHLAR_COLD void take_stack(call_stack& to, const caller_frame& from) noexcept {
  to.depth = 0;
  to.thread = ::gettid();
  if (unwind(to, from.return_address)) return;
  follow_frames(to, from.frame);
}

ASHLAR_COLD void take_stack_at(call_stack& to, const void* instruction, const void* const* frame) noexcept {
  to.depth = 0;
  to.thread = ::gettid();
  if (unwind(to, instruction)) return;
  to.frames[to.depth++] = instruction;
  follow_frames(to, frame);
}

}  // namespace ashlar::drop_in
