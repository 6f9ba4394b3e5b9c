// docs/configuration.md is held to the table of keys: a row for every key, none for a key that is
// not, type and default as the code has them. SLUICE_UPDATE_DOCS=1 writes the tables anew.
#include "app/config_keys.hpp"
#include "config_fixture.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace sluice;
using namespace sluice::app;

namespace {

std::filesystem::path find_docs() {
    auto at = std::filesystem::current_path();
    for (;;) {
        auto file = at / "docs" / "configuration.md";
        if (std::filesystem::exists(file)) return file;
        if (at == at.parent_path()) return {};
        at = at.parent_path();
    }
}

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '|') out += '\\';
        out += c;
    }
    return out;
}

template <class Root>
std::string table_of(const key_table<Root>& table) {
    std::string out = "| key | type | default | meaning |\n|---|---|---|---|\n";
    Root root;
    for (const auto& row : table.rows) {
        auto to = row.where(root);
        std::string shown(row.shown_default.empty() ? default_of(to) : row.shown_default);
        out += "| `" + std::string(row.name) + "` | " + type_of(to) + " | ";
        out += shown.empty() ? std::string() : "`" + shown + "`";
        out += " | " + escaped(row.meaning) + " |\n";
    }
    return out;
}

struct block {
    const char* name;
    std::string text;
};

std::vector<block> blocks() {
    return {
        {"file", table_of(file_keys())},
        {"server", table_of(server_keys())},
        {"key", table_of(key_keys())},
    };
}

// What stands between the markers of a block; `replace` puts something else there.
std::string between(std::string& doc, const std::string& name, const std::string* replace) {
    auto begin = "<!-- keys: " + name + " -->\n";
    auto from = doc.find(begin);
    auto to = doc.find("<!-- end -->", from);
    if (from == std::string::npos || to == std::string::npos) return "no markers for " + name;
    from += begin.size();
    auto old = doc.substr(from, to - from);
    if (replace != nullptr) doc.replace(from, to - from, *replace);
    return old;
}

} // namespace

TEST_CASE("docs/configuration.md has every key with its type, default and meaning, and no other") {
    auto file = find_docs();
    REQUIRE_MESSAGE(!file.empty(), "docs/configuration.md is not above the working directory");
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    auto doc = text.str();
    bool update = std::getenv("SLUICE_UPDATE_DOCS") != nullptr;
    for (const auto& each : blocks()) {
        auto written = between(doc, each.name, update ? &each.text : nullptr);
        if (!update) CHECK(written == each.text);
    }
    if (update) std::ofstream(file) << doc;
}

TEST_CASE("the examples of docs/configuration.md are good configurations") {
    auto file = find_docs();
    REQUIRE(!file.empty());
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    auto doc = text.str();
    int examples = 0;
    for (auto at = doc.find("```yaml\n"); at != std::string::npos; at = doc.find("```yaml\n", at)) {
        at += 8;
        auto end = doc.find("```", at);
        auto anything = [](std::string_view) -> std::optional<std::string> {
            return "a-value-that-is-long-enough";
        };
        auto got = parse_config(doc.substr(at, end - at), "docs/configuration.md", anything);
        CHECK_MESSAGE(got.ok(), render(got.problems));
        at = end;
        ++examples;
    }
    CHECK(examples > 0);
}

TEST_CASE("every key of the tables is reachable, and no key of a later feature is one of them") {
    std::set<std::string_view> seen;
    for (const auto& row : file_keys().rows) {
        CHECK_MESSAGE(seen.insert(row.name).second, row.name);
        CHECK_MESSAGE(!is_later(file_keys().later, row.name), row.name);
    }
    for (const auto& row : server_keys().rows) {
        CHECK_MESSAGE(!is_later(server_keys().later, row.name), row.name);
    }
    for (const auto& row : key_keys().rows) {
        CHECK_MESSAGE(!is_later(key_keys().later, row.name), row.name);
    }
}

TEST_CASE("every default, written out, is the same as left out") {
    std::string text;
    draft root;
    for (const auto& row : file_keys().rows) {
        auto shown = default_of(row.where(root));
        if (shown.empty() || row.name.find('.') == std::string_view::npos) continue;
        auto dot = row.name.find('.');
        auto list = type_of(row.where(root)).starts_with("list");
        auto value = list ? "['" + std::string(shown) + "']" : std::string(shown);
        if (list) {
            for (auto comma = value.find(", "); comma != std::string::npos;) {
                value.replace(comma, 2, "','");
                comma = value.find(", ");
            }
        }
        if (shown.ends_with(':')) value = "'" + shown + "'";
        // A block of the store says at least which.
        std::string before = row.name.starts_with("store.") ? "url: memory, " : "";
        auto one = std::string(row.name.substr(0, dot)) + ": {" + before +
                   std::string(row.name.substr(dot + 1)) + ": " + value + "}\n" +
                   test::with_server("");
        auto got = test::read(one);
        CHECK_MESSAGE(got.ok(), render(got.problems));
    }
}
