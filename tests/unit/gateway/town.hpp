// A gateway between a host that a test plays and upstreams in memory. Everything real but the wire.
#pragma once

#include "../aio/run.hpp"
#include "fake_upstream.hpp"
#include "gateway/gateway.hpp"
#include "gateway/replicas.hpp"
#include "sys/log.hpp"

namespace sluice::gateway::test {

using aio::task;
using aio::test::settle;
using words = std::vector<std::string>;

struct town {
    town() { sys::configure_log({sys::log_level::off, sys::log_format::json}); }
    ~town() { sys::configure_log({}); }
    town(const town&) = delete;
    town& operator=(const town&) = delete;

    // The servers' settings, before open() is called.
    upstream::server_settings& add(std::string name, std::string capabilities, script plays) {
        settings.emplace_back();
        settings.back().name = std::move(name);
        settings.back().kind = upstream::transport::http;
        scripts.emplace_back(std::move(capabilities), std::move(plays));
        return settings.back();
    }

    void open() {
        sealer = std::make_unique<sys::sealer>(salts);
        store = state::make_memory_store(loop);
        pages = std::make_unique<pager>(*sealer, *store, pager_settings{});
        others = std::make_unique<replicas>(loop, *store, peer_settings{});
        names = std::make_unique<catalog::directory>(rules, settings);
        sessions = std::make_unique<session::registry>(loop.get_executor(), bounds);
        grounds on{
            loop, deadlines, lists, *sessions, meters, *others, bodies, known, numbers, all, permit
        };
        for (std::size_t i = 0; i < settings.size(); ++i) {
            auto made = std::make_unique<fake_server>(
                loop.get_executor(), settings[i], scripts[i].first, std::move(scripts[i].second)
            );
            servers.push_back(made.get());
            all.push_back(std::make_shared<served>(std::move(made), i));
        }
        in.reset(new house{on, *names, authoriser, *pages, "digest", all});
        walk = std::make_unique<gateway>(*in);
        auto opened = sessions->open({});
        host = *opened;
    }

    // A host's request on the endpoint that `names_text` means; its answers come on the stream.
    std::shared_ptr<session::stream> start(std::string json, std::string_view names_text = {}) {
        auto out = host->open_stream(1);
        start_on(out, std::move(json), names_text, 0);
        return out;
    }
    void start_on(
        const std::shared_ptr<session::stream>& out,
        std::string json,
        std::string_view names_text,
        std::uint32_t number
    ) {
        auto parsed = wire::parse_message(std::move(json));
        REQUIRE(parsed);
        auto scope = walk->scope_for(*who, names_text);
        REQUIRE(scope);
        auto op = std::make_shared<operation>();
        op->message = std::make_shared<const wire::message>(std::move(*parsed));
        op->host = host;
        auto call = host->begin_call(*op->message->id_token(), out, number);
        REQUIRE(call);
        op->call = *call;
        op->scope = *scope;
        op->caller = who;
        op->method = &mcp::describe(op->message->method_text());
        op->headers = headers;
        op->arrived = aio::clock::now();
        walk->start(std::move(op));
    }
    // The same, and everything that came until the stream ended.
    task<words> ask(std::string json, std::string_view names_text = "") {
        auto out = start(std::move(json), names_text);
        auto got = co_await read(out);
        co_return got;
    }
    static task<words> read(std::shared_ptr<session::stream> from) {
        words out;
        from->attach(0);
        for (;;) {
            auto e = co_await from->next(aio::test::late());
            REQUIRE(e);
            if (*e == nullptr) break;
            out.push_back((*e)->bytes);
        }
        from->detach();
        co_return out;
    }
    // A notification or a response of the host.
    void tell(std::string json) {
        auto parsed = wire::parse_message(std::move(json));
        REQUIRE(parsed);
        walk->take(*host, *parsed);
    }

    // Runs the body, then shuts everything down, which must join.
    void run(std::function<task<>(town&)> body) {
        auto whole = [](town& t, std::function<task<>(town&)> inner) -> task<> {
            co_await inner(t);
            co_await t.sessions->shut_down();
            co_await t.walk->shut_down();
        };
        aio::test::run(loop, whole(*this, std::move(body)));
    }

    diary& seen(std::size_t server) { return *servers[server]->notes; }

    aio::loop loop;
    aio::deadlines deadlines{loop.get_executor()};
    catalog::settings rules;
    session::settings bounds;
    std::vector<base::secret> salts{base::secret("a salt of at least thirty-two bytes, really")};
    std::vector<upstream::server_settings> settings;
    std::vector<std::pair<std::string, script>> scripts;
    std::unique_ptr<sys::sealer> sealer;
    std::unique_ptr<state::store> store;
    std::unique_ptr<pager> pages;
    std::unique_ptr<replicas> others;
    sys::budget bodies{64 * 1024 * 1024};
    std::unique_ptr<catalog::directory> names;
    catalog::index lists;
    peer_book known;
    replica_numbers numbers;
    std::vector<shared_served> all;
    policy::authoriser authoriser{policy::settings{}, {}};
    permits permit = [this](const session::identity&, const served& server) {
        return authoriser.authorise(who, server.settings(), policy::item_kind::server, {});
    };
    sys::meters meters{100};
    std::unique_ptr<session::registry> sessions;
    std::unique_ptr<house> in;
    std::vector<fake_server*> servers;
    std::unique_ptr<gateway> walk;
    std::shared_ptr<session::session> host;
    std::shared_ptr<const net::fields> headers; // of the host's requests
    policy::caller who = std::make_shared<policy::principal>();
};

inline std::string
call_of(std::string_view id, std::string_view tool, std::string_view rest = "\"arguments\":{}") {
    return "{\"jsonrpc\":\"2.0\",\"id\":" + std::string(id) +
           ",\"method\":\"tools/call\",\"params\":{\"name\":" + wire::quote(tool) + "," +
           std::string(rest) + "}}";
}

inline std::string
request_of(std::string_view id, std::string_view method, std::string_view params = "{}") {
    return wire::make_request(id, method, params);
}

// A server that lists these tools, in one page, and echoes every call's params.
inline script echo(std::vector<std::string> tools) {
    return [tools = std::move(tools)](conversation& with) {
        if (with.request.method_is("tools/list")) {
            std::string items;
            for (const auto& t : tools)
                items += (items.empty() ? "{\"name\":" : ",{\"name\":") + wire::quote(t) + "}";
            return with.result("{\"tools\":[" + items + "]}");
        }
        with.result("{\"echo\":" + with.params() + "}");
    };
}

} // namespace sluice::gateway::test
