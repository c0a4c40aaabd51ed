// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The notes of a program on itself: marks, spans, names of threads. ashlar_record.h finds these functions.
#include <cstdint>

#include <pthread.h>

#include "cli/preload/interpose.hpp"

namespace ashlar::recorder {

namespace {

constinit next_symbol<int (*)(pthread_t, const char*)> next_setname("pthread_setname_np");

}  // namespace

}  // namespace ashlar::recorder

namespace recorder = ashlar::recorder;

extern "C" {

ASHLAR_EXPORT void ashlar_record_mark(std::uint64_t number) noexcept {
  recorder::note({.time = recorder::ticks(),
                  .size = number,
                  .code = ashlar::detail::trace_io::code_of(ashlar::trace::operation::mark)});
}

ASHLAR_EXPORT void ashlar_record_span_begin(const char* name) noexcept {
  recorder::note_named(ashlar::trace::operation::span_begin, name);
}

ASHLAR_EXPORT void ashlar_record_span_end() noexcept {
  recorder::note_named(ashlar::trace::operation::span_end, nullptr);
}

ASHLAR_EXPORT void ashlar_record_thread_name(const char* name) noexcept {
  recorder::note_named(ashlar::trace::operation::thread_name, name);
}

/// The name of another thread is not noted: its number in the trace is unknown here.
ASHLAR_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  if (pthread_equal(thread, pthread_self()) != 0) ashlar_record_thread_name(name);
  return recorder::next_setname.get()(thread, name);
}

}  // extern "C"
