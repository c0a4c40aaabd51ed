// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mallocx and its relatives of a program that is linked with jemalloc: served by its own, and noted. In a program
// without them they stand on malloc, as in libashlar.
#include <cstring>

#include <ashlar/base/bits.hpp>

#include "cli/preload/recorder.hpp"
#include "malloc/export.hpp"

namespace ashlar::recorder {

namespace {

using trace::operation;

constinit next_symbol<void* (*)(std::size_t, int)> next_mallocx("mallocx");
constinit next_symbol<void* (*)(void*, std::size_t, int)> next_rallocx("rallocx");
constinit next_symbol<std::size_t (*)(void*, std::size_t, std::size_t, int)> next_xallocx("xallocx");
constinit next_symbol<std::size_t (*)(std::size_t, int)> next_nallocx("nallocx");

constexpr std::size_t least_alignment = 16;  // of malloc

/// Returns: the alignment, of which bits 0 to 5 are the logarithm.
[[nodiscard]] constexpr std::size_t alignment_of(int flags) noexcept {
  return detail::max(std::size_t{1} << (static_cast<unsigned>(flags) & 0x3Fu), least_alignment);
}
[[nodiscard]] constexpr bool wants_zeros(int flags) noexcept { return (static_cast<unsigned>(flags) & 0x40u) != 0; }

/// As mallocx, for a program without it.
[[nodiscard]] void* make(std::size_t bytes, int flags) noexcept {
  const std::size_t alignment = alignment_of(flags);
  void* const p = alignment == least_alignment ? real.malloc(bytes) : real.memalign(alignment, bytes);
  return p != nullptr && wants_zeros(flags) ? std::memset(p, 0, bytes) : p;
}

/// As rallocx, for a program without it.
[[nodiscard]] void* remake(void* old, std::size_t bytes, int flags) noexcept {
  const std::size_t had = real.malloc_usable_size(old);
  void* const fresh = make(bytes, flags);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, old, detail::min(had, bytes));
  real.free(old);
  return fresh;
}

void* note_made(operation op, void* p, std::size_t bytes, int flags) noexcept {
  const std::size_t alignment = alignment_of(flags);
  if (alignment == least_alignment) note_block(op, p, bytes);
  else note_block(operation::aligned_alloc_, p, bytes, detail::trace_io::alignment_code_of(alignment));
  return p;
}

}  // namespace

}  // namespace ashlar::recorder

namespace recorder = ashlar::recorder;
using ashlar::trace::operation;

extern "C" {

ASHLAR_EXPORT void* mallocx(std::size_t bytes, int flags) noexcept {
  const auto next = recorder::next_mallocx.get();
  void* const p = next != nullptr ? next(bytes, flags) : recorder::make(bytes, flags);
  return recorder::note_made(operation::malloc_, p, bytes, flags);
}

/// A block that moves is released at the begin of the call.
ASHLAR_EXPORT void* rallocx(void* old, std::size_t bytes, int flags) noexcept {
  const std::uint64_t begin = recorder::ticks();
  const auto next = recorder::next_rallocx.get();
  void* const fresh = next != nullptr ? next(old, bytes, flags) : recorder::remake(old, bytes, flags);
  if (fresh == nullptr) return nullptr;
  recorder::note({.time = begin,
                  .address = reinterpret_cast<std::uintptr_t>(old),
                  .code = ashlar::detail::trace_io::opcode::realloc_begin});
  recorder::note_block(operation::realloc_, fresh, bytes);
  return fresh;
}

/// A block that grows in place keeps its size in the trace.
ASHLAR_EXPORT std::size_t xallocx(void* p, std::size_t bytes, std::size_t extra, int flags) noexcept {
  const auto next = recorder::next_xallocx.get();
  return next != nullptr ? next(p, bytes, extra, flags) : recorder::real.malloc_usable_size(p);
}

ASHLAR_EXPORT std::size_t nallocx(std::size_t bytes, int flags) noexcept {
  const auto next = recorder::next_nallocx.get();
  return next != nullptr ? next(bytes, flags) : bytes;
}

void free(void* p) noexcept;
ASHLAR_EXPORT void sdallocx(void* p, std::size_t, int) noexcept { free(p); }

}  // extern "C"
