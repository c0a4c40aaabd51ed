// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds the stacks of both sides up by function from the outermost call inwards, and keeps the heaviest.
#include <algorithm>
#include <functional>
#include <ranges>
#include <unordered_map>

#include "cli/diff/diff.hpp"
#include "cli/support/function_names.hpp"

namespace ashlar::cli {

namespace {

constexpr std::size_t most_diff_calls = 4000;

}  // namespace

std::uint32_t diff_calls::callee(std::uint32_t caller, const std::string* name) {
  const auto [at, is_new] = by_name_.try_emplace({caller, name}, static_cast<std::uint32_t>(calls_.size()));
  if (is_new) calls_.push_back({caller, name, {}});
  return at->second;
}

void diff_calls::add(std::span<const program_stack> stacks, bool is_after) {
  std::unordered_map<const source_place*, const std::string*> names;
  for (const program_stack& stack : stacks) {
    std::uint32_t at = stack.calls.empty() ? callee(0, kept_name("(no stack)")) : 0;
    for (const source_place* place : stack.calls | std::views::reverse) {
      const auto [name, is_new] = names.try_emplace(place);
      if (is_new) name->second = kept_name(function_family(place->function));
      at = callee(at, name->second);
    }
    const std::uint64_t figures[] = {stack.sum->allocated.objects, stack.sum->allocated.bytes, stack.sum->live.bytes};
    for (std::size_t i = 0; i < 3; ++i) calls_[at].own[(is_after ? 3U : 0U) + i] += figures[i];
  }
}

/// Returns: of each call the greatest share, with its callees, in a figure of one side. A caller's is no less.
std::vector<double> diff_calls::weights() const {
  std::vector<call> sums = calls_;
  for (std::size_t i = sums.size(); i-- > 1;)
    for (std::size_t k = 0; k < sums[i].own.size(); ++k) sums[sums[i].parent].own[k] += sums[i].own[k];
  std::vector<double> all;
  for (const call& c : sums) {
    double& most = all.emplace_back(0);
    for (std::size_t k = 0; k < c.own.size(); ++k)
      if (sums[0].own[k] != 0)
        most = std::max(most, static_cast<double>(c.own[k]) / static_cast<double>(sums[0].own[k]));
  }
  return all;
}

nlohmann::json diff_calls::to_json() const {
  const std::vector<double> shares = weights();
  std::vector<double> order = shares;
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), most_diff_calls) - 1);
  std::ranges::nth_element(order, last, std::greater());
  diff_calls kept;
  std::vector<std::uint32_t> number(calls_.size());
  for (std::size_t i = 1; i < calls_.size(); ++i) {
    const std::uint32_t caller = number[calls_[i].parent];
    const bool is_folded = caller != 0 && kept.calls_[caller].name->empty();
    number[i] = is_folded ? caller : kept.callee(caller, kept.kept_name(shares[i] < *last ? "" : *calls_[i].name));
  }
  for (std::size_t i = 0; i < calls_.size(); ++i)
    for (std::size_t k = 0; k < calls_[i].own.size(); ++k) kept.calls_[number[i]].own[k] += calls_[i].own[k];
  nlohmann::json parents = nlohmann::json::array(), names = parents, amounts = parents;
  for (const call& c : kept.calls_) {
    parents.push_back(c.parent);
    names.push_back(*c.name);
    for (const std::uint64_t figure : c.own) amounts.push_back(figure);
  }
  return {{"parent", parents}, {"name", names}, {"amounts", amounts}};
}

}  // namespace ashlar::cli
