#include "gateway/page_cache.hpp"

#include "base/text.hpp"
#include "gateway/operation.hpp"
#include "mcp/revision.hpp"
#include "sys/digest.hpp"
#include "sys/random.hpp"

#include <algorithm>

namespace sluice::gateway {

namespace {

constexpr auto margin = std::chrono::minutes(1);

// Lengths keep neighbours apart.
class parts {
public:
    parts& add(std::string_view part) {
        text_ += std::to_string(part.size()) + ':';
        text_ += part;
        return *this;
    }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};

// Which server it is, and who it takes the gateway for.
void add_server(parts& to, const upstream::server_settings& s) {
    to.add(s.name).add(s.url).add(s.command);
    for (const auto& each : s.args)
        to.add(each);
    for (const auto& [name, value] : s.env)
        to.add(name).add(value.reveal());
    to.add(std::to_string(static_cast<int>(s.auth.type))).add(s.auth.value.reveal());
    for (const auto& [name, value] : s.static_headers)
        to.add(name).add(value.reveal());
    to.add(s.tls.ca_file).add(s.tls.certificate_file);
}

// Other members of the host's params go up with them and may mean something to the server.
bool is_plain(const wire::message& m) {
    if (!m.params.present()) return true;
    for (const auto& member : wire::object_view(m.view(m.params))) {
        if (member.key_is("cursor")) continue;
        if (!member.key_is("_meta")) return false;
        for (const auto& meta : wire::object_view(member.value)) {
            if (!meta.key_is("progressToken")) return false;
        }
    }
    return true;
}

} // namespace

page_cache::page_cache(house& in) : in_(in), chores_(in.loop.get_executor(), "gateway") {
    in_.lists.tell(this, [this](std::size_t number) { forget(number); });
}

page_cache::~page_cache() {
    in_.lists.tell_no_more(this);
}

std::optional<std::string>
page_cache::key_of(const operation& op, std::size_t server, const std::string& cursor) const {
    const auto& settings = in_.names.server(server);
    if (settings.cache_ttl.count() == 0 || !is_plain(*op.message)) return std::nullopt;
    parts key;
    key.add(in_.registry);
    add_server(key, settings);
    key.add(viewpoint_of(in_, op, server).as);
    key.add(mcp::text_of(op.host->who().revision));
    key.add(op.method->text).add(cursor);
    // Credentials are in it: under the salt nobody who reads the store can try guesses.
    const auto& seals = in_.pages.seals();
    if (seals.can_seal()) return seals.sign(sys::purpose::cursor, "list page\n" + key.text());
    return base::hex(sys::sha256(key.text()));
}

page_cache::shared_flight page_cache::under_way(const std::string& key) const {
    auto it = flights_.find(key);
    return it == flights_.end() ? nullptr : it->second;
}

page_cache::shared_flight page_cache::begin(const std::string& key, std::size_t server) {
    auto made = std::make_shared<flight>();
    made->server = server;
    flights_[key] = made;
    return made;
}

void page_cache::end(const std::string& key, const shared_flight& which) {
    which->done = true;
    for (auto& each : which->waiting)
        each.wake();
    auto it = flights_.find(key);
    if (it != flights_.end() && it->second == which) flights_.erase(it);
}

std::string page_cache::generation_key(std::size_t server) const {
    return "lists:" + in_.names.server(server).name;
}

aio::task<std::optional<std::string>> page_cache::place_of(std::string key, std::size_t server) {
    if (stale_.contains(server)) {
        bool renewed = co_await renew(server);
        if (!renewed) co_return std::nullopt;
    }
    auto generation = co_await in_.pages.store().get(generation_key(server));
    if (!generation || stale_.contains(server)) co_return std::nullopt;
    co_return "list:" + key + ":" + generation->value_or("0");
}

aio::task<std::optional<wire::message>> page_cache::find(std::string place) {
    auto bytes = co_await in_.pages.store().get(std::move(place));
    if (!bytes || !*bytes) co_return std::nullopt;
    auto message = wire::parse_message(std::move(**bytes));
    if (!message || message->kind != wire::message_kind::result) co_return std::nullopt;
    co_return std::move(*message);
}

aio::task<> page_cache::keep(std::string place, std::size_t server, std::string bytes) {
    // What does not fit, or finds the store away, is asked for again.
    auto life = in_.names.server(server).cache_ttl;
    [[maybe_unused]] auto kept =
        co_await in_.pages.store().put(std::move(place), std::move(bytes), life);
}

void page_cache::forget(std::size_t number) {
    auto it = std::find_if(in_.servers.begin(), in_.servers.end(), [&](const auto& each) {
        return each->number == number;
    });
    if (it == in_.servers.end()) return;
    auto server = static_cast<std::size_t>(it - in_.servers.begin());
    if (in_.names.server(server).cache_ttl.count() == 0) return;
    stale_[server] = ++changes_;
    // Who comes now must not be given what was asked for before.
    std::erase_if(flights_, [&](const auto& each) { return each.second->server == server; });
    if (chores_.stopping()) return;
    auto job = renew_soon(server);
    chores_.spawn(std::move(job));
}

aio::task<> page_cache::renew_soon(std::size_t server) {
    co_await aio::keep_running_when_cancelled();
    if (!stale_.contains(server)) co_return;
    // If the store is away, whoever asks for that server's lists next tries again.
    [[maybe_unused]] bool renewed = co_await renew(server);
}

aio::task<bool> page_cache::renew(std::size_t server) {
    auto change = stale_[server];
    const auto& settings = in_.names.server(server);
    // Longer than any page of the generation before: once it runs out they are all gone.
    auto life = settings.cache_ttl + settings.list_timeout + margin;
    auto put = co_await in_.pages.store().put(generation_key(server), sys::random_id(), life);
    if (!put) co_return false;
    auto it = stale_.find(server);
    if (it != stale_.end() && it->second == change) stale_.erase(it);
    co_return true;
}

aio::task<> page_cache::shut_down() {
    chores_.stop();
    co_await chores_.join();
}

} // namespace sluice::gateway
