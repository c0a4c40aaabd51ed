// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a malloc holds for the threads of a program. Each shape prints one line of JSON with sizes in MiB.
//
//     threads pool THREADS REQUESTS   requests come to one thread at a time, chosen at random: 1,500 blocks each, of which
//                                     2 % stay, 250 a thread at most
//     threads cache THREADS MIB S     all threads fill and evict one cache of MIB, 2,500 blocks of 1 to 260 KB a second
//     threads idle THREADS            12 blocks of 16 B to 20 KB in each thread, while all wait; then freed and ended
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <random>
#include <semaphore>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/support/usage.hpp"

namespace {

using namespace std::chrono_literals;

constexpr double mib = 1024.0 * 1024;

double resident(const char* field = "RssAnon:") {
  return static_cast<double>(bench::proc_bytes("/proc/self/status", field)) / mib;
}

double processor_us() { return bench::clock_ms(CLOCK_PROCESS_CPUTIME_ID) * 1e3; }

struct block {
  void* data;
  std::size_t bytes;
};

block written(std::size_t bytes) {
  void* const data = std::malloc(bytes);
  std::memset(data, 1, bytes);
  return {data, bytes};
}

int pool(int threads, int requests) {
  struct worker {
    std::binary_semaphore asked{0};
    std::size_t live = 0;
  };
  std::vector<worker> all(static_cast<std::size_t>(threads));
  std::binary_semaphore served{0};
  bool ends = false;
  const auto serve = [&](worker& me, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<block> stay, request;
    stay.reserve(400), request.reserve(1500);
    for (me.asked.acquire(); !ends; me.asked.acquire()) {
      for (int i = 0; i != 1500; ++i) {
        const auto kind = random() % 100;
        request.push_back(written(kind < 60   ? 16 + random() % 112
                                  : kind < 90 ? 128 + random() % 900
                                  : kind < 99 ? 1024 + random() % 7000
                                              : 8192 + random() % 56000));
        me.live += request.back().bytes;
      }
      const auto end = [&](block of) { std::free(of.data), me.live -= of.bytes; };
      for (const block each : request)
        if (random() % 100 < 2) stay.push_back(each);
        else end(each);
      request.clear();
      while (stay.size() > 250) std::swap(stay[random() % stay.size()], stay.back()), end(stay.back()), stay.pop_back();
      served.release();
    }
    for (const block each : stay) std::free(each.data);
  };
  std::vector<std::thread> running;
  for (std::size_t i = 0; i != all.size(); ++i)
    running.emplace_back(serve, std::ref(all[i]), static_cast<unsigned>(i + 1));
  std::minstd_rand random(4711);
  const double before = resident(), from = processor_us();
  for (int i = 0; i != requests; ++i) all[random() % all.size()].asked.release(), served.acquire();
  const double us = (processor_us() - from) / requests, held = resident() - before;
  double live = 0;
  for (const worker& each : all) live += static_cast<double>(each.live);
  ends = true;
  for (worker& each : all) each.asked.release();
  for (std::thread& each : running) each.join();
  std::printf("{\"live\": %.1f, \"resident\": %.1f, \"us\": %.1f}\n", live / mib, held, us);
  return 0;
}

int cache(int threads, double most, int seconds) {
  std::mutex lock;
  std::deque<block> kept;
  std::size_t live = 0;
  std::atomic<bool> ends = false;
  const auto fill = [&](unsigned seed) {
    std::minstd_rand random(seed);
    std::uniform_real_distribution<double> size(std::log(1000), std::log(260'000));
    while (!ends) {
      const block fresh = written(static_cast<std::size_t>(std::exp(size(random))));
      std::vector<block> evicted;
      {
        const std::lock_guard held(lock);
        kept.push_back(fresh), live += fresh.bytes;
        while (static_cast<double>(live) > most * mib)
          evicted.push_back(kept.front()), live -= kept.front().bytes, kept.pop_front();
      }
      for (const block each : evicted) std::free(each.data);
      std::this_thread::sleep_for(threads * 400us);
    }
  };
  std::vector<std::thread> running;
  const double before = resident();
  for (int i = 0; i != threads; ++i) running.emplace_back(fill, static_cast<unsigned>(i + 1));
  std::this_thread::sleep_for(seconds * 1s);
  const double held = resident() - before;
  ends = true;
  for (std::thread& each : running) each.join();
  for (const block each : kept) std::free(each.data);
  std::this_thread::sleep_for(2s);
  std::printf("{\"live\": %.1f, \"resident\": %.1f, \"ended\": %.1f}\n", most, held, resident() - before);
  return 0;
}

int idle(int threads) {
  std::barrier<> all(threads + 1);
  const double before = resident(), space = resident("VmSize:"), committed = resident("VmData:");
  std::vector<std::thread> running;
  for (int i = 0; i != threads; ++i)
    running.emplace_back([&] {
      std::vector<block> mine;
      for (const std::size_t bytes : {16, 24, 48, 100, 200, 400, 800, 1500, 3000, 5000, 7000, 20'000})
        mine.push_back(written(bytes));
      all.arrive_and_wait();
      all.arrive_and_wait();
      for (const block each : mine) std::free(each.data);
    });
  all.arrive_and_wait();
  const double stacks = threads * 8.0;
  std::printf("{\"live\": %.1f, \"resident\": %.1f, \"space\": %.1f, \"committed\": %.1f, ", threads * 38'088 / mib,
              resident() - before, resident("VmSize:") - space - stacks, resident("VmData:") - committed - stacks);
  all.arrive_and_wait();
  for (std::thread& each : running) each.join();
  std::printf("\"ended\": %.1f}\n", resident() - before);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view shape = count > 2 ? words[1] : "";
  const int threads = count > 2 ? std::atoi(words[2]) : 0;
  if (shape == "pool" && count == 4) return pool(threads, std::atoi(words[3]));
  if (shape == "cache" && count == 5) return cache(threads, std::atof(words[3]), std::atoi(words[4]));
  if (shape == "idle") return idle(threads);
  std::fputs("threads pool THREADS REQUESTS | cache THREADS MIB SECONDS | idle THREADS\n", stderr);
  return 2;
}
