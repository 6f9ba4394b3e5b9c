// A question of a server, asked on a terminal: a form line by line, or the consent to visit a URL.
// Pure: show() is what to print before the next line is read, take() is that line. Every end is
// one that the person chose: accept only after an explicit yes, /decline, /cancel or Ctrl-D.
#pragma once

#include "app/client/form.hpp"
#include "app/client/terminal.hpp"
#include "base/result.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

class dialog {
public:
    explicit dialog(terminal where) : where_(where) {}
    virtual ~dialog() = default;

    virtual std::string show() = 0;
    virtual void take(std::string_view line) = 0;
    void hang_up() { end("cancel"); } // Ctrl-D

    bool over() const { return !result_.empty(); }
    const std::string& result() const { return result_; } // an ElicitResult, once over
    const std::string& action() const { return action_; }

protected:
    void end(std::string action, const std::string& content = {});
    // /decline and /cancel end it; true when the line was one of them.
    bool is_farewell(std::string_view line);
    std::string paragraph(std::string_view text, std::size_t indent) const;

    terminal where_;

private:
    std::string action_;
    std::string result_;
};

class form_dialog final : public dialog {
public:
    form_dialog(
        terminal where, std::string title, std::string message, std::vector<form_field> fields
    );
    std::string show() override;
    void take(std::string_view line) override;

private:
    void answer(const form_field& f, std::string_view line);
    void review(std::string_view line);
    std::string field_text() const;
    std::string review_text() const;

    std::string title_, message_;
    std::vector<form_field> fields_;
    std::vector<std::optional<std::string>> values_; // exact JSON; none = left out
    std::size_t at_ = 0;
    std::string trouble_; // what was wrong with the last line
    bool opened_ = false;
    bool asked_ = false; // the field at_ was introduced
};

class url_dialog final : public dialog {
public:
    url_dialog(terminal where, std::string title, std::string message, std::string url);
    std::string show() override;
    void take(std::string_view line) override;

private:
    std::string title_, message_, url_;
    bool opened_ = false;
};

// The dialog for the params of an elicitation/create; `title` is the server's. A fault
// (errc::invalid_params) is for the server: this cannot be asked here.
base::result<std::unique_ptr<dialog>>
dialog_for(std::string_view params, terminal where, std::string title);

} // namespace sluice::app
