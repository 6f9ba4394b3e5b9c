#include "app/client/terminal.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sluice::app {

namespace {

constexpr std::size_t max_unsaid = 200; // while somebody answers; later ones are dropped

// One code point, or one byte that is no UTF-8.
std::size_t length_at(std::string_view text, std::size_t at) {
    auto lead = static_cast<unsigned char>(text[at]);
    std::size_t length = lead < 0x80    ? 1
                         : lead >= 0xf0 ? 4
                         : lead >= 0xe0 ? 3
                         : lead >= 0xc2 ? 2
                                        : 1;
    return std::min(length, text.size() - at);
}

// Good enough for columns: CJK, full-width forms and emoji are two cells, marks that combine are
// none.
std::size_t cells_of(std::string_view one) {
    if (one.size() < 3) return one.size() == 2 && one >= "\xcc\x80" && one <= "\xcd\xaf" ? 0 : 1;
    if (one.size() == 4) return one >= "\xf0\x9f\x80\x80" ? 2 : 1;
    if (one == "\xe2\x80\x8d" || one == "\xef\xb8\x8f") return 0;
    bool wide = (one >= "\xe1\x84\x80" && one <= "\xe1\x85\x9f") ||
                (one >= "\xe2\xba\x80" && one <= "\xed\x9e\xa3") ||
                (one >= "\xef\xbc\x80" && one <= "\xef\xbd\xa0");
    return wide ? 2 : 1;
}

bool is_control(std::string_view one) {
    auto c = static_cast<unsigned char>(one[0]);
    // C0, DEL, C1 (U+0080 … U+009F), the marks that reorder text, and stray bytes.
    if (one.size() == 1) return c < 0x20 || c >= 0x7f;
    if (c == 0xc2) return static_cast<unsigned char>(one[1]) < 0xa0;
    return one >= "\xe2\x80\xaa" && one <= "\xe2\x80\xae";
}

std::string cleaned(std::string_view text, bool keep_lines) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        auto one = text.substr(at, length_at(text, at));
        at += one.size();
        bool blank = one == "\n" || one == "\t";
        if (blank)
            out += keep_lines ? one : " ";
        else if (is_control(one))
            out += "\xef\xbf\xbd";
        else
            out += one;
    }
    return out;
}

} // namespace

terminal look_at(int fd) {
    terminal t;
    t.tty = ::isatty(fd) == 1;
    const char* no_colour = std::getenv("NO_COLOR");
    const char* kind = std::getenv("TERM");
    bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
    t.colour = t.tty && !dumb && (no_colour == nullptr || *no_colour == '\0');
    const char* wanted = std::getenv("COLUMNS");
    auto columns = wanted ? base::parse_unsigned(wanted) : std::nullopt;
    winsize size{};
    if (columns && *columns > 0)
        t.width = *columns;
    else if (t.tty && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        t.width = size.ws_col;
    t.width = std::clamp<std::size_t>(t.width, 40, 400);
    return t;
}

std::string painted(const terminal& where, paint with, std::string_view text) {
    if (!where.colour || with == paint::plain) return std::string(text);
    static constexpr const char* codes[] = {"", "1", "2", "31", "32", "33", "36"};
    return std::string("\x1b[") + codes[static_cast<std::size_t>(with)] + "m" + std::string(text) +
           "\x1b[0m";
}

std::string harmless(std::string_view text) {
    return cleaned(text, true);
}

std::string one_line(std::string_view text) {
    return cleaned(text, false);
}

std::size_t columns_of(std::string_view utf8) {
    std::size_t columns = 0;
    for (std::size_t at = 0; at < utf8.size();) {
        auto one = utf8.substr(at, length_at(utf8, at));
        columns += cells_of(one);
        at += one.size();
    }
    return columns;
}

std::string fit(std::string_view utf8, std::size_t columns) {
    if (columns_of(utf8) <= columns) return std::string(utf8);
    if (columns == 0) return {};
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < utf8.size()) {
        auto one = utf8.substr(at, length_at(utf8, at));
        if (used + cells_of(one) > columns - 1) break;
        used += cells_of(one);
        at += one.size();
    }
    return std::string(utf8.substr(0, at)) + "…";
}

std::vector<std::string> wrap(std::string_view utf8, std::size_t columns) {
    std::vector<std::string> lines;
    std::string line;
    std::size_t used = 0;
    for (auto word : base::split(utf8, ' ')) {
        if (word.empty()) continue;
        std::size_t wide = columns_of(word);
        if (used > 0 && used + 1 + wide > columns) {
            lines.push_back(std::move(line));
            line.clear();
            used = 0;
        }
        if (used > 0) line += ' ';
        used += wide + (used > 0 ? 1 : 0);
        line += wide > columns ? fit(word, columns) : std::string(word);
    }
    if (used > 0 || lines.empty()) lines.push_back(std::move(line));
    return lines;
}

std::string two_columns(const terminal& where, const std::vector<row>& rows) {
    constexpr std::size_t indent = 2;
    constexpr std::size_t gap = 2;
    std::size_t left = 0;
    for (const auto& r : rows)
        left = std::max(left, columns_of(r.left));
    left = std::min(left, where.width / 2);
    std::size_t right = where.width - indent - left - gap;
    std::string out;
    for (const auto& r : rows) {
        std::size_t wide = columns_of(r.left);
        bool own_line = wide > left && !r.right.empty();
        std::string line = std::string(indent, ' ') + painted(where, paint::bold, r.left);
        if (own_line) line += '\n' + std::string(indent + left, ' ');
        bool first = true;
        for (const auto& text :
             r.right.empty() ? std::vector<std::string>() : wrap(r.right, right)) {
            if (first && !own_line) line += std::string(left - wide, ' ');
            if (!first) line += '\n' + std::string(indent + left, ' ');
            line += std::string(gap, ' ') + text;
            first = false;
        }
        out += line + '\n';
    }
    return out;
}

void progress_line::update(std::string progress, std::string total, const std::string& message) {
    progress_ = std::move(progress);
    total_ = std::move(total);
    message_ = one_line(message);
    if (held_) {
        stale_ = true;
        return;
    }
    if (!where_.tty) {
        std::string line = label_ + " " + progress_ + (total_.empty() ? "" : "/" + total_);
        if (!message_.empty()) line += ": " + message_;
        std::fprintf(stderr, "%s\n", line.c_str());
        return;
    }
    // A flood of notes must not become a flood of redraws; the last one is always drawn.
    auto now = std::chrono::steady_clock::now();
    if (shown_ && progress_ != total_ && now - drawn_ < std::chrono::milliseconds(30)) return;
    drawn_ = now;
    draw();
}

std::string progress_line::bar(double share, std::size_t cells) const {
    static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    auto steps = static_cast<std::size_t>(std::lround(share * static_cast<double>(cells) * 8));
    std::string full;
    for (std::size_t i = 0; i < steps / 8; ++i)
        full += "█";
    full += eighths[steps % 8];
    std::string empty;
    for (std::size_t i = (steps + 7) / 8; i < cells; ++i)
        empty += "░";
    return painted(where_, paint::cyan, full) + painted(where_, paint::dim, empty);
}

void progress_line::draw() {
    double done = std::strtod(progress_.c_str(), nullptr);
    double all = total_.empty() ? 0 : std::strtod(total_.c_str(), nullptr);
    std::string text = label_ + " ";
    std::size_t used = columns_of(label_) + 1;
    std::string count = progress_ + (total_.empty() ? "" : "/" + total_);
    if (all > 0 && std::isfinite(done) && std::isfinite(all)) {
        double share = std::clamp(done / all, 0.0, 1.0);
        std::size_t cells = std::clamp<std::size_t>(where_.width / 3, 10, 40);
        char percent[8];
        std::snprintf(percent, sizeof percent, "%3d%%", static_cast<int>(share * 100));
        text += bar(share, cells) + " " + percent + "  ";
        used += cells + 7;
    }
    text += count;
    used += columns_of(count);
    if (!message_.empty() && used + 4 < where_.width)
        text += "  " + painted(where_, paint::dim, fit(message_, where_.width - used - 3));
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
    std::fflush(stderr);
    shown_ = true;
}

void progress_line::say(const std::string& line) {
    if (held_) {
        if (unsaid_.size() < max_unsaid) unsaid_.push_back(line);
        return;
    }
    bool again = shown_;
    if (again) std::fputs("\r\x1b[K", stderr);
    std::fprintf(stderr, "%s\n", line.c_str());
    if (again) draw();
}

void progress_line::hold() {
    held_ = true;
    if (shown_) std::fputs("\r\x1b[K", stderr);
}

void progress_line::release() {
    held_ = false;
    for (const auto& line : unsaid_)
        say(line);
    unsaid_.clear();
    if (shown_ || stale_) draw();
    stale_ = false;
}

void progress_line::clear() {
    if (!shown_) return;
    draw();
    std::fputc('\n', stderr);
    shown_ = false;
}

} // namespace sluice::app
