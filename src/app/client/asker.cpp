#include "app/client/asker.hpp"

#include "aio/nursery.hpp"
#include "app/client/conversation.hpp"
#include "app/client/result_text.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace sluice::app {

using base::errc;

namespace {

constexpr std::size_t max_waiting = 32; // more at once is no conversation: refused
constexpr int invalid_params = -32602;
constexpr int internal_error = -32603;

void print(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

} // namespace

asker::asker(aio::loop& loop, mcp_client& client, progress_line& line, bool ask)
    : client_(client), line_(line), ask_(ask), input_(loop), arrived_(loop.get_executor()) {}

bool asker::take(const wire::message& question) {
    bool ours = question.method_is("elicitation/create");
    if (!ours || stopped_ || waiting_.size() >= max_waiting) return false;
    waiting_.push_back(question);
    client_.be_patient(true);
    arrived_.wake();
    return true;
}

void asker::withdraw(const wire::message& note) {
    auto id = note.view(note.request_id);
    std::erase_if(waiting_, [&](const wire::message& m) { return m.view(m.id) == id; });
    if (!current_.empty() && current_ == id) input_.interrupt();
    rest_if_idle();
}

void asker::stop() {
    stopped_ = true;
    waiting_.clear();
    if (!current_.empty()) input_.interrupt();
    arrived_.wake();
}

void asker::rest_if_idle() {
    if (waiting_.empty() && current_.empty()) client_.be_patient(false);
}

aio::task<> asker::run() {
    co_await aio::keep_running_when_cancelled();
    while (!stopped_) {
        if (waiting_.empty()) {
            co_await arrived_.wait();
            continue;
        }
        auto question = std::move(waiting_.front());
        waiting_.pop_front();
        current_ = std::string(question.view(question.id));
        co_await put(std::move(question));
        current_.clear();
        rest_if_idle();
    }
}

aio::task<> asker::put(wire::message question) {
    std::string id = current_;
    if (!ask_) {
        ++refused_;
        auto said = text_member(question.view(question.params), "message").value_or("");
        line_.say("sluice: the server asks: " + one_line(said));
        std::string body =
            wire::make_error(id, internal_error, "nobody is here to answer: refused by --yes");
        co_await send(std::move(body));
        co_return;
    }
    auto made = dialog_for(question.view(question.params), look_at(STDERR_FILENO), server);
    if (!made) {
        line_.say(
            "sluice: a question of the server was refused: " + one_line(made.error().message)
        );
        std::string body = wire::make_error(id, invalid_params, made.error().message);
        co_await send(std::move(body));
        co_return;
    }
    line_.hold();
    auto result = co_await talk(**made);
    line_.release();
    if (!result && result.error().code == errc::cancelled) co_return; // withdrawn, told already
    std::string body = result ? wire::make_result(id, *result)
                              : wire::make_error(id, internal_error, result.error().message);
    if (!result) ++refused_;
    co_await send(std::move(body));
}

// The result of the dialog; errc::cancelled when the server no longer wants to know.
aio::task<base::result<std::string>> asker::talk(dialog& d) {
    auto ready = input_.begin();
    if (!ready) co_return ready.error();
    while (!d.over()) {
        print(d.show());
        auto line = co_await input_.next();
        if (line) {
            d.take(*line);
            continue;
        }
        if (line.error().code == errc::cancelled) {
            print(
                stopped_ ? "\nThe call is over: the question is no longer asked.\n"
                         : "\nThe server has withdrawn the question.\n"
            );
            co_return line.error();
        }
        if (line.error().code != errc::closed) co_return line.error(); // no action of a person
        print("\n");
        d.hang_up();
    }
    if (d.action() == "decline") print("Declined.\n");
    if (d.action() == "cancel") print("Cancelled: the server is told that you gave no answer.\n");
    co_return d.result();
}

aio::task<> asker::send(std::string body) {
    auto told = co_await client_.answer(std::move(body));
    if (!told && !stopped_)
        complain("the answer did not reach the server: " + told.error().message);
}

} // namespace sluice::app
