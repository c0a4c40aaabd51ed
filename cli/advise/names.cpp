// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells the program's functions from functions of the standard library, and containers by their functions.
#include "cli/advise/names.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace ashlar::cli {

namespace {

constexpr std::size_t frames_of_wrappers = 6;  // from the allocator on; names of all would take long

struct container_name {
  std::string_view part;  ///< Of a function of the library.
  container_kind kind;
  std::string_view name;
};

constexpr std::array container_names = {
    container_name{"_Rb_tree", container_kind::node, "std::map or std::set"},
    container_name{"std::map<", container_kind::node, "std::map"},
    container_name{"std::set<", container_kind::node, "std::set"},
    container_name{"_Hashtable", container_kind::node, "std::unordered_map or std::unordered_set"},
    container_name{"std::unordered_", container_kind::node, "std::unordered_map or std::unordered_set"},
    container_name{"_List_base", container_kind::node, "std::list"},
    container_name{"std::list<", container_kind::node, "std::list"},
    container_name{"std::__cxx11::list<", container_kind::node, "std::list"},
    container_name{"_Fwd_list", container_kind::node, "std::forward_list"},
    container_name{"std::forward_list<", container_kind::node, "std::forward_list"},
    container_name{"std::__cxx11::basic_string", container_kind::string, "std::string"},
    container_name{"std::basic_string", container_kind::string, "std::string"},
    container_name{"_Vector_base", container_kind::vector, "std::vector"},
    container_name{"std::vector<", container_kind::vector, "std::vector"},
    container_name{"_Deque_base", container_kind::deque, "std::deque"},
    container_name{"std::deque<", container_kind::deque, "std::deque"},
    container_name{"__shared_", container_kind::shared, "std::shared_ptr"},
    container_name{"std::make_shared", container_kind::shared, "std::make_shared"},
    container_name{"std::allocate_shared", container_kind::shared, "std::allocate_shared"},
    container_name{"_Function_", container_kind::function, "std::function"},
    container_name{"std::function<", container_kind::function, "std::function"},
};

/// Returns: the position of the bracket that closes the one before `from`.
std::size_t closing_bracket(const std::string& text, std::size_t from) {
  int depth = 1;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && text[i - 1] != '-' && --depth == 0) return i;
  }
  return text.npos;
}

/// Returns: the kind of container of a library function, and its name; nothing if the function tells none.
std::optional<std::pair<container_kind, std::string>> container_of(const std::string& function) {
  for (const container_name& c : container_names)
    if (function.find(c.part) != function.npos) return std::pair(c.kind, std::string(c.name));
  return std::nullopt;
}

/// Returns: T of the first "allocator<T>" in a name; empty if there is none.
std::string allocated_type(const std::string& whole_name) {
  static constexpr std::string_view opening = "allocator<";
  const std::size_t at = whole_name.find(opening);
  if (at == whole_name.npos) return "";
  const std::size_t from = at + opening.size(), to = closing_bracket(whole_name, from);
  return to == whole_name.npos ? "" : whole_name.substr(from, to - from);
}

}  // namespace

const std::vector<source_place>& site_names::places(std::uint64_t frame) {
  const site_frame& f = tree_.frame(frame);
  const site_module& module = tree_.modules()[f.module];
  return names_.places(module.path, module.build_id, f.offset);
}

std::string site_names::function_of(std::uint64_t frame) { return places(frame).back().function; }

std::vector<const source_place*> site_names::calls_of(std::uint32_t stack, std::size_t most_frames) {
  std::vector<const source_place*> all;
  const auto frames = tree_.frames(stack);
  for (const std::uint64_t frame : frames.first(std::min(frames.size(), most_frames)))
    for (const source_place& place : places(frame)) all.push_back(&place);
  return all;
}

void site_names::find_wrappers(const site_observer& seen) {
  for (std::uint32_t stack = 1; stack <= tree_.stack_count(); ++stack)
    if (seen.objects_of(stack) != 0) wrappers_.add(calls_of(stack, frames_of_wrappers), seen.allocated_of(stack));
  for (std::uint32_t node = 0; node < tree_.nodes().size(); ++node)
    if (tree_.nodes()[node].parent == site_node::none)
      for (const auto& [calls, objects] : seen.of(node).owners)
        wrappers_.add_own_frees(places(calls.birth).back(), objects);
  wrappers_.decide();
  requests_.clear();
}

const site_request& site_names::request(std::uint32_t stack) {
  const auto [known, is_new] = requests_.try_emplace(stack);
  site_request& found = known->second;
  if (!is_new) return found;
  const std::vector<const source_place*> calls = calls_of(stack, ~std::size_t{0});
  const program_call call = wrappers_.call_in(calls);
  for (const source_place* place : std::span(calls).first(call.at)) {
    if (!is_library_place(*place)) continue;
    if (found.element.empty()) found.element = allocated_type(place->whole);
    if (const auto container = found.kind == container_kind::none ? container_of(place->function) : std::nullopt)
      std::tie(found.kind, found.container) = *container;
  }
  if (call.at == calls.size()) return found;
  found.place = *calls[call.at];
  if (!call.through.empty()) found.through = call.through.back()->function;
  std::size_t seen = 0;
  for (const std::uint64_t frame : tree_.frames(stack)) {
    ++found.depth;
    seen += places(frame).size();
    if (seen <= call.at) continue;
    found.enclosing = places(frame).back().function;
    break;
  }
  return found;
}

site_request site_names::request(std::uint32_t stack, std::uint32_t depth) {
  site_request found = request(stack);
  found.is_behind = found.depth > depth;
  if (!found.is_behind) return found;
  for (const std::uint64_t frame : tree_.frames(stack).first(depth))
    for (const source_place& place : places(frame)) {
      if (!wrappers_.contains(place)) continue;
      found.place = place;
      found.enclosing = places(frame).back().function;
      found.through.clear();
      return found;
    }
  return found;
}

}  // namespace ashlar::cli
