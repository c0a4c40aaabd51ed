// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The handler of misuse of a program in C, and the end after it.
#include "malloc/misuse.hpp"

#include <unistd.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/support/atomics.hpp>

#include "malloc/ashlar_malloc.h"
#include "malloc/export.hpp"

namespace ashlar::drop_in {

namespace {

constexpr int status_of_abort = 128 + 6;  // as a shell shows the end by SIGABRT

constinit detail::atomic<bool> ends_by_abort = true;
constinit detail::atomic<ashlar_misuse_handler> handler = nullptr;
constinit detail::atomic<void*> handler_argument = nullptr;

void handle(const violation& v) noexcept {
  const ashlar_misuse misuse = {name_of(v.kind).data(), v.what, v.pointer, v.size, v.expected, v.got};
  if (const auto call = handler.load(detail::memory_order_acquire))  // pairs with ashlar_on_misuse()
    call(&misuse, handler_argument.load(detail::memory_order_relaxed));
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
  ashlar::drop_in::handler_argument.store(argument, ashlar::detail::memory_order_relaxed);
  ashlar::drop_in::handler.store(handler, ashlar::detail::memory_order_release);  // pairs with handle()
  ashlar::set_violation_handler(&ashlar::drop_in::handle);
}
