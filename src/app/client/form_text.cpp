#include "app/client/form_text.hpp"

#include "base/text.hpp"
#include "wire/json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sluice::app {

namespace {

using type = form_field::type;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// '0' stands for any digit; anything else for itself.
bool shaped(std::string_view text, std::string_view shape) {
    return text.size() == shape.size() &&
           std::equal(text.begin(), text.end(), shape.begin(), [](char c, char s) {
               return s == '0' ? is_digit(c) : c == s;
           });
}

int number_at(std::string_view text, std::size_t at, std::size_t length) {
    return static_cast<int>(base::parse_unsigned(text.substr(at, length)).value_or(0));
}

bool is_date(std::string_view text) {
    if (!shaped(text, "0000-00-00")) return false;
    int year = number_at(text, 0, 4), month = number_at(text, 5, 2), day = number_at(text, 8, 2);
    if (month < 1 || month > 12 || day < 1) return false;
    static constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

// RFC 3339: 2025-01-31T23:59:60.5+01:00
bool is_date_time(std::string_view text) {
    if (text.size() < 20 || !is_date(text.substr(0, 10))) return false;
    if (text[10] != 'T' && text[10] != 't') return false;
    if (!shaped(text.substr(11, 8), "00:00:00")) return false;
    if (number_at(text, 11, 2) > 23 || number_at(text, 14, 2) > 59 || number_at(text, 17, 2) > 60)
        return false;
    auto zone = text.substr(19);
    if (zone[0] == '.') {
        auto end = std::find_if_not(zone.begin() + 1, zone.end(), is_digit);
        if (end == zone.begin() + 1) return false;
        zone.remove_prefix(static_cast<std::size_t>(end - zone.begin()));
    }
    if (zone == "Z" || zone == "z") return true;
    if (!shaped(zone, "+00:00") && !shaped(zone, "-00:00")) return false;
    return number_at(zone, 1, 2) <= 23 && number_at(zone, 4, 2) <= 59;
}

bool has_blank(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
    });
}

// A slip of the fingers is found, not every breach of RFC 5321: the server has the last word.
bool is_email(std::string_view text) {
    auto at = text.rfind('@');
    if (at == std::string_view::npos || at == 0 || has_blank(text)) return false;
    auto domain = text.substr(at + 1);
    return !domain.empty() && domain.front() != '.' && domain.back() != '.' &&
           domain.find("..") == std::string_view::npos;
}

bool is_uri(std::string_view text) {
    auto colon = text.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 == text.size()) return false;
    auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
    auto scheme = text.substr(0, colon);
    return letter(scheme[0]) && !has_blank(text) &&
           std::all_of(scheme.begin(), scheme.end(), [&](char c) {
               return letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
           });
}

bool is_format(std::string_view format, std::string_view text) {
    if (format == "date") return is_date(text);
    if (format == "date-time") return is_date_time(text);
    if (format == "email") return is_email(text);
    if (format == "uri") return is_uri(text);
    return true; // one we do not know: the server knows
}

std::size_t code_points(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    }));
}

// "from 1 to 5", "at least 1", "at most 5", or nothing.
std::string between(const std::string& least, const std::string& most) {
    if (least.empty() && most.empty()) return {};
    if (most.empty()) return " at least " + least;
    if (least.empty()) return " at most " + most;
    return least == most ? " exactly " + least : " from " + least + " to " + most;
}

std::string between(std::optional<std::uint64_t> least, std::optional<std::uint64_t> most) {
    auto text = [](std::optional<std::uint64_t> n) { return n ? std::to_string(*n) : ""; };
    return between(text(least), text(most));
}

} // namespace

std::string check_text(const form_field& f, std::string_view text) {
    // quote() mends what is no UTF-8; what was typed would then not be what is sent.
    if (!wire::validate(wire::quote(text)) || wire::unescape(wire::quote(text)) != text)
        return "that is no UTF-8 text";
    auto length = code_points(text);
    if (f.least && length < *f.least) return "that is too short";
    if (f.most && length > *f.most) return "that is too long";
    if (!is_format(f.format, text)) return "that is no " + f.format;
    return {};
}

std::string check_number(const form_field& f, std::string_view typed) {
    bool number =
        !typed.empty() && wire::validate(typed) && wire::kind_of(typed) == wire::kind::number;
    if (!number) return "that is no number";
    if (f.kind == type::integer && !wire::is_integer(typed)) return "that is no whole number";
    auto value = std::strtold(std::string(typed).c_str(), nullptr);
    if (!std::isfinite(value)) return "that is too large";
    if (!f.minimum.empty() && value < std::strtold(f.minimum.c_str(), nullptr))
        return "that is too small";
    if (!f.maximum.empty() && value > std::strtold(f.maximum.c_str(), nullptr))
        return "that is too large";
    return {};
}

std::string field_hint(const form_field& f) {
    switch (f.kind) {
    case type::text: {
        std::string what = f.format == "date"        ? "a date, YYYY-MM-DD"
                           : f.format == "date-time" ? "a date and time, YYYY-MM-DDThh:mm:ssZ"
                           : f.format == "email"     ? "an e-mail address"
                           : f.format == "uri"       ? "a URI"
                                                     : "text";
        auto length = between(f.least, f.most);
        return length.empty() ? what : what + "," + length + " characters";
    }
    case type::number:
        return "a number" + between(f.minimum, f.maximum);
    case type::integer:
        return "a whole number" + between(f.minimum, f.maximum);
    case type::boolean:
        return "y or n";
    case type::one_of:
        return f.numbered ? "one of them, by number or name" : "one of them, by name";
    case type::some_of: {
        std::string how = f.numbered ? "by number or name" : "by name";
        auto count = between(f.least, f.most);
        return (count.empty() ? "any of them" : count.substr(1) + " of them") + ", " + how +
               ", with commas between";
    }
    }
    return {};
}

} // namespace sluice::app
