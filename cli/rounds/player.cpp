// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Puts inputs into commands, and interleaves the runs.
#include "cli/rounds/player.hpp"

#include <sys/mman.h>

#include "cli/routes/handover.hpp"
#include "cli/span_clock/span_file.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/inspect_program.hpp"
#include "cli/support/text.hpp"
#include "cli/support/verb.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

bool is_for_shell(const std::vector<std::string>& command) {
  return command.size() == 3 && command[0] == "/bin/sh" && command[1] == "-c";
}

std::string replaced(std::string word, const std::string& path) {
  for (std::size_t at = 0; (at = word.find(input_mark, at)) != std::string::npos; at += path.size())
    word.replace(at, std::strlen(input_mark), path);
  return word;
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  if (files.empty()) throw std::runtime_error(folder.string() + ": no file in it");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

program_side under_library(const candidate& malloc, const std::vector<std::string>& command) {
  return {.command = command,
          .library = malloc.library,
          .shown = preload_assignment(malloc.library) + " " + shell_line(command)};
}

program_side checked_under_library(const candidate& malloc, const std::vector<std::string>& command, const char* use) {
  const bool is_ours = !run_command_of(malloc.library).empty();
  const std::string obstacle =
      describe(inspect_program(command.front()), {.name = malloc.name.c_str(), .use = use, .needs_glibc = !is_ours});
  if (!obstacle.empty()) throw std::runtime_error(obstacle);
  return under_library(malloc, command);
}

program_side under_routes(const route_plan& routes, const std::string& file, const std::vector<std::string>& command) {
  return {.command = command,
          .library = require_companion(route_library),
          .variables = {{route_variable, handover_text(routes, false)}},
          .shown = "ashlar run --plan " + shell_word(file) + " -- " + shell_line(command)};
}

bool takes_path(const program_side& side) {
  return std::any_of(side.command.begin(), side.command.end(),
                     [](const std::string& word) { return word.find(input_mark) != std::string::npos; });
}

std::vector<std::string> command_on(const program_side& side, const std::string& path) {
  if (path.empty()) return side.command;
  std::vector<std::string> words;
  const std::string written = is_for_shell(side.command) ? quoted(path) : path;
  for (const std::string& word : side.command) words.push_back(replaced(word, written));
  return words;
}

std::vector<std::string> input_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      const std::vector<std::string> more = files_in(path);
      files.insert(files.end(), more.begin(), more.end());
    } else if (fs::exists(path, ignored)) {
      files.push_back(path);
    } else {
      throw std::runtime_error(path + ": no such file");
    }
  }
  return files;
}

namespace {

constexpr std::size_t most_padding = 4096;  // bytes: a page, so that every offset of the stack occurs
constexpr const char* span_library = "libashlar-spans.so";

[[noreturn]] void fail_on_spans() {
  throw std::runtime_error(std::string("cannot make the file of spans: ") + std::strerror(errno));
}

/// The file that a program's span clock writes to.
class span_recording {
public:
  span_recording() {
    file_.write(std::as_bytes(std::span(&span_file_magic, 1)));
    if (::ftruncate(file_.descriptor(), static_cast<off_t>(sizeof(span_file))) != 0) fail_on_spans();
  }

  /// Effects: leads the clock of a run to the file.
  void lead(run_setting& setting) const {
    setting.variables.emplace_back(span_file_variable, std::to_string(file_.descriptor()));
  }

  /// Returns: the tails, after the run; of its first million spans.
  [[nodiscard]] span_tails tails() const {
    const auto unmap = [](span_file* file) { ::munmap(file, sizeof(span_file)); };
    void* const pages = ::mmap(nullptr, sizeof(span_file), PROT_READ, MAP_SHARED, file_.descriptor(), 0);
    if (pages == MAP_FAILED) fail_on_spans();
    const std::unique_ptr<span_file, decltype(unmap)> file(static_cast<span_file*>(pages), unmap);
    std::array<std::vector<double>, most_span_names> durations;
    const std::size_t used = std::min<std::size_t>(file->used.load(), most_spans);
    for (std::size_t i = 0; i < used; ++i) {
      const std::uint64_t entry = file->durations[i].load(std::memory_order_relaxed);
      const std::uint64_t ns = entry & ((std::uint64_t{1} << span_name_shift) - 1);
      durations[(entry >> span_name_shift) % most_span_names].push_back(static_cast<double>(ns));
    }
    span_tails all;
    for (std::size_t i = 0; i < most_span_names; ++i)
      if (!durations[i].empty()) all[file->names[i].text.data()] = nearest_rank_99(durations[i]);
    return all;
  }

private:
  temporary_file file_;
};

}  // namespace

double nearest_rank_99(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t rank = (values.size() * 99 + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::vector<double> program_rounds::values(std::size_t side, run_measure m) const {
  std::vector<double> all;
  for (const program_round& round : rounds) all.push_back(round.sides[side][m]);
  return all;
}

comparison compare(const program_rounds& rounds, std::size_t a, std::size_t b, run_measure m, double threshold,
                   double error, random_engine& random) {
  return compare(rounds.values(a, m), rounds.values(b, m), scale_of(m, threshold), error, random);
}

measure_comparisons compare_all(const program_rounds& rounds, std::size_t a, std::size_t b, double threshold,
                                double error, random_engine& random) {
  measure_comparisons all;
  for (const run_measure m : run_measures) all[m] = compare(rounds, a, b, m, threshold, error, random);
  return all;
}

paired_effect effect_of_itself(std::initializer_list<const program_rounds*> stages, run_measure m, double error,
                               random_engine& random, std::size_t side) {
  std::vector<double> first, again;
  for (const program_rounds* const stage : stages)
    for (const program_round& round : stage->rounds)
      if (round.again) {
        first.push_back(round.sides[side][m]);
        again.push_back((*round.again)[m]);
      }
  return effect_of(log_ratios(first, again, scale_of(m, 0)), error / effect_error * itself_error, random);
}

bool is_unfit(const paired_effect& itself, double threshold) {
  const finding found = verdict_of(itself, threshold);
  return found == finding::gain || found == finding::loss;
}

std::size_t planned_rounds(const program_rounds& pilot, const std::vector<std::size_t>& sides, run_measure m,
                           double threshold, double error) {
  std::size_t wanted = least_pairs;
  for (const std::size_t side : sides) {
    const auto ratios = log_ratios(pilot.values(0, m), pilot.values(side, m), scale_of(m, threshold));
    wanted = std::max(wanted, planned_pairs(deviation_of(ratios), ratios.size(), threshold, error));
  }
  return wanted;
}

std::string difference_of(const program_run& run, const program_run& first) {
  if (run.killed) return "the program takes more than ten times as long";
  if (run.status != first.status) return "the program " + ending_of(run);
  return run.same_output(first) ? "" : "the program prints something else";
}

program_player::program_player(program_side as_it_is, std::string name, std::vector<std::string> inputs,
                               std::uint64_t seed, bool times_spans)
    : as_it_is_(std::move(as_it_is)), name_(std::move(name)), inputs_(std::move(inputs)), random_(seed) {
  if (inputs_.empty()) inputs_.emplace_back();
  if (times_spans) span_clock_ = require_companion(span_library);
}

void program_player::begin() {
  show_progress("warming up: " + name_);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    first_.push_back(run(as_it_is_, i));
    if (first_[i].status >= exit_not_executable && !first_[i].killed)
      throw std::runtime_error(name_ + " " + ending_of(first_[i]) + on_input(i));
  }
}

program_run program_player::run(const program_side& side, std::size_t input) {
  const std::string& path = inputs_[input];
  run_setting setting{{side.library}, side.variables, most_seconds_};
  setting.variables.emplace_back("ASHLAR_PADDING", std::string(1 + draw_below(random_, most_padding), '-'));
  std::optional<span_recording> spans;
  if (!span_clock_.empty()) {
    setting.libraries.push_back(span_clock_);
    spans.emplace().lead(setting);
  }
  const stopwatch clock;
  program_run done = program_runner(command_on(side, path), takes_path(side) ? "" : path).run(setting);
  seconds_ += clock.seconds();
  ++runs_;
  left_behind_ += done.left_behind;
  if (spans) done.spans = spans->tails();
  return done;
}

program_round program_player::play(const std::vector<const program_side*>& sides, std::size_t number,
                                   const run_check& check, std::size_t repeated) {
  program_round round{.input = number % inputs_.size(),
                      .sides = std::vector<run_figures>(sides.size()),
                      .spans = std::vector<span_tails>(sides.size())};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i <= sides.size(); ++i) {
    const bool runs = i < sides.size() ? sides[i] != nullptr : repeats_first(number) && sides[repeated] != nullptr;
    if (runs) order.push_back(i);
  }
  for (const std::size_t side : shuffled(std::move(order), random_)) {
    round.order += side < 26 ? std::string(1, static_cast<char>('a' + side)) : fmt::format("({})", side);
    program_run done = run(*sides[side < sides.size() ? side : repeated], round.input);
    check(done, side, round.input);
    if (side == sides.size()) {
      round.again = figures_of(done);
      continue;
    }
    round.sides[side] = figures_of(done);
    round.spans[side] = std::move(done.spans);
  }
  return round;
}

bool program_player::prints_the_same(const program_run& run, std::size_t input) const {
  if (run.killed)
    throw std::runtime_error(
        fmt::format("{} does not take the same time each time: {:.2g} s at first, now more than {:.2g} s", name_,
                    first_[input].wall_ms / 1e3, most_seconds_));
  if (run.status != first_[input].status)
    throw std::runtime_error(name_ + " does not end the same way each time: it " + ending_of(run) + on_input(input));
  return run.same_output(first_[input]);
}

std::string program_player::on_input(std::size_t input) const {
  return inputs_[input].empty() ? "" : " (on " + inputs_[input] + ")";
}

double program_player::seconds_of_round(std::size_t sides) const noexcept {
  const double of_run = runs_ == 0 ? 0 : seconds_ / static_cast<double>(runs_);
  return of_run * (static_cast<double>(sides) + 1.0 / rounds_per_repeat);
}

}  // namespace ashlar::cli
