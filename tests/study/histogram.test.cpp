// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the histogram against sorted values.
#include <ashlar/study/histogram.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using ashlar::study::coarse_histogram;
using ashlar::study::fine_histogram;

TEST(histogram, buckets_tile_the_values) {
  EXPECT_EQ(fine_histogram::lower(0), 0u);
  for (std::size_t i = 0; i + 1 < fine_histogram::buckets; ++i) {
    EXPECT_EQ(fine_histogram::upper(i) + 1, fine_histogram::lower(i + 1));
    EXPECT_EQ(fine_histogram::bucket_of(fine_histogram::lower(i)), i);
    EXPECT_EQ(fine_histogram::bucket_of(fine_histogram::upper(i)), i);
  }
  EXPECT_EQ(fine_histogram::upper(fine_histogram::buckets - 1), ~std::uint64_t{0});
  EXPECT_EQ(fine_histogram::bucket_of(~std::uint64_t{0}), fine_histogram::buckets - 1);
}

TEST(histogram, coarse_buckets_are_powers_of_two) {
  EXPECT_EQ(coarse_histogram::bucket_of(0), 0u);
  EXPECT_EQ(coarse_histogram::bucket_of(1), 1u);
  EXPECT_EQ(coarse_histogram::bucket_of(2), 2u);
  EXPECT_EQ(coarse_histogram::bucket_of(3), 2u);
  EXPECT_EQ(coarse_histogram::lower(11), 1024u);
  EXPECT_EQ(coarse_histogram::upper(11), 2047u);
}

TEST(histogram, quantiles_are_those_of_the_values_within_a_bucket) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> values;
  fine_histogram h;
  for (int i = 0; i < 20000; ++i) values.push_back(random() >> (random() % 60));
  for (const std::uint64_t v : values) h.record(v);
  std::sort(values.begin(), values.end());
  for (const double q : {0.0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::max(std::ceil(q * 20000.0), 1.0)) - 1;
    const auto exact = static_cast<double>(values[rank]);
    const auto got = static_cast<double>(h.quantile(q));
    EXPECT_GE(got, exact) << q;
    EXPECT_LE(got, exact * (1 + 1.0 / 32)) << q;
  }
  EXPECT_EQ(h.max(), values.back());
  EXPECT_EQ(h.quantile(1.0), values.back());
}

TEST(histogram, of_nothing_is_zero) {
  const fine_histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.quantile(0.5), 0u);
  EXPECT_EQ(h.max(), 0u);
}

TEST(histogram, merging_is_as_recording_all_in_one) {
  fine_histogram one, two, both;
  for (std::uint64_t v = 1; v < 4000; v += 3) {
    (v % 2 == 0 ? one : two).record(v * v, v);
    both.record(v * v, v);
  }
  one.merge(two);
  EXPECT_EQ(one.count(), both.count());
  EXPECT_EQ(one.max(), both.max());
  EXPECT_DOUBLE_EQ(one.sum(), both.sum());
  for (const double q : {0.1, 0.5, 0.99}) EXPECT_EQ(one.quantile(q), both.quantile(q));
}

TEST(histogram, for_each_visits_what_was_counted_in_order) {
  coarse_histogram h;
  h.record(5);
  h.record(0, 3);
  h.record(6);
  std::vector<std::uint64_t> seen;
  h.for_each(
      [&](std::uint64_t lower, std::uint64_t upper, std::uint64_t n) { seen.insert(seen.end(), {lower, upper, n}); });
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 0, 3, 4, 7, 2}));
}

}  // namespace
