// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// malloc and its family: each serves the request of the program, and notes it. mallocx and its relatives are served by
// those of a program that is linked with jemalloc; in another program they stand on malloc, as in libashlar.
#include <algorithm>

#include "cli/preload/recorder.hpp"
#include "malloc/export.hpp"
#include "malloc/mallocx_flags.hpp"

namespace ashlar::recorder {

namespace {

using trace::operation;

/// Moves a block out of the bootstrap arena, which cannot grow.
void* leave_bootstrap(void* old, std::size_t bytes) noexcept {
  void* const fresh = real.malloc(bytes);
  if (fresh != nullptr) std::memcpy(fresh, old, std::min(bytes, bootstrap_size(old)));
  note_block(operation::realloc_, fresh, bytes);
  return fresh;
}

/// The old block is released at the begin of the call, the new one is allocated at its end: two records, in this order.
/// A realloc to 0 bytes that returns null has freed the old block.
void* reallocate(void* old, std::size_t bytes) noexcept {
  if (old != nullptr && in_bootstrap(old)) return leave_bootstrap(old, bytes);
  const std::uint64_t begin = ticks();
  void* const fresh = real.realloc(old, bytes);
  const auto old_address = reinterpret_cast<std::uintptr_t>(old);
  if (old != nullptr && fresh == nullptr && bytes == 0) {
    note({.time = begin,
          .address = old_address,
          .stack = stack_here(),
          .code = detail::trace_io::code_of(operation::free_)});
    return nullptr;
  }
  if (old != nullptr) note({.time = begin, .address = old_address, .code = detail::trace_io::opcode::realloc_begin});
  note_block(operation::realloc_, fresh, bytes);
  return fresh;
}

void* note_aligned(void* p, std::size_t bytes, std::size_t alignment) noexcept {
  note_block(operation::aligned_alloc_, p, bytes, detail::trace_io::alignment_code_of(alignment));
  return p;
}

std::size_t bytes_of_page() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

constinit next_symbol<void* (*)(std::size_t, int)> next_mallocx("mallocx");
constinit next_symbol<void* (*)(void*, std::size_t, int)> next_rallocx("rallocx");
constinit next_symbol<std::size_t (*)(void*, std::size_t, std::size_t, int)> next_xallocx("xallocx");
constinit next_symbol<std::size_t (*)(std::size_t, int)> next_nallocx("nallocx");

/// As mallocx, for a program without it.
[[nodiscard]] void* make(std::size_t bytes, int flags) noexcept {
  const std::size_t alignment = drop_in::alignment_of(flags);
  void* const p = alignment == drop_in::least_alignment ? real.malloc(bytes) : real.memalign(alignment, bytes);
  return p != nullptr && drop_in::wants_zeros(flags) ? std::memset(p, 0, bytes) : p;
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
  const std::size_t alignment = drop_in::alignment_of(flags);
  if (alignment == drop_in::least_alignment) note_block(op, p, bytes);
  else note_block(operation::aligned_alloc_, p, bytes, detail::trace_io::alignment_code_of(alignment));
  return p;
}

}  // namespace

}  // namespace ashlar::recorder

using ashlar::recorder::real;
using ashlar::trace::operation;
namespace recorder = ashlar::recorder;

extern "C" {

ASHLAR_EXPORT void* malloc(std::size_t bytes) noexcept {
  void* const p = real.malloc(bytes);
  recorder::note_block(operation::malloc_, p, bytes);
  return p;
}

ASHLAR_EXPORT void* calloc(std::size_t n, std::size_t each) noexcept {
  void* const p = real.calloc(n, each);
  std::size_t bytes = 0;
  if (!ashlar::checked_mul(n, each, bytes)) bytes = ashlar::max_size;
  recorder::note_block(operation::calloc_, p, bytes);
  return p;
}

// Functions that stand on these two call those of a program that has its own: so no compiler inlines these.
ASHLAR_EXPORT ASHLAR_NOINLINE void* realloc(void* old, std::size_t bytes) noexcept {
  return recorder::reallocate(old, bytes);
}

ASHLAR_EXPORT ASHLAR_NOINLINE void free(void* p) noexcept {
  if (p == nullptr || recorder::in_bootstrap(p)) return;
  recorder::note_block(operation::free_, p);
  real.free(p);
}

ASHLAR_EXPORT void free_sized(void* p, std::size_t) noexcept { free(p); }
ASHLAR_EXPORT void free_aligned_sized(void* p, std::size_t, std::size_t) noexcept { free(p); }

ASHLAR_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return recorder::note_aligned(real.aligned_alloc(alignment, bytes), bytes, alignment);
}

ASHLAR_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  const int result = real.posix_memalign(out, alignment, bytes);
  recorder::note_aligned(result == 0 ? *out : nullptr, bytes, alignment);
  return result;
}

ASHLAR_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return recorder::note_aligned(real.memalign(alignment, bytes), bytes, alignment);
}

ASHLAR_EXPORT void* valloc(std::size_t bytes) noexcept {
  return recorder::note_aligned(real.valloc(bytes), bytes, recorder::bytes_of_page());
}

/// By valloc: jemalloc has no pvalloc, and the one of the C library makes a block of another malloc.
ASHLAR_EXPORT void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t unit = recorder::bytes_of_page();
  const std::size_t whole = bytes < ashlar::max_size - unit ? ashlar::align_up(bytes, unit) : bytes;
  return recorder::note_aligned(real.valloc(whole), bytes, unit);
}

ASHLAR_EXPORT std::size_t malloc_usable_size(void* p) noexcept {
  return p != nullptr && recorder::in_bootstrap(p) ? recorder::bootstrap_size(p) : real.malloc_usable_size(p);
}

// The C library's own names for the family stay its own: a malloc of the program may call them.
ASHLAR_EXPORT_AS("free") void cfree(void* p) noexcept;

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

ASHLAR_EXPORT void sdallocx(void* p, std::size_t, int) noexcept { free(p); }

}  // extern "C"
