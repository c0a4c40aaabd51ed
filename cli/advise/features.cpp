// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds up the features of sites that are judged together.
#include "cli/advise/features.hpp"

#include <algorithm>

namespace ashlar::cli {

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
