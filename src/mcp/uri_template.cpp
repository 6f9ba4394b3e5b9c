#include "mcp/uri_template.hpp"

#include <string>
#include <vector>

namespace sluice::mcp {

namespace {

// The work is their product, and an upstream chooses both.
constexpr std::size_t max_uri = 8192;
constexpr std::size_t max_template = 2048;

struct piece {
    std::string_view literal; // before the expression
    bool has_expression = false;
    bool may_span = false;
};

std::vector<piece> pieces_of(std::string_view text) {
    std::vector<piece> pieces;
    for (;;) {
        auto open = text.find('{');
        auto close = open == std::string_view::npos ? open : text.find('}', open);
        if (close == std::string_view::npos) {
            pieces.push_back({text, false, false});
            return pieces;
        }
        auto expression = text.substr(open + 1, close - open - 1);
        bool span = !expression.empty() &&
                    std::string_view("+#/?&.;").find(expression.front()) != std::string_view::npos;
        pieces.push_back({text.substr(0, open), true, span});
        text.remove_prefix(close + 1);
    }
}

// Positions of `uri` reachable after a piece, as a set of flags: linear in pieces × length.
std::vector<bool> advance(const std::vector<bool>& from, const piece& p, std::string_view uri) {
    std::vector<bool> to(uri.size() + 1, false);
    for (std::size_t at = 0; at <= uri.size(); ++at) {
        if (!from[at] || uri.compare(at, p.literal.size(), p.literal) != 0) continue;
        std::size_t next = at + p.literal.size();
        if (next > uri.size()) continue;
        to[next] = true;
        for (; p.has_expression && next < uri.size(); to[++next] = true) {
            if (!p.may_span && uri[next] == '/') break;
            if (to[next + 1]) break;
        }
    }
    return to;
}

} // namespace

bool matches_template(std::string_view uri_template, std::string_view uri) {
    if (uri.size() > max_uri || uri_template.size() > max_template) return false;
    std::vector<bool> reachable(uri.size() + 1, false);
    reachable[0] = true;
    for (const auto& p : pieces_of(uri_template))
        reachable = advance(reachable, p, uri);
    return reachable[uri.size()];
}

} // namespace sluice::mcp
