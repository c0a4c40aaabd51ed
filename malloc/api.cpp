// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of ashlar_malloc.h on blocks, all of the heap, options and misuse, but for malloc and free; and those with
// flags: mallocx, rallocx, xallocx, nallocx, sdallocx.
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <unistd.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/bits.hpp>
#include <ashlar/base/config.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/heap/process_heap.hpp>

#include "malloc/ashlar_malloc.h"
#include "malloc/blocks.hpp"
#include "malloc/call_stack.hpp"
#include "malloc/export.hpp"
#include "malloc/mallocx_flags.hpp"
#include "malloc/option_words.hpp"
#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

// ---- the handler of misuse of a program in C, and the end after it

constexpr int status_of_abort = 128 + 6;  // as a shell shows the end by SIGABRT

constinit detail::atomic<bool> ends_by_abort = true;

// What ashlar_on_misuse installs. One of two is in effect, which the last bit of the number of changes names; the next
// change writes the other one. So a misuse in a signal handler that interrupts a change finds a whole listener too.
struct listener {
  ashlar_misuse_handler handler = nullptr;
  void* argument = nullptr;
};
struct shared_listener {
  detail::atomic<ashlar_misuse_handler> handler = nullptr;
  detail::atomic<void*> argument = nullptr;
};
constinit shared_listener listeners[2];
constinit detail::atomic<std::size_t> listener_changes = 0;
constinit detail::immortal<detail::fork_safe_lock<spin_lock>> listener_lock;

void change_listener(const listener& to) noexcept {
  const ashlar::lock_scope held(listener_lock.value);
  const std::size_t number = listener_changes.load(detail::memory_order_relaxed) + 1;
  shared_listener& unused = listeners[number % 2];
  // Both pair with current_listener(): who still reads the former contents here sees the change before this one.
  unused.handler.store(to.handler, detail::memory_order_release);
  unused.argument.store(to.argument, detail::memory_order_release);
  listener_changes.store(number, detail::memory_order_release);  // pairs with current_listener()
}

[[nodiscard]] listener current_listener() noexcept {
  for (;;) {
    const std::size_t number = listener_changes.load(detail::memory_order_acquire);
    const shared_listener& now = listeners[number % 2];
    const listener found = {now.handler.load(detail::memory_order_acquire),
                            now.argument.load(detail::memory_order_acquire)};
    if (listener_changes.load(detail::memory_order_relaxed) == number) return found;
  }
}

// A thread that was to be cancelled would end in the report, and the process go on.
void handle(const violation& v) noexcept {
  const cancellation_deferral whole;
  const ashlar_misuse misuse = {
      name_of(v.kind).data(), v.what, v.pointer, v.size != 0 ? v.size : v.block_bytes, v.expected, v.got};
  if (const listener to = current_listener(); to.handler != nullptr) to.handler(&misuse, to.argument);
  else violation::print(v);
  if (!ends_by_abort.load(detail::memory_order_relaxed)) ::_exit(status_of_abort);
}

}  // namespace

void end_misuse_by(bool aborts) noexcept {
  ends_by_abort.store(aborts, detail::memory_order_relaxed);
  set_violation_handler(&handle);
}

}  // namespace ashlar::drop_in

namespace drop_in = ashlar::drop_in;

extern "C" {

ASHLAR_EXPORT int ashlar_abi_version() { return ASHLAR_MALLOC_ABI; }

ASHLAR_EXPORT const char* ashlar_level() {
  constexpr ashlar::detail::enum_table<ashlar::checking, const char*> names = {"fast", "checked", "hardened"};
  return names[ashlar::checking_level];
}

ASHLAR_EXPORT void* ashlar_zalloc(std::size_t bytes) { return drop_in::allocate_zeroed(bytes); }

ASHLAR_EXPORT void* ashlar_aligned_malloc(std::size_t bytes, std::size_t alignment) {
  if (!ashlar::is_power_of_two(alignment)) return drop_in::refuse(EINVAL);
  return drop_in::allocate(drop_in::aligned(bytes, alignment));
}

ASHLAR_EXPORT void* ashlar_realloc(void* p, std::size_t bytes) {
  return drop_in::resize_block(p, bytes, drop_in::granule);
}

ASHLAR_EXPORT void ashlar_free_sized(void* p, std::size_t bytes, std::size_t alignment) {
  drop_in::deallocate_sized(p, bytes, alignment);
}

ASHLAR_EXPORT std::size_t ashlar_usable_size(const void* p) { return drop_in::usable_size(p); }

ASHLAR_EXPORT std::size_t ashlar_good_size(std::size_t bytes) { return drop_in::good_size(bytes, drop_in::granule); }

ASHLAR_EXPORT int ashlar_try_expand(void* p, std::size_t bytes) { return drop_in::try_expand(p, bytes) ? 1 : 0; }

ASHLAR_EXPORT void ashlar_thread_flush() { ashlar::process_heap().flush(); }

ASHLAR_EXPORT std::size_t ashlar_trim(std::size_t retain_bytes) { return ashlar::process_heap().trim(retain_bytes); }

ASHLAR_EXPORT void ashlar_on_misuse(ashlar_misuse_handler handler, void* argument) {
  drop_in::change_listener({handler, argument});
  ashlar::set_violation_handler(&drop_in::handle);
}

// ---- options

ASHLAR_EXPORT int ashlar_option_set(const char* name, const char* value) {
  constexpr ashlar::detail::enum_table<drop_in::word_result, int> errors = {0, ENOENT, EINVAL, ENOMEM};
  return errors[drop_in::change_setting(name, value)];
}

ASHLAR_EXPORT int ashlar_option_get(const char* name, char* text, std::size_t bytes) {
  ashlar::panic_line value;
  if (!drop_in::write_option(drop_in::settings(), name, value)) return ENOENT;
  const std::string_view words = value.view();
  if (words.size() >= bytes) return ERANGE;
  std::memcpy(text, words.data(), words.size());
  text[words.size()] = '\0';
  return 0;
}

// ---- the calls with flags that jemalloc introduced, for programs that look for them or are linked with it

/// Returns: the usable bytes of a block of `bytes` bytes; 0 for a request that is refused.
ASHLAR_EXPORT std::size_t nallocx(std::size_t bytes, int flags) noexcept {
  return drop_in::good_size(bytes, drop_in::alignment_of(flags));
}

/// Returns: as `malloc`.
ASHLAR_EXPORT void* mallocx(std::size_t bytes, int flags) noexcept {
  const drop_in::caller_scope within(ASHLAR_OWN_FRAME());
  const std::size_t alignment = drop_in::alignment_of(flags);
  if (alignment > drop_in::most_alignment) return drop_in::refuse(ENOMEM);
  if (alignment <= drop_in::granule)
    return drop_in::wants_zeros(flags) ? drop_in::allocate_zeroed(bytes) : drop_in::allocate_by_malloc(bytes);
  void* const p = drop_in::allocate({bytes, alignment});
  return p != nullptr && drop_in::wants_zeros(flags) ? std::memset(p, 0, bytes) : p;
}

/// Returns: as `realloc`. Expects: `p` is not null and `bytes` not 0.
ASHLAR_EXPORT void* rallocx(void* p, std::size_t bytes, int flags) noexcept {
  const drop_in::caller_scope within(ASHLAR_OWN_FRAME());
  const std::size_t had = drop_in::usable_size(p);
  void* const moved = drop_in::reallocate(p, bytes, drop_in::alignment_of(flags));
  if (moved != nullptr && drop_in::wants_zeros(flags) && bytes > had)
    std::memset(static_cast<std::byte*>(moved) + had, 0, drop_in::usable_size(moved) - had);
  return moved;
}

/// Returns: the usable bytes of the block, which has been resized in place to between `bytes` and `bytes + extra` bytes
/// if that was possible. A cell keeps its size, and a block above 32 KiB some more up to a whole page or slice.
ASHLAR_EXPORT std::size_t xallocx(void* p, std::size_t bytes, std::size_t extra, int flags) noexcept {
  const std::size_t had = drop_in::usable_size(p);
  std::size_t most = 0;
  if (!ashlar::checked_add(bytes, extra, most)) most = bytes;
  if (had > most) static_cast<void>(drop_in::try_expand(p, most, true));
  else if (had < bytes && !drop_in::try_expand(p, most)) static_cast<void>(drop_in::try_expand(p, bytes));
  const std::size_t has = drop_in::usable_size(p);
  if (drop_in::wants_zeros(flags) && has > had) std::memset(static_cast<std::byte*>(p) + had, 0, has - had);
  return has;
}

/// Effects: frees a block. Expects: `bytes` lies between the request and its `nallocx`, with the flags of the request.
ASHLAR_EXPORT void sdallocx(void* p, std::size_t bytes, int flags) noexcept {
  drop_in::deallocate_between(p, bytes, drop_in::alignment_of(flags));
}

}  // extern "C"
