#include "net/http_client.hpp"

#include "base/text.hpp"
#include "net/client_response.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace sluice::net {

namespace {

constexpr auto longest_rest = std::chrono::seconds(4);

// "timeout=5, max=100" → one second less than the peer waits, so that we never write into its
// close.
aio::duration rest_for(std::optional<std::string_view> hint) {
    aio::duration limit = longest_rest;
    if (!hint) return limit;
    for (auto part : base::split(*hint, ',')) {
        part = base::trim(part);
        auto equals = part.find('=');
        if (equals == part.npos) continue;
        auto number = base::parse_unsigned(base::trim(part.substr(equals + 1)));
        auto name = base::trim(part.substr(0, equals));
        if (!number) continue;
        if (base::iequals(name, "max") && *number == 0) return {};
        if (!base::iequals(name, "timeout")) continue;
        if (*number <= 1) return {};
        limit =
            std::min<aio::duration>(limit, std::chrono::seconds(std::min(*number, 3600ULL) - 1));
    }
    return limit;
}

bool is_sendable(const client_request& request) {
    auto plain = [](std::string_view text) {
        return !text.empty() && std::ranges::all_of(text, [](char c) {
            return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
        });
    };
    return plain(request.method) && plain(request.target) && request.target.front() == '/';
}

aio::task<base::result<std::unique_ptr<client_response>>> send_over(
    std::shared_ptr<http_pool::state> pool,
    client_request request,
    aio::instant until,
    bool* wrote_any
);

} // namespace

http_pool::state::state(aio::loop& l, aio::deadlines& d, url o, client_settings s)
    : loop(l), deadlines(d), origin(std::move(o)), authority(origin.authority()),
      settings(std::move(s)) {
    // Sweeping closes idle links only, on which nothing waits.
    sweeper = deadlines.arm(aio::never, [this] { sweep(); });
}

std::unique_ptr<client_link> http_pool::state::take_idle() {
    auto now = aio::clock::now();
    while (!idle.empty()) {
        auto last = std::move(idle.back());
        idle.pop_back();
        if (last.until > now && last.line->fit()) {
            ++count.reuses;
            return std::move(last.line);
        }
    }
    return nullptr;
}

void http_pool::state::give_back(
    std::unique_ptr<client_link> line, std::optional<std::string_view> hint
) {
    auto rest = rest_for(hint);
    if (closed || rest <= aio::duration::zero() || settings.max_idle == 0) return;
    if (idle.size() >= settings.max_idle) idle.pop_front();
    line->set_deadline(aio::never);
    line->buffer().shrink(0);
    idle.push_back({std::move(line), aio::clock::now() + rest});
    if (idle.size() == 1) sweeper.move_to(idle.front().until);
}

void http_pool::state::sweep() {
    auto now = aio::clock::now();
    std::erase_if(idle, [now](const resting& one) { return one.until <= now; });
    auto soonest = std::ranges::min_element(idle, {}, &resting::until);
    if (soonest != idle.end()) sweeper.move_to(soonest->until);
}

void http_pool::state::close() {
    closed = true;
    idle.clear();
    sweeper.disarm();
}

aio::task<base::result<std::unique_ptr<client_link>>> http_pool::state::connect(aio::instant until
) {
    if (origin.tls && !tls) {
        auto made = tls_context::make(settings.tls);
        if (!made) co_return made.error();
        tls = std::move(*made);
    }
    auto line = std::make_unique<client_link>(loop, deadlines, count);
    auto limit = settings.connect_timeout;
    auto done = co_await line->connect(origin, tls.get(), looking_up, limit, until);
    if (!done) co_return done.error();
    ++count.connects;
    co_return line;
}

namespace {

// What else is ready runs before this goes on: the requests of one turn of the loop leave together,
// and an upstream that sleeps is woken once for all of them. At 32 connections a third of the time
// went into waking it for each.
auto others_first(aio::loop& loop) {
    return aio::asio::post(loop.get_executor(), aio::nothrow);
}

aio::task<base::result<std::unique_ptr<client_response>>> send_over(
    std::shared_ptr<http_pool::state> pool,
    client_request request,
    aio::instant until,
    bool* wrote_any
) {
    bool wrote = false;
    if (wrote_any != nullptr) *wrote_any = false;
    if (!is_sendable(request))
        co_return base::fault(base::errc::invalid_request, "not a sendable request line");
    auto line = request.fresh ? nullptr : pool->take_idle();
    for (;;) {
        bool reused = line != nullptr;
        if (!reused) {
            auto made = co_await pool->connect(until);
            if (!made) co_return made.error();
            line = std::move(*made);
        }
        auto answer = std::make_unique<response_reader>(pool, std::move(line));
        if (pool->count.busy > 1) co_await others_first(pool->loop);
        auto started = co_await answer->start(request, until, wrote);
        if (wrote_any != nullptr) *wrote_any = wrote;
        if (started) co_return std::unique_ptr<client_response>(std::move(answer));
        // A kept connection that took not a single byte: nothing has been sent, so a new one is no
        // repeat.
        bool untouched = reused && !wrote && started.error().code == base::errc::closed;
        if (!untouched) co_return started.error();
        line.reset();
    }
}

// Takes the sending as a value: http_pool may be gone before the answer is.
aio::task<base::result<std::unique_ptr<client_response>>>
with_head(aio::task<base::result<std::unique_ptr<client_response>>> sending, aio::instant until) {
    auto sent = co_await std::move(sending);
    if (!sent) co_return sent;
    auto got = co_await (*sent)->read_head(until);
    if (!got) co_return got.error();
    co_return sent;
}

} // namespace

http_pool::http_pool(
    aio::loop& loop, aio::deadlines& deadlines, url origin, client_settings settings
)
    : state_(std::make_shared<state>(loop, deadlines, std::move(origin), std::move(settings))) {}

http_pool::~http_pool() {
    state_->close();
}

aio::task<base::result<std::unique_ptr<client_response>>>
http_pool::begin(client_request request, aio::instant until, bool* wrote_any) {
    return send_over(state_, std::move(request), until, wrote_any);
}

aio::task<base::result<std::unique_ptr<client_response>>>
http_pool::send(client_request request, aio::instant until, bool* wrote_any) {
    auto sending = send_over(state_, std::move(request), until, wrote_any);
    return with_head(std::move(sending), until);
}

const url& http_pool::origin() const {
    return state_->origin;
}

http_pool::counters http_pool::count() const {
    auto now = state_->count;
    now.idle = state_->idle.size();
    return now;
}

aio::task<base::result<std::string>>
read_all(client_response& from, std::size_t limit, aio::instant until) {
    auto announced = from.head().headers.get("Content-Length");
    auto length = announced ? base::parse_unsigned(*announced) : std::nullopt;
    if (length && *length > limit && !from.done()) {
        co_return base::fault(base::errc::too_large, "the answer is too large");
    }
    std::string all;
    while (!from.done()) {
        auto piece = co_await from.read_some(until);
        if (!piece) co_return piece.error();
        if (piece->size() > limit - all.size()) {
            co_return base::fault(base::errc::too_large, "the answer is too large");
        }
        if (all.empty()) {
            all = std::move(*piece);
        } else {
            all += *piece;
        }
    }
    co_return all;
}

} // namespace sluice::net
