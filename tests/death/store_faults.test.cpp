// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of misuse of the store of pages.
#include <cstddef>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include <ashlar/resource/page_store.hpp>

#include "tests/support/death.hpp"

namespace {

class store_faults : public ::testing::TestWithParam<std::size_t> {
protected:
  void SetUp() override {
    if (!ashlar::detail::free_chunk::has_seal)
      GTEST_SKIP() << "free pages have a seal from `checked` on, without a tool";
  }

  [[nodiscard]] static std::string said(const std::string& fault) {
    return "ashlar: " + fault + ", pointer 0x*, size " + std::to_string(GetParam());
  }
  [[nodiscard]] static void* take() { return store.allocate(GetParam(), 8); }
  static void give(void* p) { store.deallocate(p, GetParam(), 8); }

  static inline ashlar::page_store store;
};

// Small chunks first lie in a slot of the thread: another one takes its place.
TEST_P(store_faults, pages_that_are_freed_twice) {
  void* const p = take();
  void* const other = take();
  const std::string words = said("double_free: freed pages that are free");
  ASHLAR_EXPECT_LAST_WORDS((give(p), give(p)), words);
  ASHLAR_EXPECT_LAST_WORDS((give(p), give(other), give(p)), words);
  give(p), give(other);
}

TEST_P(store_faults, free_pages_that_are_written_to) {
  void* const p = take();
  void* const other = take();
  const std::string words = said("corrupt_link: free pages were written to");
  const auto write_late = [&] { std::memset(p, 0x41, 4); };
  ASHLAR_EXPECT_LAST_WORDS((give(p), write_late(), static_cast<void>(take())), words);
  ASHLAR_EXPECT_LAST_WORDS((give(p), give(other), write_late(), static_cast<void>(take()), static_cast<void>(take())),
                           words);
  give(p), give(other);
}

INSTANTIATE_TEST_SUITE_P(chunks, store_faults,
                         ::testing::Values(std::size_t{1024}, std::size_t{65536}, std::size_t{1} << 18));

}  // namespace
