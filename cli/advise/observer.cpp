// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Follows every object from birth to death, at each candidate site of its call chain.
#include "cli/advise/observer.hpp"

#include <tuple>

namespace ashlar::cli {

namespace {

constexpr std::uint64_t mapped_from = 128 * 1024;  // glibc's first threshold of mmap

bool is_growth_ratio(std::uint64_t from, std::uint64_t to) {
  return from != 0 && 10 * to >= 14 * from && 10 * to <= 22 * from;
}

/// Returns: the last frames of both before the calls that both stacks share; none if they share none. A stack may have
/// been cut at its outer end.
owner_calls last_unshared(std::span<const std::uint64_t> birth, std::span<const std::uint64_t> death) {
  const auto before = [](std::span<const std::uint64_t> frames, std::size_t i) {
    return static_cast<std::uint32_t>(frames[i == 0 ? 0 : i - 1]);
  };
  const auto same_outwards = [&](std::size_t i, std::size_t j) {
    while (i < birth.size() && j < death.size())
      if (birth[i++] != death[j++]) return false;
    return true;
  };
  for (std::size_t i = 0; i < birth.size(); ++i)
    for (std::size_t j = 0; j < death.size(); ++j)
      if (birth[i] == death[j] && same_outwards(i, j)) return {before(birth, i), before(death, j)};
  return {};
}

void end_epoch(epoch_features& b) {
  ++b.epochs;
  b.objects += b.born;
  b.in_final_runs += std::min(b.run, b.born);
  b.longest_objects = std::max(b.longest_objects, b.born);
  b.born = b.run = 0;
}

}  // namespace

site_observer::site_observer(const call_tree& tree, live_history* history)
    : tree_(tree), history_(history), sites_(tree.nodes().size()), by_stack_(tree.stack_count() + std::size_t{1}),
      phases_(tree.nodes().size()) {}

void site_observer::begin_trace(const call_tree::stack_ids& ids) {
  ids_ = &ids;
  ++program_.traces;
  objects_ = {};
  threads_.clear();
  youngest_.clear();
  live_ = peak_ = live_at_birth_ = {};
  allocated_bytes_ = now_ns_ = 0;
  peak_version_ = births_ = birth_version_ = 0;
  phases_.begin_trace();
}

void site_observer::add(const trace::event& e) {
  ++program_.events;
  now_ns_ = std::max(now_ns_, e.time_ns);
  if (trace::is_allocation(e.op)) allocate(e);
  if (trace::is_release(e.op)) release(e.object == 0 ? none : objects_.take_out(e.slot), e, none);
  if (e.op == trace::operation::mark) phases_.mark(e.size);
}

std::uint32_t site_observer::stack_of(const trace::event& e) const {
  return e.stack < ids_->size() ? (*ids_)[e.stack] : 0;
}

site_observer::thread_state& site_observer::thread_of(std::uint32_t id) {
  if (id >= threads_.size()) threads_.resize(id + std::size_t{1});
  return threads_[id];
}

std::uint32_t& site_observer::site_youngest(const live_object& o) {
  const auto levels = tree_.levels(o.stack);
  const std::uint64_t site = levels.empty() ? 0 : levels.front() + std::uint64_t{1};
  return youngest_.try_emplace(site << 32 | o.thread, none).first->second;
}

void site_observer::allocate(const trace::event& e) {
  if (e.object == 0) return;
  // The new object may have the slot of the old one.
  const std::uint32_t old = e.old_object == 0 ? none : objects_.take_out(e.old_slot);
  const std::uint32_t slot = born(e, stack_of(e));
  if (e.old_object != 0) release(old, e, slot);
  live_changed();
  thread_state& thread = thread_of(e.thread);
  thread.last_born = slot;
  thread.just_allocated = true;
}

std::uint32_t site_observer::born(const trace::event& e, std::uint32_t stack) {
  const auto levels = tree_.levels(stack);
  const std::uint32_t slot = objects_.add(e.slot, levels.size());
  live_object& o = objects_[slot];
  o.size = e.size;
  o.born_ns = now_ns_;
  o.thread = e.thread;
  o.stack = stack & 0x7FFF'FFFFU;  // a tree has fewer
  const auto join = [&](std::uint32_t& youngest, age_links live_object::* list) {
    (o.*list).older = youngest;
    if (youngest != none) (objects_[youngest].*list).younger = slot;
    youngest = slot;
  };
  join(thread_of(e.thread).youngest, &live_object::in_thread);
  join(site_youngest(o), &live_object::in_site);
  const std::span chunks = objects_.chunks(slot);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    count_birth(sites_[levels[i]], e, e.thread);
    chunks[i] = sites_[levels[i]].arena.allocate(e.size);
  }
  phases_.born(levels, e);
  by_stack_[stack].add(e.size);
  program_.without_stack += stack == 0 ? 1 : 0;
  program_.allocated.add(e.size);
  if (e.size >= mapped_from) ++program_.mapped_blocks, program_.mapped_bytes += e.size;
  allocated_bytes_ += e.size;
  o.born_bytes = allocated_bytes_;
  live_.add(e.size);
  ++births_;
  if (history_ != nullptr) history_->born(stack, e.size, now_ns_);
  return slot;
}

void site_observer::count_birth(site_features& site, const trace::event& e, std::uint32_t thread) {
  site.see_peak(peak_version_);
  site.allocated.add(e.size);
  site.live.add(e.size);
  site.peak_bytes = std::max(site.peak_bytes, site.live.bytes);
  site.peak_objects = std::max(site.peak_objects, site.live.objects);
  ++site.requests[static_cast<std::size_t>(e.op)];
  site.resized += e.old_object != 0 ? 1 : 0;
  site.alignment = std::max(site.alignment, e.alignment);
  site.same_size += site.last_size == e.size ? 1 : 0;
  site.last_size = e.size;
  site.births.add(thread);
  site.sizes.record(e.size);
  const std::uint64_t page = allocated_bytes_ / advice_page_bytes;
  site.spread_pages += site.last_page == page ? 0 : 1;
  site.last_page = page;
  ++site.batches.born;
  site.batches.run = 0;
}

/// The program's part of `site_features::see_last_birth`.
void site_observer::see_last_birth() {
  if (birth_version_ == births_) return;
  birth_version_ = births_;
  live_at_birth_ = live_;
}

void site_observer::live_changed() {
  if (history_ != nullptr) history_->settle();
  if (live_.bytes <= peak_.bytes) return;
  peak_ = live_;
  ++peak_version_;
}

bool site_observer::is_growth(const live_object& from, std::uint32_t successor) const {
  if (successor == none) return false;
  const live_object& to = objects_[successor];
  const auto of = tree_.levels(from.stack), next = tree_.levels(to.stack);
  return !of.empty() && !next.empty() && of.front() == next.front() && is_growth_ratio(from.size, to.size);
}

void site_observer::release(std::uint32_t slot, const trace::event& e, std::uint32_t successor) {
  thread_state& thread = thread_of(e.thread);
  if (slot == none) return void(thread.just_allocated = false);
  const live_object& o = objects_[slot];
  const bool is_own = o.thread == e.thread;
  const std::uint32_t next = successor != none ? successor : thread.just_allocated ? thread.last_born : none;
  death_facts how{.thread = e.thread, .stack = stack_of(e)};
  how.grew = is_own && next != slot && is_growth(o, next);
  how.temporary = is_own && successor == none && thread.last_born == slot;
  how.lifo_thread = is_own && o.in_thread.younger == none;
  how.lifo_site = is_own && o.in_site.younger == none;
  if (how.grew) objects_[next].is_grown = 1;
  phases_.died(tree_.levels(o.stack), e.old_object != 0 ? e.old_object : e.object);
  die(slot, how);
  thread.just_allocated = false;
  if (thread.last_born == slot) thread.last_born = none;
}

void site_observer::die(std::uint32_t slot, const death_facts& how) {
  const live_object& o = objects_[slot];
  const bool is_own = o.thread == how.thread;
  common_end& end = end_of(o.stack, how.stack);
  ++end.objects;
  if (!how.grew) ++(is_own ? end.owned : end.foreign);
  const auto levels = tree_.levels(o.stack);
  const std::span chunks = objects_.chunks(slot);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    site_features& site = sites_[levels[i]];
    count_death(site, o, how);
    site.arena.release(chunks[i], o.size);
  }
  if (!how.grew) end_chain(o);
  see_last_birth();
  ++program_.freed;
  program_.freed_by_others += is_own ? 0 : 1;
  live_.remove(o.size);
  if (history_ != nullptr) history_->died(o.stack, o.size, how.temporary, now_ns_);
  unlink(slot);
  objects_.give_back(slot);
}

void site_observer::count_death(site_features& site, const live_object& o, const death_facts& how) {
  site.see_peak(peak_version_);
  site.see_last_birth(births_);
  site.last_death = births_;
  site.live_at_deaths += static_cast<double>(live_.bytes);
  site.live.remove(o.size);
  ++site.freed;
  if (o.thread != how.thread) {
    ++site.freed_by_others;
    site.foreign_deaths.add(how.thread);
  }
  site.temporary += how.temporary ? 1 : 0;
  site.lifo_thread += how.lifo_thread ? 1 : 0;
  site.lifo_site += how.lifo_site ? 1 : 0;
  site.lifetime_ns.record(now_ns_ - o.born_ns);
  site.lifetime_bytes.record(allocated_bytes_ - o.born_bytes);
  site.growth.steps += how.grew ? 1 : 0;
  site.growth.moved_bytes += how.grew ? std::uint64_t{o.size} : 0;
  ++site.batches.run;
  if (site.live.objects == 0) end_epoch(site.batches);
}

void site_observer::end_chain(const live_object& o) {
  if (o.is_grown == 0) return;
  for (const std::uint32_t node : tree_.levels(o.stack)) {
    growth_features& growth = sites_[node].growth;
    ++growth.chains;
    growth.final_bytes.record(o.size);
  }
}

void site_observer::unlink(std::uint32_t slot) {
  const live_object& o = objects_[slot];
  const auto leave = [&](std::uint32_t& youngest, age_links live_object::* list) {
    const age_links l = o.*list;
    if (l.younger != none) (objects_[l.younger].*list).older = l.older;
    else youngest = l.older;
    if (l.older != none) (objects_[l.older].*list).younger = l.younger;
  };
  leave(threads_[o.thread].youngest, &live_object::in_thread);
  leave(site_youngest(o), &live_object::in_site);
}

site_observer::common_end& site_observer::end_of(std::uint32_t birth, std::uint32_t death) {
  const auto [at, is_new] = ends_.try_emplace(std::uint64_t{birth} << 32 | death);
  if (is_new) at->second.calls = last_unshared(tree_.frames(birth), tree_.frames(death));
  return at->second;
}

/// Adds up the owners of a trace, pair by pair of stacks instead of object by object.
void site_observer::end_owners() {
  for (auto& [stacks, end] : ends_) {
    const auto birth = static_cast<std::uint32_t>(stacks >> 32), death = static_cast<std::uint32_t>(stacks);
    const std::uint64_t owned = std::exchange(end.owned, 0), foreign = std::exchange(end.foreign, 0);
    const bool has_owner = end.calls.birth != none;
    const bool is_cut = tree_.is_cut(birth) || tree_.is_cut(death);
    for (const std::uint32_t node : tree_.levels(birth)) {
      site_features& site = sites_[node];
      site.without_owner += foreign + (has_owner ? 0 : owned);
      site.hidden_owner += is_cut && !has_owner ? owned : 0;
      if (has_owner && owned != 0) site.owners[end.calls] += owned;
    }
  }
}

void site_observer::end_births(site_features& site) const {
  site.see_last_birth(births_);
  site.at_last_birth.live += site.seen_at_birth.live;
  site.at_last_birth.arena_bytes += site.seen_at_birth.arena_bytes;
  site.at_last_birth.epochs += site.seen_at_birth.epochs;
  if (births_ != 0) site.death_shares += static_cast<double>(site.last_death) / static_cast<double>(births_);
  site.seen_at_birth = {};
  site.birth_version = site.last_death = 0;
  site.epochs_before = site.batches.epochs;
}

void site_observer::end_trace() {
  phases_.end_trace();
  end_owners();
  see_last_birth();
  program_.at_last_birth += live_at_birth_;
  for (site_features& site : sites_) {
    site.see_peak(peak_version_);
    end_births(site);
    site.at_program_peak += site.seen_at_peak;
    site.never_freed += site.live;
    site.seen_at_peak = site.live = {};
    site.peak_version = 0;
    site.last_size = site_features::no_size;
    site.births.end_trace();
    site.foreign_deaths.end_trace();
    site.last_page = ~std::uint64_t{0};
    site.batches.born = site.batches.run = 0;
    site.arena.restart();
  }
  objects_.for_each([this](const live_object& o) { end_chain(o); });
  if (history_ != nullptr) history_->end_trace(now_ns_);
  program_.duration_ns += now_ns_;
  program_.never_freed += live_;
  program_.peak += peak_;
  program_.largest_peak = std::max(program_.largest_peak, peak_.bytes);
  program_.threads = std::max(program_.threads, static_cast<std::uint32_t>(threads_.size()));
}

namespace {

constexpr std::uint64_t a_birth = 1, a_death = 2;

void mix(std::uint64_t& signature, std::uint64_t value) noexcept {
  signature = (signature ^ value) * 0x9E37'79B9'7F4A'7C15U;
  signature ^= signature >> 29;
}

}  // namespace

void phase_observer::begin_trace() {
  marks_.clear();
  birth_of_.clear();
  last_object_ = 0;
}

void phase_observer::mark(std::uint64_t number) {
  if (states_.empty()) states_.resize(site_count_);
  if (!marks_.empty()) ++phases_[{marks_.back(), number}];
  marks_.push_back(number);
  birth_of_.clear();
  first_object_ = last_object_ + 1;
}

phase_observer::state& phase_observer::current(std::uint32_t site) {
  state& s = states_[site];
  if (s.phase == marks_.size()) return s;
  close(s);
  s = {.phase = marks_.size(), .all = s.all};
  return s;
}

void phase_observer::born(std::span<const std::uint32_t> sites, const trace::event& e) {
  last_object_ = e.object;
  if (marks_.empty() || sites.empty()) return;
  for (const std::uint32_t site : sites) {
    state& s = current(site);
    mix(s.signature, a_birth);
    mix(s.signature, e.size);
    mix(s.signature, e.alignment);
    ++s.births;
    ++s.live;
    s.is_unlike = s.is_unlike || e.object - first_object_ >= most_objects;
  }
  if (e.object - first_object_ >= most_objects) return;
  birth_of_.resize(e.object - first_object_ + 1);
  birth_of_.back() = static_cast<std::uint32_t>(states_[sites.front()].births);
}

void phase_observer::died(std::span<const std::uint32_t> sites, std::uint64_t object) {
  if (marks_.empty()) return;
  const bool is_of_phase = object >= first_object_;
  const std::uint64_t number = object - first_object_;
  for (const std::uint32_t site : sites) {
    state& s = current(site);
    s.is_unlike = s.is_unlike || !is_of_phase;
    if (!is_of_phase) continue;
    mix(s.signature, a_death);
    mix(s.signature, number < birth_of_.size() ? birth_of_[number] : 0);
    --s.live;
  }
}

/// A phase that the trace ends in has no second mark.
void phase_observer::close(state& s) const {
  if (s.phase == 0 || s.phase >= marks_.size()) return;
  phase_features& all = s.all;
  const std::uint64_t opening = marks_[s.phase - 1], closing = marks_[s.phase];
  const bool is_whole = s.live == 0 && !s.is_unlike;
  if (all.phases == 0) {
    all.opening = opening;
    all.closing = closing;
    all.signature = s.signature;
    all.all_alike = is_whole;
  }
  all.all_alike =
      all.all_alike && is_whole && all.opening == opening && all.closing == closing && all.signature == s.signature;
  std::tie(all.opening, all.closing) = std::min(std::tuple(all.opening, all.closing), std::tuple(opening, closing));
  ++all.phases;
  all.objects += s.births;
}

void phase_observer::end_trace() {
  for (state& s : states_) {
    close(s);
    s = {.all = s.all};
  }
}

phase_features phase_observer::of(std::uint32_t site) const {
  if (states_.empty()) return {};
  phase_features all = states_[site].all;
  if (const auto at = phases_.find({all.opening, all.closing}); at != phases_.end()) all.of_program = at->second;
  return all;
}

namespace {

void add(growth_features& all, const growth_features& other) {
  all.steps += other.steps;
  all.chains += other.chains;
  all.moved_bytes += other.moved_bytes;
  all.final_bytes.merge(other.final_bytes);
}

void add(epoch_features& all, const epoch_features& other) {
  all.epochs += other.epochs;
  all.objects += other.objects;
  all.in_final_runs += other.in_final_runs;
  all.longest_objects = std::max(all.longest_objects, other.longest_objects);
}

}  // namespace

void site_features::merge(const site_features& other) {
  allocated += other.allocated;
  never_freed += other.never_freed;
  at_program_peak += other.at_program_peak;
  at_last_birth.live += other.at_last_birth.live;
  at_last_birth.arena_bytes += other.at_last_birth.arena_bytes;
  at_last_birth.epochs += other.at_last_birth.epochs;
  death_shares = std::max(death_shares, other.death_shares);
  live_at_deaths += other.live_at_deaths;
  peak_bytes += other.peak_bytes;
  peak_objects += other.peak_objects;
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i] += other.requests[i];
  resized += other.resized;
  alignment = std::max(alignment, other.alignment);
  same_size += other.same_size;
  freed += other.freed;
  freed_by_others += other.freed_by_others;
  births.add(other.births);
  foreign_deaths.add(other.foreign_deaths);
  temporary += other.temporary;
  lifo_thread += other.lifo_thread;
  lifo_site += other.lifo_site;
  spread_pages += other.spread_pages;
  sizes.merge(other.sizes);
  lifetime_ns.merge(other.lifetime_ns);
  lifetime_bytes.merge(other.lifetime_bytes);
  add(growth, other.growth);
  add(batches, other.batches);
  for (const auto& [calls, objects] : other.owners) owners[calls] += objects;
  without_owner += other.without_owner;
  hidden_owner += other.hidden_owner;
  arena.merge(other.arena);
}

}  // namespace ashlar::cli
