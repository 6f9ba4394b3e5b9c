#include "mcp/output_schema.hpp"

#include "base/text.hpp"
#include "mcp/schema_place.hpp"
#include "mcp/schema_plan.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

namespace sluice::mcp {

namespace {

constexpr std::size_t most_text = 256 * 1024;
constexpr std::size_t most_nodes = 10'000;
constexpr std::size_t most_refs = 1'000;

// Said for people and programs only; `format` is one of them in both dialects unless asked for.
constexpr auto annotations = std::to_array<std::string_view>(
    {"title",
     "description",
     "default",
     "examples",
     "$comment",
     "deprecated",
     "readOnly",
     "writeOnly",
     "format",
     "contentEncoding",
     "contentMediaType",
     "contentSchema",
     "$defs",
     "definitions"}
);

bool is_annotation(std::string_view key) {
    return key.starts_with("x-") ||
           std::find(annotations.begin(), annotations.end(), key) != annotations.end();
}

bool is(std::string_view value, wire::kind kind) {
    return wire::kind_of(value) == kind;
}

// Reads schemas from a queue, not by recursion: chains of $ref may be long.
class reader {
public:
    explicit reader(std::string_view whole) : whole_(whole) {}

    base::result<std::shared_ptr<const schema_plan>> run() {
        if (whole_.size() > most_text) return base::fault(base::errc::too_large, "its size");
        choose_dialect();
        node_for(whole_);
        while (!queue_.empty() && problem_.empty()) {
            auto [index, text] = queue_.front();
            queue_.pop_front();
            read_one(index, text);
        }
        if (!problem_.empty()) return base::fault(base::errc::unsupported, problem_);
        return std::shared_ptr<const schema_plan>(std::make_shared<schema_plan>(std::move(plan_)));
    }

private:
    void refuse(std::string_view what) {
        if (problem_.empty()) problem_ = base::clip(what, 80);
    }

    void choose_dialect() {
        auto named = wire::object_view(whole_).find("$schema");
        if (!is(whole_, wire::kind::object) || !named) return;
        std::string uri = is(*named, wire::kind::string) ? wire::unescape(*named) : "";
        if (uri.ends_with('#')) uri.pop_back();
        old_ = uri == "http://json-schema.org/draft-07/schema" ||
               uri == "https://json-schema.org/draft-07/schema";
        bool known = old_ || uri == "https://json-schema.org/draft/2020-12/schema" ||
                     uri == "http://json-schema.org/draft/2020-12/schema";
        if (!known) refuse("$schema");
    }

    // The node of a schema at that place, read later if it is new.
    node_index node_for(std::string_view text) {
        auto [at, fresh] = known_.emplace(text.data(), plan_.nodes.size());
        if (!fresh) return at->second;
        if (plan_.nodes.size() == most_nodes) {
            refuse("its size");
            return 0;
        }
        plan_.nodes.emplace_back();
        queue_.emplace_back(at->second, text);
        return at->second;
    }

    void read_one(node_index index, std::string_view text) {
        schema_node n;
        if (is(text, wire::kind::false_))
            n.never = true;
        else if (is(text, wire::kind::object))
            read_object(n, text);
        else if (!is(text, wire::kind::true_))
            refuse("a schema that is no object");
        plan_.nodes[index] = std::move(n);
    }

    void read_object(schema_node& n, std::string_view text) {
        std::set<std::string> seen;
        for (const auto& m : wire::object_view(text)) {
            if (!seen.insert(wire::unescape(m.raw_key)).second) refuse("a member twice");
        }
        bool root = text.data() == whole_.data();
        wire::object_view members(text);
        auto ref = members.find("$ref");
        for (const auto& m : members) {
            auto key = wire::unescape(m.raw_key);
            bool beside_ref = old_ && ref && key != "$ref" && !(root && key == "$schema");
            if (beside_ref && key != "$id") continue; // draft-07: not read
            if (root && (key == "$schema" || key == "$id")) continue;
            if (!read_any(n, key, m.value)) refuse(key);
        }
        // draft-07: what stands behind a list of item schemas has a keyword of its own.
        if (old_ && !n.prefix.empty()) n.items = n.items_beyond;
    }

    bool read_any(schema_node& n, const std::string& key, std::string_view v) {
        return is_annotation(key) || read_general(n, key, v) || read_bounds(n, key, v) ||
               read_array(n, key, v) || read_members(n, key, v) || read_combined(n, key, v);
    }

    bool read_general(schema_node& n, const std::string& key, std::string_view v) {
        if (key == "$ref") return assign(n.ref, follow(v));
        if (key == "type") return read_types(n, v);
        if (key == "const") {
            n.constant = canonical(v);
            return true;
        }
        if (key != "enum" || !is(v, wire::kind::array)) return false;
        n.choices.emplace();
        for (auto each : wire::array_view(v))
            n.choices->push_back(canonical(each));
        return true;
    }

    bool read_types(schema_node& n, std::string_view v) {
        if (is(v, wire::kind::string)) {
            n.types = type_bit(wire::unescape(v));
            return n.types != 0;
        }
        if (!is(v, wire::kind::array)) return false;
        n.types = 0;
        for (auto each : wire::array_view(v)) {
            auto bit = is(each, wire::kind::string) ? type_bit(wire::unescape(each)) : 0;
            if (bit == 0) return false;
            n.types = static_cast<std::uint8_t>(n.types | bit);
        }
        return n.types != 0;
    }

    static std::uint8_t type_bit(std::string_view word) {
        constexpr std::array<std::string_view, 7> words = {
            "null", "boolean", "object", "array", "number", "string", "integer"
        };
        auto it = std::find(words.begin(), words.end(), word);
        if (it == words.end()) return 0;
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(it - words.begin()));
    }

    static bool read_bounds(schema_node& n, const std::string& key, std::string_view v) {
        if (key == "minimum") return number(n.minimum, v);
        if (key == "maximum") return number(n.maximum, v);
        if (key == "exclusiveMinimum") return number(n.above, v);
        if (key == "exclusiveMaximum") return number(n.below, v);
        if (key == "multipleOf")
            return number(n.multiple_of, v) &&
                   wire::decimal::of("1").is_multiple(*n.multiple_of).has_value();
        if (key == "minLength") return count(n.min_length, v);
        if (key == "maxLength") return count(n.max_length, v);
        if (key == "minItems") return count(n.min_items, v);
        if (key == "maxItems") return count(n.max_items, v);
        if (key == "minProperties") return count(n.min_properties, v);
        if (key == "maxProperties") return count(n.max_properties, v);
        return false;
    }

    bool read_array(schema_node& n, const std::string& key, std::string_view v) {
        if (key == "items" && old_ && is(v, wire::kind::array)) return several(n.prefix, v);
        if (key == "items") return one(n.items, v);
        if (key == "additionalItems" && old_) return one(n.items_beyond, v);
        if (key == "prefixItems" && !old_) return several(n.prefix, v);
        if (key == "contains") return one(n.contains, v);
        if (key == "minContains" && !old_) return count(n.min_contains, v);
        if (key == "maxContains" && !old_) return count(n.max_contains, v);
        if (key != "uniqueItems") return false;
        n.unique = is(v, wire::kind::true_);
        return n.unique || is(v, wire::kind::false_);
    }

    bool read_members(schema_node& n, const std::string& key, std::string_view v) {
        if (key == "additionalProperties") return one(n.additional, v);
        if (key == "propertyNames") return one(n.property_names, v);
        if (key == "required") return words(n.required, v);
        bool needed = key == "dependentRequired" || key == "dependentSchemas";
        bool dependent = old_ ? key == "dependencies" : needed;
        if ((!dependent && key != "properties") || !is(v, wire::kind::object)) return false;
        for (const auto& m : wire::object_view(v)) {
            auto name = wire::unescape(m.raw_key);
            if (key == "properties") {
                if (!n.properties.emplace(name, node_for(m.value)).second) return false;
            } else if (is(m.value, wire::kind::array)) {
                if (key == "dependentSchemas") return false;
                if (!words(n.dependent_required[name], m.value)) return false;
            } else {
                if (key == "dependentRequired") return false;
                if (!n.dependent_schemas.emplace(name, node_for(m.value)).second) return false;
            }
        }
        return true;
    }

    bool read_combined(schema_node& n, const std::string& key, std::string_view v) {
        if (key == "allOf") return several(n.all_of, v);
        if (key == "anyOf") return several(n.any_of, v);
        if (key == "oneOf") return several(n.one_of, v);
        if (key == "not") return one(n.negated, v);
        if (key == "if") return one(n.when, v);
        if (key == "then") return one(n.then, v);
        if (key == "else") return one(n.otherwise, v);
        return false;
    }

    bool one(std::optional<node_index>& to, std::string_view v) {
        return assign(to, std::optional(node_for(v)));
    }

    static bool assign(std::optional<node_index>& to, std::optional<node_index> found) {
        to = found;
        return found.has_value();
    }

    bool several(std::vector<node_index>& to, std::string_view v) {
        if (!is(v, wire::kind::array)) return false;
        for (auto each : wire::array_view(v))
            to.push_back(node_for(each));
        return !to.empty();
    }

    static bool words(std::vector<std::string>& to, std::string_view v) {
        if (!is(v, wire::kind::array)) return false;
        for (auto each : wire::array_view(v)) {
            if (!is(each, wire::kind::string)) return false;
            to.push_back(wire::unescape(each));
        }
        return true;
    }

    static bool number(std::optional<wire::decimal>& to, std::string_view v) {
        if (!is(v, wire::kind::number)) return false;
        to = wire::decimal::of(v);
        return true;
    }

    static bool count(std::optional<std::size_t>& to, std::string_view v) {
        auto plain = base::parse_unsigned(v);
        if (plain) to = static_cast<std::size_t>(*plain);
        return plain.has_value();
    }

    std::optional<node_index> follow(std::string_view v) {
        if (!is(v, wire::kind::string) || ++refs_ > most_refs) return std::nullopt;
        auto ref = wire::unescape(v);
        auto known = refs_known_.find(ref);
        if (known != refs_known_.end()) return known->second;
        auto place = place_of(ref, whole_);
        if (!place) return std::nullopt;
        auto index = node_for(*place);
        refs_known_.emplace(std::move(ref), index);
        return index;
    }

    std::string_view whole_;
    schema_plan plan_;
    std::map<const char*, node_index> known_; // by where they begin
    std::map<std::string, node_index> refs_known_;
    std::deque<std::pair<node_index, std::string_view>> queue_;
    std::string problem_;
    std::size_t refs_ = 0;
    bool old_ = false; // draft-07
};

} // namespace

base::result<output_schema> output_schema::read(std::string_view text) {
    auto plan = reader(text).run();
    if (!plan) return plan.error();
    return output_schema(std::move(*plan));
}

} // namespace sluice::mcp
