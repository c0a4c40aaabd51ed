// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads plans as they come from hands: each value is checked where it is read, and errors name it. Lists groups and
// sites, as many of each as there is room for.
#include "cli/routes/plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <sstream>

#include <fmt/format.h>

#include "cli/support/output.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

using nlohmann::json;

constexpr std::uint64_t plan_version = 1;

const char* name_of(route_remedy r) { return r == route_remedy::pool ? "pool" : "arena"; }

// ---- writing

json chain_json(const std::vector<route_frame>& chain) {
  json frames = json::array();
  for (const route_frame& f : chain) frames.push_back(json::array({f.build_id, f.offset}));
  return frames;
}

json to_json(const route_group& g) {
  json sites = json::array();
  for (const route_site& s : g.sites)
    sites.push_back({{"chain", chain_json(s.chain)}, {"function", s.function}, {"source", s.source}});
  json j = {{"group", g.name},
            {"remedy", name_of(g.remedy)},
            {"chunk_bytes", g.chunk_bytes},
            {"budget_bytes", g.budget_bytes},
            {"sites", std::move(sites)},
            {"evidence", g.evidence}};
  if (g.remedy == route_remedy::pool) j["cell_bytes"] = g.cell_bytes;
  return j;
}

std::string json_line(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

// ---- reading

/// A reason without its place, which `read_plan` adds.
[[noreturn]] void refuse(const std::string& reason) { throw std::runtime_error(reason); }

std::string in_quotes(const std::string& word) { return "'" + word + "'"; }

void check_members(const json& object, const char* of, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) refuse(std::string(of) + " is no object");
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end()) refuse("unknown member " + in_quotes(key));
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) refuse(in_quotes(key) + " is missing");
  return *found;
}

std::string text(const json& object, const char* key) {
  const json& value = member(object, key);
  if (!value.is_string()) refuse(in_quotes(key) + " is no text");
  return value.get<std::string>();
}

std::uint64_t in_bounds(const json& value, const std::string& of, std::uint64_t least, std::uint64_t most) {
  const std::string bounds = " is no whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value.is_number_unsigned()) refuse(of + bounds);
  const auto n = value.get<std::uint64_t>();
  if (n < least || n > most) refuse(of + bounds);
  return n;
}

std::uint64_t number(const json& object, const char* key, std::uint64_t least, std::uint64_t most) {
  return in_bounds(member(object, key), in_quotes(key), least, most);
}

const json& list(const json& object, const char* key, std::size_t most) {
  const json& value = member(object, key);
  if (!value.is_array() || value.empty()) refuse(in_quotes(key) + " is no list, or empty");
  if (value.size() > most) refuse(in_quotes(key) + " has more than " + counted(most, "entry", "entries"));
  return value;
}

bool is_build_id(const std::string& id) {
  constexpr std::size_t longest = 128;
  return !id.empty() && id.size() <= longest && id.size() % 2 == 0 &&
         id.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Returns: the whole of the stream.
std::string bounded_text(std::istream& from) {
  std::string text;
  std::array<char, 65536> piece;
  do {
    from.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(from.gcount()));
    if (text.size() >= most_plan_bytes)
      refuse(std::to_string(most_plan_bytes >> 20) + " MiB or more: no plan is as large");
  } while (from);
  return text;
}

/// Throws: what the file is in place of a plan.
[[noreturn]] void refuse_file(const std::string& what) {
  refuse(what + "; a plan is what 'ashlar advise TRACE -o PLAN' writes");
}

/// Expects: the first line.
void check_kind(const std::string& line) {
  const std::size_t at = line.find_first_not_of(" \t\r");
  if (at == std::string::npos) refuse_file("the first line is empty");
  if (line[at] == '<') refuse_file("a page of HTML, as of 'ashlar advise --html'");
  if (line.starts_with("\xEF\xBB\xBF")) refuse_file("the file begins with a byte order mark: save it without one");
  if (line[at] == '{' && line.find_first_not_of(" \t\r", at + 1) == std::string::npos)
    refuse_file("JSON of several lines, as of 'ashlar advise --json'");
  if (line[at] != '{') refuse_file("no plan: the first line is no JSON object");
}

route_plan read_head(const json& line) {
  if (!line.contains("plan")) refuse_file("no plan: 'plan' is missing");
  check_members(line, "the first line", {"plan", "program", "modules", "comment"});
  if (const json& version = line["plan"]; !version.is_number_unsigned() || version != plan_version)
    refuse("a plan of version " + version.dump() + ", and this command reads " + std::to_string(plan_version));
  route_plan plan{.program = text(line, "program"), .modules = {}, .groups = {}};
  if (line.contains("comment")) plan.comment = text(line, "comment");
  const json& modules = member(line, "modules");
  if (!modules.is_object()) refuse("'modules' is no object");
  for (const auto& [id, file] : modules.items()) {
    if (!is_build_id(id)) refuse(in_quotes(id) + " is no build id");
    if (!file.is_string()) refuse("the file of build id " + id + " is no text");
    plan.modules[id] = file.get<std::string>();
  }
  return plan;
}

route_frame read_frame(const json& pair, const route_plan& plan) {
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string()) refuse("a frame is no pair [BUILD_ID, OFFSET]");
  route_frame frame{.build_id = pair[0].get<std::string>(), .offset = in_bounds(pair[1], "an offset", 1, most_offset)};
  if (!plan.modules.contains(frame.build_id)) refuse("build id " + in_quotes(frame.build_id) + " is not in 'modules'");
  return frame;
}

route_site read_site(const json& value, const route_plan& plan) {
  check_members(value, "a site", {"chain", "function", "source"});
  route_site site{.chain = {}, .function = text(value, "function"), .source = text(value, "source")};
  for (const json& frame : list(value, "chain", most_frames)) site.chain.push_back(read_frame(frame, plan));
  return site;
}

route_remedy read_remedy(const json& line) {
  const std::string word = text(line, "remedy");
  for (const route_remedy r : {route_remedy::pool, route_remedy::arena})
    if (word == name_of(r)) return r;
  refuse("unknown remedy " + in_quotes(word) + "; it is pool or arena");
}

void read_sizes(const json& line, route_group& group) {
  group.chunk_bytes = number(line, "chunk_bytes", least_chunk_bytes, most_chunk_bytes);
  if (!std::has_single_bit(group.chunk_bytes)) refuse("'chunk_bytes' is no power of two");
  group.budget_bytes = number(line, "budget_bytes", 0, ~std::uint64_t{0});
  if (group.remedy == route_remedy::arena) {
    if (line.contains("cell_bytes")) refuse("'cell_bytes' is for pools");
    return;
  }
  group.cell_bytes = number(line, "cell_bytes", 1, most_cell_bytes);
  if (group.chunk_bytes / least_cells < group.cell_bytes)
    refuse("'chunk_bytes' has no room for " + counted(least_cells, "cell"));
}

/// What may stand in a plan once.
struct seen_before {
  std::set<std::string> names;
  std::set<std::vector<route_frame>> chains;
};

void check_unseen(const route_group& group, seen_before& seen) {
  if (!seen.names.insert(group.name).second) refuse("group " + in_quotes(group.name) + " stands there twice");
  for (const route_site& site : group.sites)
    if (!seen.chains.insert(site.chain).second)
      refuse("a site of group " + in_quotes(group.name) + " stands there twice");
  if (seen.chains.size() > most_sites) refuse("more than " + counted(most_sites, "site"));
}

/// Terminals obey control characters. Expects: UTF-8.
bool is_name(const std::string& name) {
  constexpr std::size_t longest = 100;
  return !name.empty() && name.size() <= longest && printable(name) == name;
}

route_group read_group(const json& line, const route_plan& plan) {
  check_members(line, "a group", {"group", "remedy", "cell_bytes", "chunk_bytes", "budget_bytes", "sites", "evidence"});
  route_group group;
  group.name = text(line, "group");
  if (!is_name(group.name)) refuse("the name of a group is empty, long, or has control characters");
  group.remedy = read_remedy(line);
  read_sizes(line, group);
  for (const json& site : list(line, "sites", most_sites)) group.sites.push_back(read_site(site, plan));
  if (const auto evidence = line.find("evidence"); evidence != line.end()) group.evidence = *evidence;
  if (!group.evidence.is_null() && !group.evidence.is_object()) refuse("'evidence' is no object");
  return group;
}

json parsed(const std::string& line, bool ended) {
  json value = json::parse(line, json_guard(), false);
  if (value.is_discarded()) refuse(ended ? "no JSON" : "the file is cut short here");
  return value;
}

}  // namespace

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string name_of(const route_site& site) {
  if (site.function.empty()) return hexadecimal(site.chain.front().offset);
  return site.source.empty() ? site.function : site.function + " (" + site.source + ")";
}

std::string to_text(const route_plan& plan) {
  json head = {{"plan", plan_version}, {"program", plan.program}, {"modules", plan.modules}};
  if (!plan.comment.empty()) head["comment"] = plan.comment;
  std::string all = json_line(head);
  for (const route_group& group : plan.groups) all += json_line(to_json(group));
  return all;
}

route_plan groups_of(const route_plan& plan, const std::vector<std::size_t>& numbers) {
  route_plan some = plan;
  some.groups.clear();
  for (const std::size_t n : numbers) some.groups.push_back(plan.groups[n]);
  return some;
}

route_plan read_plan(std::istream& from, const std::string& name) {
  route_plan plan;
  seen_before seen;
  std::size_t at = 0;
  try {
    std::istringstream in(bounded_text(from));
    for (std::string line; std::getline(in, line);) {
      ++at;
      if (at == 1) check_kind(line);
      const json value = parsed(line, !in.eof());
      if (at == 1) {
        plan = read_head(value);
        continue;
      }
      plan.groups.push_back(read_group(value, plan));
      check_unseen(plan.groups.back(), seen);
      if (plan.groups.size() > most_groups) refuse("more than " + counted(most_groups, "group"));
    }
    if (at == 0) refuse_file("the file is empty");
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(name + ":" + std::to_string(at) + ": " + error.what());
  }
  return plan;
}

route_plan read_plan(const std::string& path) {
  std::ifstream file = open_text(path);
  return read_plan(file, path);
}

// ---- for people

namespace {

constexpr std::size_t groups_of_page = 16;
constexpr std::size_t lines_of_page = 48;
constexpr std::size_t sites_named = 2;

std::string heading(const route_group& group) {
  std::string text = "  " + shorten(group.name, page_width / 2) + ", " + resource_text(group);
  if (const auto objects = advised_objects(group)) text += ", advised for " + in_words(*objects, "object");
  return text + ":\n";
}

/// The last line counts the sites that have none.
std::string site_lines(const route_group& group, const site_titles& titles, std::size_t most) {
  std::string text;
  const std::size_t shown = std::min(group.sites.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t left = i + 1 == shown ? group.sites.size() - shown : 0;
    const std::string more = left == 0 ? "" : fmt::format(" and {}", counted(left, "more site"));
    text += "    " + titles.of(group.sites[i], page_width - 4 - more.size(), std::string(6, ' ')) + more + "\n";
  }
  return text;
}

}  // namespace

std::string address_text(const std::string& path, std::uint64_t offset) {
  return fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1), offset);
}

site_titles::site_titles(const route_plan& plan) : plan_(plan) {
  for (const route_group& group : plan.groups)
    for (const route_site& site : group.sites) ++uses_[name_of(site)];
}

std::vector<std::string> site_titles::addresses(const route_site& site) const {
  std::vector<std::string> all;
  if (const auto use = uses_.find(name_of(site)); use != uses_.end() && use->second == 1) return all;
  for (const route_frame& frame : site.chain)
    all.push_back((all.empty() ? " at " : " ← ") + address_text(plan_.modules.at(frame.build_id), frame.offset));
  return all;
}

std::string site_titles::of(const route_site& site) const {
  std::string text = name_of(site);
  for (const std::string& address : addresses(site)) text += address;
  return text;
}

std::string site_titles::of(const route_site& site, std::size_t columns, const std::string& indent) const {
  const std::vector<std::string> all = addresses(site);
  std::size_t wanted = 0;
  for (const std::string& address : all) wanted += display_width(address);
  std::string text = shorten(name_of(site), columns - std::min(wanted, columns / 2));
  std::size_t used = display_width(text);
  for (const std::string& address : all) {
    used += display_width(address);
    const bool fits = used <= columns;
    text += fits ? address : "\n" + indent + address.substr(1);
    if (!fits) used = display_width(indent + address) - 1;
  }
  return text;
}

std::string site_titles::of(const route_group& group) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(group.sites.size(), sites_named); ++i)
    text += (i == 0 ? "" : ", ") + of(group.sites[i]);
  if (group.sites.size() > sites_named) text += fmt::format(" and {} more", group.sites.size() - sites_named);
  return text;
}

std::string plan_size_text(const route_plan& plan) {
  std::size_t sites = 0;
  for (const route_group& group : plan.groups) sites += group.sites.size();
  return counted(sites, "site") + " in " + counted(plan.groups.size(), "group");
}

std::optional<std::uint64_t> advised_objects(const route_group& group) {
  const auto objects = group.evidence.find("objects");
  if (objects == group.evidence.end() || !objects->is_number_integer()) return std::nullopt;
  return objects->get<std::uint64_t>();
}

std::string resource_text(const route_group& group) {
  return group.remedy == route_remedy::pool ? "a pool of cells of " + in_bytes(group.cell_bytes) : "an arena";
}

std::string plan_text(const route_plan& plan, std::size_t groups, std::size_t sites) {
  const site_titles titles(plan);
  const std::size_t shown = std::min(plan.groups.size(), groups);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += heading(plan.groups[i]) + site_lines(plan.groups[i], titles, sites);
  if (plan.groups.size() > shown) text += fmt::format("  and {}\n", counted(plan.groups.size() - shown, "more group"));
  return text;
}

std::string plan_page_text(const route_plan& plan) {
  const std::size_t groups = std::clamp<std::size_t>(plan.groups.size(), 1, groups_of_page);
  return plan_text(plan, groups, lines_of_page / groups - 1);
}

}  // namespace ashlar::cli
