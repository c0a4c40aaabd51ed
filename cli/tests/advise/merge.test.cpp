// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several traces are a set: neither their order nor the numbers of their threads decide anything, and what is counted
// adds up.
#include "cli/advise/advice.hpp"
#include "cli/tests/advise/scene.hpp"
#include "cli/tests/texts.hpp"

namespace {

using namespace ashlar::cli;
using ashlar_test::has;
using ashlar_test::scene;
using nlohmann::json;

/// Random lives of the objects of a few sites, each with habits of its own, in rounds that leave nothing.
class random_rounds {
public:
  explicit random_rounds(unsigned seed) : random_(seed) {
    for (std::uint64_t i = 0; i < habits_.size(); ++i) habits_[i] = random_();
  }

  /// Effects: plays a round. `threads`: their numbers in the trace.
  void play(scene& s, const std::vector<std::uint32_t>& stacks, const std::vector<std::uint32_t>& threads) {
    s.mark(1);
    for (int i = 0; i < 300; ++i) step(s, below(stacks.size()), stacks, threads);
    while (!live_.empty()) end(s, live_.size() - 1, threads);
    s.mark(2);
  }

private:
  struct object {
    std::uint64_t id;
    std::size_t site;
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  bool has(std::size_t site, unsigned habit) const { return (habits_[site] >> habit & 1) != 0; }

  void step(scene& s, std::size_t site, const std::vector<std::uint32_t>& stacks,
            const std::vector<std::uint32_t>& threads) {
    const std::uint64_t size = has(site, 0) ? 48 : 16 + 8 * below(60);
    const std::uint32_t thread = threads[has(site, 1) ? below(threads.size()) : 0];
    live_.push_back({s.allocate(size, stacks[site], thread), site});
    if (has(site, 2)) end(s, live_.size() - 1, threads);
    else if (has(site, 3)) end(s, below(live_.size()), threads);
  }

  void end(scene& s, std::size_t i, const std::vector<std::uint32_t>& threads) {
    s.free(live_[i].id, 0, threads[has(live_[i].site, 4) ? threads.size() - 1 : 0]);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::mt19937 random_;
  std::array<std::uint64_t, 6> habits_{};
  std::vector<object> live_;
};

/// Returns: the stacks. `breaks`: a trace ends after each round of these numbers.
std::vector<std::uint32_t> write_rounds(scene& s, unsigned seed, int rounds, const std::vector<int>& breaks,
                                        bool renumbers = false) {
  std::vector<std::uint32_t> stacks;
  for (std::uint64_t i = 0; i < 6; ++i) stacks.push_back(s.stack({0x1100 + 0x100 * (i / 2), 0x2000 + 0x100 * (i % 2)}));
  random_rounds lives(seed);
  std::vector<std::uint32_t> threads = {0, 1, 2};
  for (int round = 0; round < rounds; ++round) {
    lives.play(s, stacks, threads);
    if (std::ranges::find(breaks, round) == breaks.end()) continue;
    s.next_trace();
    if (renumbers) std::ranges::rotate(threads, threads.begin() + 1);
  }
  return stacks;
}

/// @{ Returns: all that decides, and all that is counted, by node. `of_threads`: with their numbers.
json verdicts_of(scene& s, bool with_evidence = true) {
  std::vector<json> all;
  for (const advised_site& site : s.advise(advice_limits().with("small.ns", 1)))
    all.push_back({{"node", site.node},
                   {"rule", site.rule->name},
                   {"evidence", with_evidence ? site.evidence : ""},
                   {"owner", site.owner},
                   {"threads", site.features->has_several_threads()}});
  std::ranges::sort(all);
  return all;
}
json groups_of(scene& s) {
  json all = json::array();
  for (const site_group& group : group_sites(s.tree, s.seen(), {}).groups)
    all.push_back({group.cell_bytes, group.nodes, group.objects, group.peak_bytes, group.left_held_bytes});
  return all;
}
json features_of(scene& s, bool of_threads = true) {
  json all = json::array();
  for (std::uint32_t node = 0; node < s.tree.nodes().size(); ++node) {
    json features = features_json(s.seen().of(node));
    const phase_features p = s.seen().phases_of(node);
    features["phases"] = {p.opening, p.closing, p.phases, p.of_program, p.objects, p.all_alike};
    for (const char* key : {"allocating_thread", "foreign_freeing_thread"})
      if (!of_threads && features[key].is_number()) features[key] = "one";
    all.push_back(std::move(features));
  }
  return all;
}
/// @}

/// The counts that must add up, in the features and behind the last birth.
constexpr const char* sums[] = {
    "/allocated/objects", "/allocated/bytes",     "/same_size_as_before",  "/freed",
    "/freed_by_others",   "/temporary",           "/lifo_in_thread",       "/lifo_in_site",
    "/spread_pages",      "/growth/steps",        "/growth/chains",        "/batches/epochs",
    "/batches/objects",   "/never_freed/objects", "/at_program_peak/bytes"};

std::vector<std::uint64_t> counts_of(const site_features& f) {
  const json all = features_json(f);
  std::vector<std::uint64_t> counts = {f.at_last_birth.live.bytes, f.at_last_birth.arena_bytes, f.at_last_birth.epochs};
  for (const char* pointer : sums) counts.push_back(all.at(json::json_pointer(pointer)));
  return counts;
}

const std::vector<int> after_each = {1, 3, 5};

/// A scene of rounds in four traces, played in an order.
struct rounds : scene {
  explicit rounds(unsigned seed, const std::vector<std::size_t>& order = {0, 1, 2, 3}, bool renumbers = false) {
    write_rounds(*this, seed, 8, after_each, renumbers);
    play_traces(order);
  }
};

void expect_alike(rounds& a, rounds& b, unsigned seed, bool of_threads) {
  EXPECT_EQ(features_of(a, of_threads), features_of(b, of_threads)) << seed;
  EXPECT_EQ(verdicts_of(a), verdicts_of(b)) << seed;
  EXPECT_EQ(groups_of(a), groups_of(b)) << seed;
}

TEST(merged_traces, have_no_order_and_number_their_threads_each_for_itself) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::vector<std::size_t> order = {0, 1, 2, 3};
    std::ranges::shuffle(order, std::mt19937(seed));
    rounds first(seed), shuffled(seed, order), renumbered(seed, {0, 1, 2, 3}, true);
    expect_alike(first, shuffled, seed, true);
    expect_alike(first, renumbered, seed, false);
  }
}

TEST(merged_traces, add_up) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    rounds merged(seed), alone[] = {rounds(seed, {0}), rounds(seed, {1}), rounds(seed, {2}), rounds(seed, {3})};
    for (std::uint32_t node = 0; node < merged.tree.nodes().size(); ++node) {
      std::vector<std::uint64_t> sum = counts_of(merged.seen().of(node));
      for (rounds& each : alone)
        std::ranges::transform(sum, counts_of(each.seen().of(node)), sum.begin(), std::minus());
      EXPECT_EQ(sum, std::vector<std::uint64_t>(sum.size())) << seed << " " << node;
    }
  }
}

TEST(merged_traces, advise_as_the_trace_that_they_are_parts_of) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    scene whole, parts;
    std::vector<int> breaks;
    for (int round = 0; round < 7; ++round)
      if (random() % 2 == 0) breaks.push_back(round);
    write_rounds(whole, seed, 8, {});
    write_rounds(parts, seed, 8, breaks, true);
    whole.play();
    parts.play();
    EXPECT_EQ(verdicts_of(whole, false), verdicts_of(parts, false)) << seed;
  }
}

TEST(merged_traces, of_one_handing_thread_have_no_pool_without_a_lock) {
  scene s;
  const auto stack = s.stack({0x1100});
  for (const std::uint32_t from : {0U, 5U}) {
    if (from != 0) s.next_trace();
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t object = s.allocate(48, stack, from);
      s.allocate(20 + static_cast<std::uint64_t>(i % 400), s.stack({0x1200}), from);
      s.free(object, 0, from + 1);
    }
  }
  s.play();
  EXPECT_FALSE(s.site(stack).births.several);
  EXPECT_FALSE(s.site(stack).foreign_deaths.several);
  EXPECT_TRUE(s.site(stack).has_several_threads());
  const auto sites = s.advise(advice_limits().with("small.ns", 1));
  const auto found =
      std::ranges::find_if(sites, [&](const advised_site& site) { return site.node == s.tree.levels(stack).front(); });
  ASSERT_NE(found, sites.end());
  EXPECT_EQ(found->rule->name, "other_thread");
  EXPECT_FALSE(has(found->evidence, "thread 0"));
}

/// Objects that live long in shared pages, of which few live at once.
TEST(pools, are_not_for_two_objects) {
  for (const std::size_t most : {1U, 2U, 3U})
    for (const std::uint64_t sizes : {1U, 3U}) {
      scene s;
      const auto few = s.stack({0x1100}), many = s.stack({0x1200});
      std::vector<std::uint64_t> live;
      for (std::uint64_t i = 0; i < 600; ++i) {
        live.push_back(s.allocate(8 + 8 * (i % sizes), few));
        for (int k = 0; k < 50; ++k) s.free(s.allocate(1000, many));
        if (live.size() < most) continue;
        s.free(live.front());
        live.erase(live.begin());
      }
      s.play();
      for (const advised_site& site : s.advise(advice_limits().with("small.ns", 1))) {
        if (site.features->peak_objects > 2) continue;
        EXPECT_NE(site.rule->proposes, remedy::pool) << most << " " << site.evidence;
        EXPECT_NE(site.rule->proposes, remedy::segregate) << most << " " << site.evidence;
      }
    }
}

}  // namespace
