// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the suffixes of call chains at which chains part.
#include "cli/advise/call_tree.hpp"

#include <unordered_map>

namespace ashlar::cli {

namespace {

/// Every suffix up to the greatest depth, parted or not.
class suffix_tree {
public:
  struct suffix {
    std::uint32_t ways = 0;  ///< Callers, and one for stacks that end here.
    std::uint32_t parent = 0;
    std::uint32_t node = site_node::none;
  };

  /// Returns: the suffix that begins with `parent` and goes on with `frame`. 0 is the empty one.
  std::uint32_t child(std::uint32_t parent, std::uint64_t frame) {
    const auto [at, is_new] =
        children_.try_emplace(std::uint64_t{parent} << 32 | frame, static_cast<std::uint32_t>(all_.size()));
    if (!is_new) return at->second;
    ++all_[parent].ways;
    all_.push_back({0, parent, site_node::none});
    return at->second;
  }

  void end_at(std::uint32_t index) {
    if (ended_.size() < all_.size()) ended_.resize(all_.size());
    if (ended_[index]) return;
    ended_[index] = true;
    ++all_[index].ways;
  }

  [[nodiscard]] bool is_candidate(std::uint32_t index) const {
    const std::uint32_t parent = all_[index].parent;
    return parent == 0 || all_[parent].ways > 1;
  }

  suffix& operator[](std::uint32_t index) { return all_[index]; }

private:
  std::vector<suffix> all_ = std::vector<suffix>(1);
  std::vector<bool> ended_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

std::size_t used_depth(std::size_t frames) { return std::min<std::size_t>(frames, call_tree::most_depth); }

}  // namespace

std::uint32_t call_tree::module_of(const trace::mapped_module* module) {
  const site_module found = module == nullptr ? site_module{} : site_module{module->build_id, module->path};
  const std::string& key = found.build_id.empty() ? found.path : found.build_id;
  const auto [at, is_new] = module_ids_.try_emplace(key, static_cast<std::uint32_t>(modules_.size()));
  if (is_new) modules_.push_back(found);
  return at->second;
}

std::uint32_t call_tree::frame_of(std::uint64_t address, std::span<const trace::mapped_module> modules) {
  const trace::mapped_module* module = trace::find_module(modules, address);
  const std::uint32_t in = module_of(module);
  const std::uint64_t offset = address - (module == nullptr ? 0 : module->bias);
  const auto [at, is_new] = frame_ids_.try_emplace({in, offset}, static_cast<std::uint32_t>(frames_.size()));
  if (is_new) frames_.push_back({in, offset});
  return at->second;
}

call_tree::stack_ids call_tree::add(const trace::stack_table& stacks, std::span<const trace::mapped_module> modules,
                                    std::uint32_t most_frames) {
  struct met {
    std::uint32_t frame = 0;
    std::uint32_t last = 0;  ///< The stack that has it.
  };
  std::unordered_map<std::uint64_t, met> known;  // by address
  stack_ids ids(stacks.size() + std::size_t{1}, 0);
  std::vector<std::uint64_t> frames;
  for (std::uint32_t id = 1; id <= stacks.size(); ++id) {
    frames.clear();
    stack_facts about;
    for (const std::uint64_t address : stacks[id]) {
      const auto [at, is_new] = known.try_emplace(address);
      if (is_new) at->second.frame = frame_of(address, modules);
      if (std::exchange(at->second.last, id) != id) frames.push_back(at->second.frame);
      else about.whole = std::min(about.whole, static_cast<std::uint32_t>(frames.size()));
    }
    if (frames.empty()) continue;
    ids[id] = stacks_.add(frames);
    about.is_cut = most_frames != 0 && stacks[id].size() >= most_frames;
    if (about.is_cut) cut_at_ = std::min(cut_at_, most_frames);
    about_.push_back(about);
  }
  return ids;
}

void call_tree::finish() {
  suffix_tree suffixes;
  for (std::uint32_t id = 1; id <= stacks_.size(); ++id) {
    std::uint32_t at = 0;
    for (const std::uint64_t frame : stacks_[id].first(used_depth(stacks_[id].size()))) at = suffixes.child(at, frame);
    suffixes.end_at(at);
  }
  first_level_ = {0, 0};
  for (std::uint32_t id = 1; id <= stacks_.size(); ++id) {
    std::uint32_t at = 0, depth = 0, parent = site_node::none;
    for (const std::uint64_t frame : stacks_[id].first(used_depth(stacks_[id].size()))) {
      at = suffixes.child(at, frame);
      ++depth;
      if (!suffixes.is_candidate(at)) continue;
      if (levels_.size() - first_level_.back() == most_levels) break;
      std::uint32_t& node = suffixes[at].node;
      if (node == site_node::none) {
        node = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({depth, id, parent});
        callers_.emplace_back();
        if (parent != site_node::none) callers_[parent].push_back(node);
      }
      if (depth > about_[id].whole) nodes_[node].is_whole = false;
      levels_.push_back(node);
      parent = node;
    }
    first_level_.push_back(levels_.size());
  }
}

}  // namespace ashlar::cli
