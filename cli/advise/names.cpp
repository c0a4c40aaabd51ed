// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells the program's functions from functions of the standard library, and containers by their functions. Titles of
// sites: what two sites of one name do not share is shown, callers before addresses.
#include <iterator>
#include <tuple>

#include "cli/advise/sites.hpp"
#include "cli/routes/plan.hpp"
#include "cli/support/function_names.hpp"
#include "cli/support/text.hpp"

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

/// What may mark a site: its calls, in their order, and their addresses.
struct site_marks {
  std::vector<std::string> calls;
  std::vector<std::string> addresses;
};

/// Callers stand before the library's functions.
site_marks marks_of(const advised_site& s, const call_tree& tree, site_names& names) {
  const site_node& node = tree.nodes()[s.node];
  const source_place& request = s.request.place;
  site_marks marks;
  std::vector<std::string> inner;
  bool is_behind = false;
  for (const std::uint64_t frame : tree.frames(node.stack).first(node.depth)) {
    for (const source_place& place : names.places(frame)) {
      if (is_behind) marks.calls.push_back("← " + place.str());
      else if (place.address == request.address && place.whole == request.whole && place.line == request.line)
        is_behind = true;
      else inner.push_back("via " + place.str());
    }
    marks.addresses.push_back(address_mark(frame, tree));
  }
  std::ranges::move(inner, std::back_inserter(marks.calls));
  return marks;
}

using mark_set = std::set<std::string>;

/// Returns: the fewest of `marks`, in their order, that none of the others has all of: greedily, and of equal ones the
/// first; nothing if there are none.
std::vector<std::string> own_marks(const std::vector<std::string>& marks, std::vector<const mark_set*> others) {
  std::set<std::size_t> chosen;
  while (!others.empty()) {
    std::size_t best = marks.size(), least = others.size();
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const auto alike = static_cast<std::size_t>(
          std::ranges::count_if(others, [&](const mark_set* o) { return o->contains(marks[i]); }));
      if (alike < least) std::tie(best, least) = std::pair(i, alike);
    }
    if (best == marks.size()) return {};
    chosen.insert(best);
    std::erase_if(others, [&](const mark_set* o) { return !o->contains(marks[best]); });
  }
  std::vector<std::string> own;
  for (const std::size_t i : chosen) own.push_back(marks[i]);
  return own;
}

/// Effects: sites without a mark get one of a kind, if it tells them from all others.
void mark_by(std::vector<std::string> site_marks::* kind, const std::vector<advised_site*>& alike,
             const std::vector<site_marks>& marks) {
  std::vector<std::vector<std::string>> own;
  for (const site_marks& m : marks) own.push_back(m.*kind);
  const std::vector<std::string> found = distinctions(own);
  for (std::size_t i = 0; i < alike.size(); ++i)
    if (alike[i]->mark.empty()) alike[i]->mark = found[i];
}

using sites_by_title = std::map<std::string, std::vector<advised_site*>>;

sites_by_title by_title(std::vector<advised_site>& sites, const call_tree& tree) {
  sites_by_title all;
  for (advised_site& s : sites) all[site_title(s, tree)].push_back(&s);
  std::erase_if(all, [](const auto& alike) { return alike.second.size() == 1; });
  return all;
}

/// Effects: functions of the sites have all of their template arguments.
void show_arguments(const std::vector<advised_site*>& alike) {
  for (advised_site* s : alike)
    if (source_place& place = s->request.place; place.function.find("<…>") != std::string::npos)
      place.function = long_function_name(place.whole);
}

bool differ_in_arguments(const std::vector<advised_site*>& alike) {
  const auto is_other = [&](const advised_site* s) {
    return s->request.place.whole != alike.front()->request.place.whole;
  };
  return std::ranges::any_of(alike, is_other);
}

}  // namespace

const std::vector<source_place>& site_names::places(std::uint64_t frame) {
  const site_frame& f = tree_.frame(frame);
  const site_module& module = tree_.modules()[f.module];
  return names_.places(module.path, module.build_id, f.offset);
}

std::string site_names::function_of(std::uint64_t frame) { return places(frame).back().function; }

const std::string& site_names::code(const source_place& place) {
  const auto [at, is_new] = code_.try_emplace({place.path, place.line});
  if (is_new) at->second = place.code();
  return at->second;
}

std::vector<const source_place*> site_names::calls_of(std::uint32_t stack, std::size_t most) {
  std::vector<const source_place*> all;
  const auto frames = tree_.frames(stack);
  for (const std::uint64_t frame : frames.first(std::min(frames.size(), most)))
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

std::vector<std::string> distinctions(const std::vector<std::vector<std::string>>& marks) {
  std::vector<mark_set> sets;
  for (const auto& own : marks) sets.emplace_back(own.begin(), own.end());
  std::vector<std::string> found;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    std::vector<const mark_set*> others;
    for (std::size_t j = 0; j < marks.size(); ++j)
      if (j != i) others.push_back(&sets[j]);
    found.push_back(joined(own_marks(marks[i], others)));
  }
  return found;
}

std::string address_mark(std::uint64_t frame, const call_tree& tree) {
  const site_frame& at = tree.frame(frame);
  return "at " + address_text(tree.modules()[at.module].path, at.offset);
}

std::string site_distinction(const advised_site& s) {
  const std::string caller = s.caller.function.empty() ? "" : "← " + s.caller.str();
  if (caller.empty() || s.mark.empty()) return caller + s.mark;
  return s.mark.starts_with("←") ? s.mark + " " + caller : caller + " " + s.mark;
}

std::string site_title(const advised_site& s, const call_tree& tree) {
  const site_node& node = tree.nodes()[s.node];
  const site_frame& frame = tree.frame(tree.frames(node.stack).front());
  const std::string request = s.request.place.function.empty()
                                  ? address_text(tree.modules()[frame.module].path, frame.offset)
                                  : s.request.place.str();
  const std::string distinction = site_distinction(s);
  return distinction.empty() ? request : request + " " + distinction;
}

void mark_equal_titles(std::vector<advised_site>& sites, const call_tree& tree, site_names& names) {
  for (const auto& [title, alike] : by_title(sites, tree))
    if (differ_in_arguments(alike)) show_arguments(alike);
  for (const auto& [title, alike] : by_title(sites, tree)) {
    std::vector<site_marks> marks;
    for (const advised_site* s : alike) marks.push_back(marks_of(*s, tree, names));
    mark_by(&site_marks::calls, alike, marks);
    mark_by(&site_marks::addresses, alike, marks);
    for (std::size_t i = 0; i < alike.size(); ++i)
      if (alike[i]->mark.empty()) alike[i]->mark = joined(marks[i].addresses);
  }
}

}  // namespace ashlar::cli
