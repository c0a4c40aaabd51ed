// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search: the choice of the next thread, and whether the resulting past is new.
#include "explorer.hpp"

namespace explorer {

namespace {
// Far more than any model takes; a thread beyond it is in an endless loop.
constexpr std::size_t most_steps = 20000;
}  // namespace

search& the_search() {
  static search only;
  return only;
}

outcome search::run(model m) {
  model_ = m;
  found_ = {};
  pasts_.clear();
  path_.clear();
  is_replay_ = false;
  do {
    run_once();
  } while (found_.failure.empty() && next_path());
  if (!found_.failure.empty()) {
    is_replay_ = true;
    run_once();
  }
  found_.states = pasts_.size();
  return found_;
}

bool search::next_path() {
  while (!path_.empty() && path_.back().taken + 1 == path_.back().of) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

std::size_t search::choose(std::size_t of) {
  if (of == 1) return 0;
  if (depth_ == path_.size()) path_.push_back({.taken = 0, .of = of});
  return path_[depth_++].taken;
}

void search::run_once() {
  depth_ = steps_ = atomic_count_ = current_ = 0;
  thread_count_ = 1;
  is_over_ = false;
  thread& main = threads_[0];
  main.knows = {};
  main.past = 0;
  main.is_done = false;
  main.stack.prepare(&search::enter_model);
  main.stack.resume();
  while (!is_over_ && !main.is_done) {
    schedule();
    current_ = 0;
    if (!is_over_) main.stack.resume();
  }
  if (!is_over_) ++found_.complete;
}

void search::enter_model() {
  search& s = the_search();
  s.model_();
  s.threads_[0].is_done = true;
  s.threads_[0].stack.quit();
}

void search::enter_thread() {
  search& s = the_search();
  thread& t = s.self();
  t.body(t.argument);
  static_cast<void>(s.begin_event(0));
  t.is_done = true;
  t.stack.quit();
}

void search::add_thread(void (*body)(void*), void* argument) {
  if (thread_count_ == max_threads) fail("the model has more threads than the explorer");
  thread& t = threads_[thread_count_++];
  t.body = body;
  t.argument = argument;
  t.past = 0;
  t.waits_for = nullptr;
  t.is_done = false;
  t.stack.prepare(&search::enter_thread);
}

void search::run_added_threads() {
  static_cast<void>(begin_event(0));
  for (std::size_t i = 1; i < thread_count_; ++i) {
    if (!threads_[i].is_done) threads_[i].knows = threads_[0].knows;
  }
  threads_[0].stack.leave();
  for (std::size_t i = 1; i < thread_count_; ++i) acquire(threads_[i].knows);
}

bool search::can_go_on(const thread& t) const {
  return !t.is_done && (t.waits_for == nullptr || !t.waits_for->is_held);
}

// The steps of a thread before its first one on an atomic affect no other thread, except in a race, which any order
// shows.
void search::schedule() {
  for (current_ = 1; current_ < thread_count_ && !is_over_; ++current_) {
    if (!self().is_done) self().stack.resume();
  }
  std::array<std::size_t, max_threads> ready{};
  while (!is_over_) {
    if (depth_ == path_.size() && !is_replay_ && !is_new_past()) {
      is_over_ = true;
      return;
    }
    std::size_t count = 0;
    bool is_anybody_left = false;
    for (std::size_t i = 1; i < thread_count_; ++i) {
      is_anybody_left = is_anybody_left || !threads_[i].is_done;
      if (can_go_on(threads_[i])) ready[count++] = i;
    }
    if (count == 0) {
      is_over_ = is_anybody_left;
      if (is_over_) found_.failure = "deadlock: all threads wait for a lock";
      return;
    }
    current_ = ready[choose(count)];
    self().stack.resume();
  }
}

bool search::is_new_past() {
  std::uint64_t h = thread_count_;
  for (std::size_t i = 0; i < thread_count_; ++i) h = mix(h, threads_[i].past);
  for (std::size_t i = 0; i < atomic_count_; ++i) h = mix(h, atomics_[i].fingerprint());
  return pasts_.insert(h).second;
}

void search::count_step() {
  if (++steps_ > most_steps) fail("a thread does not end");
}

// Before a step on an atomic, since other threads may come first.
void search::step() {
  count_step();
  if (current_ != 0) self().stack.leave();
}

void search::fail(const std::string& why) {
  found_.failure = why;
  note("fails: " + why);
  abandon();
}

void search::abandon() {
  is_over_ = true;
  self().stack.quit();
}

void search::note(const std::string& what) {
  if (is_replay_) found_.story.push_back("thread " + std::to_string(current_) + " " + what);
}

}  // namespace explorer
