// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the note of `ashlar record`. A run that is recorded again shows what no note can: a program that has done its
// work, or waits for a terminal, does other work the second time.
#include "cli/advise/repetition.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "cli/preload/status.hpp"
#include "cli/rounds/program.hpp"
#include "cli/support/companion.hpp"
#include "cli/support/text.hpp"

namespace ashlar::cli {

namespace {

namespace fs = std::filesystem;

constexpr double same_share = 0.1;
constexpr std::uint64_t same_events = 100;  // of a start that differs

std::string obstacle_of_input(const run_note& note) {
  std::error_code error;
  if (note.input == input_kind::other) return "its standard input was a pipe or a device, which is not there again";
  if (note.input != input_kind::file) return "";
  if (!fs::exists(note.input_file, error)) return "its standard input, " + note.input_file + ", is gone";
  return note.input_offset == 0 ? "" : "its standard input began in the middle of " + note.input_file;
}

/// After an exec of the first process its trace is of another program than the one that was started, as of `env`.
std::string obstacle_of_command(const run_note& note, const std::vector<std::string>& command) {
  if (note.command_sum != sum_of_command(command))
    return "the recorded command started another program in its place, or is too long for the trace, which has the "
           "command line of that program alone";
  return note.environment_sum == sum_of_environment()
             ? ""
             : "the environment is another one than when it was recorded: a variable was set, changed or removed";
}

std::string obstacle_in(const run_note& note, double seconds) {
  if (note.status != 0) return fmt::format("it ended with status {} when it was recorded", note.status);
  if (std::string obstacle = obstacle_of_input(note); !obstacle.empty()) return obstacle;
  if (note.seconds <= seconds / 4) return "";
  return fmt::format("it took {:.1f} s when it was recorded, more than a quarter of the {:.0f} s, and a measurement is "
                     "some hundred runs",
                     note.seconds, seconds);
}

std::uint64_t events_in(const fs::path& trace) {
  trace::byte_source source(trace.string());
  return source.refusal() != nullptr ? 0 : detail::trace_io::chunk_index(source).events();
}

}  // namespace

bool is_same_work(std::uint64_t now, std::uint64_t before) noexcept {
  const std::uint64_t apart = now > before ? now - before : before - now;
  const auto share = static_cast<std::uint64_t>(same_share * static_cast<double>(before));
  return apart <= std::max(std::min(same_events, before / 2), share);
}

repeatable_run repeatable_run_of(const std::vector<std::unique_ptr<trace_input>>& inputs, double seconds) {
  for (const auto& input : inputs) {
    const auto note = note_of(input->path());
    if (!note) continue;
    for (const std::string& obstacle :
         {obstacle_in(*note, seconds), obstacle_of_command(*note, input->info().command_line)})
      if (!obstacle.empty()) throw std::runtime_error(obstacle);
    return {*note, events_in(input->path())};
  }
  throw std::runtime_error(inputs.front()->path() +
                           " does not tell how its command was started: it is of a program that another one has "
                           "started, as env does in the first line of a script, or of an older ashlar");
}

std::string recorded_directory(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  std::error_code error;
  for (const auto& input : inputs) {
    const auto note = note_of(input->path());
    if (!note) continue;
    if (!fs::is_directory(note->directory, error))
      throw std::runtime_error("the directory of the recorded run, " + note->directory + ", is gone");
    return note->directory;
  }
  return "";
}

bool is_of_started(const std::vector<std::unique_ptr<trace_input>>& inputs) {
  return std::ranges::any_of(inputs, [](const auto& input) {
    const auto note = note_of(input->path());
    return note && note->command_sum == sum_of_command(input->info().command_line);
  });
}

std::string program_in(const std::string& directory, const std::string& program) {
  return directory.empty() || program.find('/') == program.npos
             ? program
             : (fs::path(directory) / program).lexically_normal().string();
}

double require_same_work(const std::vector<std::string>& command, const std::string& input, std::uint64_t events,
                         double seconds, const std::string& traces) {
  program_runner runner(command, input);
  const program_run run = runner.run({.libraries = {require_companion(recorder_library)},
                                      .variables = {{recorder::file_variable, traces + "/%p"},
                                                    {recorder::stacks_variable, "0"},
                                                    {recorder::first_variable, "0"},
                                                    {recorder::status_variable, ""}},
                                      .most_seconds = seconds});
  if (run.killed) throw std::runtime_error(fmt::format("run again, it does not end within {:.0f} s", seconds));
  if (run.status != 0) throw std::runtime_error("run again without a terminal, it " + ending_of(run));
  const double took = run.wall_ms / 1e3;
  if (took > seconds / 2)
    throw std::runtime_error(fmt::format("run again, it takes {:.1f} s, and a measurement is some hundred runs", took));
  std::uint64_t most = 0;
  for (const auto& entry : fs::directory_iterator(traces)) {
    const std::uint64_t found = events_in(entry.path());
    if (is_same_work(found, events)) return took;
    most = std::max(most, found);
  }
  throw std::runtime_error(fmt::format("run again, it does other work: {}, and {} when it was recorded",
                                       counted(most, "event"), counted(events, "event")));
}

}  // namespace ashlar::cli
