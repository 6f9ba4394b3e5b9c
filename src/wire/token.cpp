#include "wire/token.hpp"

#include "wire/json.hpp"

namespace sluice::wire {

base::result<token> token::parse(std::string_view json_text) {
    token t;
    const kind what = kind_of(json_text);
    if (what == kind::string) {
        t.escaped_ = json_text.find('\\') != std::string_view::npos;
        if (t.escaped_) t.decoded_ = unescape(json_text);
    } else if (what != kind::number || !is_integer(json_text)) {
        return base::fault(base::errc::invalid_params, "expected a string or an integer");
    }
    t.text_ = json_text;
    return t;
}

token token::of(std::uint64_t number) {
    token t;
    t.text_ = std::to_string(number);
    return t;
}

token token::of(std::string_view utf8) {
    token t;
    t.text_ = quote(utf8);
    t.escaped_ = t.text_.find('\\') != std::string::npos;
    if (t.escaped_) t.decoded_ = unescape(t.text_);
    return t;
}

std::string_view token::value() const {
    if (!is_string()) return text_;
    if (escaped_) return decoded_;
    return std::string_view(text_).substr(1, text_.size() - 2);
}

std::size_t token::hash() const {
    const std::size_t h = std::hash<std::string_view>{}(value());
    return is_string() ? ~h : h;
}

} // namespace sluice::wire
