// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thresholds of the rules for page and plan, by their names: what `--rule NAME=VALUE` sets.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace ashlar::cli {

/// The rule, and what it compares: "lifo.share". docs/advise-rules.md has the same table.
struct advice_threshold {
  std::string_view name;
  double standard = 0;
  double most = 1;  ///< The least is 0.
};

namespace threshold_limits {
inline constexpr double bytes = 1e15, count = 1e12, ratio = 1000;
}  // namespace threshold_limits

inline constexpr std::array advice_thresholds = {
    advice_threshold{"small.objects", 64, threshold_limits::count},
    advice_threshold{"small.share", 0.001},    // of calls, bytes, or the program's time
    advice_threshold{"small.ns", 50e3, 1e15},  // without the program's time: what no paired runs would show
    advice_threshold{"small.bytes", 1 << 20, threshold_limits::bytes},
    advice_threshold{"owner.share", 0.95},  // of the deaths, under one call of a function
    advice_threshold{"same_function.bytes", 4096, threshold_limits::bytes},
    advice_threshold{"same_function.epochs", 8, threshold_limits::count},
    advice_threshold{"growth.share", 0.4},  // of the blocks, that are given up for a larger one
    advice_threshold{"growth.chains", 8, threshold_limits::count},
    advice_threshold{"growth.spread", 2, threshold_limits::ratio},  // ninth tenth of the final sizes by their median
    advice_threshold{"growth.held", 1.5, threshold_limits::ratio},  // with what is reserved, by the bytes at the peak
    advice_threshold{"temporary.share", 0.9},
    advice_threshold{"temporary.held", 1.5, threshold_limits::ratio},  // by a block of each thread
    advice_threshold{"other_thread.share", 0.9},
    advice_threshold{"never_freed.share", 0.95},
    advice_threshold{"never_freed.bytes", 1 << 20, threshold_limits::bytes},
    advice_threshold{"never_freed.held", 1.3,
                     threshold_limits::ratio},  // by any remedy for objects that are never freed
    advice_threshold{"long_among_short.share", 0.95},
    advice_threshold{"long_among_short.life", 1 << 20, threshold_limits::bytes},  // allocated from birth to death
    advice_threshold{"long_among_short.of_all", 0.1},
    advice_threshold{"long_among_short.bytes", 1 << 20, threshold_limits::bytes},  // of the pages that they keep
    advice_threshold{"long_among_short.pages", 4, threshold_limits::ratio},        // by the pages that they need
    advice_threshold{"long_among_short.held", 1.5, threshold_limits::ratio},
    advice_threshold{"lifo.share", 0.99},
    advice_threshold{"lifo.held", 1.5, threshold_limits::ratio},  // by an arena, by the live bytes; so are the others
    advice_threshold{"batch.objects", 16, threshold_limits::count},
    advice_threshold{"batch.share", 0.8},  // of the objects, that die in the last run of frees
    advice_threshold{"batch.ended", 0.9},  // of the objects, that are of an ended epoch
    advice_threshold{"batch_in_function.held", 1.3, threshold_limits::ratio},
    advice_threshold{"fixed_phase.phases", 4, threshold_limits::count},
    advice_threshold{"fixed_phase.objects", 16, threshold_limits::count},  // in each
    advice_threshold{"fixed_phase.share", 0.95},                           // of the objects, that live in phases
    advice_threshold{"batch.held", 1.5, threshold_limits::ratio},
    advice_threshold{"few_sizes.sizes", 4, threshold_limits::count},
    advice_threshold{"few_sizes.held", 1.5, threshold_limits::ratio},
    advice_threshold{"arena.served", 0.5},                              // of the objects: the others are too large
    advice_threshold{"plan.objects", 64, threshold_limits::count},      // of a site
    advice_threshold{"plan.bytes", 1 << 14, threshold_limits::bytes},   // of it, alive at once
    advice_threshold{"plan.block", 1024, threshold_limits::bytes},      // of larger ones few share a line or a page
    advice_threshold{"plan.life", 1 << 16, threshold_limits::bytes},    // what dies sooner comes from caches
    advice_threshold{"plan.share", 0.85},                               // of the objects, that live so long
    advice_threshold{"plan.sizes", 2, threshold_limits::count},         // of a pool
    advice_threshold{"plan.held", 1.1, threshold_limits::ratio},        // by an arena
    advice_threshold{"plan.batch_held", 1.3, threshold_limits::ratio},  // by an arena of batches
    advice_threshold{"plan.group_objects", 1024, threshold_limits::count},
    advice_threshold{"plan.group_bytes", 1 << 17, threshold_limits::bytes},
};

/// The place of a threshold in the table. A name that is not there does not compile.
class threshold_name {
public:
  consteval threshold_name(const char* name) {
    while (advice_thresholds[number_].name != name) ++number_;
  }
  [[nodiscard]] constexpr std::size_t number() const noexcept { return number_; }

private:
  std::size_t number_ = 0;
};

/// Below these advice is silent: a wrong proposal costs more than a missed one.
class advice_limits {
public:
  advice_limits() {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = advice_thresholds[i].standard;
  }

  [[nodiscard]] double operator[](threshold_name name) const noexcept { return values_[name.number()]; }
  /// Returns: these limits with another value.
  [[nodiscard]] advice_limits with(threshold_name name, double value) const {
    advice_limits changed = *this;
    changed.values_[name.number()] = value;
    return changed;
  }
  /// Returns: these limits without those on amounts: of a remedy that is for more objects than these.
  [[nodiscard]] advice_limits for_any_amount() const {
    advice_limits changed = *this;
    for (const threshold_name name : {threshold_name("same_function.epochs"), threshold_name("growth.chains"),
                                      threshold_name("never_freed.bytes"), threshold_name("long_among_short.bytes"),
                                      threshold_name("batch.objects"), threshold_name("fixed_phase.objects")})
      changed.values_[name.number()] = 0;
    return changed;
  }
  [[nodiscard]] double& at(std::size_t number) noexcept { return values_[number]; }
  [[nodiscard]] double at(std::size_t number) const noexcept { return values_[number]; }

  double pair_ns = 20;    ///< Time of a malloc and its free.
  double program_ns = 0;  ///< Of an unrecorded run; 0: unknown.

private:
  std::array<double, advice_thresholds.size()> values_{};
};

/// Returns: the mistake in "NAME=VALUE"; empty if there is none.
[[nodiscard]] std::string check_threshold_text(const std::string& text);

/// Effects: sets the threshold. Expects: `check_threshold_text` finds no mistake.
void set_threshold(advice_limits& limits, const std::string& text);

/// Returns: the values by their names; all, or those that are not the standard.
[[nodiscard]] std::map<std::string, double> all_thresholds(const advice_limits& limits);
[[nodiscard]] std::map<std::string, double> changed_thresholds(const advice_limits& limits);

}  // namespace ashlar::cli
