// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The facts of a call site on which advice rests: counted in one pass, in constant time an event.
#pragma once

#include <compare>

#include <ashlar/base/event.hpp>
#include <ashlar/study/histogram.hpp>
#include <ashlar/study/summary.hpp>

#include "cli/advise/models.hpp"

namespace ashlar::cli {

/// Buckets as in `study::histogram<SubBits>`. Memory: 16 bytes for each bucket with a count.
template <unsigned SubBits>
class sparse_counts {
public:
  /// Complexity: O(log buckets), O(1) for the bucket of the call before; O(buckets) for the first of a bucket.
  void record(std::uint64_t value, std::uint64_t times = 1) {
    const auto bucket = static_cast<std::uint32_t>(scale::bucket_of(value));
    count_ += times;
    max_ = std::max(max_, value);
    if (last_ >= rows_.size() || rows_[last_].first != bucket) last_ = place_of(bucket);
    rows_[last_].second += times;
  }

  void merge(const sparse_counts& other) {
    const std::uint64_t greatest = std::max(max_, other.max_);
    for (const auto& [bucket, times] : other.rows_) record(scale::lower(bucket), times);
    max_ = greatest;
  }

  /// Returns: the upper bound of the smallest bucket with at least `q * count()` values up to it, the maximum at most;
  /// 0 if there are no values.
  [[nodiscard]] std::uint64_t quantile(double q) const noexcept {
    std::uint64_t seen = 0;
    for (const auto& [bucket, times] : rows_) {
      seen += times;
      if (static_cast<double>(seen) >= q * static_cast<double>(count_)) return std::min(scale::upper(bucket), max_);
    }
    return max_;
  }

  /// Returns: the number of values in buckets that lie below `limit` as a whole.
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) const noexcept {
    std::uint64_t seen = 0;
    for (const auto& [bucket, times] : rows_)
      if (scale::upper(bucket) < limit) seen += times;
    return seen;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  /// Returns: the number of buckets in use, below 2^SubBits the number of distinct values.
  [[nodiscard]] std::size_t distinct() const noexcept { return rows_.size(); }

  /// Effects: calls `f(lower, upper, count)` for each bucket in use, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [bucket, times] : rows_) f(scale::lower(bucket), scale::upper(bucket), times);
  }

private:
  using scale = study::histogram<SubBits>;

  std::size_t place_of(std::uint32_t bucket) {
    const auto is_before = [](const auto& row, std::uint32_t b) { return row.first < b; };
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), bucket, is_before);
    const auto index = static_cast<std::size_t>(at - rows_.begin());
    if (at == rows_.end() || at->first != bucket) rows_.insert(at, {bucket, 0});
    return index;
  }

  std::vector<std::pair<std::uint32_t, std::uint64_t>> rows_;  // by bucket
  std::size_t last_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

/// The frames of the function around which birth and death have all calls in common: of its call that leads to the
/// birth, and of the one that leads to the death.
struct owner_calls {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t birth = none;  ///< None: the two have no call in common.
  std::uint32_t death = none;

  friend auto operator<=>(const owner_calls&, const owner_calls&) = default;
};

/// A page of most machines.
inline constexpr std::uint64_t advice_page_bytes = 4096;

inline constexpr std::size_t request_kinds = 6;  ///< malloc to new[]: `trace::is_allocation`.

/// Threads that do something to a site's objects: none, one in each trace, or several in one. A number means the same
/// thread within its trace only.
struct thread_set {
  bool any = false;
  bool several = false;
  std::uint32_t first = 0;  ///< Of several traces, the least of their first ones.

  void add(std::uint32_t thread) noexcept {
    several = several || (is_in_trace_ && thread != of_trace_);
    if (is_in_trace_) return;
    of_trace_ = thread;
    first = any ? std::min(first, thread) : thread;
    any = is_in_trace_ = true;
    pairs_ += (trace_ << 32 | thread) * 0x9E37'79B9'7F4A'7C15U;
  }
  /// Effects: adds another site's features. If the two were not in the same traces, they count as several.
  void add(const thread_set& others) noexcept {
    several = several || others.several || (any && others.any && pairs_ != others.pairs_);
    if (others.any && !any) *this = others;
  }
  void end_trace() noexcept {
    is_in_trace_ = false;
    ++trace_;
  }

private:
  bool is_in_trace_ = false;
  std::uint32_t of_trace_ = 0;
  std::uint64_t trace_ = 1;
  std::uint64_t pairs_ = 0;  // of traces and threads, mixed and summed
};

/// Growth: a block is followed by one of 1.4 to 2.2 times its size, and freed next. A chain is of one such container.
struct growth_features {
  std::uint64_t steps = 0;        ///< Blocks that were given up for a larger one.
  std::uint64_t chains = 0;       ///< Of two blocks at least, ended by a death that is no growth or by the trace.
  std::uint64_t moved_bytes = 0;  ///< In all steps.
  sparse_counts<10> final_bytes;  ///< Of the last block of each chain.
};

/// Batches: an epoch lasts until no object of the site is alive; its final run is the frees after its last birth.
struct epoch_features {
  std::uint64_t epochs = 0;
  std::uint64_t objects = 0;          ///< In all ended epochs.
  std::uint64_t in_final_runs = 0;    ///< Objects freed in them.
  std::uint64_t longest_objects = 0;  ///< Objects of the largest ended epoch.
  std::uint64_t born = 0;             ///< In the current epoch.
  std::uint64_t run = 0;              ///< Frees since the last birth.
};

/// What is left of a site's objects when the program has allocated for the last time: frees alone follow.
struct site_ending {
  study::amount live;
  std::uint64_t arena_bytes = 0;  ///< Of the chunks that they keep.
  std::uint64_t epochs = 0;       ///< Ended before.
};

struct site_features {
  static constexpr std::uint64_t no_size = ~std::uint64_t{0};

  study::amount allocated;
  study::amount live;
  study::amount never_freed;
  study::amount at_program_peak;    ///< Alive at the moment of the most live bytes, summed over the traces.
  study::amount seen_at_peak;       ///< The same in the current trace, as of `peak_version`.
  site_ending at_last_birth;        ///< Summed over the traces.
  site_ending seen_at_birth;        ///< In the current trace, as of `birth_version`.
  std::uint64_t birth_version = 0;  ///< Births of the program until then.
  std::uint64_t last_death = 0;     ///< The same, at the site's last death.
  double death_shares = 0;          ///< Of each trace the share of its births before the site's last death, summed.
  double live_at_deaths = 0;        ///< Bytes of the program that are alive at each death, summed.
  std::uint64_t epochs_before = 0;  ///< Ended in earlier traces.
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_objects = 0;
  std::uint64_t peak_version = 0;  ///< The peak of the program that `seen_at_peak` belongs to.
  std::array<std::uint64_t, request_kinds> requests{};
  std::uint64_t resized = 0;    ///< Births by a realloc of another block.
  std::uint64_t alignment = 0;  ///< The largest; 0: the default one.
  std::uint64_t last_size = no_size;
  std::uint64_t same_size = 0;  ///< Births of the size of the birth before.
  std::uint64_t freed = 0;
  std::uint64_t freed_by_others = 0;  ///< By a thread that did not allocate them.
  thread_set births, foreign_deaths;
  std::uint64_t temporary = 0;     ///< Freed before the thread's next allocation.
  std::uint64_t lifo_thread = 0;   ///< Freed as the youngest live object of their thread.
  std::uint64_t lifo_site = 0;     ///< Freed as the youngest live object of their return address and thread.
  std::uint64_t spread_pages = 0;  ///< Pages on which the objects would lie, were all blocks laid one after the other.
  std::uint64_t last_page = ~std::uint64_t{0};
  sparse_counts<10> sizes;
  sparse_counts<2> lifetime_ns;
  sparse_counts<2> lifetime_bytes;  ///< Bytes that the program allocated between birth and death.
  growth_features growth;
  epoch_features batches;
  std::map<owner_calls, std::uint64_t> owners;  ///< Deaths other than by growth.
  std::uint64_t without_owner = 0;
  std::uint64_t hidden_owner = 0;  ///< Of them those with a stack that was cut.
  counted_arena_model arena;

  /// Effects: prepares for a change of `live`: what is alive now was so at the program's last peak.
  void see_peak(std::uint64_t version) noexcept {
    if (peak_version == version) return;
    peak_version = version;
    seen_at_peak = live;
  }

  /// Effects: prepares for a death: what is alive now was so at the program's last birth.
  void see_last_birth(std::uint64_t version) noexcept {
    if (birth_version == version) return;
    birth_version = version;
    seen_at_birth = {live, arena.chunks() * counted_arena_model::chunk_bytes, batches.epochs - epochs_before};
  }

  /// Effects: adds a site whose objects are of the same source line, or of one remedy. What was not observed of both
  /// together is their sum: peaks, which they may have reached apart, and batches.
  void merge(const site_features& other);

  /// Returns: whether more than one thread allocates or frees them.
  [[nodiscard]] bool has_several_threads() const noexcept { return births.several || freed_by_others != 0; }

  /// Returns: the pool of the library for these objects.
  [[nodiscard]] pool_model pool() const noexcept {
    return pool_model::of(sizes.max(), peak_objects, alignment > 8 ? alignment : 8);
  }
};

}  // namespace ashlar::cli
