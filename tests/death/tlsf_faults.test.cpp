// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of a tlsf_resource beyond the scenes of matrix/: every byte of its tags, links and dead blocks
// overwritten, found at its next use or in a sweep.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/support/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_poison.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/death/caught.hpp"
#include "tests/support/build.hpp"

namespace {

using ashlar::fault;
using ashlar::detail::tlsf_block;
using ashlar_test::caught_in;

using in_buffer = ashlar::tlsf_resource<ashlar::null_resource, ashlar::tlsf_small>;
constexpr bool is_hardened = ashlar::checking_level >= ashlar::checking::hardened;

class tlsf_faults : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
  ~tlsf_faults() override { r_.release(); }

  void* take(std::size_t bytes = 100) { return r_.allocate(bytes, 1); }

  // Starts again with a new resource, even over destroyed tags: at `hardened` a release would report them.
  void start_again() {
    ashlar::detail::mark_live(memory_.data(), memory_.size());
    ::new (static_cast<void*>(place_.data())) in_buffer(memory_);
  }

  template <class F>
  void expect_fault(fault kind, const void* p, F f) {
    const auto seen = caught_in(f);
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(ashlar::name_of(seen->kind), ashlar::name_of(kind)) << seen->what;
    EXPECT_EQ(seen->pointer, p) << seen->what;
    EXPECT_EQ(seen->resource, &r_);
  }

  alignas(16) std::array<std::byte, 16384> memory_;
  alignas(in_buffer) std::array<std::byte, sizeof(in_buffer)> place_{};
  in_buffer& r_ = *::new (static_cast<void*>(place_.data())) in_buffer(memory_);
};

TEST_F(tlsf_faults, an_old_pointer_is_refused_after_release) {
  void *const p = take(), *const q = take();
  r_.release();
  for (void* const each : {p, q}) EXPECT_TRUE(caught_in([&] { r_.deallocate(each); }).has_value());
}

TEST_F(tlsf_faults, a_second_free_of_a_joined_block_is_a_double_free) {
  for (const bool behind : {false, true}) {
    std::array<void*, 4> p;
    for (void*& each : p) each = take();
    r_.deallocate(p[behind ? 2 : 1]), r_.deallocate(p[behind ? 1 : 2]);
    const auto seen = caught_in([&] { r_.deallocate(p[2]); });
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->kind, fault::double_free);
    EXPECT_STREQ(seen->what, "freed a block that is free and coalesced");
    start_again();
  }
}

void overwrite(std::byte* at, std::size_t bytes, std::byte flip) {
  ashlar::detail::mark_readable(at, bytes);
  for (std::size_t i = 0; i < bytes; ++i) at[i] ^= flip;
}

TEST_F(tlsf_faults, a_header_that_was_overwritten_names_the_block_in_front) {
  for (std::size_t byte = 0; byte < tlsf_block::header_bytes; ++byte)
    for (const int flip : {1, 0x80, 0xFF}) {
      void* const p = take(24);
      auto* const q = static_cast<std::byte*>(take(24));
      overwrite(q - 1 - byte, 1, static_cast<std::byte>(flip));
      expect_fault(fault::overflow, p, [&] { r_.deallocate(p); });
      expect_fault(fault::overflow, p, [&] { r_.deallocate(q); });
      start_again();
    }
}

TEST_F(tlsf_faults, an_overflow_by_one_is_seen_at_hardened) {
  if (!is_hardened) GTEST_SKIP() << "looked for at level hardened";
  for (std::size_t bytes = 1; bytes <= 300; ++bytes) {
    auto* const p = static_cast<std::byte*>(take(bytes));
    overwrite(p + bytes, 1, std::byte{0x22});
    const auto seen = caught_in([&] { r_.deallocate(p, bytes, 1); });
    ASSERT_TRUE(seen.has_value()) << bytes;
    EXPECT_TRUE(seen->kind == fault::overflow || seen->kind == fault::size_mismatch) << seen->what;
    EXPECT_TRUE(caught_in([&] { static_cast<void>(r_.try_expand(p, bytes, 1, 1)); }).has_value());
    start_again();
  }
}

// Each byte of a link or tag of a free block, overwritten: a report or no effect, and never a forged pointer.
TEST_F(tlsf_faults, any_byte_of_a_free_block_overwritten_traps_or_does_nothing) {
  int traps = 0;
  const std::array<std::size_t, 3> parts = {0, sizeof(void*), 2 * sizeof(void*)};
  for (const std::size_t part : parts)
    for (std::size_t byte = 0; byte < sizeof(void*); ++byte) {
      std::array<void*, 9> p;
      for (void*& each : p) each = take(100);
      for (const std::size_t at : {1u, 3u, 5u, 7u}) r_.deallocate(p[at]);
      auto* const victim = static_cast<std::byte*>(p[5]);  // has a neighbour in its list at either side
      const std::size_t stride = tlsf_block::stride_for(100 + ashlar::detail::tlsf_slack::bytes);
      const std::size_t footer = stride - tlsf_block::header_bytes - tlsf_block::footer_bytes;
      overwrite((part == 2 * sizeof(void*) ? victim + footer : victim + part) + byte, 1, std::byte{0x10});
      const auto seen = caught_in([&] {
        for (int i = 0; i < 4; ++i) {
          void* const got = r_.try_allocate(100, 1);
          const bool is_real = got == p[1] || got == p[3] || got == p[5] || got == p[7];
          EXPECT_TRUE(is_real) << "a forged pointer";
        }
      });
      if (seen) EXPECT_EQ(seen->kind, fault::corrupt_link);
      const auto in_front = seen ? seen : caught_in([&] { r_.deallocate(p[6]); });
      traps += in_front ? 1 : 0;
      start_again();
    }
  EXPECT_EQ(traps, static_cast<int>(parts.size() * sizeof(void*)));
}

TEST_F(tlsf_faults, a_free_neighbour_that_was_written_to_is_seen_when_it_is_joined) {
  for (const bool from_behind : {false, true}) {
    void *const p = take(100), *const q = take(100);
    static_cast<void>(take(100));
    r_.deallocate(from_behind ? p : q);
    std::byte* const victim = static_cast<std::byte*>(from_behind ? p : q);
    overwrite(victim, 2 * sizeof(void*), std::byte{0x41});
    expect_fault(fault::corrupt_link, victim, [&] { r_.deallocate(from_behind ? q : p); });
    start_again();
  }
}

using any_size = ashlar::tlsf_resource<ashlar::null_resource>;
using growing = ashlar::tlsf_resource<ashlar::new_delete_resource>;

// A resource that can be abandoned, even with destroyed tags.
class abandoned {
public:
  explicit abandoned(std::span<std::byte> memory)
      : resource_(*::new(static_cast<void*>(place_.data())) any_size(memory)) {}
  abandoned(const abandoned&) = delete;
  abandoned& operator=(const abandoned&) = delete;
  any_size* operator->() const { return &resource_; }

private:
  alignas(any_size) std::array<std::byte, sizeof(any_size)> place_{};
  any_size& resource_;
};

class tlsf_dead_blocks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries)
      GTEST_SKIP() << "poison is kept at level hardened, where no tool sees each access";
  }

  std::span<std::byte> memory() {
    std::byte* const page = ashlar::align_up(memory_.data(), 4096);
    return {page, std::size_t{1} << 20};
  }

  // Calls `use` after a write to byte `at` of a dead block. Expects a report of that byte.
  template <class Free, class Use>
  void expect_seen(std::size_t bytes, std::size_t at, Free free, Use use) {
    const abandoned r(memory());
    std::array<std::byte*, 3> p;
    for (std::byte*& each : p) each = static_cast<std::byte*>(r->allocate(bytes, 16));
    free(*r.operator->(), p);
    p[1][at] ^= std::byte{0x41};
    const auto seen = caught_in([&] { use(*r.operator->(), p); });
    ASSERT_TRUE(seen.has_value()) << bytes << ' ' << at;
    EXPECT_EQ(ashlar::name_of(seen->kind), ashlar::name_of(fault::corrupt_link)) << seen->what;
    EXPECT_TRUE(seen->pointer == p[1] + at || is_beside_metadata(seen->pointer, p)) << bytes << ' ' << at;
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>((1 << 20) + 4096);

private:
  // Links and sizes refer to their block.
  static bool is_beside_metadata(const void* pointer, const std::array<std::byte*, 3>& p) {
    return std::find(p.begin(), p.end(), pointer) != p.end();
  }
};

constexpr std::array<std::size_t, 5> sizes = {24, 100, 128, 1000, 5000};

void free_middle(any_size& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[1]); }
void free_with_front(any_size& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[0]), r.deallocate(p[1]); }
void free_with_back(any_size& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[2]), r.deallocate(p[1]); }
void free_before_back(any_size& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[1]), r.deallocate(p[2]); }

TEST_F(tlsf_dead_blocks, a_write_to_any_byte_is_seen_when_the_block_is_used_again) {
  for (const std::size_t bytes : sizes)
    for (std::size_t at = 0; at < bytes; at += bytes > 1000 ? 37 : 1)
      expect_seen(bytes, at, free_middle, [bytes](any_size& r, const auto& p) {
        EXPECT_EQ(r.try_allocate(bytes, 16), p[1]) << "nothing was seen";
      });
}

TEST_F(tlsf_dead_blocks, a_write_to_any_byte_is_detected_at_the_end_after_any_coalescing) {
  for (const auto free : {free_middle, free_with_front, free_with_back, free_before_back})
    for (const std::size_t bytes : sizes)
      for (std::size_t at = 0; at < bytes; at += bytes > 1000 ? 97 : 3)
        expect_seen(bytes, at, free, [](any_size& r, const auto&) { r.release(); });
}

TEST_F(tlsf_dead_blocks, a_write_is_seen_when_its_part_of_a_joined_block_is_used_again) {
  for (const auto free : {free_with_front, free_with_back, free_before_back})
    for (const std::size_t bytes : {100u, 1000u})
      for (std::size_t at = 0; at < bytes; at += 3)
        expect_seen(bytes, at, free, [bytes](any_size& r, const auto&) {
          for (std::size_t taken = 0; taken < 3 * bytes + 200; taken += 24) static_cast<void>(r.try_allocate(24, 8));
        });
}

TEST_F(tlsf_dead_blocks, a_write_to_any_byte_is_detected_where_a_neighbour_is_freed_afterwards) {
  for (const std::size_t neighbour : {0u, 2u})
    for (const std::size_t bytes : {24u, 40u, 56u, 72u, 100u})
      for (std::size_t at = 0; at < bytes; ++at)
        expect_seen(bytes, at, free_middle,
                    [neighbour](any_size& r, const auto& p) { r.deallocate(p[neighbour]), r.release(); });
}

TEST_F(tlsf_dead_blocks, a_write_is_seen_when_a_neighbour_grows_over_it) {
  for (const std::size_t at : {0u, 16u, 50u, 99u})
    expect_seen(100, at, free_middle,
                [](any_size& r, const auto& p) { static_cast<void>(r.try_expand(p[0], 100, 200, 16)); });
}

TEST_F(tlsf_dead_blocks, a_write_to_the_gap_in_front_of_an_aligned_block_is_seen_at_the_end) {
  const abandoned r(memory());
  static_cast<void>(r->allocate(24, 16));
  auto* const old = static_cast<std::byte*>(r->allocate(4000, 16));
  r->deallocate(old);
  auto* const p = static_cast<std::byte*>(r->allocate(64, 1024));
  ASSERT_GT(p, old + 200);
  old[100] ^= std::byte{1};
  const auto seen = caught_in([&] { r->release(); });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->pointer, old + 100);
}

TEST_F(tlsf_dead_blocks, what_a_block_gave_up_in_place_is_dead) {
  for (const std::size_t at : {200u, 500u, 900u, 999u}) {
    const abandoned r(memory());
    auto* const p = static_cast<std::byte*>(r->allocate(1000, 16));
    static_cast<void>(r->allocate(24, 16));
    ASSERT_TRUE(r->try_expand(p, 1000, 100, 16));
    p[at] ^= std::byte{1};
    const auto seen = caught_in([&] { static_cast<void>(r->try_expand(p, 100, 1000, 16)); });
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(ashlar::name_of(seen->kind), ashlar::name_of(fault::corrupt_link));
  }
}

TEST_F(tlsf_dead_blocks, of_a_large_block_the_first_64_kib_and_the_last_4_are_watched) {
  constexpr std::size_t bytes = 300'000, start = ashlar::detail::basic_tlsf_poison<true>::most_at_start;
  for (const std::size_t at :
       {std::size_t{100}, start - 1, bytes - ashlar::detail::basic_tlsf_poison<true>::most_at_end + 16, bytes - 1})
    expect_seen(bytes, at, free_middle, [](any_size& r, const auto&) { r.release(); });
  const abandoned r(memory());
  auto* const p = static_cast<std::byte*>(r->allocate(bytes, 16));
  static_cast<void>(r->allocate(24, 16));
  r->deallocate(p);
  p[bytes / 2] = std::byte{1};
  EXPECT_TRUE(r->invariant());
  EXPECT_FALSE(caught_in([&] { r->release(); }).has_value());
}

TEST_F(tlsf_dead_blocks, a_region_that_was_never_handed_out_is_not_touched) {
  std::ranges::fill(memory_, std::byte{0x5A});
  const abandoned r(memory());
  r->deallocate(r->allocate(100, 16));
  const auto rest = memory().subspan(4096, (1 << 20) - 8192);
  EXPECT_EQ(std::ranges::count(rest, std::byte{0x5A}), std::ssize(rest));
}

TEST_F(tlsf_dead_blocks, an_empty_region_is_looked_at_when_it_goes) {
  const auto write_and = [](auto use) {
    growing r({.growth = {.smallest = 65536, .largest = 65536, .divisor = 2}});
    auto* const p = static_cast<std::byte*>(r.allocate(1000, 16));
    r.deallocate(p);
    p[700] ^= std::byte{1};
    const bool is_seen = caught_in([&] { use(r); }).has_value();
    p[700] ^= std::byte{1};
    return is_seen;
  };
  EXPECT_TRUE(write_and([](growing& r) { r.trim(); }));
  EXPECT_TRUE(write_and([](growing& r) { r.release(); }));
}

TEST_F(tlsf_dead_blocks, a_live_block_is_looked_at_when_the_resource_is_released) {
  for (const std::size_t at : {100u, 104u}) {
    const abandoned r(memory());
    auto* const p = static_cast<std::byte*>(r->allocate(100, 16));
    static_cast<void>(r->allocate(24, 16));
    p[at] ^= std::byte{0x41};
    const auto seen = caught_in([&] { r->release(); });
    ASSERT_TRUE(seen.has_value()) << at;
    EXPECT_EQ(ashlar::name_of(seen->kind), ashlar::name_of(fault::overflow));
  }
}

}  // namespace
