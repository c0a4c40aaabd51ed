// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The problem without its clock: items over numbered sections, where a section is a maximal set of items live together.
//
//   time      0   1   2   3   4   5          births without a death in between fall into one section:
//   a         |-----------|                  sections   0: {a, b}   1: {b, c, d}
//   b             |---------------|          a = [0,1)  b = [0,2)  c = [1,2)  d = [1,2)
//   c                         |---|
//   d                     |-------|          Two items overlap in time exactly when they share a section.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <ashlar/base/config.hpp>
#include <ashlar/plan/shape.hpp>

namespace ashlar {
inline namespace ASHLAR_ABI {
namespace plan {

/// In the sections `[first, last)` the item occupies the bytes `[low, high)` counted from its offset.
struct piece {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// One thing to place: `model::pieces[first .. last)`.
struct item {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t pin = unpinned;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t origin = 0;  ///< The shape it stands for.
};

/// Items over sections. A pair to be kept apart is a section of its own, in which both are whole.
struct model {
  std::vector<item> items;
  std::vector<piece> pieces;
  std::vector<std::uint64_t> moments;  ///< A moment of each section; for a kept-apart pair the birth of its first.
  std::uint32_t sections = 0;

  [[nodiscard]] const piece* begin(std::size_t i) const noexcept { return pieces.data() + items[i].first; }
  [[nodiscard]] const piece* end(std::size_t i) const noexcept { return pieces.data() + items[i].last; }

  /// Whether every item is one rectangle without a pin.
  [[nodiscard]] bool simple() const noexcept {
    return pieces.size() == items.size() &&
           std::all_of(items.begin(), items.end(), [](const item& i) { return i.pin == unpinned; });
  }
};

namespace detail {

/// Numbers the sections by walking births and deaths in time, deaths first.
class section_sweep {
public:
  section_sweep(const std::vector<const stretch*>& lives, model& out) : lives_(lives), out_(out) {
    by_birth_ = sorted([](const stretch& s) { return s.begin; });
    by_death_ = sorted([](const stretch& s) { return s.end; });
  }

  void run() {
    std::size_t born = 0;
    for (const std::uint32_t d : by_death_) {
      const std::uint64_t now = lives_[d]->end;
      for (; born < by_birth_.size() && lives_[by_birth_[born]]->begin < now; ++born) open(by_birth_[born]);
      if (fresh_) close();
      out_.pieces[d].last = out_.sections;
    }
  }

private:
  template <class Key>
  std::vector<std::uint32_t> sorted(Key key) const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> keyed(lives_.size());
    for (std::uint32_t i = 0; i < keyed.size(); ++i) keyed[i] = {key(*lives_[i]), i};
    std::sort(keyed.begin(), keyed.end());
    std::vector<std::uint32_t> order(keyed.size());
    for (std::size_t i = 0; i < keyed.size(); ++i) order[i] = keyed[i].second;
    return order;
  }

  void open(std::uint32_t p) {
    out_.pieces[p].first = out_.sections;
    moment_ = lives_[p]->begin;
    fresh_ = true;
  }

  void close() {
    ++out_.sections;
    out_.moments.push_back(moment_);
    fresh_ = false;
  }

  const std::vector<const stretch*>& lives_;
  model& out_;
  std::vector<std::uint32_t> by_birth_;
  std::vector<std::uint32_t> by_death_;
  std::uint64_t moment_ = 0;
  bool fresh_ = false;  // something was born since the last section closed
};

/// Copies the chosen shapes; each gets room for one more piece per pair it is in.
class model_builder {
public:
  model_builder(const shapes& all, const std::vector<std::uint32_t>& chosen) : all_(all), chosen_(chosen) {}

  [[nodiscard]] model build() {
    find_pairs();
    for (const std::uint32_t s : chosen_) add(s);
    sweep();
    add_pair_sections();
    return std::move(out_);
  }

private:
  void find_pairs() {
    index_.assign(all_.apart.empty() ? 0 : all_.list.size(), none);
    if (all_.apart.empty()) return;
    for (std::uint32_t i = 0; i < chosen_.size(); ++i) index_[chosen_[i]] = i;
    extra_.assign(chosen_.size(), 0);
    for (const pair& q : all_.apart) {
      if (index_[q.first] == none || index_[q.second] == none) continue;
      pairs_.push_back({index_[q.first], index_[q.second]});
      ++extra_[index_[q.first]];
      ++extra_[index_[q.second]];
    }
  }

  void add(std::uint32_t s) {
    const shape& from = all_.list[s];
    const auto first = static_cast<std::uint32_t>(out_.pieces.size());
    for (std::uint32_t k = from.first; k < from.last; ++k) {
      lives_.push_back(&all_.stretches[k]);
      slots_.push_back(static_cast<std::uint32_t>(out_.pieces.size()));
      out_.pieces.push_back({0, 0, all_.stretches[k].low, all_.stretches[k].high});
    }
    if (!extra_.empty()) out_.pieces.resize(out_.pieces.size() + extra_[out_.items.size()], {0, 0, 0, from.size});
    out_.items.push_back(
        {from.size, from.alignment, from.pin, first, static_cast<std::uint32_t>(out_.pieces.size()), s});
  }

  void sweep() {
    model timed;
    timed.pieces.resize(lives_.size());
    section_sweep(lives_, timed).run();
    for (std::size_t k = 0; k < lives_.size(); ++k) {
      out_.pieces[slots_[k]].first = timed.pieces[k].first;
      out_.pieces[slots_[k]].last = timed.pieces[k].last;
    }
    out_.sections = timed.sections;
    out_.moments = std::move(timed.moments);
  }

  void add_pair_sections() {
    for (const pair& q : pairs_) {
      const item& a = out_.items[q.first];
      out_.moments.push_back(
          all_.list[a.origin].first < all_.list[a.origin].last ? all_.stretches[all_.list[a.origin].first].begin : 0);
      for (const position i : {q.first, q.second}) {
        piece& p = out_.pieces[out_.items[i].last - extra_[i]--];
        p.first = out_.sections;
        p.last = out_.sections + 1;
      }
      ++out_.sections;
    }
  }

  static constexpr std::uint32_t none = ~std::uint32_t{0};
  const shapes& all_;
  const std::vector<std::uint32_t>& chosen_;
  model out_;
  std::vector<std::uint32_t> index_;
  std::vector<std::uint32_t> extra_;
  std::vector<pair> pairs_;
  std::vector<const stretch*> lives_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace detail

/// Returns: the model of the chosen shapes. Complexity: O(n log n).
[[nodiscard]] inline model make_model(const shapes& all, const std::vector<std::uint32_t>& chosen) {
  return detail::model_builder(all, chosen).build();
}

/// Returns: the model of all shapes.
[[nodiscard]] inline model make_model(const shapes& all) {
  std::vector<std::uint32_t> chosen(all.list.size());
  std::iota(chosen.begin(), chosen.end(), std::uint32_t{0});
  return make_model(all, chosen);
}

}  // namespace plan
}  // namespace ASHLAR_ABI
}  // namespace ashlar
