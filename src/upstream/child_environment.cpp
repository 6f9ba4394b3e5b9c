#include "upstream/stdio_process.hpp"

#include <algorithm>
#include <map>
#include <string_view>

namespace sluice::upstream {

std::vector<std::pair<std::string, std::string>> child_environment(
    const stdio_settings& all, const server_settings& server, const char* const* ours
) {
    std::map<std::string, std::string> out;
    auto allowed = [&](std::string_view name) {
        return std::ranges::any_of(all.environment, [&](std::string_view one) {
            if (!one.ends_with('*')) return one == name;
            return name.starts_with(one.substr(0, one.size() - 1));
        });
    };
    for (; ours != nullptr && *ours != nullptr; ++ours) {
        std::string_view entry(*ours);
        auto equals = entry.find('=');
        if (equals == entry.npos || !allowed(entry.substr(0, equals))) continue;
        out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
    for (const auto& [name, value] : server.env)
        out.insert_or_assign(name, std::string(value.reveal()));
    return {out.begin(), out.end()};
}

std::vector<std::string> line_thinner::take(std::string line, aio::instant now) {
    std::vector<std::string> out;
    if (now - window_ >= std::chrono::seconds(1)) {
        if (left_out_ > 0) out.push_back("(" + std::to_string(left_out_) + " lines left out)");
        window_ = now;
        said_ = 0;
        left_out_ = 0;
    }
    if (said_ >= burst_) {
        ++left_out_;
        return out;
    }
    ++said_;
    if (line.size() > longest_) {
        line.resize(longest_);
        line += " …";
    }
    std::ranges::replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' '
    );
    out.push_back(std::move(line));
    return out;
}

} // namespace sluice::upstream
