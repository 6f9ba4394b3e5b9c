#include "catalog/schemas.hpp"

#include "wire/json.hpp"

namespace sluice::catalog {

namespace {

constexpr std::size_t most_tools = 10'000;          // of one viewpoint
constexpr std::size_t most_bytes = 4 * 1024 * 1024; // of its schemas

} // namespace

void schemas::learn(const viewpoint& from, std::string_view result_text) {
    auto tools = wire::object_view(result_text).find("tools");
    if (!tools) return;
    auto* known = books_.find(from);
    if (known == nullptr) {
        books_.put(from, {});
        known = books_.find(from);
    }
    for (auto item : wire::array_view(*tools)) {
        wire::object_view fields(item);
        auto name = fields.find("name");
        if (!name || wire::kind_of(*name) != wire::kind::string) continue;
        take(*known, wire::unescape(*name), fields.find("outputSchema").value_or(""));
    }
}

void schemas::take(book& into, std::string name, std::string_view schema) {
    auto it = into.tools.find(name);
    auto before = it == into.tools.end() ? 0 : it->second.text.size();
    bool room = it != into.tools.end() || into.tools.size() < most_tools;
    if (!room || into.bytes - before + schema.size() > most_bytes) {
        if (it == into.tools.end()) return;
        into.bytes -= before;
        into.tools.erase(it);
        return;
    }
    auto& tool = into.tools[std::move(name)];
    tool.read_at = aio::clock::now();
    if (tool.text == schema) return;
    into.bytes += schema.size() - before;
    tool.text = std::string(schema);
    tool.schema.reset();
}

void schemas::forget(std::size_t server) {
    books_.erase_if([&](const viewpoint& from) { return from.server == server; });
}

void schemas::learnt_all(const viewpoint& from) {
    if (auto* known = books_.find(from)) known->whole_at = aio::clock::now();
}

bool schemas::knows_all(const viewpoint& from) {
    auto* known = books_.find(from);
    return known != nullptr && known->whole_at && *known->whole_at + fresh_for_ > aio::clock::now();
}

tool_output* schemas::find(const viewpoint& from, const std::string& tool) {
    auto* known = books_.find(from);
    if (known == nullptr) return nullptr;
    auto it = known->tools.find(tool);
    if (it == known->tools.end() || it->second.read_at + fresh_for_ < aio::clock::now())
        return nullptr;
    if (!it->second.schema && !it->second.text.empty())
        it->second.schema = mcp::output_schema::read(it->second.text);
    return &it->second;
}

} // namespace sluice::catalog
