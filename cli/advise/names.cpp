// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells the program's functions from functions of the standard library, and containers by their functions.
#include "cli/advise/names.hpp"

#include <array>
#include <string_view>
#include <utility>

namespace ashlar::cli {

namespace {

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

}  // namespace

std::optional<std::pair<container_kind, std::string>> container_of(const std::string& function) {
  for (const container_name& c : container_names)
    if (function.find(c.part) != function.npos) return std::pair(c.kind, std::string(c.name));
  return std::nullopt;
}

std::string allocated_type(const std::string& whole_name) {
  static constexpr std::string_view opening = "allocator<";
  const std::size_t at = whole_name.find(opening);
  if (at == whole_name.npos) return "";
  const std::size_t from = at + opening.size(), to = closing_bracket(whole_name, from);
  return to == whole_name.npos ? "" : whole_name.substr(from, to - from);
}

const std::vector<source_place>& site_names::places(std::uint64_t frame) {
  const site_frame& f = tree_.frame(frame);
  const site_module& module = tree_.modules()[f.module];
  return names_.places(module.path, module.build_id, f.offset);
}

std::string site_names::function_of(std::uint64_t frame) { return places(frame).back().function; }

const site_request& site_names::request(std::uint32_t stack) {
  const auto [at, is_new] = requests_.try_emplace(stack);
  site_request& found = at->second;
  if (!is_new) return found;
  for (const std::uint64_t frame : tree_.frames(stack))
    for (const source_place& place : places(frame)) {
      if (!is_library_place(place)) {
        found.place = place;
        found.enclosing = places(frame).back().function;
        return found;
      }
      if (found.element.empty()) found.element = allocated_type(place.whole);
      if (const auto container = found.kind == container_kind::none ? container_of(place.function) : std::nullopt)
        std::tie(found.kind, found.container) = *container;
    }
  return found;
}

}  // namespace ashlar::cli
