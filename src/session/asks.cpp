#include "session/asks.hpp"

#include <string>

namespace sluice::session {

aio::task<std::optional<wire::message>> ask::wait(aio::instant until) {
    if (!answer_ && !dropped_) {
        [[maybe_unused]] bool woken = co_await settled_.wait(until);
    }
    co_return std::move(answer_);
}

std::shared_ptr<ask> asks::open(const wire::token& like) {
    auto text = std::to_string(next_++);
    if (mint_) {
        text = mint_(like.is_string());
    } else if (like.is_string()) {
        text = "\"ask-" + text + "\"";
    }
    auto id = wire::token::parse(text);
    auto made = std::make_shared<ask>(ex_, std::move(*id));
    open_.emplace(made->id(), made);
    return made;
}

bool asks::answer(wire::message response) {
    auto id = response.id_token();
    auto it = id ? open_.find(*id) : open_.end();
    if (it == open_.end()) {
        ++counters_.stray;
        return false;
    }
    auto waiting = it->second;
    open_.erase(it);
    waiting->answer_ = std::move(response);
    waiting->settled_.wake();
    return true;
}

void asks::close(const ask& q) {
    open_.erase(q.id());
}

void asks::drop_all() {
    for (auto& [id, waiting] : open_) {
        waiting->dropped_ = true;
        waiting->settled_.wake();
    }
    open_.clear();
}

} // namespace sluice::session
