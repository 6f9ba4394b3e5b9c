#include "app/client/form.hpp"

#include "app/client/form_text.hpp"
#include "app/client/result_text.hpp"
#include "base/text.hpp"
#include "wire/json.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

using base::errc;
using base::fault;
using type = form_field::type;

bool is_kind(std::optional<std::string_view> value, wire::kind kind) {
    return value && wire::kind_of(*value) == kind;
}

std::string number_member(std::string_view object, std::string_view key) {
    auto value = wire::object_view(object).find(key);
    return is_kind(value, wire::kind::number) ? std::string(*value) : std::string();
}

std::optional<std::uint64_t> count_member(std::string_view object, std::string_view key) {
    auto text = number_member(object, key);
    auto number = base::parse_unsigned(text);
    return number ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

// enum with or without enumNames, oneOf or anyOf of {const, title}; none when it is no choice.
base::result<std::vector<form_choice>> choices_in(std::string_view schema) {
    std::vector<form_choice> found;
    wire::object_view object(schema);
    auto plain = object.find("enum");
    if (is_kind(plain, wire::kind::array)) {
        for (auto one : wire::array_view(*plain)) {
            if (wire::kind_of(one) != wire::kind::string)
                return fault(errc::invalid_params, "an enum of something else than strings");
            found.push_back({std::string(one), wire::unescape(one), wire::unescape(one)});
        }
        auto names = object.find("enumNames");
        std::size_t at = 0;
        if (!is_kind(names, wire::kind::array)) return found;
        for (auto one : wire::array_view(*names))
            if (wire::kind_of(one) == wire::kind::string && at < found.size())
                found[at++].title = wire::unescape(one);
        return found;
    }
    for (const char* key : {"oneOf", "anyOf"}) {
        auto titled = object.find(key);
        if (!is_kind(titled, wire::kind::array)) continue;
        for (auto one : wire::array_view(*titled)) {
            auto value = wire::object_view(one).find("const");
            if (!is_kind(value, wire::kind::string))
                return fault(errc::invalid_params, std::string(key) + " without const strings");
            auto text = wire::unescape(*value);
            auto title = text_member(one, "title").value_or(text);
            found.push_back({std::string(*value), std::move(text), std::move(title)});
        }
        return found;
    }
    return found;
}

// What a schema says of its own: its kind, choices and bounds.
base::result<void> read_kind(std::string_view schema, form_field& f) {
    auto named = text_member(schema, "type").value_or("");
    if (named == "array") {
        auto items = wire::object_view(schema).find("items");
        if (!is_kind(items, wire::kind::object))
            return fault(errc::invalid_params, "an array that says nothing of its items");
        auto found = choices_in(*items);
        if (!found) return found.error();
        if (found->empty()) return fault(errc::invalid_params, "an array of no known choices");
        f.kind = type::some_of;
        f.choices = std::move(*found);
        f.least = count_member(schema, "minItems");
        f.most = count_member(schema, "maxItems");
        return {};
    }
    auto found = choices_in(schema);
    if (!found) return found.error();
    if (!found->empty() && (named == "string" || named.empty())) {
        f.kind = type::one_of;
        f.choices = std::move(*found);
        return {};
    }
    f.minimum = number_member(schema, "minimum");
    f.maximum = number_member(schema, "maximum");
    if (named == "string") {
        f.least = count_member(schema, "minLength");
        f.most = count_member(schema, "maxLength");
        f.format = text_member(schema, "format").value_or("");
        return {};
    }
    if (named == "number")
        f.kind = type::number;
    else if (named == "integer")
        f.kind = type::integer;
    else if (named == "boolean")
        f.kind = type::boolean;
    else
        return fault(errc::invalid_params, "a property of type '" + base::clip(named, 40) + "'");
    return {};
}

// "1" may be a place or a choice that is called so: then only names count.
bool may_number(const std::vector<form_choice>& choices) {
    return std::none_of(choices.begin(), choices.end(), [](const form_choice& c) {
        return base::parse_unsigned(c.value) || base::parse_unsigned(c.title);
    });
}

const form_choice* choice_of(const form_field& f, std::string_view json) {
    if (wire::kind_of(json) != wire::kind::string) return nullptr;
    auto text = wire::unescape(json);
    for (const auto& c : f.choices)
        if (c.value == text) return &c;
    return nullptr;
}

bool count_fits(const form_field& f, std::uint64_t count) {
    return (!f.least || count >= *f.least) && (!f.most || count <= *f.most);
}

// Whether a default may be offered as an answer.
bool fits(const form_field& f, std::string_view json) {
    auto kind = wire::kind_of(json);
    switch (f.kind) {
    case type::text:
        return kind == wire::kind::string && check_text(f, wire::unescape(json)).empty();
    case type::number:
    case type::integer:
        return kind == wire::kind::number && check_number(f, json).empty();
    case type::boolean:
        return kind == wire::kind::true_ || kind == wire::kind::false_;
    case type::one_of:
        return choice_of(f, json) != nullptr;
    case type::some_of: {
        if (kind != wire::kind::array) return false;
        std::uint64_t count = 0;
        for (auto one : wire::array_view(json)) {
            if (choice_of(f, one) == nullptr) return false;
            ++count;
        }
        return count_fits(f, count);
    }
    }
    return false;
}

const form_choice* choice_named(const form_field& f, std::string_view typed) {
    auto word = base::trim(typed);
    for (const auto& c : f.choices)
        if (c.value == word) return &c;
    const form_choice* only = nullptr;
    for (const auto& c : f.choices) {
        if (!base::iequals(c.title, word) && !base::iequals(c.value, word)) continue;
        if (only != nullptr) return nullptr; // two are called so
        only = &c;
    }
    if (only != nullptr || !f.numbered) return only;
    auto place = base::parse_unsigned(word);
    bool there = place && *place >= 1 && *place <= f.choices.size();
    return there ? &f.choices[*place - 1] : nullptr;
}

base::result<std::string> some_of(const form_field& f, std::string_view typed) {
    std::vector<const form_choice*> chosen;
    auto add = [&](const form_choice* c) {
        if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) chosen.push_back(c);
    };
    if (const auto* whole = choice_named(f, typed)) {
        add(whole); // a choice may have a comma in its name
    } else if (!base::iequals(base::trim(typed), "none")) {
        for (auto part : base::split(typed, ',')) {
            const auto* c = choice_named(f, part);
            if (c == nullptr)
                return fault(
                    errc::invalid_params, "'" + std::string(base::trim(part)) + "' is no choice"
                );
            add(c);
        }
    }
    if (!count_fits(f, chosen.size()))
        return fault(errc::invalid_params, "please: " + field_hint(f));
    std::string json;
    for (const auto* c : chosen)
        json += (json.empty() ? "" : ",") + c->json;
    return "[" + json + "]";
}

} // namespace

base::result<std::vector<form_field>> form_fields(std::string_view requested_schema) {
    auto refused = [](std::string why) { return fault(errc::invalid_params, std::move(why)); };
    if (requested_schema.empty() || wire::kind_of(requested_schema) != wire::kind::object)
        return refused("the form has no schema");
    auto properties = wire::object_view(requested_schema).find("properties");
    if (properties && wire::kind_of(*properties) != wire::kind::object)
        return refused("the form's properties are no object");
    std::vector<form_field> fields;
    for (const auto& m : wire::object_view(properties.value_or("{}"))) {
        form_field f;
        f.key_json = std::string(m.raw_key);
        auto key = wire::unescape(m.raw_key);
        if (wire::kind_of(m.value) != wire::kind::object)
            return refused("property '" + base::clip(key, 60) + "' has no schema");
        auto read = read_kind(m.value, f);
        if (!read) return refused("'" + base::clip(key, 60) + "' is " + read.error().message);
        auto title = text_member(m.value, "title").value_or("");
        f.name = title.empty() || title == key ? key : title + " (" + key + ")";
        f.description = text_member(m.value, "description").value_or("");
        f.numbered = may_number(f.choices);
        auto initial = wire::object_view(m.value).find("default");
        if (initial && fits(f, *initial)) f.initial = std::string(*initial);
        fields.push_back(std::move(f));
    }
    auto required = wire::object_view(requested_schema).find("required");
    for (auto one : wire::array_view(required.value_or("[]"))) {
        auto found = std::find_if(fields.begin(), fields.end(), [&](const form_field& f) {
            return wire::kind_of(one) == wire::kind::string &&
                   wire::unescape(f.key_json) == wire::unescape(one);
        });
        if (found == fields.end()) return refused("the form requires what it does not describe");
        found->required = true;
    }
    return fields;
}

base::result<std::string> field_value(const form_field& f, std::string_view typed) {
    auto wanted = [&](std::string_view why) {
        return fault(errc::invalid_params, std::string(why) + "; please: " + field_hint(f));
    };
    switch (f.kind) {
    case type::text: {
        auto text = typed == "\"\"" ? std::string_view() : typed;
        auto wrong = check_text(f, text);
        if (!wrong.empty()) return wanted(wrong);
        return wire::quote(text);
    }
    case type::number:
    case type::integer: {
        auto text = base::trim(typed);
        auto wrong = check_number(f, text);
        if (!wrong.empty()) return wanted(wrong);
        return std::string(text);
    }
    case type::boolean: {
        auto word = base::lower(base::trim(typed));
        if (word == "y" || word == "yes" || word == "true") return std::string("true");
        if (word == "n" || word == "no" || word == "false") return std::string("false");
        return wanted("that is neither yes nor no");
    }
    case type::one_of: {
        if (const auto* c = choice_named(f, typed)) return c->json;
        return wanted("that is no choice");
    }
    case type::some_of:
        return some_of(f, typed);
    }
    return wanted("that is no answer");
}

std::string shown_value(const form_field& f, std::string_view json) {
    if (f.kind == type::boolean) return json == "true" ? "yes" : "no";
    auto one = [&](std::string_view value) {
        if (const auto* c = choice_of(f, value)) return c->title;
        return wire::kind_of(value) == wire::kind::string ? wire::unescape(value)
                                                          : std::string(value);
    };
    if (f.kind != type::some_of) return one(json);
    std::string text;
    for (auto value : wire::array_view(json))
        text += (text.empty() ? "" : ", ") + one(value);
    return text.empty() ? "none" : text;
}

} // namespace sluice::app
