// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that a fault handler may use the reporting heap: no lock is held, whichever check found the misuse.
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include <ashlar/base/error.hpp>
#include <ashlar/detail/heap/segment.hpp>
#include <ashlar/heap/heap.hpp>

#include "tests/death/last_words.hpp"
#include "tests/support/build.hpp"

namespace {

constexpr std::size_t huge_bytes = std::size_t{5} << 20;

ashlar::heap<>* noticed;
void* left_alive;  // of another thread, which has ended
std::size_t most_used = huge_bytes;

void use_all() {
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{100'000}, most_used})
    noticed->deallocate(noticed->try_allocate(bytes));
}

// The alarm ends a handler that waits forever; its signal is not the expected one.
template <class F>
void misuse(F f) {
  ::alarm(60);
  ashlar::heap<> all;
  noticed = &all;
  ashlar::set_violation_handler([](const ashlar::violation& v) noexcept {
    noticed->deallocate(left_alive);
    use_all();
    std::thread(&use_all).join();
    ashlar::violation::print(v);
  });
  f(all);
}

// AddressSanitizer would end the process at the write, before the canary is verified.
ASHLAR_TEST_UNSEEN void write_unseen(void* at) { *static_cast<volatile char*>(at) = 1; }

const std::string line = "ashlar: corrupt_link: a free block was written to, pointer 0x*, resource 0x*, size ";

class a_handler_of_dead_blocks : public ::testing::Test {
protected:
  void SetUp() override {
    if (ashlar::checking_level < ashlar::checking::hardened) GTEST_SKIP() << "looked for at level hardened";
    if (ashlar_test::has_tsan) GTEST_SKIP() << "the tool does not let a child have threads";
  }
};

TEST_F(a_handler_of_dead_blocks, may_use_the_heap_whose_huge_block_it_was) {
  ASHLAR_EXPECT_LAST_WORDS(misuse([](ashlar::heap<>& all) {
                             void* const p = all.allocate(huge_bytes);
                             all.deallocate(p);
                             write_unseen(p);
                             static_cast<void>(all.allocate(huge_bytes));
                           }),
                           line + "4096");
}

TEST_F(a_handler_of_dead_blocks, may_use_the_heap_which_gives_memory_of_ended_threads_back) {
  ASHLAR_EXPECT_LAST_WORDS(misuse([](ashlar::heap<>& all) {
                             most_used = 200'000;  // a larger request would inspect the free cell first
                             static_cast<void>(all.allocate(64));
                             std::thread([&] {
                               left_alive = all.allocate(64);
                               std::vector<void*> cells(2000);
                               for (void*& each : cells) each = all.allocate(1000);
                               for (std::size_t i = 0; i < cells.size(); ++i)
                                 if (i % 8 != 0) all.deallocate(cells[i]);
                               write_unseen(cells[1001]);
                             }).join();
                             for (int i = 0; i < 2; ++i) static_cast<void>(all.allocate((3 << 20) - 1));
                           }),
                           line + "1024");
}

TEST_F(a_handler_of_dead_blocks, may_use_the_heap_whose_segment_was_cached) {
  ASHLAR_EXPECT_LAST_WORDS(misuse([](ashlar::heap<>& all) {
                             void* p = all.allocate(64);
                             std::thread([&] { p = all.allocate(3 << 20), all.deallocate(p); }).join();
                             static_cast<void>(
                                 all.allocate(huge_bytes));  // this request inspects the heap of the ended thread
                             write_unseen(ashlar::detail::segment::of(p));
                             for (int i = 0; i < 3; ++i) static_cast<void>(all.allocate(3 << 20));
                           }),
                           line + "4096");
}

// New threads of the heap are counted while its former ones are visited.
TEST_F(a_handler_of_dead_blocks, may_use_the_heap_that_is_released) {
  ASHLAR_EXPECT_LAST_WORDS(misuse([](ashlar::heap<>& all) {
                             void* const p = all.allocate(64);
                             static_cast<void>(all.allocate(64));
                             all.deallocate(p);
                             write_unseen(p);
                             all.release();
                           }),
                           line + "80");
}

}  // namespace
