// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small programs with outcomes fixed by the memory model: the explorer must find exactly these.
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>

#include "checker.hpp"
#include "explorer.hpp"

namespace {

using checker::run_threads;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

using number = checker::atomics::atomic<int>;
using plain_number = checker::atomics::plain<int>;

std::set<std::string> outcomes;

template <class... Values>
void saw(Values... values) {
  std::string all;
  ((all += std::to_string(values)), ...);
  outcomes.insert(all);
}

void store_buffering() {
  number x, y;
  int a = 0, b = 0;
  run_threads([&] { x.store(1, memory_order_release), a = y.load(memory_order_acquire); },
              [&] { y.store(1, memory_order_release), b = x.load(memory_order_acquire); });
  saw(a, b);
}

void load_buffering() {
  number x, y;
  int a = 0, b = 0;
  run_threads([&] { a = x.load(memory_order_relaxed), y.store(1, memory_order_relaxed); },
              [&] { b = y.load(memory_order_relaxed), x.store(1, memory_order_relaxed); });
  saw(a, b);
}

void message_passing() {
  number x, y;
  int a = 0, b = 0;
  run_threads([&] { x.store(1, memory_order_relaxed), y.store(1, memory_order_release); },
              [&] { a = y.load(memory_order_acquire), b = x.load(memory_order_relaxed); });
  saw(a, b);
}

void message_passing_relaxed() {
  number x, y;
  int a = 0, b = 0;
  run_threads([&] { x.store(1, memory_order_relaxed), y.store(1, memory_order_relaxed); },
              [&] { a = y.load(memory_order_acquire), b = x.load(memory_order_relaxed); });
  saw(a, b);
}

void coherent_reads() {
  number x;
  int a = 0, b = 0;
  run_threads([&] { x.store(1, memory_order_relaxed), x.store(2, memory_order_relaxed); },
              [&] { a = x.load(memory_order_relaxed), b = x.load(memory_order_relaxed); });
  saw(a, b);
}

// Both last writes may come first in their modification orders, which no order of time explains.
void writes_crossed() {
  number x, y;
  run_threads([&] { x.store(1, memory_order_relaxed), y.store(2, memory_order_relaxed); },
              [&] { y.store(1, memory_order_relaxed), x.store(2, memory_order_relaxed); });
  saw(x.load(memory_order_relaxed), y.load(memory_order_relaxed));
}

void independent_readers() {
  number x, y;
  int a = 0, b = 0, c = 0, d = 0;
  run_threads([&] { x.store(1, memory_order_release); }, [&] { y.store(1, memory_order_release); },
              [&] { a = x.load(memory_order_acquire), b = y.load(memory_order_acquire); },
              [&] { c = y.load(memory_order_acquire), d = x.load(memory_order_acquire); });
  if (a == 1 && c == 1) saw(b, d);
}

void release_sequence() {
  number x, y;
  int a = 0, b = 0;
  run_threads([&] { x.store(1, memory_order_relaxed), y.store(1, memory_order_release); },
              [&] { y.fetch_add(1, memory_order_relaxed); },
              [&] { a = y.load(memory_order_acquire), b = x.load(memory_order_relaxed); });
  if (a == 2) saw(b);
}

// Since C++20 a later store of the same thread does not continue the release sequence.
void release_sequence_cut() {
  number x, y;
  int a = 0, b = 0;
  run_threads(
      [&] { x.store(1, memory_order_relaxed), y.store(1, memory_order_release), y.store(2, memory_order_relaxed); },
      [&] { a = y.load(memory_order_acquire), b = x.load(memory_order_relaxed); });
  if (a == 2) saw(b);
}

void updates_are_atomic() {
  number x;
  run_threads([&] { x.fetch_add(1, memory_order_relaxed); }, [&] { x.fetch_add(1, memory_order_relaxed); },
              [&] { x.store(5, memory_order_relaxed); });
  saw(x.load(memory_order_relaxed));
}

void locks_exclude() {
  checker::mutex m;
  plain_number x;
  const auto twice = [&] {
    for (int i = 0; i < 2; ++i) m.lock(), x = x + 1, m.unlock();
  };
  run_threads(twice, twice);
  saw(static_cast<int>(x));
}

void race() {
  plain_number x;
  run_threads([&] { x = 1; }, [&] { saw(static_cast<int>(x)); });
}

void race_by_relaxed_flag() {
  number flag;
  plain_number x;
  run_threads([&] { x = 1, flag.store(1, memory_order_relaxed); },
              [&] {
                if (flag.load(memory_order_acquire) == 1) x = 2;
              });
}

void no_race_by_flag() {
  number flag;
  plain_number x;
  run_threads([&] { x = 1, flag.store(1, memory_order_release); },
              [&] {
                if (flag.load(memory_order_acquire) == 1) x = 2;
              });
  saw(static_cast<int>(x));
}

void locks_crossed() {
  checker::mutex a, b;
  run_threads([&] { a.lock(), b.lock(), b.unlock(), a.unlock(); }, [&] { b.lock(), a.lock(), a.unlock(), b.unlock(); });
}

void locks_tried() {
  checker::mutex m;
  plain_number x;
  const auto enter = [&](bool& entered) {
    entered = m.try_lock();
    if (entered) x = x + 1, m.unlock();
  };
  bool a = false, b = false;
  run_threads([&] { enter(a); }, [&] { enter(b); });
  saw(a ? 1 : 0, b ? 1 : 0);
}

// A failed try of a lock gives no ordering with its holder.
void lock_found_held() {
  checker::mutex m;
  plain_number x;
  run_threads([&] { x = 1, m.lock(), m.unlock(); },
              [&] {
                if (!m.try_lock()) x = 2;
                else m.unlock();
              });
}

void others_lock_unlocked() {
  checker::mutex m;
  run_threads([&] { m.lock(), m.unlock(); },
              [&] {
                if (!m.try_lock()) m.unlock();
                else m.unlock();
              });
}

void use_after_the_end() {
  checker::mortal<number> x;
  x.end();
  x->store(1, memory_order_relaxed);
}

void circle() {
  number x;
  run_threads([&] {
    while (x.load(memory_order_relaxed) != 1) {
    }
  });
}

// A heap treats a cell by its address modulo 4 MiB, which is the same in each run.
void addresses_repeat() {
  char here = 0;
  saw(reinterpret_cast<std::uintptr_t>(&here) % (4U << 20) < 512 * 1024 ? 1 : 0);
}

struct litmus {
  const char* name;
  explorer::search::model model;
  std::set<std::string> expected;
  const char* failure = "";
};

const litmus all[] = {
    {"store_buffering", store_buffering, {"00", "01", "10", "11"}},
    {"load_buffering", load_buffering, {"00", "01", "10"}},
    {"message_passing", message_passing, {"00", "01", "11"}},
    {"message_passing_relaxed", message_passing_relaxed, {"00", "01", "10", "11"}},
    {"coherent_reads", coherent_reads, {"00", "01", "02", "11", "12", "22"}},
    {"writes_crossed", writes_crossed, {"11", "12", "21", "22"}},
    {"independent_readers", independent_readers, {"00", "01", "10", "11"}},
    {"release_sequence", release_sequence, {"1"}},
    {"release_sequence_cut", release_sequence_cut, {"0", "1"}},
    {"updates_are_atomic", updates_are_atomic, {"5", "6", "7"}},
    {"locks_exclude", locks_exclude, {"4"}},
    {"race", race, {}, "data race"},
    {"race_by_relaxed_flag", race_by_relaxed_flag, {}, "data race"},
    {"no_race_by_flag", no_race_by_flag, {"1", "2"}},
    {"locks_crossed", locks_crossed, {}, "deadlock"},
    {"locks_tried", locks_tried, {"01", "10", "11"}},
    {"lock_found_held", lock_found_held, {}, "data race"},
    {"others_lock_unlocked", others_lock_unlocked, {}, "does not hold"},
    {"use_after_the_end", use_after_the_end, {}, "after its end"},
    {"circle", circle, {}, "does not end"},
    {"addresses_repeat", addresses_repeat, {"1"}},
};

bool passes(const litmus& l) {
  outcomes.clear();
  const explorer::outcome found = explorer::the_search().run(l.model);
  const bool failed_as_it_should = !found.failure.empty() && found.failure.find(l.failure) != std::string::npos;
  if (*l.failure != '\0') return failed_as_it_should;
  return found.failure.empty() && outcomes == l.expected;
}

}  // namespace

int main() {
  int failed = 0;
  for (const litmus& l : all) {
    if (passes(l)) continue;
    ++failed;
    std::printf("%s: found", l.name);
    for (const std::string& o : outcomes) std::printf(" %s", o.c_str());
    std::printf("\n");
  }
  std::printf("%zu litmus tests, %d failed\n", std::size(all), failed);
  return failed == 0 ? 0 : 1;
}
