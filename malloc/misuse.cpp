// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handler of misuse of a program in C, and the end after it.
#include <cstddef>

#include <unistd.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>

#include "malloc/ashlar_malloc.h"
#include "malloc/export.hpp"
#include "malloc/start.hpp"
#include "malloc/system.hpp"

namespace ashlar::drop_in {

namespace {

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

extern "C" ASHLAR_EXPORT void ashlar_on_misuse(ashlar_misuse_handler handler, void* argument) {
  ashlar::drop_in::change_listener({handler, argument});
  ashlar::set_violation_handler(&ashlar::drop_in::handle);
}
