#include "upstream/stdio_gate.hpp"

#include <doctest/doctest.h>

using namespace sluice::upstream;

TEST_CASE("no process may be started unless stdio is enabled") {
    auto refused = may_spawn(stdio_settings{}, "npx");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("stdio.enabled") != std::string::npos);
}

TEST_CASE("only listed commands may be started, letter for letter") {
    stdio_settings s;
    s.enabled = true;
    s.allowed_commands.push_back("/opt/tools/mcp-files");
    for (auto good : {"npx", "uvx", "python3", "node", "docker", "deno", "/opt/tools/mcp-files"}) {
        CHECK_MESSAGE(may_spawn(s, good).ok(), good);
    }
    for (auto bad :
         {"bash",
          "/usr/bin/npx",
          "./npx",
          "npx ;id",
          "npx\nid",
          "",
          "NPX",
          "/opt/tools/../tools/mcp-files",
          "mcp-files"}) {
        CHECK_MESSAGE(!may_spawn(s, bad).ok(), bad);
    }
}

TEST_CASE("a list entry that is not a plain name or a clean absolute path allows nothing") {
    stdio_settings s;
    s.enabled = true;
    s.allowed_commands = {"sh -c", "/bin/../bin/sh", "bin/sh", "/", ""};
    for (const auto& entry : s.allowed_commands)
        CHECK_MESSAGE(!may_spawn(s, entry).ok(), entry);
}
