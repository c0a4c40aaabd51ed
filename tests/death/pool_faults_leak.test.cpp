// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of cells that are live at the end of their pool: counted exactly, reported once, however allocated.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/face/pool_allocator.hpp>
#include <ashlar/resource/block_pool.hpp>

#include "tests/support/build.hpp"
#include "tests/support/death.hpp"

namespace {

using ashlar::block_pool;
using ashlar::leaked_blocks;
using pool_type = block_pool<>;

struct told {
  const void* resource;
  std::size_t count;
  std::size_t block_bytes;
  std::size_t bytes;
  std::vector<const void*> first;
};

std::vector<told> reports;

void note(const leaked_blocks& leak) noexcept {
  reports.push_back({leak.resource, leak.count, leak.block_bytes, leak.bytes, {leak.first.begin(), leak.first.end()}});
}

class pool_faults_leak : public ::testing::Test {
protected:
  void SetUp() override {
    reports.clear();
    ashlar::set_leak_handler(&note);
    if (!ashlar_test::is_checked) GTEST_SKIP() << "looked for from level checked on";
  }
  void TearDown() override { ashlar::set_leak_handler(nullptr); }
};

/// Returns: the report at the end of a pool after `use(pool)`.
template <class Use>
std::vector<told> reports_after(const ashlar::block_pool_options& options, Use use) {
  {
    pool_type pool(options);
    use(pool);
  }
  return reports;
}

void expect_one(const std::vector<told>& got, std::size_t count, std::size_t block_bytes) {
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].count, count);
  EXPECT_EQ(got[0].block_bytes, block_bytes);
  EXPECT_EQ(got[0].bytes, count * block_bytes);
  EXPECT_EQ(got[0].first.size(), std::min(count, leaked_blocks::most_shown));
}

TEST_F(pool_faults_leak, counts_and_bytes_are_exact) {
  for (const std::size_t cell_bytes : {1u, 24u, 4096u})
    for (const std::size_t leaked : {1u, 7u, 8u, 9u, 1000u}) {
      reports.clear();
      std::vector<const void*> left;
      const auto got = reports_after({.cell_bytes = cell_bytes}, [&](auto& pool) {
        std::vector<void*> cells;
        for (std::size_t i = 0; i < 3 * leaked; ++i) cells.push_back(pool.allocate());
        for (std::size_t i = 0; i < cells.size(); ++i)
          if (i % 3 == 0) left.push_back(cells[i]);
          else pool.deallocate(cells[i]);
      });
      expect_one(got, leaked, cell_bytes);
      std::ranges::sort(left, std::less<>());
      left.resize(std::min(left.size(), leaked_blocks::most_shown));
      EXPECT_EQ(got.at(0).first, left);
    }
}

// A release declares that all blocks may go.
TEST_F(pool_faults_leak, a_pool_used_again_after_release_is_looked_at_again) {
  expect_one(reports_after({.cell_bytes = 24},
                           [](auto& pool) {
                             static_cast<void>(pool.allocate());
                             pool.release();
                             static_cast<void>(pool.allocate());
                           }),
             1, 24);
}

TEST_F(pool_faults_leak, each_pool_speaks_for_itself) {
  {
    pool_type a({.cell_bytes = 8});
    pool_type b({.cell_bytes = 8});
    pool_type c({.cell_bytes = 16});
    static_cast<void>(a.allocate());
    for (int i = 0; i < 3; ++i) static_cast<void>(c.allocate());
  }
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].bytes, 48u);
  EXPECT_EQ(reports[1].bytes, 8u);
}

// The default handler writes one line, and the program continues to its end.
TEST_F(pool_faults_leak, the_default_is_one_line) {
  const auto leak_and_go_on = [] {
    ashlar::set_leak_handler(nullptr);
    {
      pool_type pool({.cell_bytes = 24});
      for (int i = 0; i < 3; ++i) static_cast<void>(pool.allocate());
    }
    std::_Exit(17);
  };
  const std::string line =
      "ashlar: leak: blocks were live when their pool ended, resource 0x*, size 24, count 3, bytes 72, "
      "first 0x* 0x* 0x*";
  EXPECT_EXIT(leak_and_go_on(), ::testing::ExitedWithCode(17),
              ::testing::Matcher<const std::string&>(ashlar_test::first_line_is(line)));
}

// A process-wide pool is never destroyed, so cells left at the end of the program are not reported.
TEST_F(pool_faults_leak, the_pools_of_the_process_never_report) {
  struct of_184_bytes {
    std::byte bytes[184];
  };
  const auto leave_one = [] {
    static std::list<of_184_bytes, ashlar::pool_allocator<of_184_bytes>>* const left =
        new std::list<of_184_bytes, ashlar::pool_allocator<of_184_bytes>>(3);
    std::exit(left->size() == 3 ? 17 : 1);
  };
  EXPECT_EXIT(leave_one(), ::testing::ExitedWithCode(17), "^$");
}

}  // namespace
