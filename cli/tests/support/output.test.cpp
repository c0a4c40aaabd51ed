// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that an older file stays as it is unless it is replaced as a whole.
#include <csignal>

#include <sys/resource.h>

#include "cli/support/output.hpp"
#include "cli/tests/command.hpp"

namespace {

namespace fs = std::filesystem;
using ashlar::cli::write_text;

class output : public ashlar_test::command_test {
protected:
  [[nodiscard]] std::string made(const std::string& name, const std::string& contents) const {
    std::ofstream(file(name)) << contents;
    return file(name);
  }
};

/// Files of this process end at 100 bytes, as on a full disk.
class little_room {
public:
  little_room() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit bounds = before_;
    bounds.rlim_cur = 100;
    ::setrlimit(RLIMIT_FSIZE, &bounds);
  }
  little_room(const little_room&) = delete;
  little_room& operator=(const little_room&) = delete;
  ~little_room() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(output, of_a_full_disk_keeps_the_older_file) {
  const std::string old = made("old.json", "old");
  {
    const little_room room;
    EXPECT_THROW(write_text(old, std::string(1000, 'x')), std::runtime_error);
  }
  EXPECT_EQ(text("old.json"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(old).parent_path()), {}), 1) << "nothing stays beside it";
}

TEST_F(output, of_a_full_disk_leaves_no_part_of_a_new_file) {
  fs::create_symlink(file("later"), file("link"));
  {
    const little_room room;
    for (const std::string& path : {file("new.json"), file("link")}) {
      try {
        write_text(path, std::string(1000, 'x'));
        ADD_FAILURE() << path;
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), path + ": File too large");
      }
    }
    write_text(file("small"), std::string(100, 'x'));
  }
  EXPECT_FALSE(fs::exists(file("new.json")));
  EXPECT_FALSE(fs::exists(file("later")));
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(text("small").size(), 100U);
}

TEST_F(output, keeps_symbolic_links_further_names_and_permissions) {
  const std::string old = made("old", "old");
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec);
  fs::create_symlink(old, file("link"));
  write_text(file("link"), "new");
  EXPECT_TRUE(fs::is_symlink(file("link")));
  EXPECT_EQ(text("old"), "new");
  EXPECT_EQ(fs::status(old).permissions(), fs::perms::owner_all);
  fs::create_hard_link(old, file("second"));
  write_text(old, "newer");
  EXPECT_EQ(text("second"), "newer");
  write_text(file("fresh"), "fresh");
  EXPECT_EQ(text("fresh"), "fresh");
  fs::create_symlink(file("later"), file("dangling"));
  write_text(file("dangling"), "later");
  EXPECT_EQ(text("later"), "later");
}

TEST_F(output, goes_to_pipes_devices_and_the_file_under_standard_output) {
  write_text("/dev/null", "x");
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
  const std::string trace = sample(10);
  EXPECT_EQ(ashlar("report " + trace + " --json /dev/stdout"), 0);
  EXPECT_TRUE(said("out", "\"unmatched_span_ends"));
  EXPECT_EQ(ashlar("report " + trace + " --json /dev/stdout | cat"), 0);
  EXPECT_TRUE(said("out", "\"unmatched_span_ends"));
}

TEST_F(output, files_given_twice_are_found_by_any_of_their_names) {
  using ashlar::cli::repeated_file;
  const std::string first = made("first", "1"), second = made("second", "1");
  fs::create_hard_link(first, file("hard"));
  fs::create_symlink(first, file("soft"));
  EXPECT_EQ(repeated_file({}), "");
  EXPECT_EQ(repeated_file({first, second, file("missing")}), "");
  EXPECT_EQ(repeated_file({first, second, first}), first);
  EXPECT_EQ(repeated_file({second, first, file("hard")}), file("hard"));
  EXPECT_EQ(repeated_file({file("soft"), first}), first);
  EXPECT_EQ(repeated_file({file("missing"), first, file("missing")}), file("missing"));
}

}  // namespace
