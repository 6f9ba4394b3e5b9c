#include "state/redis_link.hpp"

#include <algorithm>
#include <array>

namespace sluice::state {

using base::result;

std::string encode(const redis_words& words) {
    std::vector<std::string_view> views(words.begin(), words.end());
    return wire::resp_command(views);
}

namespace {

bool says(const wire::resp_reply& reply, std::string_view word) {
    return reply.is_error() && reply.text.find(word) != std::string::npos;
}

std::string first_word(const std::string& text) {
    return text.substr(0, text.find(' '));
}

} // namespace

bool is_no_master(const wire::resp_reply& reply) {
    // A script wraps what its commands said: the word may stand anywhere.
    constexpr std::array<std::string_view, 4> words{
        "READONLY", "MASTERDOWN", "LOADING ", "UNBLOCKED"
    };
    return std::ranges::any_of(words, [&](auto word) { return says(reply, word); });
}

base::fault fault_of(const wire::resp_reply& error) {
    constexpr std::array<std::string_view, 11> refusals{
        "OOM ",
        "MISCONF",
        "BUSY ",
        "CLUSTERDOWN",
        "TRYAGAIN",
        "NOREPLICAS",
        "NOAUTH",
        "WRONGPASS",
        "NOPERM",
        "MOVED ",
        "max number of clients"
    };
    bool away = is_no_master(error) ||
                std::ranges::any_of(refusals, [&](auto word) { return says(error, word); });
    if (away) return {base::errc::unreachable, "the store refuses: " + first_word(error.text)};
    return {base::errc::internal, "the store answered: " + error.text};
}

redis_link::redis_link(redis_surroundings& around)
    : around_(around), link_(around.loop, around.deadlines, counters_),
      reader_({around.settings.max_value * 2, 1024UL * 1024}) {}

aio::task<result<void>> redis_link::connect(redis_address to, aio::instant until) {
    net::url origin;
    origin.tls = around_.tls != nullptr;
    origin.host = to.host;
    origin.port = to.port;
    auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(until - aio::clock::now());
    auto done = co_await link_.connect(origin, around_.tls.get(), lookup_, limit, until);
    if (done || done.error().code == base::errc::cancelled) co_return done;
    co_return base::fault(base::errc::unreachable, done.error().message);
}

aio::task<result<void>> redis_link::greet(std::vector<redis_words> words, aio::instant until) {
    words.push_back({"PING"}); // tells at once of a password that is missing
    auto replies = co_await ask(std::move(words), until);
    if (!replies) co_return replies.error();
    for (const auto& reply : *replies) {
        if (!reply.is_error()) continue;
        if (is_no_master(reply)) co_return fault_of(reply);
        // Never the whole text: a server might repeat what it was sent.
        co_return base::fault(
            base::errc::unreachable, "the store refuses us: " + first_word(reply.text)
        );
    }
    co_return result<void>();
}

namespace {

redis_words authenticate(const std::string& user, const base::secret& password) {
    redis_words words{"AUTH"};
    if (!user.empty()) words.push_back(user);
    words.emplace_back(password.reveal());
    return words;
}

} // namespace

aio::task<result<void>> redis_link::open(redis_address to, aio::instant until) {
    auto connected = co_await connect(std::move(to), until);
    if (!connected) co_return connected;
    const auto& s = around_.settings;
    std::vector<redis_words> words;
    if (!s.password.empty()) words.push_back(authenticate(s.user, s.password));
    if (s.database != 0) words.push_back({"SELECT", std::to_string(s.database)});
    auto greeted = co_await greet(std::move(words), until);
    if (!greeted || s.sentinels.empty()) co_return greeted;
    std::vector<redis_words> question;
    question.push_back({"ROLE"});
    auto role = co_await ask(std::move(question), until);
    if (!role) co_return role.error();
    const auto& items = role->front().items;
    if (!items.empty() && items.front().text == "master") co_return result<void>();
    co_return base::fault(
        base::errc::unreachable, "the sentinels named a server that is no master"
    );
}

aio::task<result<void>> redis_link::open_sentinel(redis_address to, aio::instant until) {
    auto connected = co_await connect(std::move(to), until);
    if (!connected) co_return connected;
    const auto& s = around_.settings;
    std::vector<redis_words> words;
    if (!s.sentinel_password.empty())
        words.push_back(authenticate(s.sentinel_user, s.sentinel_password));
    co_return co_await greet(std::move(words), until);
}

aio::task<result<std::vector<wire::resp_reply>>>
redis_link::ask(std::vector<redis_words> commands, aio::instant until) {
    std::string bytes;
    for (const auto& words : commands)
        bytes += encode(words);
    set_deadline(until);
    auto wrote = co_await write(std::move(bytes));
    std::vector<wire::resp_reply> replies;
    base::fault why;
    if (!wrote) why = std::move(wrote.error());
    while (wrote && replies.size() < commands.size()) {
        auto reply = co_await read();
        if (!reply) {
            why = std::move(reply.error());
            break;
        }
        replies.push_back(std::move(*reply));
    }
    set_deadline(aio::never);
    if (replies.size() == commands.size()) co_return replies;
    if (why.code != base::errc::cancelled) why.code = base::errc::unreachable;
    co_return why;
}

aio::task<result<void>> redis_link::write(std::string bytes) {
    bool wrote = false;
    net::pieces all{bytes};
    auto at_once = link_.send_at_once(all, wrote);
    if (!at_once || all.empty()) co_return at_once;
    co_return co_await link_.send(all, wrote);
}

aio::task<result<wire::resp_reply>> redis_link::read() {
    for (;;) {
        auto got = reader_.next();
        if (!got) co_return got.error();
        if (*got) co_return std::move(**got);
        auto count = co_await link_.read_more();
        if (count == 0) co_return link_.why();
        auto& in = link_.buffer();
        reader_.feed(in.view());
        in.consume(in.size());
    }
}

} // namespace sluice::state
