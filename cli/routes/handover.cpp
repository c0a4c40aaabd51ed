// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads unwind tables as the recorder does, compares build ids, numbers the modules of a plan, and finds the steps from
// frame to frame of its chains.
#include "cli/routes/handover.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>

#include "cli/preload/frame.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

/// Returns: the rule at a return address; `unknown` without one.
recorder::frame_rule rule_at(const elf_file& file, std::uint64_t offset) {
  for (const GElf_Phdr& tables : file.headers())
    for (const GElf_Phdr& part : file.headers()) {
      const std::string_view contents = file.contents(part);
      const bool is_there =
          tables.p_type == PT_GNU_EH_FRAME && part.p_type == PT_LOAD && tables.p_vaddr - part.p_vaddr < contents.size();
      if (!is_there) continue;
      const auto* const begin = reinterpret_cast<const std::byte*>(contents.data());
      return recorder::compile_rule({begin + (tables.p_vaddr - part.p_vaddr), begin, begin + contents.size()},
                                    reinterpret_cast<std::uintptr_t>(begin) + (offset - part.p_vaddr));
    }
  return {};
}

}  // namespace

const elf_file& frame_steps::opened(const std::string& path) {
  auto& file = files_[path];
  if (file == nullptr) file = std::make_unique<elf_file>(path);
  return *file;
}

bool frame_steps::is_code(const std::string& path, std::uint64_t offset) {
  const elf_file& file = opened(path);
  if (!file.is_elf()) throw std::runtime_error(path + ": not an ELF file, or unreadable");
  for (const GElf_Phdr& part : file.headers())
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && offset - 1 - part.p_vaddr < part.p_memsz) return true;
  return false;
}

std::optional<frame_step> frame_steps::at(const std::string& path, std::uint64_t offset) {
  using enum recorder::frame_base;
  const recorder::frame_rule rule = rule_at(opened(path), offset);
  constexpr std::uint64_t most_cfa = std::uint64_t{1} << 20, most_rbp = 256, word = 8;
  const frame_step step{.from_rbp = rule.base == frame_pointer,
                        .cfa_offset = static_cast<std::uint64_t>(std::int64_t{rule.offset}),
                        .rbp_offset = static_cast<std::uint64_t>(std::int64_t{rule.saved_words}) * word};
  const bool is_known = rule.base == stack_pointer || rule.base == frame_pointer;
  const bool is_small = step.cfa_offset >= word && step.cfa_offset <= most_cfa && step.rbp_offset <= most_rbp;
  if (!is_known || !is_small || step.cfa_offset % word != 0) return std::nullopt;
  return step;
}

namespace {

bool is_there(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

std::string gone(const std::string& file) { return file + ", which the plan is for, is not there"; }

std::string another_build(const std::string& file, const std::string& id, const std::string& now) {
  return "the plan is for another build of " + file + ": for build id " + id + ", and that file has " +
         (now.empty() ? "none" : now) + "; record it and plan again";
}

std::string obstacle_in(const std::string& id, const std::string& file) {
  if (!is_there(file)) return gone(file);
  const std::string now = build_id_of(file);
  return now == id ? "" : another_build(file, id, now);
}

/// Returns: the build id that the plan has for the file; empty if it does not name it.
std::string id_of(const route_plan& plan, const std::string& file) {
  const auto found = std::ranges::find_if(plan.modules, [&file](const auto& module) {
    std::error_code error;
    return std::filesystem::equivalent(module.second, file, error);
  });
  return found == plan.modules.end() ? "" : found->first;
}

// Linux hands over 128 KiB in one variable, its name included.
constexpr std::size_t most_text_bytes = std::size_t{127} << 10;
constexpr std::size_t most_modules = 256;

std::string text_of(const frame_step& step) {
  return std::string(step.from_rbp ? " 6 " : " 7 ") + std::to_string(step.cfa_offset) + " " +
         std::to_string(step.rbp_offset);
}

class handover {
public:
  explicit handover(const route_plan& plan) : plan_(plan) {}

  std::string text(bool reports) {
    std::string groups;
    for (const route_group& group : plan_.groups) groups += text_of(group);
    const std::string all = std::string("route 1") + (reports ? " report\n" : "\n") + modules_ + groups;
    if (numbers_.size() > most_modules)
      throw std::runtime_error("the plan has sites in " + counted(numbers_.size(), "module") + ", and a router takes " +
                               std::to_string(most_modules) + ": leave out those with the least gain");
    if (all.size() > most_text_bytes)
      throw std::runtime_error("the sites of the plan take " + counted(all.size(), "byte") +
                               ", and one variable of the environment has " + std::to_string(most_text_bytes) +
                               ": leave out those with the least gain");
    return all;
  }

private:
  std::string text_of(const route_group& group) {
    const bool is_pool = group.remedy == route_remedy::pool;
    std::string text = std::string("g ") + (is_pool ? "pool " : "arena ") + std::to_string(group.cell_bytes) + " " +
                       std::to_string(group.chunk_bytes) + " " + std::to_string(group.budget_bytes) + " " + group.name;
    for (const route_site& site : group.sites) text += "\ns" + text_of(group, site);
    return text + "\n";
  }

  std::string text_of(const route_group& group, const route_site& site) {
    std::string text;
    for (std::size_t i = 0; i != site.chain.size(); ++i) {
      const route_frame& frame = site.chain[i];
      check_code(group, site, i);
      text += " " + std::to_string(number_of(frame.build_id)) + " " + hexadecimal(frame.offset);
      if (i + 1 != site.chain.size()) text += cli::text_of(step_of(site, i));
    }
    return text;
  }

  void check_code(const route_group& group, const route_site& site, std::size_t i) {
    const route_frame& frame = site.chain[i];
    const std::string& file = plan_.modules.at(frame.build_id);
    if (steps_.is_code(file, frame.offset)) return;
    const std::string part = site.chain.size() == 1 ? "" : "frame " + std::to_string(i + 1) + " of ";
    throw std::runtime_error(part + "the site " + name_of(site) + " of group '" + group.name + "' is offset " +
                             std::to_string(frame.offset) + " of " + file +
                             ", which has no code there: no call returns to it");
  }

  frame_step step_of(const route_site& site, std::size_t i) {
    const route_frame& frame = site.chain[i];
    if (const auto step = steps_.at(plan_.modules.at(frame.build_id), frame.offset)) return *step;
    throw std::runtime_error("the site " + name_of(site) + " is known by a chain of calls, and frame " +
                             std::to_string(i + 1) + " of it has no fixed size: give it one frame, or leave it out");
  }

  std::size_t number_of(const std::string& build_id) {
    const auto [found, is_new] = numbers_.try_emplace(build_id, numbers_.size());
    if (is_new) modules_ += "m " + build_id + "\n";
    return found->second;
  }

  const route_plan& plan_;
  frame_steps steps_;
  std::map<std::string, std::size_t> numbers_;
  std::string modules_;
};

}  // namespace

std::string bind_plan(route_plan& plan, const std::string& program) {
  if (plan.groups.empty()) return {};
  if (!is_there(program)) return gone(program);
  const std::string own = build_id_of(program);
  if (own.empty()) return program + " has no build id, by which plans name their sites: link it with --build-id";
  if (const std::string id = id_of(plan, program); !plan.modules.contains(own) && !id.empty())
    return another_build(program, id, own);
  if (!plan.modules.contains(own))
    return "the plan is for another program than " + program + " with build id " + own + ": for " + plan.program;
  plan.modules[own] = std::filesystem::absolute(program).lexically_normal().string();
  std::set<std::string> used;
  for (const route_group& group : plan.groups)
    for (const route_site& site : group.sites)
      for (const route_frame& frame : site.chain) used.insert(frame.build_id);
  for (const std::string& id : used) {
    if (id == own) continue;
    if (const std::string found = obstacle_in(id, plan.modules.at(id)); !found.empty()) return found;
  }
  return {};
}

std::string handover_text(const route_plan& plan, bool reports) { return handover(plan).text(reports); }

}  // namespace ashlar::cli
