#include "state/redis_cluster.hpp"

#include "aio/within.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace sluice::state {

using base::result;

namespace {

constexpr int most_redirections = 5;
constexpr auto retired_looked_at = std::chrono::milliseconds(20);

aio::task<result<redis_address>> always(redis_address at) {
    co_return at;
}

// "MOVED 3999 127.0.0.1:6381"
std::optional<redis_address> target_of(std::string_view text) {
    auto space = text.rfind(' ');
    auto colon = text.rfind(':');
    if (space == std::string_view::npos || colon == std::string_view::npos || colon < space)
        return std::nullopt;
    auto port = base::parse_unsigned(text.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return std::nullopt;
    return redis_address{
        std::string(text.substr(space + 1, colon - space - 1)), static_cast<std::uint16_t>(*port)
    };
}

} // namespace

redis_cluster::redis_cluster(redis_surroundings& around, redis_node::reports tell)
    : around_(around), tell_(std::move(tell)), slots_(slot_count, nullptr),
      wanted_(around.loop.get_executor()), jobs_(around.loop.get_executor(), "state") {}

redis_cluster::~redis_cluster() = default;

void redis_cluster::start() {
    since_ = aio::clock::now();
    auto job = learn();
    jobs_.spawn(std::move(job));
}

aio::task<> redis_cluster::shut_down() {
    jobs_.stop();
    wanted_.wake();
    co_await jobs_.join();
    for (auto& [at, node] : nodes_)
        co_await node->shut_down();
    for (auto& command : std::exchange(homeless_, {}))
        tell_.answered(std::move(command), last_);
}

health redis_cluster::how() const {
    health all{whole_, since_};
    for (const auto& [at, node] : nodes_) {
        auto one = node->how();
        if (all.up == one.up) {
            // Down since the first went, up since the last came.
            all.since = all.up ? std::max(all.since, one.since) : std::min(all.since, one.since);
        } else if (all.up) {
            all = one;
        }
    }
    return all;
}

void redis_cluster::changed(const base::fault* why) {
    tell_.changed(why);
    if (why == nullptr) return;
    last_ = *why;
    wanted_.wake(); // its slots may have moved
}

redis_node& redis_cluster::node_at(const redis_address& at) {
    auto& node = nodes_[at];
    if (node) return *node;
    redis_node::reports tell{tell_.answered, [this](const base::fault* why) { changed(why); }};
    node = std::make_unique<redis_node>(
        around_, [at](aio::instant) { return always(at); }, std::move(tell)
    );
    node->start();
    return *node;
}

// Null while the map does not say.
redis_node* redis_cluster::server_for(const redis_command& command) const {
    if (!command.key.empty()) return slots_[slot_of(command.key)];
    auto up = std::ranges::find_if(nodes_, [](const auto& one) { return one.second->how().up; });
    return up == nodes_.end() ? slots_.front() : up->second.get();
}

std::optional<base::fault> redis_cluster::submit(redis_command& command) {
    if (auto* node = server_for(command)) return node->submit(command);
    auto now = aio::clock::now();
    // A short gap in the map is waited for; one that lasts is said at once.
    bool late = !whole_ && now - since_ >= around_.settings.timeout;
    if (late || command.until <= now || jobs_.stopping()) return last_;
    if (homeless_.size() >= around_.settings.max_queue)
        return base::fault(base::errc::unreachable, "too many commands wait for the store");
    homeless_.push_back(std::move(command));
    wanted_.wake();
    return std::nullopt;
}

bool redis_cluster::follow(redis_command& command, const wire::resp_reply& reply) {
    bool moved = reply.text.starts_with("MOVED ");
    if (!moved && !reply.text.starts_with("ASK ")) return false;
    auto at = target_of(reply.text);
    if (!at || at->host.empty() || ++command.tries > most_redirections) return false;
    auto& node = node_at(*at);
    command.asking = !moved;
    if (moved) {
        slots_[slot_of(command.key)] = &node;
        wanted_.wake();
    }
    return !node.submit(command).has_value();
}

std::vector<redis_address> redis_cluster::known() const {
    std::vector<redis_address> all;
    all.reserve(nodes_.size() + 1);
    for (const auto& [at, node] : nodes_)
        all.push_back(at);
    if (!nodes_.contains(around_.settings.at)) all.push_back(around_.settings.at);
    return all;
}

redis_finder redis_cluster::find_any() {
    return [this](aio::instant) {
        auto all = known();
        return always(all[turn_++ % all.size()]);
    };
}

aio::task<> redis_cluster::learn() {
    co_await aio::keep_running_when_cancelled();
    unsigned failures = 0;
    while (!jobs_.stopping()) {
        auto done = co_await refresh();
        if (!done) last_ = done.error();
        place_homeless();
        bool settled = done && how().up;
        failures = done ? std::min(failures, 2U) : failures;
        auto again = aio::clock::now() + redis_backoff(failures++);
        if (settled) {
            failures = 0;
            again += std::chrono::seconds(30);
        }
        if (jobs_.stopping()) break;
        co_await wanted_.wait(again);
        // Many who want it at once, and a map that changes under them, are no reason to hurry.
        if (failures > 1)
            co_await wanted_.wait(std::min(again, aio::clock::now() + std::chrono::milliseconds(20))
            );
    }
}

aio::task<result<void>> redis_cluster::refresh() {
    auto until = aio::clock::now() + around_.settings.timeout;
    auto all = known();
    const auto& asked = all[turn_++ % all.size()];
    redis_link link(around_);
    auto opened = co_await link.open(asked, until);
    if (!opened) co_return opened;
    std::vector<redis_words> words;
    words.push_back({"CLUSTER", "SLOTS"});
    auto replies = co_await link.ask(std::move(words), until);
    if (!replies) co_return replies.error();
    const auto& slots = replies->front();
    if (slots.is_error()) co_return fault_of(slots);
    if (slots.items.empty())
        co_return base::fault(base::errc::unreachable, "the cluster serves no slots");
    if (!jobs_.stopping()) take_map(slots, asked);
    co_return result<void>();
}

void redis_cluster::take_map(const wire::resp_reply& slots, const redis_address& asked) {
    std::vector<redis_node*> fresh(slot_count, nullptr);
    for (const auto& range : slots.items) {
        if (range.items.size() < 3 || range.items[2].items.size() < 2) continue;
        const auto& master = range.items[2].items;
        // A server that does not know its own address gives none: it is the one we asked.
        bool unknown = master[0].text.empty() || master[0].text == "?";
        auto host = unknown ? asked.host : master[0].text;
        auto& node = node_at({host, static_cast<std::uint16_t>(master[1].number)});
        auto first = static_cast<std::size_t>(std::max(range.items[0].number, 0LL));
        auto last = static_cast<std::size_t>(std::max(range.items[1].number, -1LL) + 1);
        for (auto slot = first; slot < std::min(last, slot_count); ++slot)
            fresh[slot] = &node;
    }
    slots_ = std::move(fresh);
    bool whole = std::find(slots_.begin(), slots_.end(), nullptr) == slots_.end();
    if (whole != whole_) since_ = aio::clock::now();
    whole_ = whole;
    if (!whole) last_ = {base::errc::unreachable, "a part of the cluster is not served"};
    retire_all_but(slots_);
}

// What was sent to it is answered first, as long as that may take.
aio::task<> redis_cluster::retire(std::unique_ptr<redis_node> node) {
    co_await aio::keep_running_when_cancelled();
    while (node->is_asked() && !jobs_.stopping())
        co_await aio::pause(retired_looked_at);
    co_await node->shut_down();
}

void redis_cluster::retire_all_but(const std::vector<redis_node*>& used) {
    for (auto it = nodes_.begin(); it != nodes_.end();) {
        auto* node = it->second.get();
        if (std::find(used.begin(), used.end(), node) != used.end()) {
            ++it;
            continue;
        }
        for (auto& command : node->let_go())
            homeless_.push_back(std::move(command));
        auto job = retire(std::move(it->second));
        jobs_.spawn(std::move(job));
        it = nodes_.erase(it);
    }
}

void redis_cluster::place_homeless() {
    for (auto& command : std::exchange(homeless_, {})) {
        auto why = submit(command);
        if (why) tell_.answered(std::move(command), std::move(*why));
    }
}

} // namespace sluice::state
