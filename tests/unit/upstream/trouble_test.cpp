#include "upstream/trouble.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::upstream;
using base::errc;
using namespace std::chrono_literals;

namespace {

const base::fault refused{errc::unreachable, "cannot connect"};
const base::fault silent{errc::timeout, "no answer in time"};
const aio::instant noon{};

} // namespace

TEST_CASE("trouble: a cause is news once, and again when it has lasted for a while") {
    trouble of;
    CHECK(of.is_news(refused, noon));
    CHECK_FALSE(of.is_news(refused, noon + 5s));
    CHECK(of.is_news(refused, noon + 30s));
}

TEST_CASE("trouble: another cause is news, the one before comes back as none") {
    trouble of;
    CHECK(of.is_news(refused, noon));
    CHECK(of.is_news(silent, noon + 2s));
    CHECK_FALSE(of.is_news(refused, noon + 4s));
    CHECK(of.take_untold() == 0);
}

TEST_CASE("trouble: causes without end are told once a second, and the rest counted") {
    trouble of;
    int told = 0;
    for (int i = 0; i < 100; ++i)
        told += of.is_news({errc::protocol, "what " + std::to_string(i)}, noon + 25ms * i);
    CHECK(told == 3);
    CHECK(of.take_untold() == 97);
    CHECK(of.take_untold() == 0);
}

TEST_CASE("trouble: what the host called off is none") {
    trouble of;
    CHECK_FALSE(of.is_news({errc::cancelled, "called off"}, noon));
}

TEST_CASE("trouble: every failure comes with what to do about it") {
    server_settings remote;
    server_settings local;
    local.kind = transport::stdio;
    auto advice = [&](const server_settings& server, base::fault why, std::string_view doing) {
        return std::string(advice_on(why, doing, server));
    };
    CHECK(advice(remote, refused, "initialize").find("url") != std::string::npos);
    CHECK(advice(local, refused, "initialize").find("command") != std::string::npos);
    CHECK(
        advice(remote, {errc::unreachable, "TLS: certificate"}, "initialize").find("ca_file") !=
        std::string::npos
    );
    CHECK(advice(remote, silent, "tools/list").find("list_timeout") != std::string::npos);
    CHECK(advice(remote, silent, "initialize").find("initialize_timeout") != std::string::npos);
    CHECK(
        advice(remote, {errc::unauthorized, "", 401}, "").find("auth_value") != std::string::npos
    );
    CHECK(advice(remote, {errc::upstream_error, "", 404}, "").find("url") != std::string::npos);
    for (auto code :
         {errc::internal,
          errc::too_large,
          errc::too_many,
          errc::forbidden,
          errc::closed,
          errc::protocol,
          errc::upstream_error,
          errc::config})
        CHECK_FALSE(advice(remote, {code, "x"}, "tools/call").empty());
}
