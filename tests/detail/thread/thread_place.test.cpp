// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts that other threads take from idle ones: who has a part, and that no write to it is lost.
#include <ashlar/detail/thread/thread_place.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <ashlar/base/atomics.hpp>
#include <gtest/gtest.h>

namespace {

struct part {
  static constexpr bool may_move = true;

  struct {
    ashlar::detail::atomic<ashlar::detail::thread_place<part>*> place = nullptr;
    ashlar::detail::atomic<bool> is_asked_for = false;
    std::uint32_t thread = 0;
  } moves;
  long uses = 0;
};

using place = ashlar::detail::thread_place<part>;
using places = ashlar::detail::thread_places<part>;

part none;

class thread_places : public testing::Test {
protected:
  void SetUp() override {
    if (!ashlar::detail::process_barrier::announce()) GTEST_SKIP() << "the system has no barrier of the process";
  }

  places all{&none};
};

TEST_F(thread_places, a_part_stays_before_it_may_move_and_once_its_thread_ends) {
  place here{&none};
  part mine;
  EXPECT_EQ(all.exchange(here, &mine), &none);
  part* const wanted = &mine;
  all.ask(&wanted, 1);
  EXPECT_FALSE(all.try_take(mine)) << "its thread has not allocated";
  all.let_move(here);
  all.ask(&wanted, 1);
  all.stay(here);
  EXPECT_EQ(here.get(), &mine);
  all.let_move(here);
  all.ask(&wanted, 1);
  EXPECT_FALSE(all.try_take(mine)) << "its thread ends";
}

TEST_F(thread_places, hundred_thousand_requests_lose_no_use) {
  constexpr std::size_t owners = 3;
  std::array<part, owners> parts;
  std::array<long, owners> used = {};
  std::atomic<std::size_t> running = owners;
  std::vector<std::thread> threads;
  std::array<std::unique_ptr<place>, owners> here_of;
  std::array<std::atomic<part*>, owners> given_back = {};
  for (auto& each : here_of) each = std::make_unique<place>(&none);
  for (std::size_t i = 0; i != owners; ++i) all.exchange(*here_of[i], &parts[i]), all.let_move(*here_of[i]);
  for (std::size_t i = 0; i != owners; ++i)
    threads.emplace_back([&, i] {
      for (int left = 300'000; left != 0;) {
        here_of[i]->enter();
        part* found = here_of[i]->get();
        if (found == &none) found = all.find(*here_of[i]);
        if (found != &none) ++found->uses, ++used[i], --left;
        here_of[i]->leave();
        if (part* const back = found == &none ? given_back[i].exchange(nullptr) : nullptr; back != nullptr)
          all.exchange(*here_of[i], back), all.let_move(*here_of[i]);
      }
      --running;
    });
  long taken = 0;
  for (std::size_t i = 0; running != 0; i = (i + 1) % owners) {
    part* const wanted = &parts[i];
    all.ask(&wanted, 1);
    if (!all.try_take(*wanted)) continue;
    ++wanted->uses, ++taken;
    given_back[i] = wanted;
  }
  for (std::thread& each : threads) each.join();
  long sum = 0;
  for (std::size_t i = 0; i != owners; ++i) sum += parts[i].uses - used[i];
  EXPECT_EQ(sum, taken);
  EXPECT_GT(taken, 0);
}

}  // namespace
