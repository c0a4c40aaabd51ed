// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorder's life: start at the first allocation, a log for each thread, its memory, fork, exec, end.
#include "cli/preload/recorder.hpp"

#include <algorithm>
#include <climits>

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <ashlar/detail/trace/table_chunks.hpp>

#include "cli/preload/memory_use.hpp"
#include "cli/preload/trace_file.hpp"
#include "cli/preload/written_once.hpp"

extern "C" {
[[gnu::visibility("hidden")]] extern const std::byte __bss_start[], _end[];  // of this library, by its linker
}

namespace ashlar::recorder {

std::uint64_t resident_part(const void* begin, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto at = reinterpret_cast<std::uintptr_t>(begin) & ~(page - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
  std::uint64_t pages = 0;
  unsigned char is_resident[512];
  for (; at < end; at += sizeof is_resident * page) {
    const std::size_t left = (end - at + page - 1) / page, n = std::min(left, sizeof is_resident);
    if (mincore(reinterpret_cast<void*>(at), n * page, is_resident) != 0) return bytes;
    for (std::size_t i = 0; i < n; ++i) pages += is_resident[i] & 1U;
  }
  return pages * page;
}

std::uint64_t resident_variables() noexcept {
  return resident_part(__bss_start, static_cast<std::size_t>(_end - __bss_start));
}

constinit thread_local thread_state self{};

namespace {

enum class phase { unset, starting, on, off };

constinit std::atomic<phase> now{phase::unset};
constinit std::atomic<std::uint64_t> dropped{0};
constinit std::atomic<bool> written_since_end{false};
constinit std::atomic<std::uint32_t> ends{0};
constinit std::atomic<bool> is_ending{false};       // what threads record from now on need not be told
constinit std::atomic<bool> is_shared{false};       // what is pending lies in the live file
constinit std::atomic<std::uint64_t> inherited{0};  // bytes of memory that the fork has copied
constinit log_registry logs;
constinit late_log late;
constinit written_once<detail::trace_io::chunk_kind::names, 4096, 8192> names;  // of spans and threads
const char* single_threaded = nullptr;                                          // the C library's flag, if it has one
bool has_other_threads = false;                                                 // of the forking process
pthread_key_t exit_key;

/// Blocks signals while locks are held and the file is written: a handler could jump away for good. Made before the
/// thread is inside the recorder, so past the C library's functions.
class signals_blocked {
public:
  signals_blocked() noexcept : before_(calls::block(~calls::signal_set{0})) {}
  ~signals_blocked() { calls::restore(before_); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

private:
  using calls = ashlar::detail::quiet_calls;

  calls::signal_set before_;
};

/// A child made by vfork or a bare clone may share our memory, or not: it must not write our file.
bool is_our_process() noexcept { return getpid() == file.process(); }

/// Returns: the id of a name; 0 for null, and for a name beyond 3072 of them. Bytes after the 255th do not count.
/// Expects: the thread is inside the recorder.
std::uint32_t id_of_name(const char* name) noexcept {
  if (name == nullptr) return 0;
  const std::string_view text(name, ::strnlen(name, detail::trace_io::max_name_bytes));
  const std::uint64_t hash = detail::trace_io::checksum(std::as_bytes(std::span(text))) | 1;
  if (const std::uint32_t known = names.find(hash); known != 0) return known;
  return names.add(hash, detail::trace_io::name_bound(text.size()),
                   [text](std::byte* to) { return detail::trace_io::put_text(to, text); });
}

/// Effects: counts lost events. They are reported at once: without memory there may be no trace that tells of them.
void count_lost(std::uint64_t events) noexcept {
  if (events == 0) return;
  const std::uint64_t before = dropped.fetch_add(events, std::memory_order_relaxed);
  live.tell_dropped(before + events);
  if (before == 0 && !file.failed()) tell_failure(ENOMEM, file.path());
}

/// Expects: `log.lock` is held.
void write_log(thread_log& log) noexcept {
  if (!is_our_process()) return static_cast<void>(dropped.fetch_add(log.live->unwritten().size()));
  if (!file.failed()) write_modules();
  if (!file.failed()) write_stacks();
  if (!file.failed()) names.write();
  if (!log.live->unwritten().empty()) written_since_end.store(true);
  count_lost(write_records(*log.live));
}

void on_thread_exit(void*) noexcept {
  if (++self.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {  // the last round comes after other libraries' destructors
    pthread_setspecific(exit_key, &self);
    return;
  }
  note({.time = ticks(), .code = detail::trace_io::code_of(trace::operation::thread_end)});
  thread_log* const log = self.log;
  if (log == nullptr) return;
  write_full_log();
  self.log = nullptr;
  logs.give_back(log);
  tell_threads(-1);
}

/// Locks of other threads at the fork stay locked in the child forever. The recorder resets its own locks there; it
/// must not wait for locks of the loader and of libunwind.
void before_fork() noexcept {
  const inside_recorder inside;
  has_other_threads = single_threaded == nullptr || *single_threaded == 0;
  hold_modules();
}

/// Effects: what comes is not recorded, and has no stacks.
void stop() noexcept {
  now.store(phase::off, std::memory_order_release);
  stack_depth = 0;
}

void on_fork_child() noexcept {
  self.log = nullptr;  // as the threads that the child lacks, it starts with its first event
  self.named = false;
  const inside_recorder inside;
  if (!file.records_children()) stop();
  live.forget();
  is_shared.store(false);
  is_ending.store(false);
  file.restart();
  reset_workspaces();
  reset_stacks(has_other_threads);
  names.reset();
  reset_modules(has_other_threads);
  late.reset();
  logs.reset();
  reset_status();
  dropped.store(0);
  written_since_end.store(false);
  ends.store(0);
  inherited.store(memory_in("/proc/self/status").anonymous);
}

template <class Function>
Function find(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

/// Effects: the recorder learns of forks and of a quick exit, if the C library supports it. glibc links the public
/// functions statically and exports others of its own; musl exports the public ones. So neither is bound: a missing
/// symbol would keep the program from starting.
void add_hooks() noexcept {
  using hook = void (*)();
  if (const auto glibc = find<int (*)(hook, hook, hook, void*)>("__register_atfork"))
    glibc(before_fork, release_modules, on_fork_child, nullptr);
  else if (const auto other = find<int (*)(hook, hook, hook)>("pthread_atfork"))
    other(before_fork, release_modules, on_fork_child);
  if (const auto glibc = find<int (*)(void (*)(void*), void*)>("__cxa_at_quick_exit"))
    glibc([](void*) { finish_for_good(); }, nullptr);
  else if (const auto other = find<int (*)(hook)>("at_quick_exit")) other(finish_for_good);
}

phase start() noexcept {
  choose_clock();
  const bool is_ready = file.configure() && pthread_key_create(&exit_key, on_thread_exit) == 0;
  start_stacks(is_ready);
  if (!is_ready) return phase::off;
  connect_status();
  single_threaded = find<const char*>("__libc_single_threaded");
  add_hooks();
  return phase::on;
}

/// Returns: whether records are wanted. The first call starts the recorder, as soon as there is an environment.
bool is_on() noexcept {
  phase seen = now.load(std::memory_order_acquire);
  if (seen == phase::unset && environ != nullptr && now.compare_exchange_strong(seen, phase::starting))
    now.store(start(), std::memory_order_release);
  return now.load(std::memory_order_acquire) == phase::on;
}

/// Effects: if there is a live file, what tables lack lies in it, too.
void share_pending() noexcept {
  live_head* const to = live.head();
  if (to == nullptr || is_shared.exchange(true, std::memory_order_acq_rel)) return;
  names.use(to->names);
  share_stacks(to->stacks);
  share_modules();
}

/// Returns: the calling thread's new log, or null if it cannot have one, or has had one and is ending.
thread_log* begin_thread() noexcept {
  if (self.rounds >= PTHREAD_DESTRUCTOR_ITERATIONS) return nullptr;
  if (!self.named) self.thread = logs.new_thread_number();
  self.named = true;
  thread_log* const log = logs.take();
  if (log == nullptr) return nullptr;
  log->live->thread = self.thread;
  share_pending();
  tell_threads(1);
  pthread_setspecific(exit_key, &self);
  return log;
}

/// Expects: the caller is inside the recorder.
thread_log* note_late(const detail::trace_io::record& r) noexcept {
  if (!is_ending.load(std::memory_order_relaxed))
    tell_process(file.start_ns(), inherited.load(std::memory_order_relaxed));
  thread_log* const log = begin_thread();
  if (log == nullptr) count_lost(late.append(self.thread, r, write_log));
  return log;
}

/// A thread that the end of the process has stopped in a signal handler may hold a log forever. Returns: whether no log
/// was held so.
bool write_all_logs() noexcept {
  bool all = true;
  for (thread_log* log = logs.next(nullptr); log != nullptr; log = logs.next(log)) {
    const bool is_held = log->lock.lock_patiently();
    all = all && is_held;
    if (!is_held) continue;
    if (log->in_use && log->live != nullptr) write_log(*log);
    log->lock.unlock();
  }
  late.write(write_log);
  return all;
}

/// Returns: the resident bytes of the recorder's own memory.
std::uint64_t recorder_memory() noexcept {
  std::uint64_t bytes = resident_variables() + resident_workspaces();
  for (thread_log* log = logs.next(nullptr); log != nullptr; log = logs.next(log))
    bytes += resident_part(log, sizeof *log) + (log->live == nullptr ? 0 : resident_part(log->live, sizeof *log->live));
  return bytes;
}

/// What a child has inherited may have been the recorder's: only the greater of the two is counted.
void write_memory(std::uint32_t sequence) noexcept {
  const memory_use use = memory_in("/proc/self/status");
  if (use.peak == 0) return;
  const std::uint64_t foreign = std::max(inherited.load(std::memory_order_relaxed), recorder_memory());
  std::byte payload[detail::trace_io::memory_figure_count * detail::trace_io::max_varint_bytes];
  const std::byte* const end = detail::trace_io::put_memory(payload, {use.peak, use.anonymous, foreign});
  write_chunk({.kind = detail::trace_io::chunk_kind::memory,
               .sequence = sequence,
               .count = detail::trace_io::memory_figure_count},
              {payload, static_cast<std::size_t>(end - payload)});
}

void write_end() noexcept {
  if (!written_since_end.exchange(false) && ends.load() != 0) return;
  write_memory(ends.load());
  std::byte payload[detail::trace_io::max_varint_bytes];
  const std::byte* const end = detail::trace_io::put_varint(payload, dropped.load(std::memory_order_relaxed));
  write_chunk({.kind = detail::trace_io::chunk_kind::end, .sequence = ends.fetch_add(1), .count = 1},
              {payload, static_cast<std::size_t>(end - payload)});
}

[[gnu::constructor]] void on_load() noexcept {
  const inside_recorder inside;
  if (!is_on()) return;
  prepare_unwinder();
  prepare_modules();
}

/// The events of later destructors are few.
[[gnu::destructor]] void on_unload() noexcept {
  finish_for_good();
  if (is_our_process()) disconnect_status();
}

}  // namespace

// A thread must not be cancelled in a system call of the recorder, since the program's malloc makes none. The calls of
// the C library, of which `errno` is one, are made inside: another library may stand in front of them, and allocate.
inside_recorder::inside_recorder() noexcept : log_(self.log), was_busy_(self.busy) {
  self.log = nullptr;
  self.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  errno_ = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
}

inside_recorder::~inside_recorder() {
  pthread_setcancelstate(cancel_state_, nullptr);
  errno = errno_;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  self.log = log_;
  self.busy = was_busy_;
}

ASHLAR_COLD bool is_recording() noexcept {
  const inside_recorder inside;
  return is_on();
}

ASHLAR_COLD void note_without_log(const detail::trace_io::record& r) noexcept {
  if (self.busy) return;
  thread_log* log = nullptr;
  {
    const inside_recorder inside;
    if (is_on()) log = note_late(r);
  }
  self.log = log;
  if (log != nullptr) static_cast<void>(log->append(r));
}

ASHLAR_COLD void note_named(trace::operation op, const char* name) noexcept {
  if (self.busy) return;
  std::uint32_t id = 0;
  {
    const inside_recorder inside;
    if (!is_on()) return;
    id = id_of_name(name);
  }
  note({.time = ticks(), .size = id, .code = detail::trace_io::code_of(op)});
}

ASHLAR_NOINLINE void write_full_log() noexcept {
  thread_log& log = *self.log;
  const signals_blocked quiet;
  const inside_recorder inside;
  const ashlar::lock_scope hold(log.lock);
  if (log.live == nullptr) return;
  write_log(log);
  log.live->clear();
}

void note_modules() noexcept {
  if (self.busy) return;
  const signals_blocked quiet;
  const inside_recorder inside;
  if (is_on() && is_our_process() && !file.failed()) write_modules_patiently();
}

bool finish() noexcept {
  if (self.busy || now.load(std::memory_order_acquire) != phase::on || !is_our_process()) return false;
  const signals_blocked quiet;
  const inside_recorder inside;
  const bool all = write_all_logs();
  write_end();
  tell_end();
  return all;
}

/// Otherwise a handler ends what has interrupted the recorder, or a log is held.
void finish_for_good() noexcept {
  if (is_our_process()) is_ending.store(true, std::memory_order_relaxed);  // not a child that shares this memory
  if (finish()) live.remove();
}

exec_attempt::exec_attempt() noexcept {
  if (self.busy || !is_our_process()) return;
  if (file.started()) static_cast<void>(finish());
  else tell_end();
  live.tell_over(true);
}

exec_attempt::~exec_attempt() {
  if (is_our_process()) live.tell_over(file.failed());
  if (!self.busy && is_our_process() && self.log != nullptr)
    tell_process(file.start_ns(), inherited.load(std::memory_order_relaxed));
}

}  // namespace ashlar::recorder
