// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the set of regions: each is found from any address of its blocks, even if the table guesses wrong.
#include <ashlar/detail/tlsf/tlsf_regions.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/detail/support/poison.hpp>

namespace {

using ashlar::detail::tlsf_region;

class tlsf_region_sets : public ::testing::Test {
protected:
  ~tlsf_region_sets() override { ashlar::detail::mark_live(memory_.data(), memory_.size()); }

  // Makes a region of the next `bytes` of the memory.
  tlsf_region* add(std::size_t bytes) {
    tlsf_region* const made = tlsf_region::make({memory_.data() + used_, bytes}, std::size_t{1} << 30, true);
    used_ += bytes;
    set_.insert(made);
    return made;
  }

  [[nodiscard]] bool finds_all_of(tlsf_region* region) const {
    const std::byte* const first = region->first().data();
    for (const std::byte* at = first; region->holds(at); at += 4000)
      if (set_.find(at) != region) return false;
    return set_.find(region->end - ashlar::detail::tlsf_block::header_bytes - 1) == region;
  }

  std::size_t used_ = 0;
  std::vector<std::byte> memory_ = std::vector<std::byte>(std::size_t{12} << 20);
  ashlar::detail::tlsf_regions set_;
};

TEST_F(tlsf_region_sets, each_address_of_a_block_leads_to_its_region) {
  const std::vector<std::size_t> sizes = {4096, 70'000, 5'000, 5'000, 200'000, 33'000, 5'000'000, 1'000, 5'000'000};
  std::vector<tlsf_region*> regions;
  for (const std::size_t bytes : sizes) regions.push_back(add(bytes));
  for (tlsf_region* const each : regions) {
    EXPECT_TRUE(finds_all_of(each));
    EXPECT_EQ(set_.find(each), nullptr) << "the record is no block";
    EXPECT_EQ(set_.find(each->end), nullptr);
  }
  EXPECT_EQ(set_.find(nullptr), nullptr);
  EXPECT_EQ(set_.find(this), nullptr);
  EXPECT_TRUE(set_.invariant());
}

TEST_F(tlsf_region_sets, one_that_was_erased_is_not_found_and_not_read) {
  tlsf_region *const first = add(100'000), *const second = add(100'000), *const third = add(100'000);
  std::byte* const inside = second->first().data() + 50'000;
  set_.erase(second);
  ashlar::detail::mark_free(second, sizeof *second);
  EXPECT_EQ(set_.find(inside), nullptr);
  EXPECT_TRUE(finds_all_of(first) && finds_all_of(third));
  set_.clear();
  EXPECT_EQ(set_.find(first->first().data()), nullptr);
}

TEST_F(tlsf_region_sets, the_table_takes_no_room_where_nothing_is_looked_up) {
  EXPECT_TRUE(std::is_empty_v<ashlar::detail::tlsf_region_table<false>>);
  EXPECT_EQ(sizeof(ashlar::detail::tlsf_regions) == sizeof(void*), !ashlar::detail::tlsf_block::is_sealed);
}

}  // namespace
