// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program without a line of ashlar: the visits in logs of web servers, one thread a log. `./dev demo` records it,
// applies the advice (analyse.diff), and verifies the gain.
//
//   analyse LOG…                 the visits in these logs; without a name, in two short samples
//   analyse --sample SEED LINES  a sample log to standard output
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct request {
  std::time_t at = 0;
  int page = 0;
  int status = 0;
  std::int64_t bytes = 0;
  int milliseconds = 0;
};

using visit = std::list<request>;
using visits = std::map<std::string, visit>;

constexpr std::time_t idle_seconds = 30 * 60;  // a visit ends without a request for so long

struct summary {
  std::int64_t visits = 0, requests = 0, bytes = 0, failures = 0;
  std::time_t longest = 0;
  int slowest = 0;
  std::map<int, std::int64_t> last_pages;  // how many visits end on a page
};

std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <class Number>
Number number(std::string_view word) {
  Number value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    throw std::runtime_error("no number: " + std::string(word));
  return value;
}

// "1700000000 10.0.3.17 /page/42 200 5120 31": seconds, client, page, status, bytes, milliseconds.
request parse_request(std::string_view line, std::string& client) {
  request r;
  r.at = number<std::time_t>(next_word(line));
  client = next_word(line);
  const std::string_view path = next_word(line);
  r.page = number<int>(path.substr(path.rfind('/') + 1));
  r.status = number<int>(next_word(line));
  r.bytes = number<std::int64_t>(next_word(line));
  r.milliseconds = number<int>(line);
  return r;
}

void end_visit(const visit& ended, summary& all) {
  ++all.visits;
  ++all.last_pages[ended.back().page];
  all.longest = std::max(all.longest, ended.back().at - ended.front().at);
  for (const request& r : ended) {
    ++all.requests;
    all.bytes += r.bytes;
    all.failures += r.status >= 400;
    all.slowest = std::max(all.slowest, r.milliseconds);
  }
}

void end_idle_visits(visits& open, std::time_t now, summary& all) {
  std::erase_if(open, [&](const auto& entry) {
    const bool is_idle = now - entry.second.back().at > idle_seconds;
    if (is_idle) end_visit(entry.second, all);
    return is_idle;
  });
}

summary analyse(std::istream& log) {
  summary all;
  visits open;
  std::time_t looked = 0;
  std::string line, client;
  while (std::getline(log, line)) {
    const request r = parse_request(line, client);
    if (r.at >= looked + 300) end_idle_visits(open, looked = r.at, all);
    visit& current = open[client];
    current.push_back(r);
  }
  for (const auto& [name, last] : open) end_visit(last, all);
  return all;
}

void print(const summary& all) {
  const auto favourite = std::ranges::max_element(all.last_pages, {}, [](const auto& page) { return page.second; });
  std::cout << all.requests << " requests in " << all.visits << " visits of at most " << all.longest << " s, "
            << all.bytes / 1'000'000 << " MB, " << all.failures << " failures, at most " << all.slowest << " ms";
  if (favourite != all.last_pages.end()) std::cout << "; most visits end on page " << favourite->first;
  std::cout << '\n';
}

// Two hours of a server with a client for ten requests. The same on every machine: no distribution of the standard
// library is.
void write_sample(std::ostream& out, std::uint32_t seed, int lines) {
  std::mt19937 random(seed);
  const auto below = [&random](std::uint_fast32_t limit) { return random() % limit; };
  for (std::int64_t i = 0; i < lines; ++i) {
    const auto client = below(static_cast<std::uint_fast32_t>(lines) / 10 + 1);
    out << 1'700'000'000 + i * 7200 / lines << " 10.0." << client / 100 << '.' << client % 100 << " /page/"
        << below(20) * below(20) << (below(50) == 0 ? " 404 " : " 200 ") << 200 + below(20'000) << ' ' << below(90) + 1
        << '\n';
  }
}

summary analyse_file(const std::string& name) {
  std::ifstream log(name);
  if (!log) throw std::runtime_error(name + ": cannot be read");
  return analyse(log);
}

summary analyse_sample(std::uint32_t seed) {
  std::stringstream log;
  write_sample(log, seed, 20'000);
  return analyse(log);
}

// One thread a log: a file, or a sample if there are no names.
struct worker {
  worker(std::string name, std::uint32_t seed)
      : thread([this, name = std::move(name), seed] {
          try {
            all = name.empty() ? analyse_sample(seed) : analyse_file(name);
          } catch (const std::exception& problem) {
            error = problem.what();
          }
        }) {}

  summary all;
  std::string error;
  std::thread thread;
};

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> names(argv + 1, argv + argc);
  if (names.size() == 3 && names[0] == "--sample") {
    write_sample(std::cout, number<std::uint32_t>(names[1]), number<int>(names[2]));
    return 0;
  }
  std::list<worker> workers;
  for (const std::string& name : names) workers.emplace_back(name, 0);
  for (std::uint32_t seed = 1; names.empty() && seed <= 2; ++seed) workers.emplace_back("", seed);
  for (worker& each : workers) each.thread.join();
  for (const worker& each : workers) {
    if (!each.error.empty()) throw std::runtime_error(each.error);
    print(each.all);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "analyse: %s\n", error.what());
  return 1;
}
