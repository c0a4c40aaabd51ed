// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks a stack by the unwinder of the C++ library, or by frame pointers that may be anything.
#include "malloc/call_stack.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <link.h>
#include <unwind.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include "malloc/error_stream.hpp"
#include "malloc/loaded_files.hpp"
#include "malloc/system.hpp"

// Weak: programs in C have no unwinder, and glibc before 2.35 none that takes no lock of the loader.
extern "C" {
extern __attribute__((weak)) decltype(_Unwind_Backtrace) _Unwind_Backtrace;
extern __attribute__((weak)) decltype(_Unwind_GetIP) _Unwind_GetIP;
__attribute__((weak)) int ashlar_find_object(void* address, void* result) noexcept __asm__("_dl_find_object");
}

namespace ashlar::drop_in {

namespace {

struct frames {
  const void** to;
  std::uint32_t most, depth;

  void add(const void* address) noexcept { to[depth++] = address; }
  [[nodiscard]] bool are_full() const noexcept { return depth == most; }
};

struct unwound {
  frames& to;
  const void* from;  // null once it has been met

  void add(const void* address) noexcept {
    if (address == from) from = nullptr;
    if (from == nullptr) to.add(address);
  }
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* walk) noexcept {
  auto& into = *static_cast<unwound*>(walk);
  const _Unwind_Ptr address = ::_Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  into.add(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)));
  return into.to.are_full() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// Whether the unwinder itself may be in the middle of this call of malloc, with a mutex of its own: it allocates while
// it sorts what a program registers by `__register_frame`. A static program is one object with it, and registers.
[[nodiscard]] bool may_be_of_unwinder(const void* caller) noexcept {
  loaded_object unwinder = {};
  void* const walk = reinterpret_cast<void*>(&::_Unwind_Backtrace);
  return ashlar_find_object(walk, &unwinder) != 0 || unwinder.has(caller);
}

// A child that is forked while another thread holds the unwinder's mutex could not end.
constinit detail::immortal<detail::fork_safe_lock<spin_lock>> unwinding;

[[nodiscard]] bool unwind(frames& to, const void* from) noexcept {
  if (&::_Unwind_Backtrace == nullptr || &ashlar_find_object == nullptr) return false;
  if (may_be_of_unwinder(from) || !unwinding.value.try_lock()) return false;
  const ashlar::lock_scope held(unwinding.value, ashlar::already_held{});
  unwound walk{to, from};
  static_cast<void>(::_Unwind_Backtrace(&add_frame, &walk));
  return to.depth != 0;
}

// Code without frame pointers leaves any value in the register: each must lead upwards, not far, to what can be read.
ASHLAR_COLD void follow_frames(frames& to, const void* const* frame) noexcept {
  constexpr std::uintptr_t farthest = std::uintptr_t{1} << 20, page = 4096;
  std::uintptr_t read_page = 0;  // where nothing is ever mapped, so no frame lies
  while (!to.are_full() && ashlar::address_of(frame) >= page && ashlar::is_aligned(frame, sizeof(void*))) {
    const std::uintptr_t last_word = ashlar::address_of(frame + 1);
    if (last_word / page != read_page) {
      if (!is_readable(frame) || !is_readable(frame + 1)) return;
      read_page = last_word / page;
    }
    const auto* const next = static_cast<const void* const*>(frame[0]);
    if (ashlar::address_of(frame[1]) < page) return;
    to.add(frame[1]);
    const std::uintptr_t step = ashlar::address_of(next) - ashlar::address_of(frame);
    if (step < 2 * sizeof(void*) || step > farthest) return;
    frame = next;
  }
}

// The range, the path, and the start of the file, which has its headers and, mostly, its build id: what was linked
// again has another one, what was opened again has not.
[[nodiscard]] std::uint64_t identity_of(const loaded_object& module) noexcept {
  constexpr std::size_t words = 128;
  std::uint64_t identity = ashlar::address_of(module.end);
  const auto add = [&](std::uint64_t word) {
    identity = (identity ^ word) * 0x9E37'79B9'7F4A'7C15u, identity ^= identity >> 29;
  };
  add(ashlar::address_of(module.begin));
  for (const char* name = module.map->l_name; *name != '\0'; ++name) add(static_cast<unsigned char>(*name));
  const auto* const start = static_cast<const void* const*>(module.begin);
  if (is_readable(start))
    for (std::size_t at = 0; at < words; ++at) add(ashlar::address_of(start[at]));
  return identity | 1;
}

}  // namespace

ASHLAR_COLD void identify_modules(const void* const* frames, std::uint32_t depth, std::uint64_t* to) noexcept {
  loaded_object module = {};
  for (std::uint32_t at = 0; at < depth; ++at) {
    const bool is_same = at != 0 && module.has(frames[at]);
    to[at] = is_same ? to[at - 1] : 0;
    if (is_same || &ashlar_find_object == nullptr) continue;
    if (ashlar_find_object(const_cast<void*>(frames[at]), &module) == 0) to[at] = identity_of(module);
    else module = {};
  }
}

ASHLAR_COLD void write_frames(const void* const* frames, std::uint32_t depth, int descriptor) noexcept {
  text_output out = output_to(descriptor);
  detail::text_writer text(out);
  for (std::uint32_t at = 0; at < depth; ++at) {
    text.text("    #").number(at).text(" ").address(frames[at]);
    find_loaded_file(frames[at], [&](std::string_view path, std::uintptr_t offset) {
      text.text(" ").text(path).text("+0x").hex(offset);
    });
    text.text("\n").flush();
  }
}

ASHLAR_COLD std::uint32_t take_frames(const void** to, std::uint32_t most, const caller_frame& from) noexcept {
  frames found{to, most, 0};
  if (!unwind(found, from.return_address)) follow_frames(found, from.frame);
  return found.depth;
}

void take_stack(call_stack& to, const caller_frame& from) noexcept {
  to.thread = thread_id();
  to.depth = take_frames(to.frames, call_stack::most_frames, from);
}

ASHLAR_COLD void take_stack_at(call_stack& to, const void* instruction, const void* const* frame) noexcept {
  to.thread = thread_id();
  frames found{to.frames, call_stack::most_frames, 0};
  if (!unwind(found, instruction)) {
    found.add(instruction);
    follow_frames(found, frame);
  }
  to.depth = found.depth;
}

}  // namespace ashlar::drop_in
