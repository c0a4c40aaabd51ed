// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The adaptors that are stacked on each other, one line each, and the memory under them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <ashlar/adaptor/budget.hpp>
#include <ashlar/adaptor/chain.hpp>
#include <ashlar/adaptor/fallback.hpp>
#include <ashlar/adaptor/fallback_monitor.hpp>
#include <ashlar/adaptor/guarding.hpp>
#include <ashlar/adaptor/limiting.hpp>
#include <ashlar/adaptor/logging.hpp>
#include <ashlar/adaptor/profiling.hpp>
#include <ashlar/adaptor/segregator.hpp>
#include <ashlar/adaptor/statistics.hpp>
#include <ashlar/adaptor/synchronized.hpp>
#include <ashlar/adaptor/trace_log.hpp>
#include <ashlar/adaptor/tracing.hpp>
#include <ashlar/adaptor/tracking.hpp>
#include <ashlar/base/resource.hpp>
#include <ashlar/base/trace_source.hpp>

#include "tests/support/able_resource.hpp"
#include "tests/support/counting_resource.hpp"

namespace ashlar_test {

// Everything here is made from a `counting_resource<>&`, the source of all memory. `R` is the resource under an
// adaptor: another adaptor, or an `able_resource`.

template <class R>
struct maker_on {
  counting_resource<>* below = nullptr;
  [[nodiscard]] R operator()() const { return R(*below); }
};

/// Both sides are `R`s.
template <class R>
struct fallback_on : ashlar::fallback<R, R> {
  explicit fallback_on(counting_resource<>& below) : ashlar::fallback<R, R>(below, below) {}
};

template <class R>
struct segregator_on : ashlar::segregator<R, R> {
  explicit segregator_on(counting_resource<>& below)
      : ashlar::segregator<R, R>(ashlar::threshold{100, 64}, below, below) {}
};

template <class R>
using chain_of = ashlar::chain<R, ashlar::resource_ref<counting_resource<>>, maker_on<R>>;
template <class R>
struct chain_on : chain_of<R> {
  explicit chain_on(counting_resource<>& below) : chain_of<R>({.max_count = 3}, {&below}, below) {}
};

struct budget_on_hand {
  ashlar::budget budget_on_hand_{std::size_t{1} << 20};
};
template <class R>
struct limiting_on : budget_on_hand, ashlar::limiting<R> {
  explicit limiting_on(counting_resource<>& below) : ashlar::limiting<R>(this->budget_on_hand_, below) {}
};

struct no_log {
  static constexpr bool is_thread_safe = true;
  static void write(std::string_view) noexcept {}
};

struct no_file {
  [[nodiscard]] static bool write(std::span<const std::byte>) { return true; }
};
using no_trace = ashlar::trace_log<ashlar::trace::raw_codec, no_file>;
template <class R>
struct tracing_on : ashlar::tracing<R, no_trace> {
  explicit tracing_on(counting_resource<>& below) : ashlar::tracing<R, no_trace>(trace_of_all(), below) {}
  static no_trace& trace_of_all() {
    static no_trace log{no_file()};
    return log;
  }
};

}  // namespace ashlar_test

/// `X(name, type on R)` for every adaptor; `adaptor_named::name<R>` is that type.
#define ASHLAR_EACH_ADAPTOR(X)                        \
  X(chain, ashlar_test::chain_on<R>)                  \
  X(fallback, ashlar_test::fallback_on<R>)            \
  X(guarding, ashlar::guarding<R>)                    \
  X(limiting, ashlar_test::limiting_on<R>)            \
  X(logging, ashlar::logging<R, ashlar_test::no_log>) \
  X(profiling, ashlar::profiling<R>)                  \
  X(segregator, ashlar_test::segregator_on<R>)        \
  X(fallback_monitor, ashlar::fallback_monitor<R>)    \
  X(statistics, ashlar::statistics<R>)                \
  X(synchronized, ashlar::synchronized<R>)            \
  X(tracing, ashlar_test::tracing_on<R>)              \
  X(tracking, ashlar::tracking<R>)

namespace ashlar_test::adaptor_named {
#define ASHLAR_NAME_ADAPTOR(label, ...) \
  template <class R>                    \
  using label = __VA_ARGS__;
ASHLAR_EACH_ADAPTOR(ASHLAR_NAME_ADAPTOR)
#undef ASHLAR_NAME_ADAPTOR
}  // namespace ashlar_test::adaptor_named
