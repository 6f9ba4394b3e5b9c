#include "base/text.hpp"
#include "sys/meters.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sluice;

namespace {

// The value of one sample line, written as the exposition format writes it; "" when it is not
// there.
std::string value_of(const std::string& text, std::string_view sample) {
    for (auto line : base::split(text, '\n')) {
        if (line.starts_with(sample) && line.size() > sample.size() && line[sample.size()] == ' ') {
            return std::string(line.substr(sample.size() + 1));
        }
    }
    return {};
}

std::size_t count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (auto line : base::split(text, '\n'))
        count += line.starts_with(part) ? 1U : 0U;
    return count;
}

sys::call_sample call(std::string_view server, std::string_view outcome, std::string_view tool) {
    return {server, "tools/call", outcome, tool, 0.02, 0.0002};
}

} // namespace

TEST_CASE("ended operations are counted by server, method and outcome") {
    sys::meters m(10);
    m.call_ended(call("jira", "ok", "create"));
    m.call_ended(call("jira", "ok", "create"));
    m.call_ended(call("jira", "timeout", "create"));
    m.call_ended(call("", "ok", ""));
    auto text = m.render();
    CHECK(
        value_of(text, R"(sluice_calls_total{method="tools/call",outcome="ok",server="jira"})") ==
        "2"
    );
    CHECK(
        value_of(
            text, R"(sluice_calls_total{method="tools/call",outcome="timeout",server="jira"})"
        ) == "1"
    );
    CHECK(
        value_of(text, R"(sluice_calls_total{method="tools/call",outcome="ok",server=""})") == "1"
    );
}

TEST_CASE("durations are histograms: cumulative buckets, a count and a sum") {
    sys::meters m(10);
    m.call_ended(call("jira", "ok", ""));
    m.call_ended(call("jira", "timeout", ""));
    auto text = m.render();
    std::string of = R"(sluice_call_duration_seconds)";
    std::string labels = R"(method="tools/call",server="jira")";
    CHECK(value_of(text, of + "_count{" + labels + "}") == "2");
    CHECK(value_of(text, of + "_bucket{" + labels + R"(,le="0.01"})") == "0");
    CHECK(value_of(text, of + "_bucket{" + labels + R"(,le="0.025"})") == "2");
    CHECK(value_of(text, of + "_bucket{" + labels + R"(,le="+Inf"})") == "2");
    CHECK(
        value_of(text, "sluice_gateway_added_seconds_bucket{" + labels + R"(,le="0.0001"})") == "0"
    );
    CHECK(
        value_of(text, "sluice_gateway_added_seconds_bucket{" + labels + R"(,le="0.00025"})") == "2"
    );
}

TEST_CASE("tool names beyond the bound are counted as other, those known before go on by name") {
    sys::meters m(2);
    for (std::string tool : {"one", "two", "three", "four", "one"})
        m.call_ended(call("s", "ok", tool));
    auto text = m.render();
    CHECK(value_of(text, R"(sluice_tool_calls_total{server="s",tool="one"})") == "2");
    CHECK(value_of(text, R"(sluice_tool_calls_total{server="s",tool="two"})") == "1");
    CHECK(value_of(text, R"(sluice_tool_calls_total{server="s",tool="other"})") == "2");
    CHECK(count_of(text, "sluice_tool_calls_total{") == 3);
}

TEST_CASE("a bound of no tool names writes none") {
    sys::meters m(0);
    m.call_ended(call("s", "ok", "one"));
    CHECK(count_of(m.render(), "sluice_tool_calls_total{") == 0);
}

TEST_CASE("a label's value cannot end its label or its line") {
    sys::meters m(10);
    m.call_ended(call("s", "ok", "a\"} 7\nevil 1\\"));
    auto text = m.render();
    CHECK(count_of(text, "evil") == 0);
    CHECK(value_of(text, R"(sluice_tool_calls_total{server="s",tool="a\"} 7\nevil 1\\"})") == "1");
}

TEST_CASE("events of their own are counters") {
    sys::meters m(0);
    m.progress_relayed();
    m.progress_relayed(4);
    m.cancelled();
    m.refused("unauthorized");
    m.refused("unauthorized");
    m.question_ended("elicitation/create", "answered");
    m.question_ended("whatever an upstream wrote", "answered");
    auto text = m.render();
    CHECK(value_of(text, "sluice_progress_relayed_total") == "5");
    CHECK(value_of(text, "sluice_cancellations_total") == "1");
    CHECK(value_of(text, R"(sluice_requests_refused_total{reason="unauthorized"})") == "2");
    CHECK(
        value_of(
            text, R"(sluice_questions_total{ending="answered",method="elicitation/create"})"
        ) == "1"
    );
    CHECK(value_of(text, R"(sluice_questions_total{ending="answered",method="other"})") == "1");
}

TEST_CASE("states are asked at each scrape, and one name is one family") {
    sys::meters m(0);
    double streams = 1;
    m.on_scrape([&] {
        std::vector<sys::gauge_reading> now;
        now.push_back({"sluice_streams", "Open streams", {}, streams, false});
        now.push_back({"sluice_up", "State", {{"server", "a"}}, 1, false});
        now.push_back({"sluice_up", "State", {{"server", "b"}}, 0, false});
        now.push_back({"sluice_bytes_total", "Bytes", {}, 12, true});
        return now;
    });
    auto first = m.render();
    streams = 2;
    auto second = m.render();
    CHECK(value_of(first, "sluice_streams") == "1");
    CHECK(value_of(second, "sluice_streams") == "2");
    CHECK(value_of(second, R"(sluice_up{server="b"})") == "0");
    CHECK(count_of(second, "# TYPE sluice_up gauge") == 1);
    CHECK(count_of(second, "# TYPE sluice_bytes_total counter") == 1);
    CHECK(value_of(second, "sluice_bytes_total") == "12");
}

TEST_CASE("every family has a help and a type, and counters end in total") {
    sys::meters m(5);
    m.call_ended(call("s", "ok", "t"));
    m.refused("x");
    auto text = m.render();
    std::size_t types = 0;
    for (auto line : base::split(text, '\n')) {
        if (!line.starts_with("# TYPE ")) continue;
        ++types;
        auto words = base::split(line, ' ');
        REQUIRE(words.size() == 4);
        CHECK(words[2].starts_with("sluice_"));
        CHECK(words[2].ends_with("_total") == (words[3] == "counter"));
        CHECK(text.find("# HELP " + std::string(words[2])) != std::string::npos);
    }
    CHECK(types >= 6);
}

TEST_CASE("a tool name that is no UTF-8 does not spoil the page for a scraper") {
    sys::meters m(10);
    m.call_ended(call("s", "ok", "half \xed\xa0\x80 surrogate"));
    auto text = m.render();
    CHECK(text.find('\xed') == std::string::npos);
    CHECK(text.find("\xef\xbf\xbd") != std::string::npos);
}

TEST_CASE("questions are counted by kind and ending, open ones now, and how long they were open") {
    sys::meters m(10);
    m.question_put("elicitation/create");
    m.question_put("elicitation/create");
    m.question_settled("elicitation/create", 0.7);
    m.question_ended("elicitation/create", "answered");
    m.question_ended("made/up", "timeout");
    m.stray_answer();
    auto text = m.render();
    CHECK(value_of(text, "sluice_questions_open{method=\"elicitation/create\"}") == "1");
    CHECK(
        value_of(text, "sluice_question_wait_seconds_count{method=\"elicitation/create\"}") == "1"
    );
    CHECK(
        value_of(
            text, "sluice_question_wait_seconds_bucket{method=\"elicitation/create\",le=\"0.5\"}"
        ) == "0"
    );
    CHECK(
        value_of(
            text, "sluice_questions_total{ending=\"answered\",method=\"elicitation/create\"}"
        ) == "1"
    );
    CHECK(value_of(text, "sluice_questions_total{ending=\"timeout\",method=\"other\"}") == "1");
    CHECK(value_of(text, "sluice_stray_answers_total") == "1");
}
