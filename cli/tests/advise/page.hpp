// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page of advice for a mode of the victim, its data, and its look in a browser.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/tests/command.hpp"

namespace ashlar_test {

using nlohmann::json;

inline constexpr const char* data_begin = "<script type=\"application/json\" id=\"data\">";

/// Returns: the data of a page, as a browser cuts it out: up to the first end of a script.
inline json data_of(const std::string& page) {
  const std::size_t from = page.find(data_begin) + std::string(data_begin).size();
  return json::parse(page.substr(from, page.find("</script", from) - from));
}

class advise_page : public ashlar_test::command_test {
protected:
  std::string recorded(const std::string& mode) {
    EXPECT_EQ(ashlar("record -q --stacks 16 -o " + file(mode + ".trace") + " -- " ASHLAR_ADVISE_VICTIM " " + mode), 0)
        << text("err");
    return file(mode + ".trace");
  }

  std::string page_of(const std::string& arguments) {
    EXPECT_EQ(ashlar("advise " + arguments + " --html " + file("a.html") + " --json " + file("a.json")), 0)
        << text("err");
    return text("a.html");
  }
};

/// The page in a browser of the machine, if it has one.
class advise_look : public advise_page {
protected:
  void SetUp() override {
    if (ashlar_test::run_shell("command -v chromium >/dev/null") != 0)
      GTEST_SKIP() << "skipped: there is no chromium, so no one looks at the page";
  }

  /// Returns: what `script` leaves in the page's element "seen", in a window 1200 pixels wide.
  json look(const std::string& page, const std::string& script) {
    const std::string early =
        "<script>window.faults = []; window.onerror = (text) => { faults.push(text); };\n"
        "document.addEventListener('securitypolicyviolation', (e) => faults.push(e.blockedURI));</script>";
    const std::string late = "<script>{ let seen = {}; try {" + script +
                             "} catch (e) { faults.push(String(e)); }\nseen.faults = faults;"
                             "document.body.append(make('pre', {id: 'seen'}, JSON.stringify(seen).replace(/[<>&]/g, "
                             "(c) => '\\\\u00' + c.charCodeAt(0).toString(16)))); }</script>";
    std::string all = page;
    all.insert(all.find("<style>"), early);
    all.insert(all.rfind("</body>"), late);
    std::ofstream(file("look.html")) << all;
    const std::string command = "chromium --headless=new --no-sandbox --disable-gpu --window-size=1200,900 " +
                                std::string("--user-data-dir=") + file("profile") + " --virtual-time-budget=5000 " +
                                "--dump-dom file://" + file("look.html") + " > " + file("dom") + " 2> " + file("log");
    EXPECT_EQ(ashlar_test::run_shell(command), 0) << text("log");
    const std::string dom = text("dom"), begin = "<pre id=\"seen\">";
    const std::size_t from = dom.find(begin);
    if (from == dom.npos) return json{{"faults", {"the page did not run: " + text("log")}}};
    return json::parse(dom.substr(from + begin.size(), dom.find("</pre>", from) - from - begin.size()));
  }
};

}  // namespace ashlar_test
