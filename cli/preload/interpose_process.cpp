// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program does that is no allocation, and that a trace tells: it ends or becomes another without running its
// destructors, unloads code, and notes marks, spans and names of threads. ashlar_record.h finds the functions of the
// notes.
#include <cstdarg>

#include "cli/preload/recorder.hpp"
#include "malloc/deep_binding.hpp"
#include "malloc/export.hpp"
#include "malloc/option_words.hpp"

namespace ashlar::recorder {

namespace {

constinit next_symbol<void (*)(int)> next_exit("_exit");
constinit next_symbol<int (*)(void*)> next_dlclose("dlclose");
constinit next_symbol<int (*)(pthread_t, const char*)> next_setname("pthread_setname_np");

/// Returns: the number of arguments, including the null that ends them.
std::size_t count_arguments(va_list from) noexcept {
  std::size_t n = 1;
  while (va_arg(from, char*) != nullptr) ++n;
  return n;
}

/// By reference: the environment of execle stands behind the arguments.
void collect(char** to, char* first, std::size_t n, va_list& from) noexcept {
  to[0] = first;
  for (std::size_t i = 1; i <= n; ++i) to[i] = va_arg(from, char*);
}

[[noreturn]] void end_process(int status) noexcept {
  finish_for_good();
  next_exit.get()(status);
  __builtin_unreachable();
}

enum class binding : std::uint8_t { unread, as_all, deep };
constinit std::atomic<binding> wished{binding::unread};

binding read_binding() noexcept {
  drop_in::options given;
  const char* const words = std::getenv("ASHLAR");
  if (words != nullptr)
    drop_in::parse_options(words, given, [](std::string_view, std::string_view, drop_in::word_result) {});
  return given.binds_deeply ? binding::deep : binding::as_all;
}

/// Once, as libashlar does: later another thread may change the environment meanwhile.
[[gnu::constructor]] void keep_binding() noexcept { wished.store(read_binding(), std::memory_order_relaxed); }

}  // namespace

}  // namespace ashlar::recorder

/// As in libashlar, under which the program may run next: what a library calls without this one is in no trace.
/// Constructors that run before that of the recorder may open libraries too.
bool ashlar::drop_in::keeps_deep_binding() noexcept {
  const recorder::binding now = recorder::wished.load(std::memory_order_relaxed);
  return (now == recorder::binding::unread ? recorder::read_binding() : now) == recorder::binding::deep;
}

namespace recorder = ashlar::recorder;

// execl and its family: their arguments as an array on the stack. `...`: the environment, which stands behind them.
#define ASHLAR_EXEC_LIST(name, by, ...)                                                          \
  ASHLAR_EXPORT int name(const char* program, const char* first, ...) noexcept {                 \
    va_list list;                                                                                \
    va_start(list, first);                                                                       \
    const std::size_t count = recorder::count_arguments(list);                                   \
    va_end(list);                                                                                \
    char** const arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*))); \
    va_start(list, first);                                                                       \
    recorder::collect(arguments, const_cast<char*>(first), count, list);                         \
    const int result = by(program, arguments __VA_OPT__(, ) __VA_ARGS__);                        \
    va_end(list);                                                                                \
    return result;                                                                               \
  }

#define ASHLAR_EXEC(name, parameters, ...)                                                  \
  ASHLAR_EXPORT int name parameters noexcept {                                              \
    static constinit recorder::next_symbol<std::add_pointer_t<int parameters>> next(#name); \
    const recorder::exec_attempt attempt;                                                   \
    return next.get()(__VA_ARGS__);                                                         \
  }

extern "C" {

ASHLAR_EXEC(execve, (const char* path, char* const* arguments, char* const* environment), path, arguments, environment)
ASHLAR_EXEC(execv, (const char* path, char* const* arguments), path, arguments)
ASHLAR_EXEC(execvp, (const char* file, char* const* arguments), file, arguments)
ASHLAR_EXEC(execvpe, (const char* file, char* const* arguments, char* const* environment), file, arguments, environment)
ASHLAR_EXEC(fexecve, (int fd, char* const* arguments, char* const* environment), fd, arguments, environment)
ASHLAR_EXEC(execveat, (int fd, const char* path, char* const* arguments, char* const* environment, int flags), fd, path,
            arguments, environment, flags)

ASHLAR_EXEC_LIST(execl, execv)
ASHLAR_EXEC_LIST(execlp, execvp)
ASHLAR_EXEC_LIST(execle, execve, va_arg(list, char* const*))

ASHLAR_EXPORT void _exit(int status) { recorder::end_process(status); }
ASHLAR_EXPORT void _Exit(int status) noexcept { recorder::end_process(status); }

/// Other code may come to the addresses of a library that goes.
ASHLAR_EXPORT int dlclose(void* library) noexcept {
  recorder::note_modules();  // what goes is in the trace before
  const int result = recorder::next_dlclose.get()(library);
  recorder::note_modules();
  return result;
}

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
