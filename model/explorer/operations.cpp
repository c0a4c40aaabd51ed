// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of each operation of a model: the writes that it may read, the place of its write, and its new knowledge.
#include <algorithm>
#include <cstdio>

#include "explorer.hpp"

namespace explorer {

namespace {

// A sequentially consistent operation is explored as an acquiring and releasing one, which guarantees less.
bool acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}

bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

const char* name_of(std::memory_order order) {
  if (acquires(order)) return releases(order) ? "acq_rel" : "acquire";
  return releases(order) ? "release" : "relaxed";
}

std::uint64_t updated(std::uint64_t value, update how, std::uint64_t operand) {
  switch (how) {
    case update::exchange: return operand;
    case update::add: return value + operand;
    case update::subtract: return value - operand;
    case update::and_: return value & operand;
    case update::or_: return value | operand;
    case update::xor_: return value ^ operand;
  }
  return value;
}

std::string told(const char* verb, std::size_t atomic, std::uint64_t value, std::memory_order order) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%s atomic %zu: %#llx (%s)", verb, atomic,
                static_cast<unsigned long long>(value), name_of(order));
  return text.data();
}

}  // namespace

std::size_t search::new_atomic(std::uint64_t value) {
  if (atomic_count_ == max_locations) fail("the model has more atomics than the explorer");
  atomics_[atomic_count_].reset(value, begin_event(0));
  for (std::size_t i = 0; i < thread_count_; ++i) threads_[i].knows.latest[atomic_count_] = 0;
  made(lives_[atomic_count_]);
  has_ended_[atomic_count_] = false;
  return atomic_count_++;
}

void search::end_atomic(std::size_t atomic) {
  will_write(lives_[atomic]);
  has_ended_[atomic] = true;
}

// Before the event of the use: a thread that knows the event also knows the use.
void search::use(std::size_t atomic) {
  if (atomic >= max_locations) fail("a constant-initialised atomic is used: it outlives the execution");
  will_read(lives_[atomic]);
  if (has_ended_[atomic]) fail("an atomic is used after its end");
}

std::uint64_t search::begin_event(std::uint64_t read) {
  thread& t = self();
  ++t.knows.events[current_];
  t.past = mix(t.past, read);
  return (current_ << 16U) + t.knows.events[current_];
}

void search::acquire(const knowledge& message) {
  knowledge& k = self().knows;
  for (std::size_t i = 0; i < thread_count_; ++i) k.events[i] = std::max(k.events[i], message.events[i]);
  for (std::size_t i = 0; i < atomic_count_; ++i) k.latest[i] = atomics_[i].newer(k.latest[i], message.latest[i]);
}

void search::read_from(std::size_t atomic, number n, std::memory_order order) {
  const write& w = atomics_[atomic].at(n);
  self().knows.latest[atomic] = n;
  if (acquires(order) && w.has_message) acquire(w.message);
}

void search::add_write(std::size_t atomic, std::size_t place, write w, std::memory_order order,
                       const write* continued) {
  knowledge& k = self().knows;
  const bool continues = continued != nullptr && continued->has_message;
  w.has_message = releases(order) || continues;
  knowledge earlier{};
  if (continues) earlier = continued->message;
  const number made = atomics_[atomic].insert_after(place, w);
  k.latest[atomic] = made;
  if (!w.has_message) return;
  // The message is the knowledge of this thread, if it releases, joined with that of the release sequence it continues.
  const knowledge mine = k;
  if (!releases(order)) k = {};
  if (continues) acquire(earlier);
  atomics_[atomic].set_message(made, k);
  k = mine;
}

std::uint64_t search::load(std::size_t atomic, std::memory_order order) {
  step();
  use(atomic);
  location& a = atomics_[atomic];
  const std::size_t oldest = a.at(self().knows.latest[atomic]).place;
  const number n = a.in_place(a.size() - 1 - choose(a.size() - oldest));
  static_cast<void>(begin_event(a.at(n).identity));
  read_from(atomic, n, order);
  note(told("reads", atomic, a.at(n).value, order));
  return a.at(n).value;
}

void search::store(std::size_t atomic, std::uint64_t value, std::memory_order order) {
  step();
  use(atomic);
  location& a = atomics_[atomic];
  std::vector<std::size_t> remote_free_infos;
  for (std::size_t p = a.size(); p-- > a.at(self().knows.latest[atomic]).place;) {
    if (!a.is_updated(a.in_place(p))) remote_free_infos.push_back(p);
  }
  const std::size_t place = remote_free_infos[choose(remote_free_infos.size())];
  write w{.value = value, .identity = begin_event(0)};
  note(told("writes", atomic, value, order));
  add_write(atomic, place, w, order, nullptr);
}

std::uint64_t search::modify(std::size_t atomic, update how, std::uint64_t operand, std::memory_order order) {
  step();
  use(atomic);
  location& a = atomics_[atomic];
  std::vector<number> sources;
  for (std::size_t p = a.size(); p-- > a.at(self().knows.latest[atomic]).place;) {
    if (!a.is_updated(a.in_place(p))) sources.push_back(a.in_place(p));
  }
  const write source = a.at(sources[choose(sources.size())]);
  read_from(atomic, a.in_place(source.place), order);
  write w{.value = updated(source.value, how, operand), .identity = begin_event(source.identity), .is_update = true};
  note(told("takes from", atomic, source.value, order));
  note(told("puts into", atomic, w.value, order));
  add_write(atomic, source.place, w, order, &source);
  return source.value;
}

bool search::compare_exchange(std::size_t atomic, std::uint64_t& expected, std::uint64_t desired,
                              std::memory_order success, std::memory_order failure) {
  step();
  use(atomic);
  location& a = atomics_[atomic];
  std::vector<number> sources;
  for (std::size_t p = a.size(); p-- > a.at(self().knows.latest[atomic]).place;) {
    const number n = a.in_place(p);
    if (a.at(n).value != expected || !a.is_updated(n)) sources.push_back(n);
  }
  const write source = a.at(sources[choose(sources.size())]);
  const bool succeeds = source.value == expected;
  const std::memory_order order = succeeds ? success : failure;
  read_from(atomic, a.in_place(source.place), order);
  const std::uint64_t identity = begin_event(source.identity);
  note(told(succeeds ? "compares, finds in" : "compares, fails at", atomic, source.value, order));
  if (succeeds) {
    note(told("puts into", atomic, desired, order));
    add_write(atomic, source.place, {.value = desired, .identity = identity, .is_update = true}, order, &source);
  }
  expected = source.value;
  return succeeds;
}

void search::lock(lock_state& l) {
  self().waits_for = &l;
  step();
  self().waits_for = nullptr;
  if (l.is_held) fail("a thread locks what it holds");
  take(l);
}

bool search::try_lock(lock_state& l) {
  step();
  if (!l.is_held) return take(l), true;
  static_cast<void>(begin_event(l.locking));
  note("finds it locked");
  return false;
}

void search::take(lock_state& l) {
  l.is_held = true;
  l.holder = current_;
  acquire(l.message);
  l.locking = begin_event(l.unlocking);
  note("locks");
}

// A step, since others may try to lock meanwhile.
void search::unlock(lock_state& l) {
  step();
  if (!l.is_held || l.holder != current_) fail("a thread unlocks what it does not hold");
  l.is_held = false;
  l.unlocking = begin_event(0);
  l.message = self().knows;
  note("unlocks");
}

void search::made(watch& w) {
  w = {.writer = static_cast<number>(current_), .written = static_cast<number>(self().knows.events[current_] + 1)};
}

void search::will_read(watch& w) {
  count_step();
  const knowledge& k = self().knows;
  if (w.writer != current_ && k.events[w.writer] < w.written) fail("data race: a read beside a write");
  w.read[current_] = static_cast<number>(k.events[current_] + 1);
}

void search::will_write(watch& w) {
  count_step();
  const knowledge& k = self().knows;
  if (w.writer != current_ && k.events[w.writer] < w.written) fail("data race: a write beside a write");
  for (std::size_t t = 0; t < thread_count_; ++t) {
    if (t != current_ && k.events[t] < w.read[t]) fail("data race: a write beside a read");
  }
  made(w);
}

std::size_t new_atomic(std::uint64_t value) { return the_search().new_atomic(value); }
void end_atomic(std::size_t atomic) { the_search().end_atomic(atomic); }
std::uint64_t load(std::size_t atomic, std::memory_order order) { return the_search().load(atomic, order); }
void store(std::size_t atomic, std::uint64_t value, std::memory_order order) {
  the_search().store(atomic, value, order);
}
std::uint64_t modify(std::size_t atomic, update how, std::uint64_t operand, std::memory_order order) {
  return the_search().modify(atomic, how, operand, order);
}
bool compare_exchange(std::size_t atomic, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                      std::memory_order failure) {
  return the_search().compare_exchange(atomic, expected, desired, success, failure);
}
void lock(lock_state& l) { the_search().lock(l); }
bool try_lock(lock_state& l) { return the_search().try_lock(l); }
void unlock(lock_state& l) { the_search().unlock(l); }
void made(watch& w) { the_search().made(w); }
void will_read(watch& w) { the_search().will_read(w); }
void will_write(watch& w) { the_search().will_write(w); }
void fail(const char* why) { the_search().fail(why); }
void add_thread(void (*body)(void*), void* argument) { the_search().add_thread(body, argument); }
std::size_t this_thread() { return the_search().this_thread(); }
void run_added_threads() { the_search().run_added_threads(); }

}  // namespace explorer
