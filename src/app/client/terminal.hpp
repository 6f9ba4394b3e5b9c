// What the command line prints and where: width, colours (only on a terminal, NO_COLOR honoured),
// columns, and a progress line that is a bar on a terminal and plain lines elsewhere. Text of a
// server is made harmless first: no control characters reach a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

struct terminal {
    bool tty = false;
    bool colour = false;
    std::size_t width = 80;
};
terminal look_at(int fd);

enum class paint : unsigned char { plain, bold, dim, red, green, yellow, cyan };
std::string painted(const terminal& where, paint with, std::string_view text);

// Control characters but line feed and tab replaced; one_line replaces those too, by spaces.
std::string harmless(std::string_view text);
std::string one_line(std::string_view text);

std::size_t columns_of(std::string_view utf8);               // code points; wide ones count twice
std::string fit(std::string_view utf8, std::size_t columns); // cut with "…" when longer
std::vector<std::string> wrap(std::string_view utf8, std::size_t columns);

// Two aligned columns, the right one wrapped: "  name   what it does".
struct row {
    std::string left;
    std::string right;
};
std::string two_columns(const terminal& where, const std::vector<row>& rows);

// One call's progress, on stderr.
class progress_line {
public:
    progress_line(terminal where, std::string label) : where_(where), label_(std::move(label)) {}
    ~progress_line() { clear(); }

    // Exact number texts, as the server sent them; total is empty when it gave none.
    void update(std::string progress, std::string total, const std::string& message);
    // A line of text above the bar.
    void say(const std::string& line);
    void clear();
    // Between hold and release nothing is drawn: somebody is being asked something.
    void hold();
    void release();

private:
    void draw();
    std::string bar(double share, std::size_t cells) const;

    terminal where_;
    std::string label_;
    std::string progress_, total_, message_;
    std::chrono::steady_clock::time_point drawn_;
    bool shown_ = false;
    bool held_ = false;
    bool stale_ = false;              // something to draw came while held
    std::vector<std::string> unsaid_; // while held
};

} // namespace sluice::app
