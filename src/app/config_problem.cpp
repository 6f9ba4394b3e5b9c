#include "app/config_problem.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::app {

void problem_list::add(
    place where, std::string key, std::string text, std::optional<std::string> suggestion
) {
    auto earlier = [](const place& a, const problem& b) {
        return std::tie(a.line, a.column) < std::tie(b.where.line, b.where.column);
    };
    // What follows from a value that is wrong already says nothing new.
    for (const auto& each : items_) {
        bool same_place = each.where.line == where.line && each.where.column == where.column;
        if (same_place && where.line > 0 && each.key == key) return;
    }
    if (is_full()) {
        ++more_;
        return;
    }
    auto at = std::upper_bound(items_.begin(), items_.end(), where, earlier);
    items_.insert(
        at,
        {std::string(),
         where,
         std::move(key),
         std::move(text),
         std::move(suggestion).value_or(std::string())}
    );
}

std::vector<problem> problem_list::take(const std::string& file) && {
    if (more_ > 0) {
        auto text = "and " + std::to_string(more_) + " more, which are not shown";
        items_.push_back({std::string(), {}, std::string(), std::move(text), std::string()});
    }
    for (auto& each : items_)
        each.file = file;
    return std::move(items_);
}

std::string render(const std::vector<problem>& problems) {
    std::string out;
    for (const auto& each : problems) {
        out += each.file;
        if (each.where.line > 0) {
            out += ':' + std::to_string(each.where.line) + ':' + std::to_string(each.where.column);
        }
        out += ": ";
        if (!each.key.empty()) out += each.key + ": ";
        out += each.text;
        if (!each.suggestion.empty()) out += "; did you mean \"" + each.suggestion + "\"?";
        out += '\n';
    }
    if (problems.empty()) return out;
    return out + std::to_string(problems.size()) +
           (problems.size() == 1 ? " problem\n" : " problems\n");
}

} // namespace sluice::app
