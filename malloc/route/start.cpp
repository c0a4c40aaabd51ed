// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The start of the router, after the start of libashlar and before all other constructors, and its report at exit.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <sys/auxv.h>
#include <unistd.h>

#include <ashlar/base/platform.hpp>
#include <ashlar/detail/support/text_writer.hpp>
#include <ashlar/os/pages.hpp>

#include "malloc/c_library.hpp"
#include "malloc/error_stream.hpp"
#include "malloc/route/group.hpp"
#include "malloc/route/sites.hpp"
#include "malloc/route/text.hpp"
#include "malloc/route/threads.hpp"
#include "malloc/settings.hpp"
#include "malloc/system.hpp"

namespace ashlar::route {

namespace {

/// Returns: the value of the variable, or nothing. getenv may not be ready.
[[nodiscard]] std::string_view value_in(const char* const* environment) noexcept {
  const std::size_t n = std::strlen(variable);
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (std::strncmp(*environment, variable, n) == 0) return *environment + n;
  return {};
}

/// Returns: a copy, since a program may write its name over its environment.
[[nodiscard]] std::string_view kept(std::string_view text) noexcept {
  if (text.size() > most_text_bytes) {
    detail::write_error_line("ashlar: ASHLAR_ROUTE: the plan is longer than 128 KiB: nothing is routed");
    return {};
  }
  if (text.empty()) return {};
  void* const copy = os::pages::map(os::pages::round_up(text.size()), os::pages::page_bytes());
  return copy != nullptr
             ? std::string_view(static_cast<char*>(std::memcpy(copy, text.data(), text.size())), text.size())
             : std::string_view();
}

__attribute__((constructor(102))) void begin(int, char**, char** environment) noexcept {
  if (::getauxval(AT_SECURE) != 0) return;
  const std::string_view text = kept(value_in(drop_in::environment_at_start(environment)));
  if (text.empty()) return;
  if (drop_in::settings().zeroes)
    return detail::write_error_line("ashlar: ASHLAR: with the option zero=1 nothing is routed");
  begin_sites(text);
  if (plan().count != 0) static_cast<void>(records.find_or_attach());  // from now on forks wait for the locks
  if (plan().reports) drop_in::keep_error_stream();
}

void write_group(detail::text_writer<drop_in::text_output>& out, std::size_t number) noexcept {
  group& of = range.groups[number];
  std::uint64_t count = 0, bytes = 0;
  records.sum(number, count, bytes);
  const group_figures now = of.figures();
  out.text("ashlar: route: ").text(of.name()).text(of.is_pool() ? " (pool): " : " (arena): ");
  out.counted(count, "allocation").text(", ").size(bytes).text("; at most ").size(now.most_chunks * of.chunk_bytes());
  out.text(" in ").counted(now.most_chunks, "chunk").text(", at the end ").grouped(now.chunks);
  if (now.dies_young) out.text("; given up: its blocks die young");
  else if (now.is_given_up) out.text("; given up: pinned ").size(now.pinned_when_given_up);
  out.text("\n");
}

void write_report(int descriptor) noexcept {
  drop_in::text_output to = drop_in::output_to(descriptor);
  detail::text_writer out(to);
  out.text("ashlar: route: process ")
      .number(drop_in::process_id())
      .text(" (")
      .text(::program_invocation_short_name)
      .text("): ");
  out.grouped(plan().sites_found).text(" of ").counted(plan().sites, "site").text(" found\n");
  for (std::size_t i = 0; i != range.count; ++i) write_group(out, i);
  out.flush();
}

// Before the statistics of libashlar.
__attribute__((destructor(102))) void report_at_exit() noexcept {
  if (plan().count == 0) return;
  if (plan().reports || drop_in::settings().writes_statistics) write_report(drop_in::kept_error_stream());
}

}  // namespace

}  // namespace ashlar::route
