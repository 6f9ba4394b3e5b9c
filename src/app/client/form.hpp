// A form that a server asks (elicitation's requestedSchema) as fields, and what a person typed for
// one as exact JSON. Pure; used by form_dialog. The values of choices, defaults and keys travel as
// the server wrote them, byte for byte.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

struct form_choice {
    std::string json; // exact text
    std::string value;
    std::string title;
};

struct form_field {
    enum class type : unsigned char { text, number, integer, boolean, one_of, some_of };

    type kind = type::text;
    std::string key_json; // exact text, with its quotes
    std::string name;     // the key, or "title (key)"
    std::string description;
    bool required = false;
    std::optional<std::string> initial; // the default's exact text, when it fits the field
    std::vector<form_choice> choices;
    bool numbered = true;               // choices may be named by their place, from 1
    std::optional<std::uint64_t> least; // characters of a text, items of some_of
    std::optional<std::uint64_t> most;
    std::string minimum; // of a number: exact text, or empty
    std::string maximum;
    std::string format; // of a text: date, date-time, email, uri, or one not known here
};

// Fault errc::invalid_params: what about the schema cannot be asked (validated JSON is expected).
base::result<std::vector<form_field>> form_fields(std::string_view requested_schema);

// The JSON text of what was typed; else a sentence that says what is wanted.
base::result<std::string> field_value(const form_field& field, std::string_view typed);

// What is wanted, in a few words: "a whole number from 1 to 5".
std::string field_hint(const form_field& field);

// A value of the field as a person reads it; choices by their titles.
std::string shown_value(const form_field& field, std::string_view json);

} // namespace sluice::app
