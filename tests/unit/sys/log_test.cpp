#include "sys/log.hpp"
#include "wire/json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

using namespace sluice;
using sys::log_level;
using sys::log_line;

namespace {

// Holds stderr in a file while it lives, and the log's settings with it.
class captured_log {
public:
    explicit captured_log(sys::log_settings settings)
        : file_(std::tmpfile()), saved_(::dup(STDERR_FILENO)) {
        REQUIRE(file_ != nullptr);
        ::dup2(::fileno(file_), STDERR_FILENO);
        sys::configure_log(settings);
    }
    captured_log(const captured_log&) = delete;
    captured_log& operator=(const captured_log&) = delete;
    ~captured_log() {
        sys::configure_log({});
        ::dup2(saved_, STDERR_FILENO);
        ::close(saved_);
        std::fclose(file_);
    }

    std::vector<std::string> lines() const {
        std::rewind(file_);
        std::vector<std::string> out;
        std::string line;
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) {
            if (c != '\n') {
                line += static_cast<char>(c);
                continue;
            }
            out.push_back(std::move(line));
            line.clear();
        }
        CHECK(line.empty()); // every line is whole
        return out;
    }

private:
    std::FILE* file_;
    int saved_;
};

std::string member(const std::string& line, std::string_view key) {
    auto value = wire::object_view(line).find(key);
    REQUIRE(value);
    return std::string(*value);
}

constexpr sys::log_settings as_json{log_level::info, sys::log_format::json};
constexpr sys::log_settings as_text{log_level::info, sys::log_format::text};

} // namespace

TEST_CASE("an event is one line of JSON with its fields in their types") {
    captured_log log(as_json);
    log_line(log_level::warn, "upstream")
        .field("server", "jira")
        .field("status", 503)
        .field("ms", 1.5)
        .field("bytes", std::uint64_t{18446744073709551615ULL});
    auto lines = log.lines();
    REQUIRE(lines.size() == 1);
    REQUIRE(wire::validate(lines[0]));
    CHECK(member(lines[0], "level") == "\"warn\"");
    CHECK(member(lines[0], "event") == "\"upstream\"");
    CHECK(member(lines[0], "server") == "\"jira\"");
    CHECK(member(lines[0], "status") == "503");
    CHECK(member(lines[0], "ms") == "1.500");
    CHECK(member(lines[0], "bytes") == "18446744073709551615");
    auto time = member(lines[0], "time");
    CHECK(time.size() == 26); // "2025-11-25T00:00:00.000Z" and its quotes
    CHECK(time.ends_with("Z\""));
}

TEST_CASE("no value breaks its line, whatever bytes a process or a host put into it") {
    std::vector<std::string> nasty = {
        "two\nlines",
        "quote\" and \\",
        "\x1b[31mred",
        std::string("nul\0byte", 8),
        "not \xff utf-8 \xc3",
        "half a surrogate \xed\xa0\x80",
        "\",\"level\":\"error"
    };
    for (auto settings : {as_json, as_text}) {
        captured_log log(settings);
        for (const auto& value : nasty)
            log_line(log_level::info, "said").field("text", value);
        auto lines = log.lines();
        REQUIRE(lines.size() == nasty.size());
        for (const auto& line : lines) {
            if (settings.format == sys::log_format::json) CHECK(wire::validate(line));
            for (char c : line)
                REQUIRE(static_cast<unsigned char>(c) >= 0x20);
        }
    }
}

TEST_CASE("a field cannot claim another field") {
    captured_log log(as_json);
    log_line(log_level::info, "said").field("text", "\",\"level\":\"error");
    CHECK(member(log.lines().at(0), "level") == "\"info\"");
}

TEST_CASE("a number that is none is null, for a line must stay JSON") {
    captured_log log(as_json);
    log_line(log_level::info, "x")
        .field("ms", std::nan(""))
        .field("s", std::numeric_limits<double>::infinity());
    auto line = log.lines().at(0);
    CHECK(wire::validate(line));
    CHECK(member(line, "ms") == "null");
}

TEST_CASE("text format is time, level, event, then fields") {
    captured_log log(as_text);
    log_line(log_level::error, "boom").field("server", "a b").field("n", 1);
    auto line = log.lines().at(0);
    CHECK(line.find(" error boom server=\"a b\" n=1") != std::string::npos);
}

TEST_CASE("levels below the one asked for are not written, and off writes nothing") {
    {
        captured_log log({log_level::warn, sys::log_format::json});
        CHECK_FALSE(sys::log_enabled(log_level::info));
        log_line(log_level::info, "quiet");
        log_line(log_level::warn, "heard");
        CHECK(log.lines().size() == 1);
    }
    captured_log log({log_level::off, sys::log_format::json});
    CHECK_FALSE(sys::log_enabled(log_level::error));
    log_line(log_level::error, "quiet");
    CHECK(log.lines().empty());
}
