#include "app/client/dialog.hpp"

#include "app/client/result_text.hpp"
#include "base/text.hpp"
#include "wire/json.hpp"

#include <algorithm>

namespace sluice::app {

namespace {

using base::errc;
using base::fault;

constexpr std::string_view words[] = {"/decline", "/cancel", "/skip"};

// "//skip" is how the text "/skip" is typed.
std::string_view without_escape(std::string_view line) {
    if (!line.starts_with("//")) return line;
    bool escaped = std::find(std::begin(words), std::end(words), line.substr(1)) != std::end(words);
    return escaped ? line.substr(1) : line;
}

bool is_yes(std::string_view line) {
    auto word = base::lower(base::trim(line));
    return word == "y" || word == "yes";
}

bool is_no(std::string_view line) {
    auto word = base::lower(base::trim(line));
    return word == "n" || word == "no";
}

} // namespace

void dialog::end(std::string action, const std::string& content) {
    if (over()) return;
    action_ = std::move(action);
    result_ = R"({"action":")" + action_ + '"' +
              (content.empty() ? "" : R"(,"content":)" + content) + "}";
}

bool dialog::is_farewell(std::string_view line) {
    auto word = base::trim(line);
    if (word == "/decline") end("decline");
    if (word == "/cancel") end("cancel");
    return over();
}

std::string dialog::paragraph(std::string_view text, std::size_t indent) const {
    std::string out;
    for (const auto& line : wrap(one_line(text), where_.width - indent))
        out += std::string(indent, ' ') + line + '\n';
    return out;
}

form_dialog::form_dialog(
    terminal where, std::string title, std::string message, std::vector<form_field> fields
)
    : dialog(where), title_(std::move(title)), message_(std::move(message)),
      fields_(std::move(fields)), values_(fields_.size()) {}

std::string form_dialog::show() {
    std::string text;
    if (!opened_) {
        text = "\n" + painted(where_, paint::bold, one_line(title_) + " asks:") + "\n" +
               paragraph(message_, 2) +
               painted(where_, paint::dim, "  /decline refuses, /cancel or Ctrl-D dismisses it") +
               "\n";
        opened_ = true;
    }
    if (!trouble_.empty()) text += "  " + painted(where_, paint::red, one_line(trouble_)) + "\n";
    trouble_.clear();
    text += at_ < fields_.size() ? field_text() : review_text();
    asked_ = true;
    return text;
}

std::string form_dialog::field_text() const {
    const auto& f = fields_[at_];
    std::string text;
    if (!asked_) {
        std::string place =
            "[" + std::to_string(at_ + 1) + "/" + std::to_string(fields_.size()) + "] ";
        text = "\n" + place + painted(where_, paint::bold, one_line(f.name)) +
               (f.required ? "" : painted(where_, paint::dim, "  optional")) + "\n";
        if (!f.description.empty()) text += paragraph(f.description, 2);
        std::size_t number = 0;
        for (const auto& c : f.choices) {
            std::string mark = f.numbered ? std::to_string(++number) + ") " : "- ";
            text += "    " + mark + one_line(c.title) +
                    (c.title == c.value ? "" : " (" + one_line(c.value) + ")") + "\n";
        }
    }
    text += "  " + field_hint(f);
    std::string empty = f.initial    ? "Enter = " + one_line(shown_value(f, *f.initial))
                        : f.required ? ""
                                     : "Enter = leave out";
    if (f.initial && !f.required) empty += ", /skip = leave out";
    if (!empty.empty()) text += " " + painted(where_, paint::dim, "[" + empty + "]");
    return text + ": ";
}

std::string form_dialog::review_text() const {
    std::string text;
    if (!asked_) {
        text = "\nThis will be sent:\n";
        bool any = false;
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            if (!values_[i]) continue;
            any = true;
            text += "  " + one_line(fields_[i].name) + " = " +
                    painted(where_, paint::cyan, one_line(shown_value(fields_[i], *values_[i]))) +
                    "\n";
        }
        if (!any) text += "  nothing but that you accept\n";
    }
    return text + "Send it? y = send, n = decline, e = edit: ";
}

void form_dialog::take(std::string_view line) {
    if (over() || is_farewell(line)) return;
    if (at_ < fields_.size())
        answer(fields_[at_], line);
    else
        review(line);
}

void form_dialog::answer(const form_field& f, std::string_view line) {
    bool skip = base::trim(line) == "/skip";
    if (skip && f.required) {
        trouble_ = "this one is required";
        return;
    }
    bool blank = line.empty() || (f.kind != form_field::type::text && base::trim(line).empty());
    if (blank && f.required && !f.initial) {
        trouble_ = f.kind == form_field::type::text
                       ? "this one is required (\"\" is the empty text)"
                       : "this one is required";
        return;
    }
    if (skip || blank) {
        values_[at_] = skip ? std::nullopt : f.initial;
    } else {
        auto value = field_value(f, without_escape(line));
        if (!value) {
            trouble_ = value.error().message;
            return;
        }
        values_[at_] = std::move(*value);
    }
    ++at_;
    asked_ = false;
}

void form_dialog::review(std::string_view line) {
    if (is_no(line)) return end("decline");
    if (base::lower(base::trim(line)) == "e") {
        at_ = 0;
        asked_ = false;
        return;
    }
    if (!is_yes(line)) {
        trouble_ = "y, n or e";
        return;
    }
    std::string content;
    for (std::size_t i = 0; i < fields_.size(); ++i)
        if (values_[i])
            content += (content.empty() ? "" : ",") + fields_[i].key_json + ":" + *values_[i];
    end("accept", "{" + content + "}");
}

url_dialog::url_dialog(terminal where, std::string title, std::string message, std::string url)
    : dialog(where), title_(std::move(title)), message_(std::move(message)), url_(std::move(url)) {}

std::string url_dialog::show() {
    std::string text;
    if (!opened_) {
        auto rest = url_.substr(url_.find("://") + 3);
        auto host = rest.substr(0, rest.find_first_of("/?#"));
        text = "\n" +
               painted(where_, paint::bold, one_line(title_) + " asks you to visit a page:") +
               "\n" + paragraph(message_, 2) + "\n  " + one_line(url_) + "\n\n  It is at " +
               painted(where_, paint::bold, one_line(host)) +
               ". It is not opened for you: open it in a browser if you trust it.\n";
        if (host.find("xn--") != std::string::npos)
            text += "  " +
                    painted(
                        where_,
                        paint::yellow,
                        "This name has letters of other scripts that may look alike."
                    ) +
                    "\n";
        if (host.find('@') != std::string::npos)
            text +=
                "  " +
                painted(where_, paint::yellow, "What stands before the @ is not where it leads.") +
                "\n";
        opened_ = true;
    }
    return text + "Do you agree to visit it? y, n (decline) or Ctrl-D (cancel): ";
}

void url_dialog::take(std::string_view line) {
    if (over() || is_farewell(line)) return;
    if (is_yes(line)) end("accept");
    if (is_no(line)) end("decline");
}

base::result<std::unique_ptr<dialog>>
dialog_for(std::string_view params, terminal where, std::string title) {
    auto refused = [](std::string why) { return fault(errc::invalid_params, std::move(why)); };
    if (params.empty()) return refused("elicitation/create without params");
    auto message = text_member(params, "message");
    if (!message) return refused("elicitation/create without a message");
    auto mode = wire::object_view(params).find("mode");
    auto named = mode ? text_member(params, "mode").value_or("") : "form";
    if (named == "url") {
        auto url = text_member(params, "url").value_or("");
        bool web = url.starts_with("https://") || url.starts_with("http://");
        bool clean = std::none_of(url.begin(), url.end(), [](char c) {
            return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
        });
        if (!web || !clean)
            return refused("elicitation/create with a URL that is not for a browser");
        return std::unique_ptr<dialog>(
            std::make_unique<url_dialog>(where, std::move(title), *message, std::move(url))
        );
    }
    if (named != "form") return refused("elicitation/create in a mode that is not known here");
    auto fields = form_fields(wire::object_view(params).find("requestedSchema").value_or(""));
    if (!fields) return fields.error();
    return std::unique_ptr<dialog>(
        std::make_unique<form_dialog>(where, std::move(title), *message, std::move(*fields))
    );
}

} // namespace sluice::app
