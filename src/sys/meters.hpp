// All metrics of the process, behind plain functions so that prometheus-cpp stays in one file.
// Names follow Prometheus conventions and are listed in docs/metrics.md. Label values are few:
// servers and methods come from the configuration and the protocol, tool names are capped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::sys {

// One ended operation.
struct call_sample {
    std::string_view server; // "" for an aggregate
    std::string_view method;
    std::string_view outcome;
    std::string_view tool; // "" for none
    double total_seconds = 0;
    double gateway_seconds = 0; // what we added: total less the time spent waiting for the upstream
};

// A value read when somebody scrapes.
struct gauge_reading {
    std::string name;
    std::string help;
    std::vector<std::pair<std::string, std::string>> labels;
    double value = 0;
    bool counter = false; // monotone, rendered as a counter
};

class meters {
public:
    explicit meters(std::size_t max_tool_names);
    ~meters();

    void call_ended(const call_sample& sample);
    void progress_relayed(std::uint64_t notes = 1);
    void cancelled();
    // A question of an upstream: put to the host (or not), no longer open there after so many
    // seconds; and how it ended: answered, or the code of what kept the answer away.
    void question_put(std::string_view method);
    void question_settled(std::string_view method, double seconds);
    void question_ended(std::string_view method, std::string_view ending);
    // One command to the store, by what it was for; and each time a connection to it was made.
    void store_command(std::string_view op, std::string_view outcome, double seconds);
    void store_connected();
    void stray_answer(); // of a host, to no open question: late, double or made up
    void refused(std::string_view reason); // requests refused before an operation began

    void cursor_issued();
    void cursor_refused(std::string_view reason); // the host was told to list again, or to wait
    // A tool's result held against its schema: "ok", "violation", or "unchecked".
    void output_checked(std::string_view server, std::string_view result);
    // A list page looked for in the store: "hit", "miss", or "joined" another's request.
    void page_looked_up(std::string_view server, std::string_view result);

    // A request to another replica: its outcome, and how long its answer's head took.
    void peer_asked(std::string_view outcome, double seconds);
    void peer_refused(std::string_view reason); // what came to peer_listen and was not believed

    // Asked at each scrape for everything that is a state rather than an event.
    void on_scrape(std::function<std::vector<gauge_reading>()> read);

    std::string render() const; // text exposition format

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace sluice::sys
