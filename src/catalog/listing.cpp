#include "catalog/listing.hpp"

#include "base/text.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace sluice::catalog {

namespace {

std::string_view key_member(std::string_view list_key) {
    if (list_key == "resources") return "uri";
    if (list_key == "resourceTemplates") return "uriTemplate";
    return "name";
}

wire::span locate(std::string_view whole, std::string_view part) {
    auto begin = static_cast<std::uint32_t>(part.data() - whole.data());
    return {begin, begin + static_cast<std::uint32_t>(part.size())};
}

base::fault broken(std::string what) {
    return {base::errc::protocol, std::move(what)};
}

std::string apply(std::string_view item, std::string_view name, const verdict& v) {
    std::vector<wire::edit> edits;
    std::string new_name;
    std::string new_description;
    if (v.name) {
        new_name = wire::quote(*v.name);
        edits.push_back({locate(item, name), new_name});
    }
    if (v.description) {
        auto old = wire::object_view(item).find("description");
        if (old) {
            new_description = wire::quote(*v.description);
            edits.push_back({locate(item, *old), new_description});
        } else {
            new_description = wire::first_member(item, "description", wire::quote(*v.description));
            wire::span whole{0, static_cast<std::uint32_t>(item.size())};
            edits.push_back({wire::inside(whole), new_description});
        }
    }
    std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
        return a.where.begin < b.where.begin;
    });
    return wire::splice(item, edits);
}

base::result<void>
read_item(std::string_view item, std::string_view key, const item_rule& rule, page& into) {
    if (wire::kind_of(item) != wire::kind::object) return broken("a list item is no object");
    std::array<std::string_view, 2> watched = {key, "description"};
    if (wire::duplicate_key(item, watched)) return broken("a list item has a member twice");
    auto name = wire::object_view(item).find(key);
    if (!name || wire::kind_of(*name) != wire::kind::string) {
        return broken("a list item has no " + std::string(key));
    }
    auto native = wire::unescape(*name);
    auto v = rule(native);
    into.natives.push_back(std::move(native));
    if (!v.keep || v.name || v.description) into.changed = true;
    if (v.keep) into.items.push_back(apply(item, *name, v));
    return {};
}

std::optional<std::string> revision_in(wire::object_view result) {
    auto meta = result.find("_meta");
    if (!meta || wire::kind_of(*meta) != wire::kind::object) return std::nullopt;
    auto revision = wire::object_view(*meta).find("revision");
    if (!revision) return std::nullopt;
    bool usable = wire::kind_of(*revision) == wire::kind::string || wire::is_integer(*revision);
    return usable ? std::optional(std::string(*revision)) : std::nullopt;
}

} // namespace

base::result<page>
read_page(std::string_view result_text, std::string_view list_key, const item_rule& rule) {
    page out;
    std::array<std::string_view, 2> watched = {list_key, "nextCursor"};
    if (wire::kind_of(result_text) != wire::kind::object)
        return broken("a list result is no object");
    if (wire::duplicate_key(result_text, watched))
        return broken("a list result has a member twice");
    wire::object_view result(result_text);
    auto list = result.find(list_key);
    if (!list || wire::kind_of(*list) != wire::kind::array) {
        return broken("a list result has no array '" + std::string(list_key) + "'");
    }
    for (auto item : wire::array_view(*list)) {
        auto read = read_item(item, key_member(list_key), rule, out);
        if (!read) return read.error();
    }
    out.revision = revision_in(result);
    auto cursor = result.find("nextCursor");
    if (!cursor || wire::kind_of(*cursor) == wire::kind::null) return out;
    if (wire::kind_of(*cursor) != wire::kind::string) return broken("nextCursor is no string");
    out.next_cursor = std::string(*cursor);
    return out;
}

base::result<void> go_on_at(std::vector<std::uint64_t>& seen, std::string_view cursor) {
    auto digest = base::fnv1a(cursor);
    if (std::find(seen.begin(), seen.end(), digest) == seen.end()) {
        seen.push_back(digest);
        return {};
    }
    std::string text = "its list repeats a cursor and would never end";
    if (cursor == "\"\"")
        text += ": the cursor is the empty string, which is one like any other; the last page of a "
                "list must have no nextCursor";
    return broken(std::move(text));
}

base::fault too_long(std::uint32_t max_pages) {
    return broken(
        "the listing is longer than catalog.max_pages (" + std::to_string(max_pages) + " pages)"
    );
}

std::string with_items(
    std::string_view result_text,
    std::string_view list_key,
    const page& p,
    const std::optional<std::string>& next_cursor
) {
    wire::object_view result(result_text);
    std::string items;
    std::vector<wire::edit> edits;
    if (p.changed) {
        items = "[" + base::join(p.items, ",") + "]";
        edits.push_back({locate(result_text, *result.find(list_key)), items});
    }
    if (next_cursor)
        edits.push_back({locate(result_text, *result.find("nextCursor")), *next_cursor});
    std::sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) {
        return a.where.begin < b.where.begin;
    });
    return wire::splice(result_text, edits);
}

std::string outcomes_meta(const std::vector<server_outcome>& outcomes) {
    std::string out = R"({"sluice/server_outcomes":{)";
    bool first = true;
    for (const auto& o : outcomes) {
        if (!first) out += ',';
        first = false;
        out += wire::quote(o.server) + R"(:{"outcome":")" + std::string(name_of(o.how)) + '"';
        if (o.how == base::outcome::ok) out += ",\"count\":" + std::to_string(o.count);
        if (o.http_status != 0) out += ",\"http_status\":" + std::to_string(o.http_status);
        out += '}';
    }
    return out + "}}";
}

std::string merged_result(
    std::string_view list_key,
    const std::vector<std::string>& items,
    const std::optional<std::string>& next_cursor,
    const std::vector<server_outcome>& outcomes
) {
    std::string out = "{\"" + std::string(list_key) + "\":[" + base::join(items, ",") + "]";
    if (next_cursor) out += ",\"nextCursor\":" + *next_cursor;
    return out + ",\"_meta\":" + outcomes_meta(outcomes) + "}";
}

} // namespace sluice::catalog
