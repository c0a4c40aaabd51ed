// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of cells: layout and words, quarantine, slabs behind a thread cache, and the limits of its free lists.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bitmap.hpp>
#include <ashlar/detail/heap/cell_quarantine.hpp>
#include <ashlar/detail/heap/exact_sizes.hpp>
#include <ashlar/detail/heap/huge_store.hpp>
#include <ashlar/detail/heap/page_map.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/detail/heap/small_store.hpp>
#include <ashlar/detail/heap/span_store.hpp>
#include <ashlar/detail/heap/thread_cache.hpp>
#include <ashlar/detail/slab/size_classes.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/resource/page_resource.hpp>

#include "tests/support/counting_resource.hpp"

namespace {

using ashlar::detail::cell_layout;
using ashlar::detail::size_classes;
using ashlar::detail::slice_bytes;

TEST(cell_words, clear_and_verify_each_byte) {
  constexpr std::size_t beside = 16;
  alignas(16) std::array<unsigned char, 320 + 2 * beside> memory;
  for (const std::size_t bytes : {16u, 32u, 48u, 128u, 256u, 320u}) {
    memory.fill(0xAA);
    unsigned char* const cell = memory.data() + beside;
    ashlar::detail::clear_free(cell, bytes);
    EXPECT_EQ(std::count(cell, cell + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(std::ranges::count(memory, 0xAA), static_cast<std::ptrdiff_t>(memory.size() - bytes)) << "its neighbours";
    EXPECT_TRUE(ashlar::detail::is_zero(cell, bytes));
    for (std::size_t at = 0; at < bytes; ++at) {
      cell[at] = 1;
      EXPECT_FALSE(ashlar::detail::is_zero(cell, bytes)) << at;
      cell[at] = 0;
    }
  }
}

// The sampled addresses of all slabs of a class account for the bytes of these slabs.
TEST(cell_layout, samples_stand_for_all_bytes_of_their_class) {
  EXPECT_TRUE(ashlar::detail::is_sampled(nullptr));
  for (std::size_t number = 1; number <= size_classes::count; ++number) {
    const cell_layout layout = cell_layout::of(number);
    std::size_t samples = 0;
    for (std::size_t turn = 0; turn < layout.colours; ++turn) {
      const std::size_t colour = layout.colour(turn);
      for (std::size_t cell = 0; cell < layout.capacity(colour); ++cell) {
        const std::size_t at = 7 * slice_bytes + colour + cell * layout.cell_bytes;
        samples += ashlar::detail::is_sampled(reinterpret_cast<const void*>(at)) ? 1u : 0u;
      }
    }
    ASSERT_GT(samples, 0u);
    EXPECT_EQ(ashlar::detail::bytes_per_sample(number), layout.colours * layout.slices * slice_bytes / samples);
    EXPECT_LE(samples * 2, layout.colours * layout.capacity(0)) << "few of the cells of class " << number;
  }
}

// More groups than passes over the list.
TEST(freed_cells_test, leaves_in_groups) {
  constexpr std::size_t groups = 6;
  ashlar::detail::freed_cells<4> freed;
  char cells[decltype(freed)::most];
  for (char& each : cells) EXPECT_TRUE(freed.try_add(2, &each));
  const auto place = [&](void* cell) { return static_cast<std::size_t>(static_cast<char*>(cell) - cells); };
  std::vector<std::size_t> group, all;
  std::size_t ended = 0;
  freed.take_groups(
      2, [&](void* cell) { group = {place(cell)}; },
      [&](void* cell) {
        const bool is_same = place(cell) % groups == group[0] % groups;
        if (is_same) group.push_back(place(cell));
        return is_same;
      },
      [&] { all.insert(all.end(), group.begin(), group.end()), ++ended; });
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), std::size(cells));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
  EXPECT_LT(ended, 16u);
}

using ashlar::detail::cell_batch;
using ashlar::detail::cell_quarantine;

constexpr std::size_t largest = 32768;

class cell_quarantine_test : public ::testing::Test {
protected:
  // Puts a group at the next address. Returns: the places of those that have left.
  std::vector<std::size_t> put(std::size_t cell_bytes, std::uint64_t mask = 1) {
    std::vector<std::size_t> left;
    std::byte* const base = &addresses_[bytes_of_.size()];
    bytes_of_.push_back(ashlar::detail::count_bits(mask) * cell_bytes);
    waiting_.put({base, mask}, cell_bytes, [&](const cell_batch& each) {
      left.push_back(place_of(each));
      return bytes_of_[left.back()];
    });
    EXPECT_TRUE(is_right());
    return left;
  }

  [[nodiscard]] std::size_t place_of(const cell_batch& group) const {
    return static_cast<std::size_t>(group.base - addresses_.data());
  }
  [[nodiscard]] bool is_right() const {
    return waiting_.invariant([this](const cell_batch& each) { return bytes_of_[place_of(each)]; });
  }

  std::array<std::byte, 20000> addresses_;
  std::vector<std::size_t> bytes_of_;
  cell_quarantine waiting_;
};

TEST_F(cell_quarantine_test, shares_the_bytes_of_the_process) {
  constexpr std::size_t many = 100;
  std::list<cell_quarantine> others(many);
  const cell_batch any{addresses_.data(), 1};
  const auto leave = [](const cell_batch&) { return largest; };
  std::size_t bytes = 0;
  for (cell_quarantine& each : others) {
    for (int i = 0; i < 300; ++i) each.put(any, largest, leave);
    EXPECT_GT(each.bytes(), 0u) << "each has room of its own";
    bytes += each.bytes();
  }
  EXPECT_LE(bytes, cell_quarantine::common_bytes + many * cell_quarantine::own_bytes);
  others.clear();
  for (int i = 0; i < 300; ++i) static_cast<void>(put(largest));
  EXPECT_LE(waiting_.bytes(), cell_quarantine::most_bytes);
  EXPECT_GT(waiting_.bytes(), cell_quarantine::most_bytes / 2) << "the end of the others gives their share back";
}

TEST_F(cell_quarantine_test, lets_each_go_once_in_an_order_of_chance) {
  constexpr std::size_t puts = 10000;
  std::map<std::size_t, std::size_t> waits;
  std::size_t least = puts, most = 0;
  for (std::size_t i = 0; i < puts; ++i)
    for (const std::size_t each : put(16)) {
      EXPECT_TRUE(waits.emplace(each, i - each).second);
      least = std::min(least, i - each);
      most = std::max(most, i - each);
    }
  EXPECT_GT(least, cell_quarantine::most / 2);
  EXPECT_GT(most, cell_quarantine::most * 3 / 2);
  std::set<std::size_t> rest;
  waiting_.clear([&](const cell_batch& each) { return rest.insert(place_of(each)).second ? std::size_t{16} : 0; });
  for (const std::size_t each : rest) EXPECT_FALSE(waits.contains(each));
  EXPECT_EQ(waits.size() + rest.size(), puts);
  EXPECT_LE(rest.size(), cell_quarantine::most);
  EXPECT_EQ(waiting_.bytes(), 0u);
}

TEST_F(cell_quarantine_test, notes_a_wrong_cell) {
  static_cast<void>(put(64));
  EXPECT_FALSE(waiting_.invariant([](const cell_batch&) { return std::size_t{0}; }));
  EXPECT_FALSE(waiting_.invariant([](const cell_batch&) { return std::size_t{128}; }));
}

using ashlar_test::counting_resource;
using upstream_ref = ashlar::resource_ref<counting_resource<>>;

class small_store_test : public ::testing::Test {
protected:
  std::byte* take(std::size_t number) {
    void* p = lists_.pop(number);
    if (p != nullptr && ashlar::detail::is_sampled(p)) lists_.count_taken(number);
    if (p == nullptr) p = small_.take(number, lists_);
    if (p != nullptr) ashlar::detail::mark_live(p, size_classes::bytes_of(number));
    return static_cast<std::byte*>(p);
  }

  counting_resource<> upstream_;
  ashlar::detail::extent_map<upstream_ref> space_{ashlar::max_size, upstream_};
  ashlar::detail::span_store<upstream_ref> spans_{space_};
  ashlar::detail::small_store<upstream_ref> small_{spans_};
  ashlar::detail::thread_cache lists_;
};

TEST_F(small_store_test, a_sweep_reports_a_cell_that_was_freed_twice) {
  if (ashlar::checking_level == ashlar::checking::hardened) GTEST_SKIP() << "no free lists";
  const std::size_t number = size_classes::of(64);
  std::vector<std::byte*> held;
  for (int i = 0; i < 200; ++i) held.push_back(take(number));
  for (std::byte* const cell : {held[10], held[11], held[10]}) lists_.push(number, cell);
  EXPECT_DEATH(small_.sweep(lists_), "freed a block that is free");
  lists_.clear();
  lists_.push(number, held[10]);
  small_.sweep(lists_);
  lists_.push(number, held[150]);
  lists_.push(number, held[10]);
  EXPECT_DEATH(small_.sweep(lists_), "freed a block that is free") << "after cells of another word";
  lists_.clear();
}

// The free cells of a class are counted by its sampled addresses, and slabs of some colours contain none.
TEST_F(small_store_test, each_class_has_samples_whichever_others_grow_with_it) {
  for (std::size_t slab = 0; slab < 16; ++slab)
    for (std::size_t number = 1; number <= 8; ++number) {
      const std::size_t cells = slice_bytes / size_classes::bytes_of(number);
      for (std::size_t i = 0; i < cells; ++i) lists_.push(0, take(number));  // the free list of no class
    }
  std::size_t bytes[9] = {};
  while (void* const cell = lists_.pop(0)) {
    const std::size_t number = ashlar::detail::segment::size_class_of(cell);
    if (ashlar::detail::is_sampled(cell)) bytes[number] += ashlar::detail::sampled_bytes_of[number];
  }
  for (std::size_t number = 1; number <= 8; ++number) {
    EXPECT_GT(bytes[number], 8 * slice_bytes) << number;
    EXPECT_LT(bytes[number], 32 * slice_bytes) << number;
  }
}

// A program with one live block of a size at a time stays on the fast path.
TEST_F(small_store_test, what_a_class_hands_out_first_is_not_sampled) {
  for (std::size_t number = 1; number <= size_classes::count; ++number)
    EXPECT_FALSE(ashlar::detail::is_sampled(take(number))) << size_classes::bytes_of(number);
}

// From pages, since no variable has so large an alignment on Windows.
std::byte* const span = static_cast<std::byte*>(ashlar::page_resource().allocate(10 * slice_bytes, slice_bytes));

struct alignas(16) cell {
  std::array<std::byte, 16> bytes;
};

// A write to any byte of a link; the second word is the seal of level checked.
TEST(thread_cache, a_link_that_was_written_to_is_not_sound) {
  using stacks_type = ashlar::detail::thread_cache;
  if (!stacks_type::seals_links) GTEST_SKIP() << "links are sealed at level checked";
  std::array<cell, 4> cells{};
  stacks_type stacks;
  for (cell& each : cells) stacks.push(0, &each);
  for (cell& each : cells) {
    ashlar::detail::mark_readable(&each, sizeof(each));
    EXPECT_TRUE(stacks_type::is_sound(&each));
    for (std::size_t at = 0; at < stacks_type::link_bytes; ++at) {
      each.bytes[at] ^= std::byte{1};
      EXPECT_FALSE(stacks_type::is_sound(&each)) << at;
      each.bytes[at] ^= std::byte{1};
    }
  }
  cells[3] = cells[2];
  EXPECT_FALSE(stacks_type::is_sound(&cells[3])) << "it is another cell's";
  cells[3].bytes.fill(std::byte{});
  EXPECT_FALSE(stacks_type::is_sound(&cells[3]));
}

TEST(thread_cache, counts_its_bytes_by_sampled_addresses) {
  ashlar::detail::thread_cache cache;
  const std::size_t number = size_classes::of(64), each = ashlar::detail::sampled_bytes_of[number];
  EXPECT_EQ(each, ashlar::detail::bytes_per_sample(number));
  std::size_t counted = 0;
  for (; !cache.count_freed(number); ++counted) EXPECT_EQ(cache.bytes(), (counted + 1) * each);
  EXPECT_GT((counted + 1) * each, std::size_t{256} * 1024);
  cache.count_taken(number);
  EXPECT_EQ(cache.bytes(), counted * each);
  static_cast<void>(cache.count_freed(number + 1));
  cache.count_swept(number);
  EXPECT_EQ(cache.bytes(), ashlar::detail::sampled_bytes_of[number + 1]);
  cache.clear();
  EXPECT_EQ(cache.bytes(), 0u);
  cache.count_taken(number);
  EXPECT_EQ(cache.bytes(), 0u) << "what came from a batch was not counted";
}

TEST(thread_cache, has_free_spans_up_to_eight_megabytes) {
  std::vector<ashlar::detail::span_header> runs(20);
  ashlar::detail::thread_cache cache;
  std::size_t slices = 0;
  for (auto& run : runs) {
    run.cells = span, run.length = 10;
    if (!cache.has_room_for(run.length)) break;
    cache.push_span(run);
    EXPECT_EQ(cache.bytes(), (slices += 10) * slice_bytes);
  }
  EXPECT_EQ(slices, 120u);
  EXPECT_EQ(cache.pop_span(11), nullptr);
  EXPECT_EQ(cache.pop_span(6), nullptr) << "more than a half longer";
  EXPECT_EQ(cache.pop_span(7), span);
  EXPECT_EQ(cache.bytes(), 110 * slice_bytes);
  EXPECT_EQ(cache.reused_span_bytes(), 10 * slice_bytes);
  std::size_t visited = 0, swept = 0;
  cache.for_each_span([&](ashlar::detail::span_header&) { ++visited; });
  cache.sweep_spans([&](ashlar::detail::span_header&) { ++swept; });
  EXPECT_TRUE(visited == 11 && swept == 11 && !cache.has_spans() && cache.bytes() == 0);
  cache.push_span(runs[0]);
  cache.clear();
  EXPECT_TRUE(!cache.has_spans() && cache.bytes() == 0);
}

TEST(thread_cache, get_the_next_cells_of_a_batch_in_its_order) {
  ashlar::detail::thread_cache cache;
  ashlar::detail::cell_batch batch{span + 1024, 0b1110'1111'0101};
  cache.refill(3, batch, 16, span + 1024);
  EXPECT_EQ(batch.mask, 0b1000'0000'0001u) << "seven went, and the first cell comes last";
  for (const std::size_t place : {2u, 4u, 5u, 6u, 7u, 9u, 10u}) EXPECT_EQ(cache.pop(3), span + 1024 + place * 16);
  EXPECT_TRUE(cache.is_empty(3));
}

}  // namespace
