// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The summary of a trace: counts, sizes, lifetimes, threads, spans, live bytes over time and call sites.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/base/event.hpp>
#include <ashlar/study/histogram.hpp>
#include <ashlar/study/spans.hpp>
#include <ashlar/study/timeline.hpp>

namespace ashlar::ASHLAR_ABI::study {

/// A number of objects and the bytes requested for them.
struct amount {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t size) noexcept {
    ++objects;
    bytes += size;
  }
  void remove(std::uint64_t size) noexcept {
    --objects;
    bytes -= size;
  }
  friend bool operator==(const amount&, const amount&) = default;
};

/// Objects and bytes by size: exact up to 2 KiB, within 0.1 % above.
class size_table {
public:
  struct row {
    std::uint64_t least;
    std::uint64_t greatest;
    amount sum;
  };

  void record(std::uint64_t size) noexcept { sums_[scale::bucket_of(size)].add(size); }

  /// Returns: the sizes that occurred, in order.
  [[nodiscard]] std::vector<row> rows() const {
    std::vector<row> all;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      if (sums_[i].objects != 0) all.push_back({scale::lower(i), scale::upper(i), sums_[i]});
    return all;
  }

private:
  // 55 doublings of 1,024 steps, less than 1 MiB.
  using scale = histogram<10>;
  std::vector<amount> sums_ = std::vector<amount>(scale::buckets);
};

/// The counters of one thread.
struct thread_summary {
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_remote = 0;  ///< Objects of its own that another thread freed.
  std::uint64_t bytes = 0;         ///< Bytes requested.
  std::uint64_t live_bytes = 0;    ///< At the end, of those that it allocated.
  std::uint64_t peak_bytes = 0;    ///< The most of these at once.
  std::uint64_t name = 0;          ///< The id of its name; 0: none was given.
  bool ended = false;
};

/// The allocations of one call stack.
struct site_summary {
  amount allocated;
  amount live;             ///< At the end of the trace.
  double lifetime_ns = 0;  ///< Summed over the objects that were freed.
};

/// The result of `summariser`. A reallocation counts as an allocation and, if there was an old object, as a free.
struct trace_summary {
  std::array<std::uint64_t, trace::operation_count> operations{};
  std::uint64_t duration_ns = 0;
  amount allocated;  ///< Over the whole run.
  amount live;       ///< At the end: never freed.
  amount peak;       ///< At the moment with the most live bytes.
  std::uint64_t peak_ns = 0;
  std::uint64_t failed = 0;        ///< Allocating calls that returned null.
  std::uint64_t frees = 0;         ///< Of objects in the trace.
  std::uint64_t unknown = 0;       ///< Frees of objects that the trace does not contain.
  std::uint64_t cross_thread = 0;  ///< Frees by a thread that did not allocate the object.
  size_table sizes;
  fine_histogram lifetimes_ns;
  coarse_histogram lifetimes_bytes;  ///< Bytes allocated by all threads between an object's birth and its death.
  timeline live_bytes;
  std::map<std::uint32_t, thread_summary> threads;
  std::map<std::uint32_t, site_summary> sites;  ///< By call-stack id; 0 stands for no stack.
  span_table spans;
};

}  // namespace ashlar::ASHLAR_ABI::study
