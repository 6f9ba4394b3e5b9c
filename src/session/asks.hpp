// Questions of upstreams to this host (elicitation, sampling, roots) that wait for its answer.
// An answer is taken once; late, double and unknown ones are counted and dropped.
// Spec: elicitation, sampling and roots requests on a call's own stream; decision 9.
#pragma once

#include "aio/channel.hpp"
#include "wire/message.hpp"
#include "wire/token.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sluice::session {

class ask {
public:
    ask(aio::executor ex, wire::token id) : id_(std::move(id)), settled_(ex) {}

    const wire::token& id() const { return id_; }
    // The host's response; nothing at `until`, or when the question was dropped (see is_dropped).
    aio::task<std::optional<wire::message>> wait(aio::instant until);
    bool is_dropped() const { return dropped_; }
    // Makes a pending wait return, so that its coroutine looks around.
    void rouse() { settled_.wake(); }
    // Whoever asked wants no answer any more.
    void take_back() {
        taken_back_ = true;
        settled_.wake();
    }
    bool is_taken_back() const { return taken_back_; }

private:
    friend class asks;
    wire::token id_;
    std::optional<wire::message> answer_;
    bool dropped_ = false;
    bool taken_back_ = false;
    aio::signal_flag settled_;
};

struct ask_counters {
    std::uint64_t stray = 0; // answers to no open question
};

class asks {
public:
    explicit asks(aio::executor ex) : ex_(ex) {}

    // `like` = the upstream's id: the minted one has its JSON type.
    std::shared_ptr<ask> open(const wire::token& like);
    // How ids are made where several processes ask in one session: JSON text, a string or a number.
    void mint_with(std::function<std::string(bool text)> mint) { mint_ = std::move(mint); }
    bool has(const wire::token& id) const { return open_.contains(id); }
    // False when no such question is open.
    bool answer(wire::message response);
    void close(const ask& q);
    // The host is gone: nobody will answer any of them.
    void drop_all();
    std::size_t size() const { return open_.size(); }
    const ask_counters& counters() const { return counters_; }

private:
    aio::executor ex_;
    std::uint64_t next_ = 1;
    std::function<std::string(bool text)> mint_;
    std::unordered_map<wire::token, std::shared_ptr<ask>> open_;
    ask_counters counters_;
};

} // namespace sluice::session
