// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of writes to dead blocks of TLSF at level hardened: each byte, found at its next use or in a sweep.
#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/bits.hpp>
#include <ashlar/base/error.hpp>
#include <ashlar/detail/checks/poison.hpp>
#include <ashlar/detail/tlsf/tlsf_poison.hpp>
#include <ashlar/resource/new_delete_resource.hpp>
#include <ashlar/resource/null_resource.hpp>
#include <ashlar/resource/tlsf_resource.hpp>

#include "tests/death/caught.hpp"

namespace {

using ashlar::fault;
using ashlar_test::caught_in;
using in_buffer = ashlar::tlsf_resource<ashlar::null_resource>;
using growing = ashlar::tlsf_resource<ashlar::new_delete_resource>;

// A resource that can be abandoned, even with destroyed tags.
class abandoned {
public:
  explicit abandoned(std::span<std::byte> memory)
      : resource_(*::new(static_cast<void*>(place_.data())) in_buffer(memory)) {}
  abandoned(const abandoned&) = delete;
  abandoned& operator=(const abandoned&) = delete;
  in_buffer* operator->() const { return &resource_; }

private:
  alignas(in_buffer) std::array<std::byte, sizeof(in_buffer)> place_{};
  in_buffer& resource_;
};

class tlsf_dead_blocks : public ::testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::keeps_canaries)
      GTEST_SKIP() << "poison is kept at level hardened, where no tool sees each access";
  }

  std::span<std::byte> memory() {
    std::byte* const page = ashlar::detail::align_up(memory_.data(), 4096);
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

void free_middle(in_buffer& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[1]); }
void free_with_front(in_buffer& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[0]), r.deallocate(p[1]); }
void free_with_back(in_buffer& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[2]), r.deallocate(p[1]); }
void free_before_back(in_buffer& r, const std::array<std::byte*, 3>& p) { r.deallocate(p[1]), r.deallocate(p[2]); }

TEST_F(tlsf_dead_blocks, a_write_to_any_byte_is_seen_when_the_block_is_used_again) {
  for (const std::size_t bytes : sizes)
    for (std::size_t at = 0; at < bytes; at += bytes > 1000 ? 37 : 1)
      expect_seen(bytes, at, free_middle, [bytes](in_buffer& r, const auto& p) {
        EXPECT_EQ(r.try_allocate(bytes, 16), p[1]) << "nothing was seen";
      });
}

TEST_F(tlsf_dead_blocks, a_write_to_any_byte_is_detected_at_the_end_after_any_coalescing) {
  for (const auto free : {free_middle, free_with_front, free_with_back, free_before_back})
    for (const std::size_t bytes : sizes)
      for (std::size_t at = 0; at < bytes; at += bytes > 1000 ? 97 : 3)
        expect_seen(bytes, at, free, [](in_buffer& r, const auto&) { r.release(); });
}

TEST_F(tlsf_dead_blocks, a_write_is_seen_when_its_part_of_a_joined_block_is_used_again) {
  for (const auto free : {free_with_front, free_with_back, free_before_back})
    for (const std::size_t bytes : {100u, 1000u})
      for (std::size_t at = 0; at < bytes; at += 3)
        expect_seen(bytes, at, free, [bytes](in_buffer& r, const auto&) {
          for (std::size_t taken = 0; taken < 3 * bytes + 200; taken += 24) static_cast<void>(r.try_allocate(24, 8));
        });
}

TEST_F(tlsf_dead_blocks, a_write_is_seen_when_a_neighbour_grows_over_it) {
  for (const std::size_t at : {0u, 16u, 50u, 99u})
    expect_seen(100, at, free_middle,
                [](in_buffer& r, const auto& p) { static_cast<void>(r.try_expand(p[0], 100, 200, 16)); });
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
  constexpr std::size_t bytes = 300'000, start = ashlar::detail::tlsf_poison_kept::most_at_start;
  for (const std::size_t at :
       {std::size_t{100}, start - 1, bytes - ashlar::detail::tlsf_poison_kept::most_at_end + 16, bytes - 1})
    expect_seen(bytes, at, free_middle, [](in_buffer& r, const auto&) { r.release(); });
  const abandoned r(memory());
  auto* const p = static_cast<std::byte*>(r->allocate(bytes, 16));
  static_cast<void>(r->allocate(24, 16));
  r->deallocate(p);
  p[bytes / 2] = std::byte{1};
  EXPECT_TRUE(r->invariant());
  EXPECT_FALSE(caught_in([&] { r->release(); }).has_value());
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
