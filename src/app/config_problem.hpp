// What is wrong with a configuration: where, which key, what, and what was perhaps meant.
// Collected, never thrown: a reader wants all of them at once.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

// 1-based; line 0 means the file as a whole.
struct place {
    int line = 0;
    int column = 0;
};

struct problem {
    std::string file;
    place where;
    std::string key;        // dotted: "mcp_servers.github.timeout"; empty for the file as a whole
    std::string text;       // never holds a secret or a value from the environment
    std::string suggestion; // "did you mean", empty when nothing is near
};

class problem_list {
public:
    void
    add(place where, std::string key, std::string text, std::optional<std::string> suggestion = {});
    bool empty() const { return items_.empty(); }
    // Nobody reads more: further ones are counted, not kept.
    bool is_full() const { return items_.size() >= most; }
    std::vector<problem> take(const std::string& file) &&;

private:
    static constexpr std::size_t most = 100;

    std::vector<problem> items_; // in the order of the file
    std::size_t more_ = 0;
};

// One line each, "FILE:LINE:COLUMN: KEY: what is wrong; did you mean …?", then how many there are.
std::string render(const std::vector<problem>& problems);

} // namespace sluice::app
