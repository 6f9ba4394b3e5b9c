// `sluice list` and `sluice call`: one MCP session from the command line, told tidily.
// Results go to stdout, progress, logs and problems to stderr. Both return the exit status.
#pragma once

#include <string>
#include <vector>

namespace sluice::app {

namespace exit_status {
inline constexpr int ok = 0;
inline constexpr int tool_error = 1; // the tool said isError
inline constexpr int usage = 2;
inline constexpr int failed = 3;     // unreachable, or an error of the protocol
inline constexpr int unanswered = 4; // the server asked something and nobody could answer
inline constexpr int interrupted = 130;
} // namespace exit_status

struct talk_options {
    std::string url;
    std::vector<std::string> headers; // "Name: value"
    unsigned timeout_seconds = 120;
};

struct call_options {
    talk_options to;
    std::string tool;
    std::vector<std::string> words; // key=value
    std::string json;               // the whole arguments object instead
    bool raw = false;               // print the result's JSON, byte for byte
    bool yes = false;               // never ask: refuse the server's questions
};

int list_command(const talk_options& options);
int call_command(const call_options& options);

} // namespace sluice::app
