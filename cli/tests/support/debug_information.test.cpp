// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each form of debug information that compilers write is read, or named as unread.
#include <sstream>

#include "cli/tests/command.hpp"

namespace {

using ashlar_test::has;

/// Programs compiled in the test: `parts::fill` is inlined into a lambda of main, and allocates.
class debug_information : public ashlar_test::command_test {
protected:
  /// Returns: whether the compiler takes the options.
  bool compile(const std::string& options, const char* compiler = ASHLAR_COMPILER) {
    std::ofstream(file("shelf.cpp")) << R"(extern "C" void* malloc(unsigned long);
      namespace parts {
      void* volatile kept;
      struct shelf {
        __attribute__((always_inline)) inline void fill(unsigned long n) { kept = malloc(n); }
      };
      }
      int main() {
        parts::shelf s;
        const auto twice = [&](unsigned long n) __attribute__((noinline)) {
          s.fill(n);
          s.fill(n + 1);
        };
        for (unsigned long i = 0; i < 100; ++i) twice(i + 10);
      })";
    return in_folder(std::string(compiler) + " -O2 -fno-builtin shelf.cpp -o shelf " + options);
  }

  bool in_folder(const std::string& command) {
    return ashlar_test::run_shell("cd " + file("") + " && { " + command + "; } > log 2>&1") == 0;
  }

  /// Effects: records if wanted, and reads the notes of the report, which is in `text("out")`.
  void report(bool records = true) {
    if (records) ASSERT_EQ(ashlar("record -q -o " + file("t.trace") + " -- " + file("shelf")), 0) << text("err");
    ASSERT_EQ(ashlar("report " + file("t.trace") + " --json " + file("j")), 0) << text("err");
    notes = nlohmann::json::parse(text("j"))["notes"];
  }

  /// Returns: whether the last report names the inlined call, and its file both of its callers' lines.
  [[nodiscard]] bool names_all() const {
    const std::string data = text("j");
    return text("out").find("fill (shelf.cpp:5)") != std::string::npos &&
           data.find("(shelf.cpp:11)") != std::string::npos && data.find("(shelf.cpp:12)") != std::string::npos;
  }

  nlohmann::json notes;
};

TEST_F(debug_information, is_read_in_each_form) {
  for (const std::string options :
       {"-g -gdwarf-4", "-g -gdwarf-5", "-g -gsplit-dwarf", "-g -gsplit-dwarf -gdwarf-4", "-gsplit-dwarf -g -gz=zlib",
        "-g && objcopy --only-keep-debug shelf shelf.debug && strip shelf && objcopy --add-gnu-debuglink=shelf.debug "
        "shelf",
        "-g && objcopy --compress-debug-sections=zlib-gnu shelf"}) {
    ASSERT_TRUE(compile(options)) << options << text("log");
    report();
    EXPECT_TRUE(names_all()) << options << "\n" << text("out");
    EXPECT_EQ(notes.size(), 0U) << options << notes;
  }
}

TEST_F(debug_information, that_is_not_there_is_named) {
  ASSERT_TRUE(compile("-g -gsplit-dwarf")) << text("log");
  ASSERT_TRUE(in_folder("rm *.dwo"));
  report();
  EXPECT_FALSE(names_all());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(has(notes[0], ".dwo, which is not there")) << notes;
  EXPECT_TRUE(said("out", "inlined calls are not shown"));
  ASSERT_EQ(ashlar("advise --measure none " + file("t.trace")), 0) << text("err");
  EXPECT_TRUE(said("out", "inlined calls are not shown"));
  ASSERT_TRUE(compile("-g0")) << text("log");
  report();
  EXPECT_TRUE(has(text("out"), "main"));
  EXPECT_EQ(notes.size(), 0U) << "none is there, and names without lines show it" << notes;
}

TEST_F(debug_information, without_one_of_its_sections_is_read_or_named) {
  for (const std::string options : {"-gdwarf-4", "-gdwarf-5", "-gsplit-dwarf -gdwarf-5", "-fdebug-types-section"}) {
    ASSERT_TRUE(compile("-g " + options)) << text("log");
    ASSERT_TRUE(in_folder("cp shelf whole && readelf -SW whole | grep -o '[.]debug[a-z_]*' > sections"));
    ASSERT_EQ(ashlar("record -q -o " + file("t.trace") + " -- " + file("shelf")), 0) << text("err");
    std::istringstream sections(text("sections"));
    for (std::string section; sections >> section;) {
      ASSERT_TRUE(in_folder("objcopy --remove-section " + section + " whole shelf")) << text("log");
      report(false);
      EXPECT_TRUE(names_all() || notes.size() == 1) << options << " without " << section << notes << text("out");
    }
  }
}

TEST_F(debug_information, that_is_damaged_is_named) {
  for (const std::string damage :
       {"head -c 300 /dev/zero > d && objcopy --update-section .debug_info=d whole shelf",
        "objcopy -O binary --only-section .debug_info --set-section-flags .debug_info=alloc whole all && "
        "head -c 200 all > d && objcopy --update-section .debug_info=d whole shelf",
        "head -c 300 /dev/zero > d && objcopy --update-section .debug_line=d whole shelf",
        "objcopy --strip-debug whole shelf && objcopy --add-section .stab=whole shelf"}) {
    ASSERT_TRUE(compile("-g") && in_folder("mv shelf whole && " + damage)) << damage << text("log");
    report();
    EXPECT_FALSE(names_all()) << damage;
    EXPECT_EQ(notes.size(), 1U) << damage << notes << text("out");
  }
  ASSERT_TRUE(compile("-g -gsplit-dwarf") && in_folder("echo > $(ls *.dwo)")) << text("log");
  report();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(has(notes[0], ".dwo, which libdw cannot read")) << notes;
}

TEST_F(debug_information, of_another_build_is_not_shown) {
  ASSERT_TRUE(compile("-g -Wl,--build-id")) << text("log");
  report();
  EXPECT_TRUE(names_all()) << text("out");
  ASSERT_TRUE(compile("-g -O0 -Wl,--build-id")) << text("log");
  report(false);
  EXPECT_FALSE(names_all()) << text("out");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(has(notes[0], "holds another build")) << notes;
}

}  // namespace
