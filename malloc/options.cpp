// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options from the environment, read before all other constructors of the program, and what the start installs
// besides: handlers of forks that hold glibc's list of streams.
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>

#include <ashlar/base/atomics.hpp>
#include <ashlar/base/lock.hpp>
#include <ashlar/base/options.hpp>
#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/immortal.hpp>
#include <ashlar/detail/thread/fork_safe_lock.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/os/random_bits.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "malloc/blocks.hpp"
#include "malloc/c_library.hpp"
#include "malloc/deep_binding.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/heaps.hpp"
#include "malloc/operator_forms.hpp"
#include "malloc/sampling.hpp"
#include "malloc/settings.hpp"

// Exported by glibc for the C++ library of long ago. Weak: a static program may have no streams.
extern "C" {
__attribute__((weak)) void ashlar_lock_streams() noexcept __asm__("_IO_list_lock");
__attribute__((weak)) void ashlar_unlock_streams() noexcept __asm__("_IO_list_unlock");
__attribute__((weak)) void ashlar_reset_streams() noexcept __asm__("_IO_list_resetlock");
}

namespace ashlar::drop_in {

namespace {

// Options that are or have been in effect. None of them changes or ends, since any thread and handler may be reading
// it.
struct known_options {
  options of;
  const known_options* next = nullptr;
};
constinit known_options defaults;
constinit known_options of_environment = {{}, &defaults};
constinit detail::atomic<const options*> in_effect = &defaults.of;

// Changes follow each other. The rest is of the thread that has the lock.
constinit detail::immortal<detail::fork_safe_lock<spin_lock>> change_lock, fast_paths_lock;
constinit const known_options* newest = &of_environment;
constinit int profile_signal = 0;  // which writes the profile; 0: none
constinit struct sigaction before_profile = {};

void write_profile_at(int) noexcept { write_wanted_profile(); }

// A handler that the program has installed over this one stays.
void leave_signal() noexcept {
  struct sigaction found = {};
  if (profile_signal == 0 || ::sigaction(profile_signal, &before_profile, &found) != 0) return;
  if (found.sa_handler != &write_profile_at) ::sigaction(profile_signal, &found, nullptr);
}

void follow_signal(int wished) noexcept {
  if (wished == profile_signal) return;
  leave_signal();
  struct sigaction action = {};
  action.sa_handler = &write_profile_at;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  profile_signal = wished != 0 && ::sigaction(wished, &action, &before_profile) == 0 ? wished : 0;
}

void follow_profile(const options& now) noexcept {
  const bool is_wanted = now.profile_file[0] != '\0';
  if (is_wanted) heap_profile::begin(now.profile_interval);
  follow_signal(is_wanted ? now.profile_signal : 0);
}

[[nodiscard]] bool reports(const options& now) noexcept {
  return now.writes_statistics || now.reports_refusal || now.profile_file[0] != '\0';
}

// What the heap does not do by itself.
void begin_with(const options& now) noexcept {
  static_cast<void>(process_heap().share_idle(now.shares_idle));
  sample_one_in(now.sample_interval);
}

void put_into_effect(const options& now) noexcept {
  if (reports(now)) keep_error_stream();
  in_effect.store(&now, detail::memory_order_release);  // pairs with settings()
  follow_profile(now);
  process_heap().set_options({.max_bytes = now.max_bytes, .retain_bytes = now.retain_bytes, .decay_ms = now.decay_ms});
  fresh::by_wish::set_wish(now.huge);
  fresh::by_wish::set_populates(now.populates);
  choose_fast_paths();
  end_misuse_by(now.aborts);
  begin_with(now);
}

// Returns: the known options of these values, or null without memory.
[[nodiscard]] const options* known(const options& wished) noexcept {
  for (const known_options* each = newest; each != nullptr; each = each->next)
    if (each->of == wished) return &each->of;
  void* const place = process_heap().try_allocate(sizeof(known_options), alignof(known_options));
  if (place == nullptr) return nullptr;
  newest = ::new (place) known_options{wished, newest};
  return &newest->of;
}

template <class Change>
[[nodiscard]] word_result change(Change made_in) noexcept {
  const ashlar::report_scope held(change_lock.value);
  options wished = settings();
  if (const word_result result = made_in(wished); result != word_result::set) return result;
  const options* const now = known(wished);
  if (now == nullptr) return word_result::no_memory;
  if (now != &settings()) put_into_effect(*now);
  return word_result::set;
}

void print_refusal(std::string_view name, std::string_view value, word_result why) noexcept {
  ashlar::panic_line line;
  if (why == word_result::unknown_name) line.text("ashlar: ASHLAR: unknown option '").text(name).text("'");
  else line.text("ashlar: ASHLAR: option '").text(name).text("' has no value '").text(value).text("'");
  detail::write_error_line(line.view());
}

// Returns: the value of ASHLAR, or nothing. getenv may not be ready, and `starts_with` needs the C++ library.
[[nodiscard]] std::string_view variable(const char* const* environment) noexcept {
  constexpr std::string_view name = "ASHLAR=";
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (std::strncmp(*environment, name.data(), name.size()) == 0) return *environment + name.size();
  return {};
}

// The first of all constructors: the library is linked with `-z initfirst`. Handlers of forks that are installed later
// may allocate. glibc passes the arguments of main to constructors, before `environ` is set.
__attribute__((constructor(101))) void begin(int, char**, char** environment) noexcept {
  start();
  const std::string_view text = variable(environment_at_start(environment));
  if (text.empty()) return begin_with(defaults.of);
  const bool is_privileged = ::getauxval(AT_SECURE) != 0;
  options wished;
  parse_options(text, wished, [=](std::string_view name, std::string_view value, word_result why) {
    if (!is_privileged) print_refusal(name, value, why);
  });
  of_environment.of = is_privileged ? only_checks_of(wished) : wished;
  put_into_effect(of_environment.of);
}

// ---- forks

constinit bool has_fork_handlers = false;
constinit bool are_streams_held = false;  // by the present fork; written and read under the lock, or by the only thread

void before_fork() {
  if (detail::is_only_thread()) return static_cast<void>(are_streams_held = false);
  ashlar_lock_streams();
  are_streams_held = true;
}

void after_fork_in_parent() {
  if (are_streams_held) ashlar_unlock_streams();
}

// `fork` itself has reset the lock of a child that had more threads, so an unlock would be one too many.
void after_fork_in_child() {
  if (are_streams_held) ashlar_reset_streams();
}

// `fork` of glibc takes the lock of its list of streams after all handlers, and so would wait for it with the locks of
// the heap, for which a thread may wait that is in its way:
//
//     fflush(NULL): list of streams -> stream
//     getline:                         stream -> heap
//     fork:         list of streams --handlers-> heap
//
// The lock is recursive. A process of one thread takes none, as in glibc.
// Effects: installs the handlers, once. The handlers of the heap are installed before: then they run inside of these.
void hold_streams_over_forks() noexcept {
  if (has_fork_handlers || &ashlar_lock_streams == nullptr || &ashlar_unlock_streams == nullptr ||
      &ashlar_reset_streams == nullptr)
    return;
  has_fork_handlers = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

}  // namespace

// The last one to have the lock decides, and sees what each has changed before it took the lock.
void choose_fast_paths() noexcept {
  const ashlar::lock_scope held(fast_paths_lock.value);
  const bool is_open = !settings().zeroes && !has_default_heaps() && !settings().samples_each();
  const bool counts_each = heap_profile::is_on();
  fast_paths.end_of_small = is_open && !counts_each ? process_heap_type::most_small_bytes + 1 : 0;
  fast_paths.end_of_cells = is_open ? largest_cell + 1 : 0;
  fast_paths.end_of_small_arrays = served_forms.has_new ? fast_paths.end_of_small : 0;
  fast_paths.sampled_bits_of_arrays = served_forms.has_delete ? detail::sampled_bits : 0;
}

void start() noexcept {
  detail::kernel_clock::find();  // now, while no lock is held; so also the secret
  static_cast<void>(detail::process_secret());
  process_heap_type::expect_forks();
  hold_streams_over_forks();
  end_misuse_by(settings().aborts);
  look_for_replaced_forms();
  choose_fast_paths();
}

const options& settings() noexcept {
  return *in_effect.load(detail::memory_order_acquire);  // pairs with put_into_effect()
}

bool keeps_deep_binding() noexcept { return settings().binds_deeply; }

void write_wanted_profile() noexcept {
  if (const options& now = settings(); now.profile_file[0] != '\0') heap_profile::write(now.profile_file.data());
}

word_result change_setting(std::string_view name, std::string_view value) noexcept {
  return change([=](options& of) { return set_option(of, name, value); });
}

word_result retain_at_most(std::size_t bytes) noexcept {
  return change([=](options& of) {
    of.retain_bytes = bytes;
    return word_result::set;
  });
}

}  // namespace ashlar::drop_in
