#include "app/client/arguments.hpp"

#include "base/text.hpp"
#include "wire/json.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

using base::errc;
using base::fault;

// The names in "type": one string or an array of them; empty when the schema does not say.
std::vector<std::string> types_of(std::string_view schema) {
    std::vector<std::string> names;
    if (wire::kind_of(schema) != wire::kind::object) return names;
    auto type = wire::object_view(schema).find("type");
    if (!type) return names;
    if (wire::kind_of(*type) == wire::kind::string) names.push_back(wire::unescape(*type));
    if (wire::kind_of(*type) == wire::kind::array) {
        for (auto one : wire::array_view(*type))
            if (wire::kind_of(one) == wire::kind::string) names.push_back(wire::unescape(one));
    }
    return names;
}

// Whether the text, taken as JSON, is of that type.
bool is_a(std::string_view json, std::string_view type) {
    switch (wire::kind_of(json)) {
    case wire::kind::object:
        return type == "object";
    case wire::kind::array:
        return type == "array";
    case wire::kind::string:
        return false; // a quoted word is the word with its quotes
    case wire::kind::number:
        // 5.0 and 5e0 are integers too in JSON Schema; the server decides what it makes of them.
        return type == "number" || (type == "integer" && wire::is_integer(json));
    case wire::kind::true_:
    case wire::kind::false_:
        return type == "boolean";
    case wire::kind::null:
        return type == "null";
    }
    return false;
}

base::result<std::string> typed(const named_value& given, const std::vector<std::string>& types) {
    std::string_view text = base::trim(given.second);
    bool json = !text.empty() && wire::validate(text).ok();
    if (types.empty()) {
        bool own = json && wire::kind_of(text) != wire::kind::string;
        return own ? std::string(text) : wire::quote(given.second);
    }
    for (const auto& type : types)
        if (json && is_a(text, type)) return std::string(text);
    if (std::find(types.begin(), types.end(), "string") != types.end())
        return wire::quote(given.second);
    return fault(
        errc::invalid_params,
        given.first + ": '" + given.second + "' is not of type " + base::join(types, " or ")
    );
}

bool is_closed(std::string_view schema) {
    auto more = wire::object_view(schema).find("additionalProperties");
    return more && wire::kind_of(*more) == wire::kind::false_;
}

base::result<std::vector<std::string>> types_in(std::string_view schema, std::string_view key) {
    auto properties = schema.empty() ? std::nullopt : wire::object_view(schema).find("properties");
    if (!properties || wire::kind_of(*properties) != wire::kind::object)
        return std::vector<std::string>();
    if (auto own = wire::object_view(*properties).find(key)) return types_of(*own);
    if (!is_closed(schema)) return std::vector<std::string>();
    std::vector<std::string> known;
    for (const auto& m : wire::object_view(*properties))
        known.push_back(wire::unescape(m.raw_key));
    std::string text = "the tool has no argument '" + std::string(key) + "'";
    if (auto near = base::nearest(key, known))
        text += "; did you mean '" + *near + "'?";
    else if (!known.empty())
        text += "; it has " + base::join(known, ", ");
    return fault(errc::invalid_params, text);
}

} // namespace

base::result<std::vector<named_value>> split_words(const std::vector<std::string>& words) {
    std::vector<named_value> values;
    for (const auto& word : words) {
        auto equals = word.find('=');
        if (equals == std::string::npos || equals == 0)
            return fault(errc::invalid_params, "'" + word + "' is not key=value");
        std::string key = word.substr(0, equals);
        for (const auto& before : values)
            if (before.first == key) return fault(errc::invalid_params, key + " is given twice");
        values.emplace_back(std::move(key), word.substr(equals + 1));
    }
    return values;
}

base::result<std::string>
arguments_json(const std::vector<named_value>& values, std::string_view schema) {
    if (!schema.empty() && wire::kind_of(schema) != wire::kind::object) schema = {};
    std::string object = "{";
    for (const auto& one : values) {
        auto types = types_in(schema, one.first);
        if (!types) return types.error();
        auto json = typed(one, *types);
        if (!json) return json.error();
        object += (object.size() > 1 ? "," : "") + wire::quote(one.first) + ":" + *json;
    }
    return object + "}";
}

} // namespace sluice::app
