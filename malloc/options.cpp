// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options from the environment, read before all other constructors of the program.
#include <cstddef>
#include <cstring>
#include <string_view>

#include <signal.h>
#include <sys/auxv.h>

#include <ashlar/detail/support/panic.hpp>
#include <ashlar/heap/heap_options.hpp>
#include <ashlar/heap/process_heap.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "malloc/blocks.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/heap_profile.hpp"
#include "malloc/misuse.hpp"
#include "malloc/sampling.hpp"
#include "malloc/settings.hpp"
#include "malloc/start.hpp"
#include "malloc/streams_at_fork.hpp"

namespace ashlar::drop_in {

namespace {

constinit options in_effect;

void write_profile_at(int) noexcept { write_wanted_profile(); }

void begin_profile(const options& now) noexcept {
  if (now.profile_file[0] == '\0') return;
  heap_profile::begin(now.profile_interval);
  if (now.profile_signal == 0) return;
  struct sigaction action = {};
  action.sa_handler = &write_profile_at;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(now.profile_signal, &action, nullptr);
}

void put_into_effect(const options& now) noexcept {
  in_effect = now;
  begin_profile(now);
  process_heap().set_options({.max_bytes = now.max_bytes, .retain_bytes = now.retain_bytes, .decay_ms = now.decay_ms});
  fresh::by_wish::set_wish(now.huge);
  choose_fast_paths();
  sample_one_in(now.sample_interval);
  end_misuse_by(now.aborts);
  if (now.writes_statistics || heap_profile::is_on()) keep_error_stream();
}

void print_refusal(std::string_view name, std::string_view value, word_result why) noexcept {
  detail::panic_line line;
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
  const std::string_view text = variable(environment);
  if (text.empty()) return sample_one_in(in_effect.sample_interval);
  const bool is_privileged = ::getauxval(AT_SECURE) != 0;
  options wished;
  parse_options(text, wished, [=](std::string_view name, std::string_view value, word_result why) {
    if (!is_privileged) print_refusal(name, value, why);
  });
  put_into_effect(is_privileged ? only_checks_of(wished) : wished);
}

}  // namespace

void start() noexcept {
  process_heap_type::expect_forks();
  hold_streams_over_forks();
  choose_fast_paths();
}

const options& settings() noexcept { return in_effect; }

void write_wanted_profile() noexcept {
  if (in_effect.profile_file[0] != '\0') heap_profile::write(in_effect.profile_file.data());
}

word_result change_setting(std::string_view name, std::string_view value) noexcept {
  options wished = in_effect;
  const word_result result = set_option(wished, name, value);
  if (result == word_result::set) put_into_effect(wished);
  return result;
}

void retain_at_most(std::size_t bytes) noexcept {
  options wished = in_effect;
  wished.retain_bytes = bytes;
  put_into_effect(wished);
}

}  // namespace ashlar::drop_in
