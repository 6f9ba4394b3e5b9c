#include "base/text.hpp"
#include "mcp/output_schema.hpp"
#include "mcp/schema_plan.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <set>

namespace sluice::mcp {

namespace {

constexpr std::size_t most_bytes = 32 * 1024 * 1024; // looked at, over all visits
constexpr std::size_t most_depth = 256;

std::size_t characters(std::string_view utf8) {
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

std::uint8_t type_of(std::string_view value) {
    switch (wire::kind_of(value)) {
    case wire::kind::object:
        return type_object;
    case wire::kind::array:
        return type_array;
    case wire::kind::string:
        return type_string;
    case wire::kind::true_:
    case wire::kind::false_:
        return type_boolean;
    case wire::kind::null:
        return type_null;
    case wire::kind::number:
        break;
    }
    return wire::decimal::of(value).is_integer() ? type_number | type_integer : type_number;
}

class checker {
public:
    explicit checker(const schema_plan& plan) : plan_(plan) {}

    base::result<std::optional<breach>> run(std::string_view value) {
        bool good = visit(0, value);
        if (spent_ > most_bytes || too_deep_)
            return base::fault(base::errc::too_large, "checking it takes too long");
        if (good) return std::optional<breach>();
        return std::optional(first_.value_or(breach{"false", ""}));
    }

private:
    bool fail(std::string_view keyword) {
        if (quiet_ > 0 || first_) return false;
        breach b{std::string(keyword), ""};
        for (const auto& part : path_) {
            b.path += '/';
            for (char c : part)
                b.path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
        }
        first_ = std::move(b);
        return false;
    }

    bool visit(node_index at, std::string_view value) {
        if (too_deep_ || spent_ > most_bytes) return false;
        if (depth_ == most_depth) {
            too_deep_ = true;
            return false;
        }
        ++depth_;
        spent_ += value.size() + 64;
        bool good = visit_here(plan_.nodes[at], value);
        --depth_;
        return good;
    }

    bool below(std::string part, node_index at, std::string_view value) {
        path_.push_back(std::move(part));
        bool good = visit(at, value);
        path_.pop_back();
        return good;
    }

    bool quietly(node_index at, std::string_view value) {
        ++quiet_;
        bool good = visit(at, value);
        --quiet_;
        return good;
    }

    bool visit_here(const schema_node& n, std::string_view value) {
        if (n.never) return fail("false");
        if (n.ref && !visit(*n.ref, value)) return false;
        auto type = type_of(value);
        if ((n.types & type) == 0) return fail("type");
        if (n.constant && *n.constant != same(value)) return fail("const");
        if (n.choices &&
            std::find(n.choices->begin(), n.choices->end(), same(value)) == n.choices->end())
            return fail("enum");
        bool good = true;
        if ((type & type_number) != 0) good = number(n, wire::decimal::of(value));
        if (type == type_string) good = text(n, value);
        if (type == type_array) good = array(n, value);
        if (type == type_object) good = object(n, value);
        return good && combined(n, value);
    }

    std::string same(std::string_view value) {
        spent_ += value.size();
        return canonical(value);
    }

    bool number(const schema_node& n, const wire::decimal& value) {
        if (n.minimum && value < *n.minimum) return fail("minimum");
        if (n.maximum && value > *n.maximum) return fail("maximum");
        if (n.above && value <= *n.above) return fail("exclusiveMinimum");
        if (n.below && value >= *n.below) return fail("exclusiveMaximum");
        if (n.multiple_of && !value.is_multiple(*n.multiple_of).value_or(true))
            return fail("multipleOf");
        return true;
    }

    bool text(const schema_node& n, std::string_view value) {
        if (!n.min_length && !n.max_length) return true;
        auto length = characters(wire::unescape(value));
        if (n.min_length && length < *n.min_length) return fail("minLength");
        if (n.max_length && length > *n.max_length) return fail("maxLength");
        return true;
    }

    bool array(const schema_node& n, std::string_view value) {
        std::size_t count = 0;
        std::size_t contained = 0;
        std::set<std::string> seen;
        for (auto item : wire::array_view(value)) {
            auto place = std::to_string(count);
            if (count < n.prefix.size()) {
                if (!below(place, n.prefix[count], item)) return false;
            } else if (n.items && !below(place, *n.items, item)) {
                return false;
            }
            if (n.contains && quietly(*n.contains, item)) ++contained;
            if (n.unique && !seen.insert(same(item)).second) return fail("uniqueItems");
            ++count;
        }
        if (n.min_items && count < *n.min_items) return fail("minItems");
        if (n.max_items && count > *n.max_items) return fail("maxItems");
        if (!n.contains) return true;
        if (contained < n.min_contains.value_or(1)) return fail("contains");
        if (n.max_contains && contained > *n.max_contains) return fail("maxContains");
        return true;
    }

    bool member(const schema_node& n, const wire::member& m, const std::string& name) {
        if (n.property_names && !quietly(*n.property_names, m.raw_key))
            return fail("propertyNames");
        auto known = n.properties.find(name);
        if (known != n.properties.end()) return below(name, known->second, m.value);
        if (!n.additional) return true;
        if (plan_.nodes[*n.additional].never) return fail("additionalProperties");
        return below("*", *n.additional, m.value);
    }

    bool object(const schema_node& n, std::string_view value) {
        std::set<std::string> names;
        for (const auto& m : wire::object_view(value)) {
            auto [name, fresh] = names.insert(wire::unescape(m.raw_key));
            // Of two members of one name it cannot be told which one the host will read.
            if (!fresh) return fail("a member twice");
            if (!member(n, m, *name)) return false;
        }
        auto has = [&](const std::string& name) { return names.contains(name); };
        for (const auto& name : n.required) {
            if (!has(name)) return fail("required");
        }
        if (n.min_properties && names.size() < *n.min_properties) return fail("minProperties");
        if (n.max_properties && names.size() > *n.max_properties) return fail("maxProperties");
        for (const auto& [name, others] : n.dependent_required) {
            if (has(name) && !std::all_of(others.begin(), others.end(), has))
                return fail("dependentRequired");
        }
        return std::all_of(
            n.dependent_schemas.begin(),
            n.dependent_schemas.end(),
            [&](const auto& each) { return !has(each.first) || visit(each.second, value); }
        );
    }

    bool combined(const schema_node& n, std::string_view value) {
        for (auto each : n.all_of) {
            if (!visit(each, value)) return false;
        }
        auto fits = [&](node_index each) { return quietly(each, value); };
        if (!n.any_of.empty() && std::none_of(n.any_of.begin(), n.any_of.end(), fits))
            return fail("anyOf");
        if (!n.one_of.empty() && std::count_if(n.one_of.begin(), n.one_of.end(), fits) != 1)
            return fail("oneOf");
        if (n.negated && fits(*n.negated)) return fail("not");
        if (!n.when) return true;
        const auto& branch = fits(*n.when) ? n.then : n.otherwise;
        return !branch || visit(*branch, value);
    }

    const schema_plan& plan_;
    std::vector<std::string> path_;
    std::optional<breach> first_;
    std::size_t spent_ = 0;
    std::size_t depth_ = 0;
    std::size_t quiet_ = 0;
    bool too_deep_ = false;
};

} // namespace

std::string canonical(std::string_view value) {
    switch (wire::kind_of(value)) {
    case wire::kind::number:
        return wire::decimal::of(value).text();
    case wire::kind::string:
        return wire::quote(wire::unescape(value));
    case wire::kind::array: {
        std::string out = "[";
        for (auto item : wire::array_view(value))
            out += canonical(item) + ",";
        return out + "]";
    }
    case wire::kind::object: {
        std::map<std::string, std::string> members;
        for (const auto& m : wire::object_view(value))
            members[canonical(m.raw_key)] = canonical(m.value);
        std::string out = "{";
        for (const auto& [name, text] : members)
            out += name + ":" + text + ",";
        return out + "}";
    }
    case wire::kind::true_:
    case wire::kind::false_:
    case wire::kind::null:
        break;
    }
    return std::string(value);
}

base::result<std::optional<breach>> output_schema::check(std::string_view value) const {
    return checker(*plan_).run(value);
}

} // namespace sluice::mcp
