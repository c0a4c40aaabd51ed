// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Backtraces by the unwinder of exceptions: no allocation, and no library besides the compiler's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ashlar/base/config.hpp>
#include <ashlar/detail/support/hints.hpp>

#if __has_include(<unwind.h>)
#include <unwind.h>
#define ASHLAR_HAS_UNWINDER 1
#else
#define ASHLAR_HAS_UNWINDER 0
#endif

namespace ashlar::ASHLAR_ABI::detail {

/// Whether this system supports `backtrace`.
inline constexpr bool has_backtrace = ASHLAR_HAS_UNWINDER != 0;

struct frame_walk {
  std::span<const void*> to;
  const void* from;
  std::size_t found = 0;
};

#if ASHLAR_HAS_UNWINDER
inline _Unwind_Reason_Code keep_frame(_Unwind_Context* context, void* argument) noexcept {
  auto& walk = *static_cast<frame_walk*>(argument);
  // The unwinder returns addresses as numbers.
  const auto* const at = reinterpret_cast<const void*>(_Unwind_GetIP(context));
  if (at == walk.from) walk.from = nullptr;
  if (walk.from == nullptr && at != nullptr) walk.to[walk.found++] = at;
  return walk.found == walk.to.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

inline std::size_t walk_frames(frame_walk walk) noexcept {
  static_cast<void>(::_Unwind_Backtrace(&keep_frame, &walk));
  return walk.found;
}
#else
inline std::size_t walk_frames(const frame_walk&) noexcept { return 0; }
#endif

/// Effects: writes return addresses to `to`, the innermost first. The first one is `from`; if `from` is null or not on
/// the stack, it is the caller's. Returns: the number of addresses. Expects: unwind tables, the default of compilers on
/// 64-bit systems. Complexity: about 1 us for eight frames. Thread safety: any thread, but no signal handler.
[[nodiscard]] ASHLAR_NOINLINE inline std::size_t backtrace(std::span<const void*> to, const void* from) noexcept {
  if (to.empty()) return 0;
  std::size_t found = from != nullptr ? walk_frames({to, from}) : 0;
  if (found == 0) found = walk_frames({to, ASHLAR_RETURN_ADDRESS()});  // else the first frame is this walk
  return found != 0 ? found : walk_frames({to, nullptr});
}

}  // namespace ashlar::ASHLAR_ABI::detail
