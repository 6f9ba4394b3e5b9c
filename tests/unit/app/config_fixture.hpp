// Reads a configuration given as text with a small environment, and says its problems one per line.
#pragma once

#include "app/config.hpp"
#include "base/text.hpp"

#include <initializer_list>
#include <map>
#include <string>

namespace sluice::app::test {

inline loaded_config read(const std::string& text) {
    std::map<std::string, std::string, std::less<>> variables{
        {"TOKEN", "s3cret-token"}, {"EMPTY", ""}, {"ODD", "${TOKEN}"}, {"SECONDS_WORD", "sixty"}
    };
    auto env = [variables](std::string_view name) -> std::optional<std::string> {
        auto at = variables.find(name);
        if (at == variables.end()) return std::nullopt;
        return at->second;
    };
    return parse_config(text, "t.yaml", env);
}

inline std::string problems(const std::string& text) {
    return render(read(text).problems);
}

// One good http server, and whatever else is wanted on it.
inline std::string with_server(std::string_view more) {
    return "mcp_servers:\n  one:\n    url: http://127.0.0.1:1/mcp\n" + std::string(more);
}

inline bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace sluice::app::test
